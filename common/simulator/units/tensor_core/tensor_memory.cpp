#include "common/simulator/units/tensor_core/tensor_memory.hpp"

#include <algorithm>
#include <cstring>

#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

/// What Tensor Memory holds before anything is written: a signalling NaN.
constexpr uint32_t kMemoryPoison = 0x7fadbeefu;
/// What a register holds between tcgen05.ld and wait::ld: a signalling NaN with a running number.
constexpr uint32_t kRegisterPattern = 0x7fb00000u;
constexpr uint32_t kRegisterPatternMask = 0x000fffffu;
constexpr uint32_t kAllocationUnit = 32;

/// The bits of `count` columns from `first`; both in range.
std::bitset<TensorMemory::kColumns> columns_mask(uint32_t first, uint32_t count) {
  using Mask = std::bitset<TensorMemory::kColumns>;
  return (~Mask{} >> (TensorMemory::kColumns - count)) << first;
}

constexpr const char* kAllocSection =
    "PTX ISA, tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit";

/// "tcgen05.ld" of "tcgen05.ld.sync.aligned...".
std::string mnemonic(const Strand& strand, const Instruction& instruction) {
  const std::string& opcode = strand.cluster->kernel().source(instruction).opcode;
  return opcode.substr(0, opcode.find('.', opcode.find('.') + 1));
}

}  // namespace

TensorMemory::TensorMemory(Cta& cta) : cta_(cta) {}

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
    strand.fault(instruction, FaultKind::contract, lanes,
                 "cta_group::2 needs a CTA pair, but the cluster has " +
                     std::to_string(cta_.cluster->size()) + " CTA(s)",
                 "PTX ISA, tcgen05: CTA Pair",
                 "launch with an even cluster size, or use cta_group::1");
  if (group_ == 0) group_ = group;
  if (group_ == group) return;
  strand.fault(instruction, FaultKind::contract, lanes,
               "cta_group::" + std::to_string(group) +
                   " after cta_group::" + std::to_string(group_) + " in the same kernel",
               "PTX ISA, tcgen05: all tcgen05 instructions of a kernel have the same .cta_group",
               "use one cta_group for alloc, dealloc, mma, cp, shift and commit alike");
}

std::string TensorMemory::allocated_columns() const {
  std::string text;
  for (uint32_t first = 0; first < kColumns; ++first) {
    if (!allocated_[first]) continue;
    uint32_t last = first;
    while (last + 1 < kColumns && allocated_[last + 1]) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(first) + "-" + std::to_string(last);
    first = last;
  }
  return text.empty() ? "none" : text;
}

void TensorMemory::require_allocated(const Strand& strand, const Instruction& instruction,
                                     LaneMask lanes, uint32_t first, uint32_t count) const {
  if (first + count <= kColumns) {
    const std::bitset<kColumns> wanted = columns_mask(first, count);
    if ((allocated_ & wanted) == wanted) return;
  }
  for (uint32_t column = first; column < first + count; ++column) {
    if (column < kColumns && allocated_[column]) continue;
    strand.fault(
        instruction, FaultKind::contract, lanes,
        "Tensor Memory column " + std::to_string(column) + " being accessed by instruction " +
            mnemonic(strand, instruction) + " is not allocated. Columns allocated are: " +
            allocated_columns() + ". It accesses columns " + std::to_string(first) + "-" +
            std::to_string(first + count - 1) + " of CTA rank " + std::to_string(cta_.rank),
        "PTX ISA, Tensor Memory Allocation: only allocated columns may be accessed",
        "allocate enough columns, wait for the address to be written before reading it, and "
        "deallocate only after the last access");
  }
}

