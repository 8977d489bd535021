#include "common/simulator/units/tensor_core/wgmma/wgmma_unit.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/late_fault.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

/// Longest joint K of one product: A and B in fp32 then stay in the second-level cache.
constexpr size_t kLongestK = 128;

uint32_t position(const Warp& warp) { return warp.index % kWarpgroupWarps; }

/// Whether `next` can be computed together with `first`, with D kept between them.
bool continues(const WgmmaOperation& first, const WgmmaOperation& next) {
  const WgmmaForm& form = *first.form;
  if (!next.accumulate || form.d_format != AccumulatorFormat::f32) return false;
  if (!(*next.form == form)) return false;
  if (next.instruction == first.instruction) return true;
  for (uint32_t i = 0; i < form.d_registers; ++i)
    if (next.instruction->operands[i].offset_bytes != first.instruction->operands[i].offset_bytes)
      return false;
  return true;
}

}  // namespace

WgmmaUnit::Warpgroup& WgmmaUnit::group_of(const Warp& warp) {
  const uint32_t index = warp.index / kWarpgroupWarps;
  while (groups_.size() <= index) groups_.emplace_back();
  return groups_[index];
}

void WgmmaUnit::issue(const Strand& strand, const Instruction& instruction, LaneMask active,
                      WgmmaOperation operation) {
  const Warp& warp = *strand.warp;
  Warpgroup& group = group_of(warp);
  WarpState& state = group.warps[position(warp)];
  const uint64_t place = state.issued++ - group.executed;
  state.unwaited.push_back(&instruction);
  if (place == group.queue.size()) {
    operation.id = strand.cluster->next_operation();
    operation.origin = strand.origin(instruction, active);
    group.queue.push_back(std::move(operation));
  } else {
    WgmmaOperation& found = group.queue[place];
    const Kernel& kernel = strand.cluster->kernel();
    const bool is_same = found.instruction == &instruction;
    if (!is_same || found.a_bits != operation.a_bits || found.b_bits != operation.b_bits ||
        found.accumulate != operation.accumulate)
      Site{strand, instruction, active}.fault(
          {.code = FaultCode::warpgroup_differs,
           .what = fmt::format(
               "the warps of warpgroup {} issue different MMAs: warp {} {} at {}",
               warp.index / kWarpgroupWarps, found.origin.warp,
               is_same ? "has given other descriptors, or another scale-d," : "is",
               kernel.module().ptx().describe_location(kernel.source(*found.instruction))),
           .rule = "all threads of a warpgroup execute the same wgmma.mma_async, with the same "
                   "descriptors",
           .fix = "let the four warps take the same path, and compute descriptors from values "
                  "that they share"});
    const auto take = [&](std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
      const size_t part = to.size() / kWarpgroupWarps;
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(position(warp) * part), part,
                  to.begin() + static_cast<std::ptrdiff_t>(position(warp) * part));
    };
    take(found.fragments, operation.fragments);
    take(found.metadata, operation.metadata);
  }
  WgmmaOperation& issued = group.queue[place];
  issued.warps |= 1u << position(warp);
  issued.issued = std::max(issued.issued, strand.time);
  strand.cluster->note_progress();
  constexpr uint32_t kAllWarps = (1u << kWarpgroupWarps) - 1;
  if (issued.warps == kAllWarps) begin(group, group.executed + place);
}

Cycle WgmmaUnit::completion(const WgmmaOperation& operation) {
  const WgmmaForm& form = *operation.form;
  const uint32_t a_bytes = form.a_in_registers ? 0 : kWgmmaRows * kMmaKBytes;
  const WgmmaCost cost{.n = form.n,
                       .operand_bytes = a_bytes + form.n * form.b_row_bytes(),
                       .d_registers = form.d_registers};
  WgmmaTimes& times = cta_.clock->wgmma;
  return times.completion(cost, operation.issued, cta_.cluster->perturbation(times.latency(cost)));
}

void WgmmaUnit::begin(Warpgroup& group, uint64_t number) {
  WgmmaOperation& operation = group.queue[number - group.executed];
  Cluster& cluster = *cta_.cluster;
  operation.completion = completion(operation);
  notify(operation, false, operation.issued);
  for (WarpState& state : group.warps) {
    if (state.waiter == nullptr || state.target != number + 1) continue;
    cluster.wake(*state.waiter, operation.completion);
    state.waiter = nullptr;
  }
  if (!group.drain_scheduled)
    schedule_drain(static_cast<uint32_t>(operation.origin.warp / kWarpgroupWarps),
                   operation.completion);
}

void WgmmaUnit::commit(const Strand& strand) {
  WarpState& state = group_of(*strand.warp).warps[position(*strand.warp)];
  state.group_ends.push_back(state.issued);
  state.committed = state.issued;
}

Flow WgmmaUnit::wait_until(Strand& strand, uint64_t target, uint32_t allowed) {
  Warpgroup& group = group_of(*strand.warp);
  WarpState& state = group.warps[position(*strand.warp)];
  if (target > group.executed) {
    const WgmmaOperation& last = group.queue[target - 1 - group.executed];
    if (last.completion > strand.time) {
      const Flow flow = strand.block(WaitKind::wgmma_group, allowed, 0);
      if (last.completion == kNever) {
        state.target = target;
        state.waiter = &strand;
      } else {
        strand.cluster->wake(strand, last.completion);
      }
      return flow;
    }
    execute_until(group, strand.time);
  }
  while (state.unwaited.size() > state.issued - target) state.unwaited.pop_front();
  return Flow::next;
}

