#pragma once
/// \file
/// Kernels that come from PTX files instead of the program's own fat binaries (BW_SIM_PTX): what
/// was compiled for the device alone runs under a host program that was built before.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/device.hpp"

namespace bw::sim::cudart {

/// The files of BW_SIM_PTX, a list separated by colons. Kernels and variables are taken from the
/// first file that holds their mangled name.
class ReplacementPtx {
 public:
  /// Reads the environment.
  ReplacementPtx();

  /// The module that holds this kernel, or nullptr: the program's own is meant. The first call
  /// loads the files. Throws SimulationError for one that can't be read or parsed.
  [[nodiscard]] LoadedModule* find_kernel(Device& device, std::string_view name);
  /// The device address of a variable of the files, or 0.
  [[nodiscard]] uint64_t find_variable(Device& device, std::string_view name);

  /// A kernel is launched; `replaced`: it is one of the files'.
  void note_launch(const Kernel& kernel, bool replaced);

  /// Whether files were named and none of their kernels was launched.
  [[nodiscard]] bool is_unused() const { return !files_.empty() && !used_; }
  /// What to say then.
  [[nodiscard]] Report complaint() const;

 private:
  void load(Device& device);

  std::vector<std::string> files_;
  std::vector<LoadedModule*> modules_;       ///< of files_, once loaded
  std::vector<std::string> other_launches_;  ///< names of the program's own kernels, each once
  bool used_ = false;
};

}  // namespace bw::sim::cudart