void TensorMemory::require_written(const Strand& strand, const Instruction& instruction,
                                   LaneMask lanes, uint32_t first_lane, uint32_t lane_count,
                                   uint32_t first, uint32_t count) const {
  if (strand.cluster->settings().strictness != Strictness::strict) return;
  const uint32_t last_quarter = (first_lane + lane_count - 1) / kWarpLanes;
  const std::bitset<kColumns> wanted = columns_mask(first, count);
  for (uint32_t quarter = first_lane / kWarpLanes; quarter <= last_quarter; ++quarter) {
    if ((written_[quarter] & wanted) == wanted) continue;
    for (uint32_t column = first; column < first + count; ++column) {
      if (written_[quarter][column]) continue;
      strand.fault(
          instruction, FaultKind::contract, lanes,
          "reads Tensor Memory column " + std::to_string(column) + " in lanes " +
              std::to_string(quarter * kWarpLanes) + "-" +
              std::to_string(quarter * kWarpLanes + kWarpLanes - 1) + " of CTA rank " +
              std::to_string(cta_.rank) + ", which nothing has written since it was allocated",
          "PTX ISA, Tensor Memory: the contents of newly allocated columns are undefined",
          "write it first: enable-input-d must be false on the first tcgen05.mma of a sum, and a "
          "read needs the commit and the mbarrier wait that order it behind the mma");
    }
  }
}

void TensorMemory::mark_written(uint32_t first_lane, uint32_t lane_count, uint32_t first,
                                uint32_t count) {
  const uint32_t last_quarter = (first_lane + lane_count - 1) / kWarpLanes;
  const std::bitset<kColumns> columns = columns_mask(first, count);
  for (uint32_t quarter = first_lane / kWarpLanes; quarter <= last_quarter; ++quarter)
    written_[quarter] |= columns;
}

uint32_t TensorMemory::find_free(uint32_t count, const TensorMemory* other) const {
  for (uint32_t first = 0; first + count <= kColumns; first += kAllocationUnit) {
    uint32_t column = first;
    while (column < first + count && !allocated_[column] &&
           (other == nullptr || !other->allocated_[column]))
      ++column;
    if (column == first + count) return first;
  }
  return kColumns;
}

void TensorMemory::grant(const Request& request, uint32_t first, Cycle now) {
  if (words_.empty()) words_.assign(size_t{kColumns} * kLanes, kMemoryPoison);
  for (uint32_t column = first; column < first + request.columns; ++column) {
    allocated_.set(column);
    for (auto& quarter : written_) quarter.reset(column);
  }
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
  cta_.cluster->tell(&Observer::on_tensor_memory, event);
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
    strand.fault(
        instruction, FaultKind::contract, lanes,
        "allocates " + std::to_string(columns) + " columns",
        std::string(kAllocSection) + ": the number of columns is a power of two in 32...512",
        "round the number of columns up to the next power of two, at least 32");
  if (relinquished_)
    strand.fault(
        instruction, FaultKind::contract, lanes,
        "allocation of " + std::to_string(columns) +
            " columns after the CTA has relinquished its permit to allocate",
        std::string(kAllocSection) + ": after relinquish_alloc_permit a CTA may not allocate again",
        "allocate first, relinquish after the last allocation");
  if (group == 2) {
    const TensorMemory& other = peer();
    if (!other.requests_.empty() && other.requests_.front().group == 2 && requests_.empty() &&
        other.requests_.front().columns != columns)
      strand.fault(
          instruction, FaultKind::contract, lanes,
          "allocates " + std::to_string(columns) + " columns while the peer CTA allocates " +
              std::to_string(other.requests_.front().columns),
          std::string(kAllocSection) +
              ": with cta_group::2 one warp of each CTA of the pair performs the allocation",
          "allocate the same number of columns in both CTAs of the pair");
  }
  requests_.push_back({&strand, &instruction, group, columns, shared_offset});
  return serve(strand.time, &strand);
}