Flow WgmmaUnit::wait(Strand& strand, uint32_t allowed) {
  WarpState& state = group_of(*strand.warp).warps[position(*strand.warp)];
  if (state.group_ends.size() <= allowed) return Flow::next;
  const uint64_t target = state.group_ends[state.group_ends.size() - 1 - allowed];
  const Flow flow = wait_until(strand, target, allowed);
  if (flow == Flow::next)
    while (state.group_ends.size() > allowed) state.group_ends.pop_front();
  return flow;
}

const Instruction* WgmmaUnit::uncommitted(const Warp& warp) {
  const WarpState& state = group_of(warp).warps[position(warp)];
  return state.issued == state.committed || state.unwaited.empty() ? nullptr
                                                                   : state.unwaited.back();
}

Flow WgmmaUnit::wait_for_all(Strand& strand) {
  return wait_until(strand, group_of(*strand.warp).warps[position(*strand.warp)].issued, 0);
}

const Instruction* WgmmaUnit::in_flight(const Warp& warp, uint32_t register_offset) const {
  const uint32_t index = warp.index / kWarpgroupWarps;
  if (index >= groups_.size()) return nullptr;
  const WarpState& state = groups_[index].warps[position(warp)];
  const auto has_register = [&](const Instruction* mma) {
    const WgmmaForm& form = *static_cast<const WgmmaForm*>(mma->detail);
    const uint32_t registers = form.d_registers + (form.a_in_registers ? kFragmentRegisters : 0);
    return std::any_of(mma->operands, mma->operands + registers, [&](const Operand& operand) {
      return operand.base == 0 && operand.offset_bytes == register_offset;
    });
  };
  const auto found = std::find_if(state.unwaited.rbegin(), state.unwaited.rend(), has_register);
  return found == state.unwaited.rend() ? nullptr : *found;
}

void WgmmaUnit::check_at_exit() const {
  for (uint32_t index = 0; index < groups_.size(); ++index)
    for (uint32_t place = 0; place < kWarpgroupWarps; ++place) {
      const WarpState& state = groups_[index].warps[place];
      if (state.unwaited.empty()) continue;
      const Origin origin{state.unwaited.back(), static_cast<uint16_t>(cta_.rank),
                          static_cast<uint16_t>(index * kWarpgroupWarps + place), kAllLanes};
      fault_at_isa(*cta_.cluster, origin, FaultCode::cta_exited_early, [] {
        return Fault{.code = FaultCode::cta_exited_early,
                     .what = "the CTA has exited, and no wgmma.wait_group has waited for this MMA",
                     .rule =
                         "an asynchronous MMA reads shared memory and writes registers until "
                         "it is waited for, and neither may end before",
                     .fix = "execute wgmma.commit_group and wgmma.wait_group 0 before the exit",
                     .section = "wgmma.wait_group",
                     .hardware_accepts = true};
      });
    }
}

void WgmmaUnit::schedule_drain(uint32_t group_index, Cycle time) {
  groups_[group_index].drain_scheduled = true;
  cta_.cluster->at(time, [this, group_index](Cycle now) {
    Warpgroup& group = groups_[group_index];
    group.drain_scheduled = false;
    if (group.queue.empty()) return;
    // Nobody waits for these MMAs yet; with more to come they run later, together.
    const auto begun = std::find_if(group.queue.rbegin(), group.queue.rend(),
                                    [](const auto& entry) { return entry.completion != kNever; });
    if (begun == group.queue.rend()) return;
    if (begun->completion > now)
      schedule_drain(group_index, begun->completion);
    else
      execute_until(group, now);
  });
}

size_t WgmmaUnit::batch_length(const Warpgroup& group, Cycle now) const {
  const WgmmaOperation& first = group.queue.front();
  size_t length = 1;
  while (length < group.queue.size() && (length + 1) * first.form->k() <= kLongestK &&
         group.queue[length].completion <= now && continues(first, group.queue[length]))
    ++length;
  return length;
}

void WgmmaUnit::execute_until(Warpgroup& group, Cycle now) {
  const Accumulation& model = accumulation(cta_.cluster->settings().resolved_summation());
  const auto index = static_cast<uint32_t>(std::distance(
      groups_.begin(),
      std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return &g == &group; })));
  while (!group.queue.empty() && group.queue.front().completion <= now) {
    const size_t count = batch_length(group, now);
    const std::vector<WgmmaOperation> batch(
        std::make_move_iterator(group.queue.begin()),
        std::make_move_iterator(group.queue.begin() + static_cast<std::ptrdiff_t>(count)));
    group.queue.erase(group.queue.begin(),
                      group.queue.begin() + static_cast<std::ptrdiff_t>(count));
    group.executed += count;
    execute_wgmma(batch, cta_, index * kWarpgroupWarps, model);
    for (const WgmmaOperation& operation : batch) notify(operation, true, operation.completion);
  }
  cta_.cluster->note_progress();
}

void WgmmaUnit::notify(const WgmmaOperation& operation, bool completes, Cycle now) const {
  const Cluster& cluster = *cta_.cluster;
  if (!cluster.observed(EventKind::tensor_core)) return;
  const WgmmaForm& form = *operation.form;
  TensorCoreEvent event;
  event.completes = completes;
  event.origin = operation.origin;
  event.cycle = now;
  event.completion = operation.completion;
  event.id = operation.id;
  event.operation = TensorCoreEvent::Operation::mma;
  event.group = 1;
  event.kind = "wgmma";
  event.m = kWgmmaRows;
  event.n = form.n;
  event.k = form.k();
  event.accumulate = operation.accumulate;
  cluster.notify(&Observer::on_tensor_core, event);
}

}  // namespace bw::sim
