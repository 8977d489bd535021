#include "common/simulator/units/tensor_core/tensor_memory.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/late_fault.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

/// What Tensor Memory holds before anything is written: a signalling NaN.
constexpr uint32_t kMemoryPoison = 0x7fadbeefu;
constexpr uint32_t kNanPoison = ~0u;
/// What a register holds between tcgen05.ld and wait::ld: a signalling NaN with a running number.
constexpr uint32_t kRegisterPattern = 0x7fb00000u;
constexpr uint32_t kRegisterPatternMask = 0x000fffffu;
constexpr uint32_t kAllocationUnit = 32;

}  // namespace

TensorMemory::TensorMemory(Cta& cta)
    : cta_(cta), sm_(static_cast<SmTensorMemory*>(cta.cluster->grid().sm_state(cta.sm))) {
  if (sm_ != nullptr) sm_->members.push_back(this);
}

TensorMemory::~TensorMemory() {
  if (sm_ != nullptr) std::erase(sm_->members, this);
}

ColumnSet TensorMemory::taken() const {
  ColumnSet taken = allocated_;
  if (sm_ == nullptr) return taken;
  // The CTAs of one cluster are on different SMs of the GPU, even if this machine has too few.
  for (const TensorMemory* const other : sm_->members)
    if (other->cta_.cluster != cta_.cluster) taken |= other->allocated_;
  return taken;
}

void TensorMemory::serve_all(Cycle now) {
  if (sm_ == nullptr) {
    serve(now, nullptr);
    if (group_ == 2) peer().serve(now, nullptr);
    return;
  }
  const auto serve_sm = [](SmTensorMemory& sm, Cycle at) {
    for (TensorMemory* const member : sm.members) member->serve(at, nullptr);
  };
  cta_.cluster->in_global_order(now, 0, [this, serve_sm](Cycle at) {
    serve_sm(*sm_, at);
    if (group_ == 2) serve_sm(*peer().sm_, at);
  });
}

TensorMemory& TensorMemory::peer() {
  return units_of(cta_.cluster->cta(cta_.rank ^ 1u)).tensor_memory;
}

TensorMemory::WarpState& TensorMemory::warp_state(uint32_t warp) {
  if (warps_.size() <= warp) warps_.resize(std::max<size_t>(warp + 1, cta_.warps.size()));
  return warps_[warp];
}

uint32_t TensorMemory::next_pattern() {
  return kRegisterPattern | (++patterns_ & kRegisterPatternMask);
}

void TensorMemory::require_group(const Strand& strand, const Instruction& instruction,
                                 LaneMask lanes, int group) {
  if (group == 2 && (cta_.cluster->size() % 2) != 0)
    Site{strand, instruction, lanes}.fault(
        {.code = FaultCode::no_cta_pair,
         .what = fmt::format("cta_group::2 needs a CTA pair, but the cluster has {}",
                             counted(cta_.cluster->size(), "CTA")),
         .rule = "a CTA pair is two CTAs whose ranks differ in bit 0 only",
         .fix = "launch with an even cluster size, or use cta_group::1",
         .section = "CTA Pair"});
  if (group_ == 0) group_ = group;
  if (group_ == group) return;
  Site{strand, instruction, lanes}.fault(
      {.code = FaultCode::tcgen05_groups_mixed,
       .what = fmt::format("cta_group::{} after cta_group::{} in the same kernel", group, group_),
       .rule = "all tcgen05 instructions of a kernel have the same .cta_group",
       .fix = "use one cta_group for alloc, dealloc, mma, cp, shift and commit alike",
       .section = "TensorCore 5th Generation Family Instructions"});
}

std::string TensorMemory::allocated_columns() const {
  std::string text;
  for (uint32_t first = 0; first < kColumns; ++first) {
    if (!allocated_[first]) continue;
    uint32_t last = first;
    while (last + 1 < kColumns && allocated_[last + 1]) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}-{}", first, last);
    first = last;
  }
  return text.empty() ? "none" : text;
}