void TensorMemory::deallocate(Strand& strand, const Instruction& instruction, LaneMask lanes,
                              uint32_t address, uint32_t columns) {
  const TensorAddress place = TensorAddress::decode(address);
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& candidate) {
    return candidate.first == place.column && candidate.count == columns && place.lane == 0;
  });
  if (range == ranges_.end())
    strand.fault(instruction, FaultKind::contract, lanes,
                 "deallocation of unallocated columns: address " + std::to_string(address) + ", " +
                     std::to_string(columns) +
                     " columns. Columns allocated are: " + allocated_columns(),
                 std::string(kAllocSection) +
                     ": dealloc names the address and the number of columns of an allocation",
                 "pass the address that tcgen05.alloc wrote and the same number of columns, once");
  for (uint32_t column = range->first; column < range->first + range->count; ++column)
    allocated_.reset(column);
  ranges_.erase(range);
  tell_tensor_memory(strand, instruction,
                     {.operation = TensorMemoryEvent::Operation::dealloc,
                      .column = place.column,
                      .columns = columns,
                      .lane_count = kLanes});
  cta_.cluster->note_progress();
  serve(strand.time, nullptr);
  if (group_ == 2) peer().serve(strand.time, nullptr);
}

void TensorMemory::relinquish(const Strand& strand, const Instruction& instruction,
                              LaneMask lanes) {
  if (relinquished_ && strand.cluster->settings().strictness == Strictness::strict)
    strand.fault(instruction, FaultKind::contract, lanes,
                 "the CTA has relinquished its permit to allocate before", kAllocSection,
                 "relinquish once");
  relinquished_ = true;
  tell_tensor_memory(strand, instruction, {.operation = TensorMemoryEvent::Operation::relinquish});
}

void TensorMemory::check_at_exit() const {
  if (ranges_.empty()) return;
  const Range& range = ranges_.front();
  // The strand that allocated may have gone; the text is made for this CTA and the allocating warp.
  Strand place;
  place.cta = &cta_;
  place.cluster = cta_.cluster;
  place.warp = &cta_.warps[range.warp];
  place.fault(*range.instruction, FaultKind::contract, kAllLanes,
              "Tensor Memory leak (CUDA_ERROR_TENSOR_MEMORY_LEAK, 721): the CTA has exited, and "
              "columns " +
                  allocated_columns() + " that this instruction allocated are not deallocated",
              std::string(kAllocSection) + ": everything allocated is deallocated before exit",
              "let one warp execute tcgen05.dealloc with the same number of columns after the last "
              "access and before the CTA exits");
}

void tell_tensor_memory(const Strand& strand, const Instruction& instruction,
                        TensorMemoryEvent event) {
  if (!strand.cluster->observed(EventKind::tensor_memory)) return;
  event.origin = strand.origin(instruction);
  event.cycle = strand.time;
  strand.cluster->tell(&Observer::on_tensor_memory, event);
}

uint64_t uniform_value(const Strand& strand, const Instruction& instruction, const Operand& operand,
                       LaneMask active, const char* operand_name) {
  const uint64_t value = strand.value(operand, lowest_lane(active));
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const uint64_t other = strand.value(operand, lowest_lane(rest));
    if (other == value) continue;
    strand.fault(
        instruction, FaultKind::contract, active,
        std::string(operand_name) + " differs within the warp: " + std::to_string(value) +
            " in lane " + std::to_string(lowest_lane(active)) + ", " + std::to_string(other) +
            " in lane " + std::to_string(lowest_lane(rest)),
        "PTX ISA, tcgen05 collective instructions: all threads of the warp specify the same "
        "operand values",
        "compute the operand from warp-uniform values");
  }
  return value;
}

void require_issuer(const Strand& strand, const Instruction& instruction, LaneMask active,
                    int group) {
  const Cta& cta = *strand.cta;
  units_of(cta).tensor_memory.require_group(strand, instruction, active, group);
  if (group != 2 || (cta.rank & 1u) == 0) return;
  strand.fault(instruction, FaultKind::contract, active,
               "cta_group::2 issued by the CTA with the odd rank " + std::to_string(cta.rank),
               "PTX ISA, tcgen05: Issue granularity (one thread of the CTA pair's leader issues)",
               "let one thread of the CTA with the even %cluster_ctarank issue for the pair");
}

}  // namespace bw::sim
