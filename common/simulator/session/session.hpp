#pragma once
/// \file
/// A device for callers without CUDA's runtime: pages in a browser, programs that replay launches.
/// Results and errors are JSON texts.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/machine/device.hpp"
#include "common/simulator/session/equip.hpp"

namespace bw::sim::session {

/// What is launched.
struct LaunchRequest {
  size_t module = 0;   ///< number of the module, from 0
  std::string kernel;  ///< its name in the PTX
  LaunchConfiguration configuration;
  std::vector<std::byte> arguments;  ///< the parameters as they are laid out in memory
};

/// A device with its modules. Its settings come from the environment, as a program's do.
class Session {
 public:
  /// `machine` is a name of the table of machines; if it is empty and BW_SIM_MACHINE is not set,
  /// the first machine that runs `ptx`. Throws SimulationError.
  Session(std::string_view machine, std::string_view ptx);

  [[nodiscard]] Device& device() { return device_; }

  /// Loads PTX text. `registers`: registers of a thread in the machine code of each kernel, if that
  /// is known. Returns the module's number. Throws SimulationError.
  size_t load(std::string_view ptx, std::string name,
              const std::map<std::string, uint32_t>& registers);
  /// The kernels of a module as a JSON list: `name` in the PTX, `shown` as its source has it,
  /// `parameters` (`name`, `offset`, `bytes`, `type`), `threads` and `cluster` that it is compiled
  /// for (empty lists if it is for any), `shared` (bytes of static shared memory), `refused` (a
  /// report, if the simulator does not run it).
  [[nodiscard]] std::string kernels(size_t module);

  /// The address of device memory; 0 if none is left.
  [[nodiscard]] uint64_t allocate(size_t bytes, std::string description);
  /// False if no allocation begins there.
  bool free(uint64_t address);
  /// The host wrote these bytes; `through_l2`: a copy did, so that the L2 cache holds them.
  void note_write(uint64_t address, size_t bytes, bool through_l2);

  /// Runs a kernel to its end. JSON: `status` (`finished`, or `failed` with reports), `cycles`,
  /// `instructions` (of warps), `clusters`, and `reports`: warnings, each code and line once in the
  /// session, then the error.
  [[nodiscard]] std::string launch(const LaunchRequest& request);

 private:
  Device device_;
  Equipment equipment_;
  std::vector<const LoadedModule*> modules_;
  std::vector<Warning> shown_;
};

/// A JSON object whose `reports` holds this one.
[[nodiscard]] std::string failure_json(const Report& report);

}  // namespace bw::sim::session