void TensorMemory::require_allocated(const Strand& strand, const Instruction& instruction,
                                     LaneMask lanes, uint32_t first, uint32_t count) const {
  // The immediate offset of a split load can lead before the first column: modulo 2^32.
  if (first < kColumns && count <= kColumns - first && allocated_.has_all(first, count)) return;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t column = first + i;
    if (column < kColumns && allocated_[column]) continue;
    Site{strand, instruction, lanes}.fault(
        {.code = FaultCode::tmem_not_allocated,
         .what = fmt::format(
             "Tensor Memory column {} being accessed by instruction {} is not allocated. Columns "
             "allocated are: {}. It accesses columns {}-{} of CTA rank {}",
             static_cast<int32_t>(column), strand.cluster->kernel().form(instruction).base,
             allocated_columns(), static_cast<int32_t>(first),
             static_cast<int32_t>(first + count - 1), cta_.rank),
         .rule = "only allocated columns may be accessed",
         .fix =
             "allocate enough columns, wait for the address to be written before reading it, and "
             "deallocate only after the last access",
         .section = "Tensor Memory Allocation"});
  }
}

void TensorMemory::require_written(const Strand& strand, const Instruction& instruction,
                                   LaneMask lanes, uint32_t first_lane, uint32_t lane_count,
                                   uint32_t first, uint32_t count) const {
  const uint32_t last_quarter = (first_lane + lane_count - 1) / kWarpLanes;
  for (uint32_t quarter = first_lane / kWarpLanes; quarter <= last_quarter; ++quarter) {
    if (written_[quarter].has_all(first, count)) continue;
    for (uint32_t column = first; column < first + count; ++column) {
      if (written_[quarter][column]) continue;
      const auto fault = [&] {
        return Fault{
            .code = FaultCode::tmem_never_written,
            .what = fmt::format(
                "reads Tensor Memory column {} in lanes {}-{} of CTA rank {}, which "
                "nothing has written since it was allocated",
                column, quarter * kWarpLanes, quarter * kWarpLanes + kWarpLanes - 1, cta_.rank),
            .rule = "the contents of newly allocated columns are undefined",
            .fix =
                "write it first: enable-input-d must be false on the first tcgen05.mma of a sum, "
                "and a read needs the commit and the mbarrier wait that order it after the mma",
            .section = "Tensor Memory",
            .hardware_accepts = true};
      };
      Site{strand, instruction, lanes}.fault_at_isa(FaultCode::tmem_never_written, fault);
      return;
    }
  }
}

void TensorMemory::mark_written(uint32_t first_lane, uint32_t lane_count, uint32_t first,
                                uint32_t count) {
  const uint32_t last_quarter = (first_lane + lane_count - 1) / kWarpLanes;
  for (uint32_t quarter = first_lane / kWarpLanes; quarter <= last_quarter; ++quarter)
    written_[quarter].add(first, count);
}

uint32_t TensorMemory::find_free(uint32_t count, const TensorMemory* other) const {
  ColumnSet taken_here = taken();
  if (other != nullptr) taken_here |= other->taken();
  for (uint32_t first = 0; first + count <= kColumns; first += kAllocationUnit)
    if (taken_here.has_none(first, count)) return first;
  return kColumns;
}

void TensorMemory::grant(const Request& request, uint32_t first, Cycle now) {
  if (words_ == nullptr) words_ = make_pooled_array<uint32_t>(size_t{kColumns} * kLanes);
  const bool with_nan = cta_.cluster->settings().poisons_with_nan;
  std::fill_n(column(first), size_t{request.columns} * kLanes,
              with_nan ? kNanPoison : kMemoryPoison);
  allocated_.add(first, request.columns);
  for (ColumnSet& quarter : written_) quarter.remove(first, request.columns);
  ranges_.push_back({first, request.columns, request.instruction, request.strand->warp->index});
  std::memcpy(cta_.shared.data() + request.shared_offset, &first, sizeof first);
  cta_.cluster->note_progress();
  if (!cta_.cluster->observed(EventKind::tensor_memory)) return;
  TensorMemoryEvent event;
  event.operation = TensorMemoryEvent::Operation::alloc;
  event.origin = request.strand->origin(*request.instruction, request.strand->mask);
  event.cycle = now;
  event.column = first;
  event.columns = request.columns;
  event.lane_count = kLanes;
  event.shared_offset_bytes = request.shared_offset;
  cta_.cluster->notify(&Observer::on_tensor_memory, event);
}

