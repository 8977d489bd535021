#include "common/simulator/machine/grid.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/base/text.hpp"
#include "common/simulator/clock/l2_launch.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/cluster_endings.hpp"
#include "common/simulator/machine/cluster_links.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

[[noreturn]] void refuse(const Kernel& kernel, FaultCode code, std::string what, std::string rule,
                         std::string fix) {
  throw SimulationError(Report{.code = code,
                               .what = std::move(what),
                               .where = "launch of " + kernel.name(),
                               .rule = std::move(rule),
                               .fix = std::move(fix)});
}

/// Cycles without a change of state after which a launch that may wait returns to the host: short
/// compared with what a host does in between, long compared with any wait for another cluster of
/// the launch.
constexpr Cycle kWaitingCycles = 1'000'000;
/// The workspace of a cooperative launch: its size and the barrier (cooperative_groups,
/// details/driver_abi.h), with room after it.
constexpr size_t kWorkspaceBytes = 32;

std::string text(Dim3 d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

void check_shape(const Kernel& kernel, const LaunchConfiguration& c) {
  constexpr Dim3 kMostBlock{1024, 1024, 64};
  constexpr Dim3 kMostGrid{0x7fffffffu, 65535, 65535};
  const ptx::EntryDirectives& directives = kernel.function().directives;
  if (c.grid.volume() == 0 || c.block.volume() == 0)
    refuse(kernel, FaultCode::launch_extents,
           "grid " + text(c.grid) + " and block " + text(c.block) + " must not be empty",
           "every extent of a launch is at least 1", "skip the launch if it has no work");
  if (c.block.x > kMostBlock.x || c.block.y > kMostBlock.y || c.block.z > kMostBlock.z ||
      c.block.volume() > kMaxThreadsPerBlock)
    refuse(kernel, FaultCode::launch_extents,
           fmt::format("block {} has {} threads", text(c.block), c.block.volume()),
           "a block has at most 1024 threads, and extents up to (1024,1024,64)",
           "use a smaller block");
  if (c.grid.x > kMostGrid.x || c.grid.y > kMostGrid.y || c.grid.z > kMostGrid.z)
    refuse(kernel, FaultCode::launch_extents, "grid " + text(c.grid) + " is too large",
           "extents of a grid are at most (2147483647,65535,65535)", "move work to the x extent");
  if (const uint32_t* most = directives.max_threads;
      most[0] != 0 &&
      c.block.volume() > uint64_t{most[0]} * std::max(most[1], 1u) * std::max(most[2], 1u))
    refuse(kernel, FaultCode::launch_extents,
           fmt::format("block {} exceeds the kernel's __launch_bounds__ of {} threads",
                       text(c.block), most[0]),
           "a launch stays within the kernel's bound (PTX ISA, \".maxntid\")",
           "launch fewer threads or raise the bound");
  const uint64_t cluster = c.cluster.volume();
  const uint32_t most_cluster =
      c.non_portable_cluster ? kMaxClusterNonPortable : kMaxClusterPortable;
  if (cluster == 0 || cluster > most_cluster)
    refuse(kernel, FaultCode::launch_cluster,
           fmt::format("cluster {} has {} CTAs", text(c.cluster), cluster),
           "a cluster has 1 to 8 CTAs, up to 16 when the kernel allows non-portable sizes",
           "use a smaller cluster, or set cudaFuncAttributeNonPortableClusterSizeAllowed");
  if (c.grid.x % c.cluster.x != 0 || c.grid.y % c.cluster.y != 0 || c.grid.z % c.cluster.z != 0)
    refuse(kernel, FaultCode::launch_cluster,
           "grid " + text(c.grid) + " is not a multiple of cluster " + text(c.cluster),
           "every extent of the grid is a multiple of the cluster's", "round the grid up");
  if (const uint32_t* required = directives.required_cluster; required[0] != 0) {
    const Dim3 want{required[0], std::max(required[1], 1u), std::max(required[2], 1u)};
    if (!(want == c.cluster))
      refuse(kernel, FaultCode::launch_cluster,
             "cluster " + text(c.cluster) + " differs from the kernel's __cluster_dims__ " +
                 text(want),
             "a launch has the cluster that the kernel requires (PTX ISA, \".reqnctapercluster\")",
             "launch with the kernel's own cluster size");
  }
}

/// When the first cluster of each place begins: one after the other.
std::vector<Cycle> first_wave_start_cycles(uint64_t places, double each) {
  std::vector<Cycle> begins(places);
  for (uint64_t place = 0; place < places; ++place)
    begins[place] = static_cast<Cycle>(each * static_cast<double>(place));
  return begins;
}

}  // namespace

