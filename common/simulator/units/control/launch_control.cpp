#include "common/simulator/units/control/launch_control.hpp"

#include <cstring>
#include <string>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

constexpr uint32_t kResponseBytes = sizeof(CancelResponse);
constexpr uint8_t kShared = 1;
constexpr uint8_t kMulticast = 2;

/// Displacement of the mbarrier operand; the response's is Instruction::immediate.
struct TryCancelDetail {
  int64_t mbarrier_displacement = 0;
};

SharedPlace own_place(Strand& strand, const Instruction& instruction, const Operand& base,
                      int64_t displacement, uint32_t bytes, int lane) {
  const AddressSpace space =
      (instruction.flags & kShared) != 0 ? AddressSpace::shared_cta : AddressSpace::generic;
  const SharedPlace place =
      resolve_shared({strand, instruction, lane_bit(lane)}, space,
                     lane_address(strand, base, displacement, lane), bytes, bytes);
  if (place.cta != strand.cta) {
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::other_cta_memory,
         .what = fmt::format("the address is in CTA rank {}, not in the executing CTA (rank {})",
                             place.cta->rank, strand.cta->rank),
         .rule = "both addresses fall within the .shared::cta window",
         .fix = "use .multicast::cluster::all to reach the other CTAs' memory"});
  }
  return place;
}

/// Writes the response to one CTA and signals its barrier.
void deliver(Cta& cta, uint32_t response_offset, uint32_t mbarrier_offset,
             const CancelResponse& response, Cycle now, const Strand& strand,
             const Instruction& instruction, LaneMask lane, uint64_t operation_id) {
  if (cta.exited && strand.cluster->at_isa_level()) {
    Site{strand, instruction, 0}.fault(
        {.code = FaultCode::cancel_reaches_exited_cta,
         .what = fmt::format("the response of a try_cancel reaches CTA rank {}, which has exited",
                             cta.rank),
         .rule = "a CTA that a response is written to must not have exited",
         .fix = "wait for the response on the mbarrier in every CTA before the exit",
         .hardware_accepts = true});
  }
  std::memcpy(cta.shared.data() + response_offset, response.words.data(), kResponseBytes);
  note_written({strand, instruction, 0}, cta, response_offset, kResponseBytes);
  if (operation_id != kNoOperation) {
    OrderEvent event{.operation = OrderEvent::Operation::launch_control_response,
                     .origin = strand.origin(instruction, lane),
                     .cycle = now};
    event.id = operation_id;
    event.cta_rank = static_cast<uint16_t>(cta.rank);
    event.offset_bytes = mbarrier_offset;
    event.address = response_offset;
    strand.cluster->notify(&Observer::on_order, event);
  }
  units_of(cta).mbarriers.complete_tx(
      {mbarrier_offset, now, strand, instruction, lane, operation_id}, kResponseBytes);
}