bool TensorMemory::serve(Cycle now, const Strand* current) {
  bool granted_current = false;
  while (!requests_.empty()) {
    const Request request = requests_.front();
    TensorMemory* const other = request.group == 2 ? &peer() : nullptr;
    // A pair allocates together: the peer's oldest request is the other half.
    if (other != nullptr && (other->requests_.empty() || other->requests_.front().group != 2))
      break;
    const uint32_t first = find_free(request.columns, other);
    if (first == kColumns) break;
    const auto finish = [&](TensorMemory& memory) {
      const Request granted = memory.requests_.front();
      memory.requests_.erase(memory.requests_.begin());
      memory.grant(granted, first, now);
      if (sm_ != nullptr) cta_.cluster->wait_for_sm(false);
      if (granted.strand == current)
        granted_current = true;
      else
        cta_.cluster->wake(*granted.strand, now);
    };
    finish(*this);
    if (other != nullptr) finish(*other);
  }
  return granted_current;
}

bool TensorMemory::allocate(Strand& strand, const Instruction& instruction, LaneMask lanes,
                            int group, uint32_t columns, uint32_t shared_offset) {
  if (columns < kAllocationUnit || columns > kColumns || (columns & (columns - 1)) != 0)
    Site{strand, instruction, lanes}.fault(
        {.code = FaultCode::tmem_column_count,
         .what = fmt::format("allocates {} columns", columns),
         .rule = "the number of columns is a power of two in 32...512",
         .fix = "round the number of columns up to the next power of two, at least 32"});
  if (last_columns_ != 0 && columns > last_columns_ && strand.cluster->at_isa_level())
    Site{strand, instruction, lanes}.fault(
        {.code = FaultCode::tmem_columns_grow,
         .what =
             fmt::format("allocates {} columns after an allocation of {}", columns, last_columns_),
         .rule = "the number of columns does not grow from one allocation of a CTA to the next",
         .fix = "allocate the largest range first",
         .hardware_accepts = true});
  last_columns_ = columns;
  if (relinquished_)
    Site{strand, instruction, lanes}.fault(
        {.code = FaultCode::tmem_alloc_after_relinquish,
         .what = fmt::format(
             "allocation of {} columns after the CTA has relinquished its permit to allocate",
             columns),
         .rule = "after relinquish_alloc_permit a CTA may not allocate again",
         .fix = "allocate first, relinquish after the last allocation"});
  if (group == 2) {
    const TensorMemory& other = peer();
    if (!other.requests_.empty() && other.requests_.front().group == 2 && requests_.empty() &&
        other.requests_.front().columns != columns)
      Site{strand, instruction, lanes}.fault(
          {.code = FaultCode::tmem_pair_allocation,
           .what = fmt::format("allocates {} columns while the peer CTA allocates {}", columns,
                               other.requests_.front().columns),
           .rule = "with cta_group::2 one warp of each CTA of the pair performs the allocation",
           .fix = "allocate the same number of columns in both CTAs of the pair"});
  }
  requests_.push_back({&strand, &instruction, group, columns, shared_offset});
  if (sm_ == nullptr) return serve(strand.time, &strand);
  cta_.cluster->wait_for_sm(true);
  serve_all(strand.time);
  return false;
}

