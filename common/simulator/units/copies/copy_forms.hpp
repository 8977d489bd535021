#pragma once
/// \file
/// What the bulk and tensor copy instructions share: operands, destinations and mbarriers.

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/units/copies/element_reduction.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"
#include "common/simulator/units/copies/tma_engine.hpp"

namespace bw::sim {

/// PTX ISA: addresses and sizes of bulk copies are multiples of 16 bytes.
inline constexpr uint32_t kBulkAlignmentBytes = 16;
/// Shared-memory addresses of tensor copies are multiples of 128 bytes.
inline constexpr uint32_t kTensorSharedAlignmentBytes = 128;
inline constexpr uint32_t kMbarrierObjectBytes = 8;  ///< of an mbarrier

/// An operand that is an address: index into Instruction::operands and displacement.
struct AddressOperand {
  uint16_t index = 0;        ///< of the operand
  int64_t displacement = 0;  ///< that is added
  /// A shared variable by name: its offset, to which the executing CTA's rank belongs.
  bool names_shared_variable = false;
  /// Its value in a lane.
  [[nodiscard]] uint64_t of(const Strand& strand, const Instruction& instruction, int lane) const {
    const uint64_t address = lane_address(strand, instruction.operands[index], displacement, lane);
    if (!names_shared_variable) return address;
    return address | uint64_t{strand.cta->rank} << kSharedRankShift;
  }
};

/// An optional or plain value operand; index 0xffff when absent.
struct ValueOperand {
  static constexpr uint16_t kAbsent = 0xffff;  ///< the form has no such operand
  uint16_t index = kAbsent;                    ///< of the operand
  /// Whether there is one.
  [[nodiscard]] bool present() const { return index != kAbsent; }
  /// Its value in a lane.
  [[nodiscard]] uint64_t of(const Strand& strand, const Instruction& instruction, int lane) const {
    return strand.value(instruction.operands[index], lane);
  }
};

/// Binds operands in order and remembers where each went.
class CopyBinder {
 public:
  /// Over the row's binder.
  explicit CopyBinder(Binder& binder) : binder_(binder) {}
  /// Binds an address.
  AddressOperand address(const ptx::Operand& operand);
  /// Binds a value.
  ValueOperand value(const ptx::Operand& operand, ptx::ScalarType type);
  /// Binds a predicate.
  ValueOperand predicate(const ptx::Operand& operand);
  /// A vector's elements (or the single operand): returns the first, sets `count`.
  ValueOperand vector(const ptx::Operand& operand, ptx::ScalarType type, size_t& count);

 private:
  Binder& binder_;
  uint16_t next_ = 0;
};

/// The reduction of a modifier: "add", "min", ..., "xor".
[[nodiscard]] Reduction reduction_from_name(std::string_view name);

/// Which mbarriers a load signals.
enum class CtaGroup : uint8_t { one, two };

/// Destination and mbarrier operands of a load into shared memory.
struct SharedTarget {
  AddressOperand destination;
  AddressOperand mbarrier;             ///< that counts the bytes
  ValueOperand multicast_mask;         ///< present with .multicast::cluster
  bool in_own_cta = false;             ///< .shared::cta
  CtaGroup cta_group = CtaGroup::one;  ///< CTAs that work together
};

/// Resolves destinations and mbarriers of one lane's load and fills destinations and
/// signals of `load`, which knows its site; returns the offset of the data in each destination.
/// Checks bounds, alignment, the multicast mask, where the mbarrier may be, and that it is
/// initialised. Throws SimulationError{contract}.
uint32_t resolve_target(const SharedTarget& target, uint32_t shared_bytes, uint32_t alignment_bytes,
                        uint32_t transfer_bytes, TmaLoad& load);

// For observers; both do nothing without an observer of copies.

/// Completes a load: what it reads, and `shared_bytes` at `offset_bytes` of each destination.
/// Describes nothing without an observer of copies.
void describe_load(TmaLoad& load, CopyUnit unit, CopyDirection direction,
                   std::vector<MemoryRange> sources, uint32_t offset_bytes, uint32_t shared_bytes);
/// Completes a store from the issuing CTA's shared memory.
void describe_store(TmaStore& store, CopyUnit unit, CopyDirection direction, uint32_t offset_bytes,
                    uint32_t shared_bytes, std::vector<MemoryRange> destinations);

/// Calls body(lane) for each active lane. The engine is given one copy after the other: each lane's
/// is issued kTmaIssue cycles after the one before. With a timing model that takes as long as its
/// operands are on their way; the first lane's time is part of the schedule.
template <class Body>
void issue_each_lane(Strand& strand, LaneMask active, Body&& body) {
  const Cycle next = strand.cluster->costs().next_copy();
  for (const int lane : lanes_of(active)) {
    if (lane != lowest_lane(active)) strand.time += next;
    body(lane);
  }
}

/// The lanes of `active` whose operands all have the values of its lowest lane's.
[[nodiscard]] LaneMask lanes_with_same_operands(const Strand& strand,
                                                const Instruction& instruction, LaneMask active);

/// Calls body(lanes) once for each distinct tuple of operands, lowest lanes first; issue times as
/// with issue_each_lane(). ptxas compiles stores from shared to global memory and prefetches this
/// way, for sm_90a and sm_100a: a loop over the distinct values (R2UR with a predicate), of which
/// one pass suffices where all lanes agree. An H100 takes as long for a store by 32 equal lanes as
/// for one by a single lane. For loads into shared memory and for reductions it emits a loop over
/// the lanes (ELECT): `is_by_lane`.
template <class Body>
void issue_each_operands(Strand& strand, const Instruction& instruction, LaneMask active,
                         bool is_by_lane, Body&& body) {
  if (is_by_lane) return issue_each_lane(strand, active, [&](int lane) { body(lane_bit(lane)); });
  const Cycle next = strand.cluster->costs().next_copy();
  for (LaneMask rest = active; rest != 0;) {
    const LaneMask lanes = lanes_with_same_operands(strand, instruction, rest);
    if (rest != active) strand.time += next;
    body(lanes);
    rest &= ~lanes;
  }
}

/// The tensor map at an operand's address. An address in shared or local memory, bytes that no
/// encoding function wrote and a map that tensormap.replace made invalid are faults of the lane.
TensorMap read_map(Strand& strand, const Instruction& instruction, int lane,
                   const AddressOperand& operand);

}  // namespace bw::sim
