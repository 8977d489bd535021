#pragma once
/// \file
/// The simulated device: memory, modules, launches. The interface for the CUDA runtime replacement
/// and for tests.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/simulator/clock/l2_cache.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/settings.hpp"
#include "common/simulator/machine/unit_state.hpp"

namespace bw::sim {

/// Occupancy of one kernel configuration on one SM.
struct Occupancy {
  uint32_t ctas_per_sm = 0;  ///< CTAs that fit on an SM
  std::string limited_by;    ///< "registers", "shared memory", "threads", "CTA slots"
};

/// A GPU: its memory, its settings and its units.
class Device {
 public:
  /// `units` makes the units' state of every CTA and cluster; it outlives the device.
  Device(Settings settings, const UnitFactory& units);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Settings& settings() { return settings_; }
  [[nodiscard]] DeviceMemory& memory() { return memory_; }
  [[nodiscard]] const UnitFactory& units() const { return units_; }

  /// Parses PTX text and places its variables. Throws SimulationError, also for PTX that was
  /// compiled for a target that this machine does not run.
  LoadedModule& load(std::string_view ptx_text, std::string name);
  /// Likewise for a module that was parsed, or linked from several.
  LoadedModule& load(std::unique_ptr<ptx::Module> module);
  /// Unloads a module: frees its kernels and variables. False if it is not loaded.
  bool unload(const LoadedModule& module);

  /// Decodes an entry of a module once. Throws SimulationError.
  const Kernel& kernel(const LoadedModule& module, std::string_view name);

  /// Adds an observer to future launches.
  void observe(std::unique_ptr<LaunchObserver> observer) {
    observers_.push_back(std::move(observer));
  }
  [[nodiscard]] const std::vector<std::unique_ptr<LaunchObserver>>& observers() const {
    return observers_;
  }

  /// Runs a kernel to its end, or until a cluster is stuck: LaunchResult::status says which; the
  /// caller explains it. `arguments` holds one pointer per parameter, to its value.
  LaunchResult launch(const Kernel& kernel, const LaunchConfiguration& configuration,
                      std::span<const void* const> arguments);

  /// Resumes a launch that ended as RunStatus::waiting.
  LaunchResult resume(const std::shared_ptr<Grid>& grid);

  /// CTAs of this shape that fit on one SM.
  [[nodiscard]] Occupancy occupancy(const Kernel& kernel, uint32_t threads_per_block,
                                    size_t dynamic_shared_bytes) const;

  /// What a CTA of this shape takes of an SM.
  [[nodiscard]] CtaResources cta_resources(const Kernel& kernel, uint32_t threads_per_block,
                                           size_t dynamic_shared_bytes) const;

  /// Clusters of this size that are resident at once if an SM holds `ctas_per_sm` CTAs.
  [[nodiscard]] uint64_t resident_clusters(uint32_t ctas_per_sm, uint64_t cluster_ctas) const {
    return sim::resident_clusters(*settings_.machine, settings_.sm_count, ctas_per_sm,
                                  cluster_ctas);
  }

  /// Warnings of launches that no caller has taken from here to report yet.
  [[nodiscard]] std::vector<Warning>& warnings() { return warnings_; }
  /// Resources of the last launch that ended.
  [[nodiscard]] const LaunchResult& last_launch() const { return last_launch_; }
  /// The number of a launch that begins now, from 0.
  [[nodiscard]] uint64_t next_launch() { return launches_++; }
  /// Simulated time since the device came up, in cycles; launches advance it.
  [[nodiscard]] Cycle clock() const { return clock_; }
  /// With a timing model: the host has waited for the device, so that the next launch finds it idle
  /// and unannounced.
  void become_idle() {
    before_ = Before::nothing;
    earlier_.reset();
  }
  /// With a timing model: the device takes a timestamp after its earlier work. The next launch is
  /// announced to it by then.
  void take_time() {
    if (before_ == Before::a_launch) before_ = Before::a_point_of_time;
    earlier_.reset();
  }
  /// When the CTAs of a launch may begin that begins after all earlier ones.
  [[nodiscard]] Cycle next_begin(const Grid& grid) const;
  /// The launches that a dependent one may overlap with; null where nothing has run since the host
  /// has waited for the device or the device has taken a timestamp.
  [[nodiscard]] const EarlierGrids* earlier_grids() const { return earlier_.get(); }
  /// A kernel with this much code is launched. Returns the bytes of code executed since its last
  /// launch, its own included, or the greatest number if they exceed `most_bytes`.
  [[nodiscard]] uint64_t code_since(const std::string& kernel, uint64_t bytes, uint64_t most_bytes);
  /// With a timing model: the contents of the L2 cache, else null. Writers from outside must report
  /// to it.
  [[nodiscard]] L2Cache* l2_cache();

 private:
  /// What the device did before a launch.
  enum class Before : uint8_t { nothing, a_point_of_time, a_launch };

  /// `resumed`: the launch has waited before, and others may have run since.
  LaunchResult run(const std::shared_ptr<Grid>& grid, bool resumed);
  /// Cycles of a launch in addition to its CTAs'.
  [[nodiscard]] Cycle launch_overhead(const TimingTable& times, const Grid& grid) const;

  Settings settings_;
  const UnitFactory& units_;
  DeviceMemory memory_;
  std::vector<std::unique_ptr<LaunchObserver>> observers_;
  std::vector<std::unique_ptr<LoadedModule>> modules_;
  std::map<std::pair<const LoadedModule*, std::string>, std::unique_ptr<Kernel>> kernels_;
  LaunchResult last_launch_;
  std::vector<Warning> warnings_;
  uint64_t launches_ = 0;
  Cycle clock_ = 0;
  Before before_ = Before::nothing;
  std::unique_ptr<EarlierGrids> earlier_;
  /// Kernels by name and size of code, the last one first.
  std::vector<std::pair<std::string, uint64_t>> recent_code_;
  std::optional<L2Cache> l2_cache_;
};

}  // namespace bw::sim