Grid::Grid(Device& device, const Kernel& kernel, const LaunchConfiguration& configuration,
           uint64_t parameters_address)
    : device_(device),
      kernel_(kernel),
      configuration_(configuration),
      parameters_address_(parameters_address),
      number_(device.next_launch()) {
  const LaunchConfiguration& c = configuration_;
  check_shape(kernel, c);
  const size_t shared_bytes =
      kernel.static_shared_bytes() - kReservedSharedBytes + c.dynamic_shared_bytes;
  if (c.dynamic_shared_bytes > c.dynamic_shared_limit_bytes || shared_bytes > kSharedBytesPerBlock)
    refuse(
        kernel, FaultCode::launch_shared_memory,
        fmt::format("a CTA needs {} bytes of shared memory ({} of them dynamic)", shared_bytes,
                    c.dynamic_shared_bytes),
        fmt::format(
            "dynamic shared memory is limited to {} bytes for this kernel, and a CTA to {} in all",
            c.dynamic_shared_limit_bytes, kSharedBytesPerBlock),
        "use fewer stages or smaller tiles, or raise the limit with "
        "cudaFuncAttributeMaxDynamicSharedMemorySize");
  const auto threads = static_cast<uint32_t>(c.block.volume());
  cta_resources_ = device.cta_resources(kernel, threads, c.dynamic_shared_bytes);
  const Occupancy occupancy = device.occupancy(kernel, threads, c.dynamic_shared_bytes);
  ctas_per_sm_ = occupancy.ctas_per_sm;
  if (ctas_per_sm_ == 0)
    refuse(kernel, FaultCode::launch_resources,
           fmt::format("no CTA of this kernel fits on an SM: {} ({} threads, about {} registers "
                       "per thread, {} bytes of shared memory)",
                       occupancy.limited_by, threads, kernel.registers_per_thread(), shared_bytes),
           "an SM has 65536 registers, 2048 threads and 228 KB of shared memory",
           "use fewer threads or registers, or less shared memory");
  clusters_ = {c.grid.x / c.cluster.x, c.grid.y / c.cluster.y, c.grid.z / c.cluster.z};
  resident_clusters_ = device.resident_clusters(ctas_per_sm_, c.cluster.volume());
  if (resident_clusters_ == 0)
    refuse(kernel, FaultCode::launch_cluster_resident,
           fmt::format("a cluster of {} CTAs does not fit on {}", c.cluster.volume(),
                       counted(device.settings().sm_count, "SM")),
           "all CTAs of a cluster are resident at once",
           "raise BW_SIM_SMS or use a smaller cluster");
  if (c.cooperative && resident_clusters_ < clusters_.volume())
    refuse(kernel, FaultCode::launch_cooperative,
           fmt::format("{} CTAs were asked for, {} fit on the machine at once", c.grid.volume(),
                       resident_clusters_ * c.cluster.volume()),
           "all CTAs of a cooperative launch are resident at once",
           "launch at most what cudaOccupancyMaxActiveBlocksPerMultiprocessor says, times the "
           "number of SMs");
  resident_clusters_ = std::min(resident_clusters_, clusters_.volume());
  const uint32_t sms = device.settings().sm_count;
  const bool ctas_share_sms = resident_clusters_ * c.cluster.volume() > sms;
  const bool sms_are_shared = kernel.shares_sm() && resident_clusters_ > 1 && ctas_share_sms;
  for (uint32_t sm = 0; sms_are_shared && sm < sms; ++sm)
    sms_.push_back(device.units().make_for_sm());
  lockstep_ = (kernel.clusters_interact() || sms_are_shared) && clusters_.volume() > 1;
  // Only strong accesses see what others write at the same time.
  can_wait_ = c.may_wait && kernel.clusters_interact();
  livelock_threshold_ = device.settings().livelock_cycles;
  if (can_wait_) livelock_threshold_ = std::min(livelock_threshold_, kWaitingCycles);
  begin_ = device.next_begin(*this);
  const EarlierGrids* const earlier = c.is_dependent ? device.earlier_grids() : nullptr;
  if (earlier != nullptr) {
    begin_ = std::min(begin_, earlier->triggered);
    previous_ends_ = earlier->complete - std::min(begin_, earlier->complete);
    livelock_threshold_ += previous_ends_;
  }
  if (const TimingTable* const times = device.settings().times())
    share_time(*times, ctas_share_sms, earlier);
  else if (earlier != nullptr)
    find_room(*earlier);
  if (c.cooperative) {
    workspace_address_ = device.memory().allocate(kWorkspaceBytes, "grid workspace");
    const auto size = static_cast<uint32_t>(kWorkspaceBytes);
    std::byte* const workspace = host_pointer(workspace_address_);
    std::memset(workspace, 0, kWorkspaceBytes);
    std::memcpy(workspace, &size, sizeof size);
  }
}

