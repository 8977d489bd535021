#include "common/simulator/diagnosis/races/launch_races.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/machine/cluster_links.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {
namespace {

/// One side of a race, where the cluster is gone.
RaceSide describe_side(const OperationShape& shape, const Accessor& accessor, uint64_t cluster,
                       LaneMask lanes = 0) {
  RaceSide side;
  side.accessor = accessor;
  // A thread, although its cluster or launch was taken for one agent.
  side.accessor.is_async = accessor.proxy != Proxy::generic;
  side.unit = accessor.unit;
  side.lanes = lanes;
  if (shape.kernel == nullptr) {
    side.place = side.line = shape.name;
    return side;
  }
  const Kernel& kernel = *shape.kernel;
  const ptx::Instruction& source = kernel.source(*accessor.instruction);
  const Dim3 clusters{shape.grid.x / shape.cluster.x, shape.grid.y / shape.cluster.y,
                      shape.grid.z / shape.cluster.z};
  const Dim3 first = delinearize(cluster, clusters);
  const Dim3 offset = delinearize(accessor.cta_rank, shape.cluster);
  const Dim3 cta{first.x * shape.cluster.x + offset.x, first.y * shape.cluster.y + offset.y,
                 first.z * shape.cluster.z + offset.z};
  side.line = kernel.module().ptx().describe_place(source);
  side.place =
      fmt::format("{}: `{}` in {}, CTA ({},{},{})", kernel.module().ptx().describe_location(source),
                  source.opcode, kernel.name(), cta.x, cta.y, cta.z);
  if (shape.cluster.volume() > 1) side.place += fmt::format(" rank {}", accessor.cta_rank);
  side.place += fmt::format(", warp {}", accessor.warp);
  if (std::has_single_bit(lanes)) side.place += fmt::format(", lane {}", lowest_lane(lanes));
  side.source = kernel.module().ptx().report_place(source);
  side.source.kernel = kernel.name();
  side.source.cta = {cta.x, cta.y, cta.z};
  if (shape.cluster.volume() > 1) side.source.cta_rank = accessor.cta_rank;
  side.source.warp = accessor.warp;
  side.source.lanes = lanes;
  return side;
}

}  // namespace

std::string memory_text(DeviceMemory& memory, uint64_t address, uint32_t bytes) {
  const Allocation* const allocation = memory.find(address);
  std::string text =
      fmt::format("global memory, {} byte{} at {:#x}", bytes, bytes == 1 ? "" : "s", address);
  if (allocation != nullptr)
    text += fmt::format(" (byte {} of {})", address - allocation->address, allocation->description);
  return text;
}

Touch touch_of(const AccessorTable& accessors, uint32_t number, Clock clock, const View& view) {
  Touch touch;
  touch.number = number;
  touch.accessor = &accessors[number];
  touch.clock = clock;
  touch.view = &view;
  touch.fenced = &View::generic;  // ends of clusters and launches are fences for all proxies
  return touch;
}

LaunchRaces::LaunchRaces(Grid& grid, std::shared_ptr<StreamOperation> operation)
    : memory_(grid.device().memory()),
      shape_{&grid.kernel(), grid.configuration().grid, grid.configuration().cluster, {}},
      operation_(std::move(operation)),
      clusters_(grid.clusters().volume()) {
  operation_->name = grid.kernel().name();
  if (are_clusters_linked(grid)) linked_ = std::make_shared<GlobalShadow>();
}

std::shared_ptr<GlobalShadow> LaunchRaces::shadow_of_cluster() {
  return linked_ != nullptr ? linked_ : std::make_shared<GlobalShadow>();
}

