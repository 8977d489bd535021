#include "common/simulator/machine/device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/limits.hpp"
#include "common/simulator/ptx/ast.hpp"
#include "common/simulator/ptx/lower_jumps.hpp"

namespace bw::sim {
namespace {

/// What a launch that was in the queue takes more than one of a single CTA with few arguments.
Cycle timed_launch_more(const TimingTable& times, const Grid& grid) {
  const uint64_t ctas = std::min(grid.resident_clusters(), grid.clusters().volume()) *
                        grid.configuration().cluster.volume();
  double more = times.timed_launch_cta * static_cast<double>(ctas - 1);
  constexpr double kKib = 1024;
  if (const size_t bytes = grid.kernel().parameter_bytes();
      bytes > times.timed_launch_free_argument_bytes)
    more += static_cast<double>(times.timed_launch_arguments) +
            times.timed_launch_kib * static_cast<double>(bytes) / kKib;
  return static_cast<Cycle>(more);
}

/// Architecture-specific PTX runs on its own architecture, and none on an older one.
void check_target(const ptx::Module& module, const MachineDescription& machine) {
  if (fitness(machine, parse_target(module.target)) > 0) return;
  throw SimulationError(Report{
      .code = FaultCode::no_ptx_for_machine,
      .what =
          fmt::format("{} was compiled for {}, which a {} (compute capability {}.{}) does not run",
                      module.name, module.target, machine.name, machine.major, machine.minor),
      .rule = "PTX for sm_NNa runs on compute capability N.N alone, PTX for sm_NNf on its family, "
              "other PTX on its own and on newer ones",
      .fix = fmt::format("compile for sm_{}, or choose another machine with BW_SIM_MACHINE ({})",
                         machine.specific_target(), machine_names())});
}

}  // namespace

Device::Device(Settings settings, const UnitFactory& units)
    : settings_(settings), units_(units), memory_(settings.memory_bytes) {}

LoadedModule& Device::load(std::string_view ptx_text, std::string name) {
  return load(ptx::parse(ptx_text, std::move(name)));
}

LoadedModule& Device::load(std::unique_ptr<ptx::Module> module) {
  check_target(*module, *settings_.machine);
  ptx::lower_jumps(*module);
  ptx::inline_calls(*module);
  module->focus = settings_.focus;
  modules_.push_back(std::make_unique<LoadedModule>(std::move(module), *settings_.machine,
                                                    settings_.times(), memory_));
  return *modules_.back();
}

bool Device::unload(const LoadedModule& module) {
  std::erase_if(kernels_, [&](const auto& entry) { return entry.first.first == &module; });
  return std::erase_if(modules_, [&](const auto& own) { return own.get() == &module; }) != 0;
}

const Kernel& Device::kernel(const LoadedModule& module, std::string_view name) {
  std::unique_ptr<Kernel>& kernel = kernels_[{&module, std::string(name)}];
  if (!kernel) kernel = std::make_unique<Kernel>(module, name);
  return *kernel;
}

LaunchResult Device::launch(const Kernel& kernel, const LaunchConfiguration& configuration,
                            std::span<const void* const> arguments) {
  const std::vector<ParameterLayout>& parameters = kernel.parameters();
  if (arguments.size() != parameters.size()) {
    throw SimulationError(
        Report{.code = FaultCode::launch_arguments,
               .what = fmt::format("{} takes {} parameters, {} were given", kernel.name(),
                                   parameters.size(), arguments.size())});
  }
  const uint64_t buffer = memory_.parameter_buffer();
  for (size_t i = 0; i < parameters.size(); ++i)
    std::memcpy(host_pointer(buffer + parameters[i].offset_bytes), arguments[i],
                parameters[i].size_bytes);
  const auto grid = std::make_shared<Grid>(*this, kernel, configuration, buffer);
  if (configuration.may_wait) {
    const std::byte* const values = host_pointer(buffer);
    grid->parameters().assign(values, values + kernel.parameter_bytes());
  }
  return run(grid, /*resumed=*/false);
}

LaunchResult Device::resume(const std::shared_ptr<Grid>& grid) {
  // Another launch may have used the one buffer since.
  std::copy(grid->parameters().begin(), grid->parameters().end(),
            host_pointer(memory_.parameter_buffer()));
  return run(grid, /*resumed=*/true);
}

LaunchResult Device::run(const std::shared_ptr<Grid>& grid, bool resumed) {
  LaunchResult result = grid->run();
  if (result.status != RunStatus::finished) {
    result.stuck = grid;
    earlier_.reset();
    return result;
  }
  const Cycle begin = resumed ? next_begin(*grid) : grid->begin();
  const TimingTable* const times = settings_.times();
  const Cycle ends = begin + result.clock_cycles + (times == nullptr ? 0 : times->next_launch);
  clock_ = std::max(clock_, ends);
  if (times != nullptr) before_ = Before::a_launch;
  const bool overlaps = grid->configuration().is_dependent && earlier_ != nullptr;
  EarlierGrids left = grid->leave(overlaps ? *earlier_ : EarlierGrids());
  // Other launches may have run since one that has waited began.
  earlier_ = resumed ? nullptr : std::make_unique<EarlierGrids>(std::move(left));
  last_launch_ = result;
  if (settings_.print_statistics) {
    fmt::print(
        stderr,
        "simulator: {}: {} clusters, {} cycles, {} warp instructions, {:.3f} s ({:.1f} M/s), "
        "tensor core sums: {}",
        grid->kernel().name(), result.clusters, result.cycles, result.warp_instructions,
        result.wall_seconds,
        static_cast<double>(result.warp_instructions) / result.wall_seconds * 1e-6,
        summation_name(settings_.resolved_summation()));
    if (settings_.times() != nullptr)
      fmt::print(stderr, ", L2 hits {} bytes, misses {}", result.l2.hits(), result.l2.misses());
    for (const Warning& warning : result.warnings)
      fmt::print(stderr, ", {} {}", row_of(warning.report.code).id, counted(warning.count, "time"));
    fmt::print(stderr, "\n");
  }
  return result;
}

Cycle Device::next_begin(const Grid& grid) const {
  const TimingTable* const times = settings_.times();
  if (times == nullptr) return clock_;
  // The rest of the overhead follows the CTAs.
  return clock_ + launch_overhead(*times, grid) - times->next_launch;
}

Cycle Device::launch_overhead(const TimingTable& times, const Grid& grid) const {
  switch (before_) {
    case Before::nothing:
      return times.first_launch;
    case Before::a_point_of_time:
      return times.timed_launch + timed_launch_more(times, grid);
    case Before::a_launch:
      return times.next_launch;
  }
  return 0;
}

uint64_t Device::code_since(const std::string& kernel, uint64_t bytes, uint64_t most_bytes) {
  uint64_t kept = bytes;
  size_t before = 0;
  while (before < recent_code_.size() && recent_code_[before].first != kernel)
    kept += recent_code_[before++].second;
  const bool is_known = before < recent_code_.size();
  if (is_known) recent_code_.erase(recent_code_.begin() + static_cast<std::ptrdiff_t>(before));
  recent_code_.insert(recent_code_.begin(), {kernel, bytes});
  // Code beyond that amount is lost.
  uint64_t sum = 0;
  const auto lost = std::find_if(recent_code_.begin(), recent_code_.end(), [&](const auto& one) {
    sum += one.second;
    return sum > most_bytes;
  });
  recent_code_.erase(lost, recent_code_.end());
  return is_known && kept <= most_bytes ? kept : std::numeric_limits<uint64_t>::max();
}

L2Cache* Device::l2_cache() {
  const TimingTable* const times = settings_.times();
  if (times == nullptr) return nullptr;
  if (!l2_cache_) {
    const uint64_t bytes = settings_.machine->l2_bytes;
    l2_cache_.emplace(bytes,
                      static_cast<uint64_t>(static_cast<double>(bytes) * times->l2_dirty_part),
                      times->l2_lost_span);
  }
  return &*l2_cache_;
}

CtaResources Device::cta_resources(const Kernel& kernel, uint32_t threads_per_block,
                                   size_t dynamic_shared_bytes) const {
  const uint32_t warps = ceil_div(threads_per_block, kWarpLanes);
  // Registers are given out in units of 256 per warp (CUDA occupancy rules, compute capability 9.0
  // and later).
  constexpr uint32_t kRegisterUnit = 8;
  constexpr uint32_t kLeastRegisters = 24;
  constexpr uint32_t kMostRegisters = 255;
  uint32_t registers = std::clamp(kernel.registers_per_thread(), kLeastRegisters, kMostRegisters);
  // ptxas keeps to the launch bounds by spilling, so a bound is also an upper limit here: what
  // whole units leave of the register file.
  const ptx::EntryDirectives& directives = kernel.function().directives;
  const uint32_t* const most = directives.max_threads;
  if (most[0] != 0) {
    const uint32_t bound = most[0] * std::max(1u, most[1]) * std::max(1u, most[2]);
    const uint32_t ctas = std::max(1u, directives.min_ctas_per_sm);
    const uint32_t share = kRegistersPerSm / (bound * ctas) / kRegisterUnit * kRegisterUnit;
    registers = std::min(registers, std::max(kLeastRegisters, share));
  }
  registers = align_up(registers, kRegisterUnit);
  if (registers > kMostRegisters) registers = kMostRegisters + 1;
  const uint32_t threads = warps * kWarpLanes;
  return {.registers = registers * threads,
          .threads = threads,
          .shared_bytes = kernel.static_shared_bytes() + dynamic_shared_bytes};
}

Occupancy Device::occupancy(const Kernel& kernel, uint32_t threads_per_block,
                            size_t dynamic_shared_bytes) const {
  const CtaResources each = cta_resources(kernel, threads_per_block, dynamic_shared_bytes);
  const std::pair<uint32_t, const char*> limits[] = {
      {kRegistersPerSm / each.registers, "registers"},
      {static_cast<uint32_t>(kSharedBytesPerSm / each.shared_bytes), "shared memory"},
      {kMaxThreadsPerSm / each.threads, "threads"},
      {kMaxCtasPerSm, "CTA slots"},
  };
  const auto& least =
      *std::min_element(std::begin(limits), std::end(limits),
                        [](const auto& a, const auto& b) { return a.first < b.first; });
  return {least.first, least.second};
}

}  // namespace bw::sim