void TensorMemory::deallocate(Strand& strand, const Instruction& instruction, LaneMask lanes,
                              uint32_t address, uint32_t columns) {
  const TensorAddress place = TensorAddress::decode(address);
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& candidate) {
    return candidate.first == place.column && candidate.count == columns && place.lane == 0;
  });
  if (range == ranges_.end()) {
    // Epilogues of proven kernels let each of their warps deallocate: those after the first one
    // find the columns free.
    const bool may_be_again = place.lane == 0 && columns <= last_columns_ &&
                              place.column + columns <= kColumns &&
                              allocated_.has_none(place.column, columns);
    const auto fault = [&] {
      return Fault{
          .code = FaultCode::tmem_dealloc_unmatched,
          .what = fmt::format("deallocation of unallocated columns: address {}, {} columns. "
                              "Columns allocated are: {}",
                              address, columns, allocated_columns()),
          .rule = "dealloc names the address and the number of columns of an allocation",
          .fix = "pass the address that tcgen05.alloc wrote and the same number of columns, once",
          .hardware_accepts = may_be_again};
    };
    const Site site{strand, instruction, lanes};
    if (!may_be_again) site.fault(fault());
    site.fault_at_isa(FaultCode::tmem_dealloc_unmatched, fault);
    return;
  }
  require_unused(strand, instruction, lanes, *range);
  allocated_.remove(range->first, range->count);
  ranges_.erase(range);
  notify_tensor_memory(strand, instruction,
                       {.operation = TensorMemoryEvent::Operation::dealloc,
                        .column = place.column,
                        .columns = columns,
                        .lane_count = kLanes});
  cta_.cluster->note_progress();
  serve_all(strand.time);
}

void TensorMemory::require_unused(const Strand& strand, const Instruction& instruction,
                                  LaneMask lanes, const Range& range) const {
  const std::string columns = fmt::format("deallocates columns {}-{} of CTA rank {}", range.first,
                                          range.first + range.count - 1, cta_.rank);
  constexpr std::string_view kRule = "columns are deallocated after their last use is complete";
  Cluster& cluster = *cta_.cluster;
  // What the tensor core of this CTA or, in a pair, of its leader works on.
  for (const uint32_t rank : {cta_.rank, cta_.rank & ~1u}) {
    const Origin* const user =
        units_of(cluster.cta(rank)).tensor_core.first_use(cta_.rank, range.first, range.count);
    if (user == nullptr) continue;
    Site{strand, instruction, lanes}.fault(
        {.code = FaultCode::tmem_dealloc_in_use,
         .what = fmt::format("{} while {} that uses them is under way", columns,
                             cluster.kernel().form(*user->instruction).base),
         .rule = std::string(kRule),
         .fix = "execute tcgen05.commit after the last operation and wait for its mbarrier before "
                "the deallocation, in each CTA of a pair (.multicast::cluster)",
         .details = {fmt::format("the {}: CTA rank {}, warp {}, at {}",
                                 cluster.kernel().form(*user->instruction).base, user->cta_rank,
                                 user->warp, place_of(cluster, *user->instruction))}});
  }
  for (uint32_t warp = 0; warp < warps_.size(); ++warp)
    for (const WarpState::Transfer& transfer : warps_[warp].transfers) {
      if (transfer.column >= range.first + range.count ||
          range.first >= transfer.column + transfer.columns)
        continue;
      if (!transfer.is_load && transfer.done <= strand.time) continue;
      const auto fault = [&] {
        return Fault{
            .code = FaultCode::tmem_dealloc_in_use,
            .what = fmt::format("{} while a {} of them by warp {} has not been waited for", columns,
                                transfer.is_load ? "load" : "store", warp),
            .rule = std::string(kRule),
            .fix = fmt::format("execute {} in the warp that issued it, then a barrier (with "
                               "tcgen05.fence::before_thread_sync before and ::after_thread_sync "
                               "after it) before the deallocation",
                               transfer.is_load ? "tcgen05.wait::ld" : "tcgen05.wait::st"),
            .details = {"it was issued at " + place_of(cluster, *transfer.instruction)},
            .hardware_accepts = transfer.is_load};
      };
      const Site site{strand, instruction, lanes};
      // A load has taken its data; only the ISA's words make it last until the wait.
      if (transfer.is_load)
        site.fault_at_isa(FaultCode::tmem_dealloc_in_use, fault);
      else
        site.fault(fault());
    }
}