void LaunchRaces::take(uint64_t cluster, const std::shared_ptr<GlobalShadow>& shadow) {
  ++taken_;
  if (shadow == linked_) {
    // Host threads that compare the launch with others later own none of its clocks.
    if (has_ended()) {
      linked_->locations = {};
      linked_->fences.clear();
    }
    return;
  }
  // Nothing is known of the clusters before; what the cluster did itself is in order.
  View own;
  const auto chain = static_cast<uint32_t>(cluster);
  own.generic.learn_chain(chain, 1);
  std::vector<uint32_t> numbers;  // of the cluster's accessors, in the launch's table, and 1
  shadow->bytes.for_each([&](uint64_t address, uint32_t bytes, const ShadowEntry& entry) {
    const uint32_t in_cluster = entry.number();
    const bool writes = shadow->accessors[in_cluster].writes;
    // Most of what is read, is read by many clusters.
    if (!writes && all_.bytes.are_read_by_two(address, bytes)) return;
    if (in_cluster >= numbers.size()) numbers.resize(size_t{in_cluster} + 1, 0);
    if (numbers[in_cluster] == 0) {
      Accessor accessor = shadow->accessors[in_cluster];
      accessor.agent = chain;
      accessor.is_async = true;
      accessor.is_noncoherent = false;  // clusters are not ordered anyway
      numbers[in_cluster] = all_.accessors.number(accessor) + 1;
    }
    const Touch touch = touch_of(all_.accessors, numbers[in_cluster] - 1, 1, own);
    const Accessor& accessor = *touch.accessor;
    all_.bytes.check_and_add_block(address, bytes, touch, [&](const Conflict& conflict) {
      const Accessor& earlier = all_.accessors[conflict.earlier.number()];
      const bool lacks_proxy = lack_one_proxy(earlier, accessor);
      const Missing missing = lacks_proxy                               ? Missing::one_proxy
                              : earlier.is_strong && accessor.is_strong ? Missing::wider_scope
                                                                        : Missing::global_order;
      const Weight weight = store_same_value(earlier, accessor) ? Weight::same_value
                            : lacks_proxy                       ? Weight::isa_only
                                                                : Weight::fault;
      findings_.add(missing, weight, earlier.instruction, accessor.instruction, [&] {
        Finding finding;
        finding.missing = missing;
        finding.weight = weight;
        finding.earlier = describe_side(shape_, earlier, earlier.cluster);
        finding.later = describe_side(shape_, accessor, accessor.cluster);
        finding.memory = memory_text(memory_, conflict.address, conflict.bytes);
        return finding;
      });
    });
  });
}

RaceSide LaunchRaces::side_of(const Accessor& accessor, LaneMask lanes) const {
  return describe_side(shape_, accessor, accessor.cluster, lanes);
}

std::shared_ptr<LaunchRaces> DeviceRaces::begin(Grid& grid) {
  forget_what_is_over();
  // Launched by other means than a stream: after everything.
  if (next_ == nullptr) next_ = order_.begin({}, StreamOrder::Kind::kernel);
  return std::make_shared<LaunchRaces>(grid, std::exchange(next_, nullptr));
}

void DeviceRaces::forget_what_is_over() {
  if (order_.host_knows_all()) {
    waiting_.clear();
    if (!sources_.empty()) all_ = std::make_unique<GlobalShadow>();
    sources_.clear();
    laid_.clear();
  }
  while (!waiting_.empty() && order_.host_knows(*waiting_.front().operation)) waiting_.pop_front();
}

void DeviceRaces::forget(uint64_t address, uint64_t size_bytes) {
  Findings none;
  while (!waiting_.empty()) {
    lay(waiting_.front(), none);
    waiting_.pop_front();
  }
  all_->bytes.forget(address, size_bytes);
}

RaceSide DeviceRaces::side_of(const Accessor& accessor) const {
  const auto& [shape, cluster] = sources_[accessor.source];
  return describe_side(shape, accessor, cluster);
}

void DeviceRaces::end(std::shared_ptr<const LaunchRaces> launch, Findings& findings) {
  Ended ended;
  ended.operation = launch->operation_;
  ended.launch = std::move(launch);
  end(std::move(ended), findings);
}

void DeviceRaces::host_operation(std::shared_ptr<StreamOperation> operation, std::string name,
                                 std::vector<MemoryRange> reads, std::vector<MemoryRange> writes,
                                 Findings& findings) {
  forget_what_is_over();
  end({std::move(operation), nullptr, std::move(name), std::move(reads), std::move(writes)},
      findings);
}

void DeviceRaces::end(Ended ended, Findings& findings) {
  constexpr size_t kMostWaiting = 16;
  ended.operation->settle();
  const VectorClock& before = ended.operation->before_early;
  bool comes_last = waiting_.size() < kMostWaiting;
  for (const Ended& other : waiting_)
    comes_last = comes_last && before.knows_chain(other.operation->chain, other.operation->clock);
  for (uint32_t chain = 0; chain < laid_.size(); ++chain)
    comes_last = comes_last && before.knows_chain(chain, laid_[chain]);
  if (comes_last) {
    waiting_.push_back(std::move(ended));
    return;
  }
  for (; !waiting_.empty(); waiting_.pop_front()) lay(waiting_.front(), findings);
  lay(ended, findings);
}

void DeviceRaces::lay(const Ended& ended, Findings& findings) {
  const StreamOperation& operation = *ended.operation;
  if (operation.chain >= laid_.size()) laid_.resize(size_t{operation.chain} + 1, 0);
  laid_[operation.chain] = std::max(laid_[operation.chain], operation.clock);
  if (ended.launch != nullptr)
    lay_kernel(ended, findings);
  else
    lay_host(ended, findings);
}

