#include "common/simulator/cudart/runtime/launch_file.hpp"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include <fmt/core.h>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/cudart/runtime/reporting.hpp"
#include "common/simulator/session/contents.hpp"
#include "common/simulator/session/report_json.hpp"
#include "common/simulator/trace/json.hpp"

extern char** environ;

namespace bw::sim::cudart {
namespace {

using trace::Fields;
using trace::List;

constexpr int kVersion = 1;
constexpr std::string_view kFileMagic = "BWLNC001";
/// Unchanged bytes between two changes that are written along with them.
constexpr size_t kLargestGap = 64;

std::string list_of(Dim3 extents) {
  return fmt::format("[{},{},{}]", extents.x, extents.y, extents.z);
}

Fields step_of(std::string_view what) {
  Fields fields;
  return fields.add("do", what);
}

/// The settings of this process, but not the names of its files.
std::string settings_json() {
  constexpr std::string_view kPrefix = "BW_SIM_";
  constexpr std::string_view kLeftOut[] = {
      "BW_SIM_LAUNCHES",   "BW_SIM_EVENTS",  "BW_SIM_RECORDING",   "BW_SIM_REPORT",
      "BW_SIM_STATISTICS", "BW_SIM_THREADS", "BW_SIM_PIN_THREADS", "BW_SIM_PTX"};
  Fields fields;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (!name.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    if (std::find(std::begin(kLeftOut), std::end(kLeftOut), name) != std::end(kLeftOut)) continue;
    fields.add(name, text.substr(equals + 1));
  }
  return fields.object();
}

/// Ends the process: a file that was asked for and is incomplete must not look complete.
[[noreturn]] void end_unwritten(const std::string& problem) {
  show({.code = FaultCode::output_file,
        .what = "the file that BW_SIM_LAUNCHES names can't be written: " + problem,
        .fix = "name a file in a folder that exists and may be written to"});
  std::_Exit(EX_CANTCREAT);
}

}  // namespace

LaunchFile* LaunchFile::instance() {
  static bool is_making = false;  // a report of the constructor's own comes back here
  if (is_making) return nullptr;
  static LaunchFile* const file = []() -> LaunchFile* {
    const char* const path = std::getenv("BW_SIM_LAUNCHES");
    if (path == nullptr || *path == '\0') return nullptr;
    is_making = true;
    auto* const made = new LaunchFile(path);
    is_making = false;
    return made;
  }();
  return file;
}

LaunchFile::LaunchFile(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
  if (file_ == nullptr) end_unwritten(std::strerror(errno));
  std::fwrite(kFileMagic.data(), 1, kFileMagic.size(), file_.get());
}

void LaunchFile::part(std::string_view tag, const void* content, size_t bytes) {
  char head[16] = {};
  std::copy(tag.begin(), tag.end(), head);
  const uint64_t size = bytes;
  std::memcpy(head + 8, &size, sizeof size);
  std::fwrite(head, 1, sizeof head, file_.get());
  std::fwrite(content, 1, bytes, file_.get());
  // A process that ends by a fault closes nothing.
  if (std::fflush(file_.get()) != 0) {
    const std::string problem = std::strerror(errno);
    gave_up_ = true;
    end_unwritten(problem);
  }
}

void LaunchFile::step(const std::string& json) {
  if (!gave_up_) part("step", json.data(), json.size());
}

uint64_t LaunchFile::block(const void* content, size_t bytes) {
  if (!gave_up_) part("data", content, bytes);
  return blocks_++;
}

template <class Action>
void LaunchFile::for_each_allocation(Action&& action) {
  for (const auto& [address, allocation] : device_->memory().allocations())
    if (address != device_->memory().parameter_buffer() && device_->memory().in_arena(address))
      action(allocation);
}

void LaunchFile::begin(Device& device) {
  device_ = &device;
  const Settings& settings = device.settings();
  step(step_of("begin")
           .add("version", kVersion)
           .add("machine", std::string_view(settings.machine->name))
           .add("sms", settings.sm_count)
           .add_raw("settings", settings_json())
           .object());
}

void LaunchFile::note_module(const LoadedModule& module, const std::string& text) {
  modules_.emplace(&module, modules_.size());
  Fields registers;
  for (const auto& function : module.ptx().functions)
    if (function->machine_registers != 0)
      registers.add(function->name, function->machine_registers);
  const uint64_t number = block(text.data(), text.size());
  step(step_of("module")
           .add("name", module.ptx().name)
           .add("text", number)
           .add_raw("registers", registers.object())
           .object());
  // The variables' contents are the module's.
  for_each_allocation([&](const Allocation& allocation) {
    const std::byte* const first = host_pointer(allocation.address);
    known_.try_emplace(allocation.address, first, first + allocation.size_bytes);
  });
}

void LaunchFile::note_allocation(uint64_t address, size_t bytes, const std::string& description) {
  const std::byte* const first = host_pointer(address);
  known_[address].assign(first, first + bytes);
  step(step_of("allocate")
           .add("address", address)
           .add("bytes", bytes)
           .add("description", description)
           .object());
}

void LaunchFile::note_free(uint64_t address) {
  known_.erase(address);
  step(step_of("free").add("address", address).object());
}

void LaunchFile::note_copy(uint64_t address, size_t bytes) {
  step(step_of("copy").add("address", address).add("bytes", bytes).object());
}

void LaunchFile::note_idle() { step(step_of("idle").object()); }

void LaunchFile::note_timestamp() { step(step_of("time").object()); }

void LaunchFile::write_changes(const Allocation& allocation, std::vector<std::byte>& known) {
  const std::byte* const now = host_pointer(allocation.address);
  const size_t size = known.size();
  for (size_t first = 0; first < size; ++first) {
    if (now[first] == known[first]) continue;
    size_t last = first;
    for (size_t at = first + 1; at < size && at - last <= kLargestGap; ++at)
      if (now[at] != known[at]) last = at;
    const uint64_t number = block(now + first, last + 1 - first);
    step(step_of("write").add("address", allocation.address + first).add("data", number).object());
    first = last;
  }
  std::copy(now, now + size, known.begin());
}

void LaunchFile::begin_launch(const Kernel& kernel, const LaunchConfiguration& configuration,
                              const std::vector<std::byte>& arguments) {
  const auto module = modules_.find(&kernel.module());
  if (module == modules_.end()) return give_up("the kernel's object files were linked");
  for_each_allocation([&](const Allocation& allocation) {
    if (const auto found = known_.find(allocation.address); found != known_.end())
      write_changes(allocation, found->second);
  });
  const uint64_t number = block(arguments.data(), arguments.size());
  step(step_of("launch")
           .add("module", module->second)
           .add("kernel", kernel.function().name)
           .add("shown", kernel.name())
           .add_raw("grid", list_of(configuration.grid))
           .add_raw("block", list_of(configuration.block))
           .add_raw("cluster", list_of(configuration.cluster))
           .add("in_clusters", configuration.in_clusters)
           .add("dynamic_shared_bytes", configuration.dynamic_shared_bytes)
           .add("dynamic_shared_limit", configuration.dynamic_shared_limit_bytes)
           .add("non_portable_cluster", configuration.non_portable_cluster)
           .add("cooperative", configuration.cooperative)
           .add("is_dependent", configuration.is_dependent)
           .add("arguments", number)
           .object());
}

void LaunchFile::end_launch(const LaunchResult& result) {
  if (result.status == RunStatus::waiting) return give_up("a kernel waits for the host");
  if (result.status != RunStatus::finished) return;  // its report follows
  List memory;
  for_each_allocation([&](const Allocation& allocation) {
    const auto found = known_.find(allocation.address);
    if (found == known_.end()) return;
    const std::span<const std::byte> now(host_pointer(allocation.address), allocation.size_bytes);
    found->second.assign(now.begin(), now.end());
    memory.add(Fields()
                   .add("address", allocation.address)
                   .add("bytes", allocation.size_bytes)
                   .add("hash", session::contents_hash(now))
                   .object());
  });
  step(step_of("end")
           .add("cycles", result.cycles)
           .add("instructions", result.warp_instructions)
           .add("clusters", result.clusters)
           .add_raw("memory", memory.json())
           .object());
}

void LaunchFile::note_report(const Report& report) {
  if (device_ == nullptr) return;
  step(step_of("report").add_raw("report", session::report_json(report, 1)).object());
}

void LaunchFile::give_up(std::string_view why) {
  step(step_of("give_up").add("why", why).object());
  gave_up_ = true;
}

}  // namespace bw::sim::cudart