void request(Strand& strand, const Instruction& instruction, int lane) {
  if (strand.cta->saw_failed_cancel && strand.cluster->at_isa_level()) {
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::cancel_after_failure,
         .what = "a try_cancel after this CTA has read that an earlier one failed",
         .rule = "a request after an observed failure is undefined",
         .fix = "leave the loop when is_canceled is false",
         .hardware_accepts = true});
  }
  const auto& detail = *static_cast<const TryCancelDetail*>(instruction.detail);
  const SharedPlace response = own_place(strand, instruction, instruction.operands[0],
                                         instruction.immediate, kResponseBytes, lane);
  const SharedPlace barrier = own_place(strand, instruction, instruction.operands[1],
                                        detail.mbarrier_displacement, kMbarrierBytes, lane);
  Cluster& cluster = *strand.cluster;
  const uint32_t rank = strand.cta->rank;
  uint64_t id = kNoOperation;
  if (cluster.observed(EventKind::order)) {
    OrderEvent event{.operation = OrderEvent::Operation::launch_control_request,
                     .origin = strand.origin(instruction, lane_bit(lane)),
                     .cycle = strand.time};
    event.id = id = cluster.next_operation();
    event.cta_rank = static_cast<uint16_t>(rank);
    event.offset_bytes = barrier.offset_bytes;
    event.address = response.offset_bytes;
    event.ranks = (instruction.flags & kMulticast) != 0 ? (1u << cluster.size()) - 1 : 1u << rank;
    cluster.notify(&Observer::on_order, event);
  }
  cluster.in_global_order(
      strand.time, costs::kLaunchControlResponse,
      [&cluster, &strand, &instruction, rank, id, lane, response_offset = response.offset_bytes,
       mbarrier_offset = barrier.offset_bytes](Cycle now) {
        Grid& grid = cluster.grid();
        uint64_t taken = 0;
        CancelResponse answer = CancelResponse::failed();
        if (grid.cancel_pending_cluster(taken)) {
          const Dim3 place = delinearize(taken, grid.clusters());
          const Dim3 shape = grid.configuration().cluster;
          answer =
              CancelResponse::canceled({place.x * shape.x, place.y * shape.y, place.z * shape.z});
        }
        if ((instruction.flags & kMulticast) == 0) {
          deliver(cluster.cta(rank), response_offset, mbarrier_offset, answer, now, strand,
                  instruction, lane_bit(lane), id);
          return;
        }
        for (Cta& cta : cluster.ctas())
          deliver(cta, response_offset, mbarrier_offset, answer, now, strand, instruction,
                  lane_bit(lane), id);
      });
}

Flow try_cancel(Strand& strand, const Instruction& instruction, LaneMask active) {
  for (const int lane : lanes_of(active)) request(strand, instruction, lane);
  return Flow::next;
}

CancelResponse response_of(Strand& strand, const Instruction& instruction, const Operand& operand,
                           int lane) {
  CancelResponse response;
  std::memcpy(response.words.data(),
              strand.lanes<std::byte>(operand) + static_cast<size_t>(lane) * kResponseBytes,
              kResponseBytes);
  if (!response.is_response()) {
    Site{strand, instruction, lane_bit(lane)}.fault(
        {.code = FaultCode::cancel_response_invalid,
         .what = "the operand does not hold a response of clusterlaunchcontrol.try_cancel",
         .rule = "query_cancel decodes the 16 bytes that a completed try_cancel wrote",
         .fix = "wait on the request's mbarrier before loading the 16 bytes"});
  }
  return response;
}

Flow is_canceled(Strand& strand, const Instruction& instruction, LaneMask active) {
  LaneMask canceled = 0;
  for (const int lane : lanes_of(active)) {
    if (response_of(strand, instruction, instruction.operands[1], lane).is_canceled())
      canceled |= lane_bit(lane);
  }
  if (canceled != active) strand.cta->saw_failed_cancel = true;
  strand.set_predicate(instruction.operands[0], active, canceled);
  return Flow::next;
}

/// Operands: destinations, then the response. Instruction::immediate is the first dimension to
/// return.
Flow first_ctaid(Strand& strand, const Instruction& instruction, LaneMask active) {
  const int destinations = instruction.operand_count - 1;
  for (const int lane : lanes_of(active)) {
    const CancelResponse response =
        response_of(strand, instruction, instruction.operands[destinations], lane);
    if (!response.is_canceled() && strand.cluster->at_isa_level()) {
      Site{strand, instruction, lane_bit(lane)}.fault(
          {.code = FaultCode::cancel_without_ctaid,
           .what = "get_first_ctaid of a request that failed",
           .rule = "the coordinates exist only when is_canceled is true",
           .fix = "guard get_first_ctaid with the predicate of is_canceled",
           .hardware_accepts = true});
    }
    for (int k = 0; k < destinations; ++k) {
      const auto dimension = static_cast<size_t>(instruction.immediate + k);
      // The fourth element is unspecified.
      strand.set_value(instruction.operands[k], lane,
                       dimension < 3 ? response.words[dimension] : 0);
    }
  }
  return Flow::next;
}

