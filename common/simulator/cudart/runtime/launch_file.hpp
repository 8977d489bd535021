#pragma once
/// \file
/// BW_SIM_LAUNCHES: a program's use of the device, in a file from which its launches can be run
/// again without the program.
///
/// The eight bytes "BWLNC001", then parts: a tag of four letters, four zero bytes, the part's size
/// in bytes (uint64_t) and its content. All numbers are little-endian. A part `data` is a block of
/// bytes; blocks are numbered from 0. A part `step` is a JSON object; its field `do` says what the
/// program did, in order:
///
///     begin     the device: `version`, `machine`, `sms`, `settings` (the variables BW_SIM_*)
///     module    PTX: `name`, `text` (a block), `registers` by kernel, as the machine code has them
///     allocate  `address`, `bytes`, `description`;    free  `address`
///     write     memory that changed without a kernel: `address`, `data` (a block). It comes right
///               before the launch that finds it changed, so it may be younger than it is named
///     copy      a copy or fill wrote `bytes` at `address` through the L2 cache
///     idle      the host waited for the device;       time  the device took a timestamp
///     launch    `module` (its number), `kernel`, `grid`, `block`, `cluster`, `in_clusters`,
///               `dynamic_shared_bytes`, `dynamic_shared_limit`, `non_portable_cluster`,
///               `cooperative`, `is_dependent` (it may overlap with the launch before it),
///               `arguments` (a block)
///     end       of the launch: `cycles`, `instructions`, `clusters`, `memory` (a list of
///     `address`,
///               `bytes` and `hash`). A launch that ends with an error has a report instead
///     report    a warning or an error: the fields of BW_SIM_REPORT
///     give_up   the program does what cannot be run again: `why`

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/simulator/cudart/runtime/runtime.hpp"
#include "common/simulator/machine/device.hpp"

namespace bw::sim::cudart {

/// The file that BW_SIM_LAUNCHES names. All under the runtime's lock.
class LaunchFile {
 public:
  /// The process's file, or nullptr if none is asked for. Ends the process with a report if it
  /// can't be written.
  [[nodiscard]] static LaunchFile* instance();

  /// The device is there.
  void begin(Device& device);
  /// A module was loaded from PTX.
  void note_module(const LoadedModule& module, const std::string& text);
  /// The program allocated memory.
  void note_allocation(uint64_t address, size_t bytes, const std::string& description);
  /// It freed memory.
  void note_free(uint64_t address);
  /// A copy or fill wrote device memory.
  void note_copy(uint64_t address, size_t bytes);
  /// The host waited for the device.
  void note_idle();
  /// The device took a timestamp.
  void note_timestamp();
  /// A launch begins: what the program has written since the last one precedes it.
  void begin_launch(const Kernel& kernel, const LaunchConfiguration& configuration,
                    const std::vector<std::byte>& arguments);
  /// It has ended without a fault of its own.
  void end_launch(const LaunchResult& result);
  /// A report is shown.
  void note_report(const Report& report);
  /// The rest of the program can't be run again.
  void give_up(std::string_view why);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit LaunchFile(const std::string& path);
  void part(std::string_view tag, const void* content, size_t bytes);
  void step(const std::string& json);
  /// Writes a block and returns its number.
  uint64_t block(const void* content, size_t bytes);
  /// Writes what has changed in an allocation since it was last looked at.
  void write_changes(const Allocation& allocation, std::vector<std::byte>& known);
  /// Allocations whose contents are followed: not the parameters, which every launch sets.
  template <class Action>
  void for_each_allocation(Action&& action);

  std::unique_ptr<std::FILE, Close> file_;
  Device* device_ = nullptr;
  uint64_t blocks_ = 0;
  bool gave_up_ = false;
  std::map<const LoadedModule*, uint64_t> modules_;
  std::map<uint64_t, std::vector<std::byte>> known_;  ///< contents of allocations, by address
};

}  // namespace bw::sim::cudart