void Grid::share_time(const TimingTable& times, bool ctas_share_sms, const EarlierGrids* earlier) {
  const MachineDescription& machine = *device_.settings().machine;
  const uint32_t sms = device_.settings().sm_count;
  places_ = machine.fills_gpcs && !configuration_.in_clusters
                ? places_by_gpc(machine, sms, clusters_.volume())
                : places_of(machine, sms, static_cast<uint32_t>(configuration_.cluster.volume()));
  begins_ = first_wave_start_cycles(
      resident_clusters_,
      ctas_per_sm_ > 1
          ? (configuration_.in_clusters ? times.begin_many_clusters_cycles
                                        : times.begin_many_cycles)
          : (configuration_.in_clusters ? times.begin_cluster_cycles : times.begin_cycles));
  if (earlier != nullptr) find_room(*earlier);
  for (uint64_t slot = 0; slot < resident_clusters_; ++slot)
    gpcs_.push_back(places_[slot % places_.size()].gpc);
  in_steps_ = lockstep_ || (clusters_.volume() > 1 && clusters_.volume() <= resident_clusters_ &&
                            !ctas_share_sms);
  l2_ = std::make_unique<L2Launch>(times, *device_.l2_cache(),
                                   L2Launch::Shape{.clusters = clusters_.volume(),
                                                   .resident = resident_clusters_,
                                                   .in_steps = in_steps_,
                                                   .pauses = in_steps_ && !lockstep_,
                                                   .ctas_share_sms = ctas_share_sms,
                                                   .places = places_});
  if (lockstep_ && ctas_share_sms) lockstep_time_.emplace(capacity());
}

Grid::~Grid() {
  if (workspace_address_ != 0) device_.memory().free(workspace_address_);
}

uint32_t Grid::sm_of(uint64_t slot, uint32_t rank) const {
  const uint64_t first = places_.empty() ? slot * configuration_.cluster.volume()
                                         : places_[slot % places_.size()].first_sm;
  return static_cast<uint32_t>((first + rank) % device_.settings().sm_count);
}

uint64_t Grid::ctas_on_sm() const {
  const uint64_t ctas = clusters_.volume() * configuration_.cluster.volume();
  return std::clamp<uint64_t>(ceil_div(ctas, uint64_t{device_.settings().sm_count}), 1,
                              ctas_per_sm_);
}

Cycle Grid::begin_of(uint64_t slot) const { return slot < begins_.size() ? begins_[slot] : 0; }

bool Grid::take_pending_cluster(uint64_t& cluster_index) {
  if (next_cluster_ >= clusters_.volume()) return false;
  cluster_index = next_cluster_++;
  return true;
}

bool Grid::cancel_pending_cluster(uint64_t& cluster_index) {
  const uint32_t fails = device_.settings().cancel_fails;
  if (fails != 0 && ++cancel_requests_ % fails == 0) return false;
  return take_pending_cluster(cluster_index);
}