void DeviceRaces::lay_kernel(const Ended& ended, Findings& findings) {
  const StreamOperation& operation = *ended.operation;
  const LaunchRaces& launch = *ended.launch;
  View before, early;
  before.generic = operation.before;
  before.generic.learn_chain(operation.chain, operation.clock);
  early.generic = operation.before_early;
  early.generic.learn_chain(operation.chain, operation.clock);
  const GlobalShadow& shadow = launch.linked_ != nullptr ? *launch.linked_ : launch.all_;
  std::unordered_map<uint64_t, uint32_t> sources;  // of this launch's clusters
  std::vector<uint32_t> numbers;  // of the launch's accessors, in the device's table, and 1
  shadow.bytes.for_each([&](uint64_t address, uint32_t bytes, const ShadowEntry& entry) {
    const uint32_t in_launch = entry.number();
    const bool is_early = shadow.accessors[in_launch].is_early;
    if (in_launch >= numbers.size()) numbers.resize(size_t{in_launch} + 1, 0);
    if (numbers[in_launch] == 0) {
      Accessor accessor = shadow.accessors[in_launch];
      const auto [source, is_new] =
          sources.try_emplace(accessor.cluster, static_cast<uint32_t>(sources_.size()));
      if (is_new) sources_.emplace_back(launch.shape_, accessor.cluster);
      accessor.source = source->second;
      accessor.cluster = 0;
      accessor.agent = operation.chain;
      accessor.is_async = true;
      accessor.is_early = accessor.is_noncoherent = false;
      numbers[in_launch] = all_->accessors.number(accessor) + 1;
    }
    const Touch touch = touch_of(all_->accessors, numbers[in_launch] - 1, operation.clock,
                                 is_early ? early : before);
    const Accessor& accessor = *touch.accessor;
    all_->bytes.check_and_add_block(address, bytes, touch, [&](const Conflict& conflict) {
      const Accessor& earlier = all_->accessors[conflict.earlier.number()];
      const bool is_own =
          earlier.agent == operation.chain && conflict.earlier.clock == operation.clock;
      if (is_own) return;  // compared before
      // What another launch has not waited for, this one's wait does not bring.
      const bool in_order = operation.in_order.knows_chain(earlier.agent, conflict.earlier.clock);
      const bool would_wait =
          is_early && before.generic.knows_chain(earlier.agent, conflict.earlier.clock);
      const bool lacks_proxy = lack_one_proxy(earlier, accessor);
      const Missing missing = lacks_proxy              ? Missing::one_proxy
                              : would_wait || in_order ? Missing::previous_grid
                                                       : Missing::launch_order;
      const Weight weight = lacks_proxy ? Weight::isa_only : Weight::fault;
      findings.add(missing, weight, earlier.instruction, accessor.instruction, [&] {
        Finding finding;
        finding.missing = missing;
        finding.weight = weight;
        finding.earlier = side_of(earlier);
        finding.later = side_of(accessor);
        finding.memory = memory_text(memory_, conflict.address, conflict.bytes);
        if (missing == Missing::previous_grid && !would_wait && !operation.does_not_wait.empty()) {
          finding.edge = fmt::format(
              "griddepcontrol.wait waits for {}, which has not waited for the grid before it",
              operation.does_not_wait);
          finding.fix = fmt::format(
              "execute griddepcontrol.wait in {} as well: a grid that has waited does not end "
              "before the one that it waits for",
              operation.does_not_wait);
        }
        return finding;
      });
    });
  });
}

void DeviceRaces::lay_host(const Ended& ended, Findings& findings) {
  const StreamOperation& operation = *ended.operation;
  View before;
  before.generic = operation.before;
  before.generic.learn_chain(operation.chain, operation.clock);
  Accessor accessor;
  accessor.agent = operation.chain;
  accessor.is_async = true;
  accessor.unit = "copy of the host";
  accessor.source = static_cast<uint32_t>(sources_.size());
  sources_.push_back({OperationShape{nullptr, {}, {}, ended.name}, 0});
  for (const bool is_write : {false, true}) {
    accessor.writes = is_write;
    const Touch touch =
        touch_of(all_->accessors, all_->accessors.number(accessor), operation.clock, before);
    for (const MemoryRange& range : is_write ? ended.writes : ended.reads)
      all_->bytes.check_and_add(
          range.address, range.size_bytes, touch, [&](const Conflict& conflict) {
            const Accessor& earlier = all_->accessors[conflict.earlier.number()];
            findings.add(Missing::launch_order, Weight::fault, earlier.instruction, nullptr, [&] {
              Finding finding;
              finding.missing = Missing::launch_order;
              finding.earlier = side_of(earlier);
              finding.later = side_of(accessor);
              finding.memory = memory_text(memory_, conflict.address, conflict.bytes);
              return finding;
            });
          });
  }
}

}  // namespace bw::sim::races