void TensorMemory::relinquish(const Strand& strand, const Instruction& instruction,
                              LaneMask lanes) {
  if (relinquished_ && strand.cluster->at_isa_level())
    Site{strand, instruction, lanes}.fault(
        {.code = FaultCode::tmem_relinquished_twice,
         .what = "the CTA has relinquished its permit to allocate before",
         .rule = "the permit is relinquished once",
         .fix = "relinquish once",
         .hardware_accepts = true});
  relinquished_ = true;
  notify_tensor_memory(strand, instruction,
                       {.operation = TensorMemoryEvent::Operation::relinquish});
}

void TensorMemory::check_at_exit() const {
  if (ranges_.empty()) return;
  const Range& range = ranges_.front();
  fault_at(*cta_.cluster,
           {range.instruction, static_cast<uint16_t>(cta_.rank), static_cast<uint16_t>(range.warp),
            kAllLanes},
           {.code = FaultCode::tmem_leak,
            .what = "Tensor Memory leak (CUDA_ERROR_TENSOR_MEMORY_LEAK, 721): the CTA has exited, "
                    "and columns " +
                    allocated_columns() + " that this instruction allocated are not deallocated",
            .rule = "everything allocated is deallocated before exit",
            .fix = "let one warp execute tcgen05.dealloc with the same number of columns after the "
                   "last access and before the CTA exits"});
}

std::vector<TensorMemory::Holding> TensorMemory::holdings() const {
  std::vector<Holding> out;
  const auto add = [&](const TensorMemory& memory) {
    for (const Range& range : memory.ranges_)
      out.push_back({&memory.cta_, range.first, range.count, range.instruction, range.warp});
  };
  if (sm_ == nullptr) {
    add(*this);
    return out;
  }
  for (const TensorMemory* const member : sm_->members)
    if (member == this || member->cta_.cluster != cta_.cluster) add(*member);
  return out;
}

void notify_tensor_memory(const Strand& strand, const Instruction& instruction,
                          TensorMemoryEvent event) {
  if (!strand.cluster->observed(EventKind::tensor_memory)) return;
  event.origin = strand.origin(instruction);
  event.cycle = strand.time;
  strand.cluster->notify(&Observer::on_tensor_memory, event);
}

uint64_t uniform_value(const Strand& strand, const Instruction& instruction, const Operand& operand,
                       LaneMask active, const char* operand_name) {
  const uint64_t value = strand.value(operand, lowest_lane(active));
  const LaneMask different = strand.lanes_that_differ(operand, active);
  if (different != 0) {
    const int lane = lowest_lane(different);
    Site{strand, instruction, active}.fault(
        {.code = FaultCode::operand_differs,
         .what =
             fmt::format("{} differs within the warp: {} in lane {}, {} in lane {}", operand_name,
                         value, lowest_lane(active), strand.value(operand, lane), lane),
         .rule = "all threads of the warp specify the same operand values",
         .fix = "compute the operand from warp-uniform values",
         .section = "TensorCore 5th Generation Family Instructions"});
  }
  return value;
}

void require_issuer(const Strand& strand, const Instruction& instruction, LaneMask active,
                    int group) {
  const Cta& cta = *strand.cta;
  units_of(cta).tensor_memory.require_group(strand, instruction, active, group);
  if (group != 2 || (cta.rank & 1u) == 0) return;
  Site{strand, instruction, active}.fault(
      {.code = FaultCode::issued_by_odd_rank,
       .what = fmt::format("cta_group::2 issued by the CTA with the odd rank {}", cta.rank),
       .rule = "one thread of the CTA pair's leader issues",
       .fix = "let one thread of the CTA with the even %cluster_ctarank issue for the pair",
       .section = "Issue Granularity"});
}

}  // namespace bw::sim