LaunchResult Grid::run() {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_first = endings_ == nullptr;
  LaunchResult& result = result_;
  if (is_first) {
    result.clusters = clusters_.volume();
    for (const auto& observer : device_.observers()) observer->on_launch(*this);
    endings_ = std::make_unique<ClusterEndings>(/*independent=*/!lockstep_);
    if (const TimingTable* const times = device_.settings().times()) find_code_rates(*times);
  }
  result.status = RunStatus::finished;
  try {
    if (lockstep_) {
      run_lockstep(result);
    } else if (can_wait_) {
      run_alone(result);
    } else {
      run_independent(result);
    }
  } catch (const SimulationError& error) {
    result.status = RunStatus::fault;
    result.fault = &error.report();
    endings_ = nullptr;
    hand_on_warnings();
    notify_end();
    throw;
  }
  result.wall_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result.status == RunStatus::waiting) return result;
  result.clock_cycles = result.cycles;
  if (l2_ != nullptr) {
    result.clock_cycles = tensor_use_.stretched(result.cycles, device_.settings().sm_count,
                                                *device_.settings().times()) +
                          writing_cycles_;
    result.l2 = l2_->traffic();
    result.memory_read_bytes = l2_->memory_read_bytes();
    result.memory_written_bytes = l2_->memory_written_bytes();
  }
  endings_ = nullptr;
  hand_on_warnings();
  notify_end();
  return result;
}

void Grid::notify_end() {
  std::exception_ptr first;
  for (const auto& observer : device_.observers()) {
    try {
      observer->on_launch_end(result_);
    } catch (const SimulationError&) {
      if (first == nullptr) first = std::current_exception();
    }
  }
  if (first != nullptr) std::rethrow_exception(first);
}

void Grid::hand_on_warnings() {
  for (const auto& [cluster, warnings] : warnings_)
    if (cluster <= last_warning_) merge(result_.warnings, warnings);
  merge(device_.warnings(), result_.warnings);
}

Cycle Grid::idle_cycles() const {
  Cycle least = kNever;
  for (const auto& cluster : running_) least = std::min(least, cluster->idle_cycles());
  return running_.empty() ? 0 : least;
}

LaunchResult Grid::report_livelock() {
  const uint64_t index = running_[waiting_index_]->index();
  for (const auto& cluster : running_) {
    finish_cluster(*cluster,
                   cluster->index() == index ? RunStatus::livelock : RunStatus::reached_limit);
  }
  endings_ = nullptr;
  hand_on_warnings();
  result_.status = RunStatus::livelock;
  stuck_ = std::move(running_[waiting_index_]);
  notify_end();
  return result_;
}

void Grid::print_early(Cluster& cluster) {
  if (endings_ != nullptr) endings_->print_early(cluster.index(), cluster.output());
}

void Grid::finish_cluster(Cluster& cluster, RunStatus status) {
  // The report of a stuck cluster may need its observers.
  endings_->finish(cluster.index(), {std::move(cluster.output()), cluster.observers(), status});
  const std::lock_guard lock(ends_);
  warnings_[cluster.index()] = std::move(cluster.warnings().list());
  if (status == RunStatus::finished) note_times(cluster);
}

void Grid::run_alone(LaunchResult& result) {
  next_cluster_ = clusters_.volume();
  if (running_.empty()) {
    running_.push_back(std::make_unique<Cluster>(*this, 0, 0, begin_of(0)));
  } else {
    running_.front()->resume();
  }
  Cluster& cluster = *running_.front();
  try {
    result.status = cluster.run(kNever);
  } catch (...) {
    finish_cluster(cluster, RunStatus::fault);
    throw;
  }
  if (result.status == RunStatus::livelock) {
    result.status = RunStatus::waiting;
    return;
  }
  finish_cluster(cluster, result.status);
  result.cycles = result.alone_cycles = cluster.start() + cluster.statistics().cycles;
  result.warp_instructions = cluster.statistics().warp_instructions;
  if (is_stuck(result.status)) {
    stuck_ = std::move(running_.front());
  } else if (l2_ != nullptr) {
    l2_->finish(0, cluster.l2());
    tensor_use_.add(cluster.demand().profile(cluster.statistics().cycles),
                    static_cast<double>(cluster.start()));
  }
  running_.clear();
}

uint32_t Grid::host_threads() const {
  const Settings& settings = device_.settings();
  // The race detector follows what linked clusters hand to each other in one order; what was
  // written is known in one place.
  if (settings.checks == Checks::races && are_clusters_linked(*this)) return 1;
  if (settings.checks_unwritten) return 1;
  const uint32_t wanted = device_.settings().host_threads != 0
                              ? device_.settings().host_threads
                              : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<uint32_t>(std::min<uint64_t>(wanted, clusters_.volume()));
}

}  // namespace bw::sim