constexpr size_t kWordBytes = 4;

void require_wide(const Binder& binder, size_t index) {
  const ptx::Operand& operand = binder.ptx_operand(index);
  if (operand.kind != ptx::Operand::Kind::reg)
    binder.refuse("needs a .b128 register that holds the response", "");
}

void bind_try_cancel(Binder& binder) {
  binder.expect_count(2, 2);
  if (binder.modifiers.has("shared::cta")) binder.out.flags |= kShared;
  if (binder.modifiers.has("multicast::cluster::all")) binder.out.flags |= kMulticast;
  binder.address(binder.ptx_operand(0));
  const int64_t response_displacement = binder.out.immediate;
  binder.out.immediate = 0;
  binder.address(binder.ptx_operand(1));
  binder.detail(TryCancelDetail{binder.out.immediate});
  binder.out.immediate = response_displacement;
  binder.out.execute = try_cancel;
}

void bind_is_canceled(Binder& binder) {
  binder.expect_count(2, 2);
  require_wide(binder, 1);
  binder.destination(binder.ptx_operand(0), 0);
  binder.source_value(binder.ptx_operand(1), ScalarType::b128);
  binder.out.execute = is_canceled;
}

void bind_first_ctaid_vector(Binder& binder) {
  constexpr size_t kElements = 4;
  binder.expect_count(2, 2);
  require_wide(binder, 1);
  if (binder.destination_vector(binder.ptx_operand(0), kWordBytes) != kElements)
    binder.refuse("needs a vector of four destinations", "write {x, y, z, _}");
  binder.source_value(binder.ptx_operand(1), ScalarType::b128);
  binder.out.execute = first_ctaid;
}

void bind_first_ctaid_dimension(Binder& binder) {
  binder.expect_count(2, 2);
  require_wide(binder, 1);
  binder.destination(binder.ptx_operand(0), kWordBytes);
  binder.source_value(binder.ptx_operand(1), ScalarType::b128);
  binder.out.immediate = binder.modifiers.get("dimension").back() - 'x';
  binder.out.execute = first_ctaid;
}

constexpr std::string_view kTryCancel = "clusterlaunchcontrol.try_cancel";
constexpr std::string_view kQueryCancel = "clusterlaunchcontrol.query_cancel";

constexpr InstructionForm query(std::string_view modifiers, BindFunction bind, Effect effect) {
  return {.base = kQueryCancel,
          .modifiers = modifiers,
          .bind = bind,
          .effect = effect,
          .cycles = costs::kAlu,
          .section = kQueryCancel,
          .crossing = Crossing::closed,
          .machines = kOnBlackwell};
}

constexpr InstructionForm kLaunchControlRows[] = {
    {.base = kTryCancel,
     .modifiers = "async [shared::cta] mbarrier::complete_tx::bytes [multicast::cluster::all] b128",
     .bind = bind_try_cancel,
     .effect = Effect::grid,
     .cycles = costs::kTmaIssue,
     .section = kTryCancel,
     .destinations = 0,
     .unit = Unit::launch_control,
     .crossing = Crossing::closed,
     .machines = kOnBlackwell},
    // The CTA remembers that it has read a failure.
    query("is_canceled pred b128", bind_is_canceled, Effect::cluster),
    query("get_first_ctaid v4 b32 b128", bind_first_ctaid_vector, Effect::warp),
    query("dimension=get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128",
          bind_first_ctaid_dimension, Effect::warp),
};

}  // namespace

CancelResponse CancelResponse::canceled(Dim3 first_cta) {
  return {{first_cta.x, first_cta.y, first_cta.z, kMarker | 1u}};
}

CancelResponse CancelResponse::failed() { return {{0, 0, 0, kMarker}}; }

Rows launch_control_rows() { return kLaunchControlRows; }

}  // namespace bw::sim
