#include "common/simulator/machine/execution.hpp"

#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/ignored_codes.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/ptx/control_flow.hpp"

namespace bw::sim {

Flow Strand::block(WaitKind kind, uint64_t object, uint64_t detail, Cycle limit) {
  cluster->fault_waiting_lanes(*warp);
  wait = {kind, object, detail, time};
  suspended = true;
  wake = Wake::none;
  ++wait_token;
  if (limit != kNever) cluster->schedule_timeout(*this, time + limit);
  if (cluster->observed(EventKind::wait))
    cluster->notify(&Observer::on_wait,
                    WaitEvent{origin(cluster->kernel().code()[pc]), time, wait, false, Wake::none});
  return Flow::block;
}

Origin Strand::origin(const Instruction& instruction, LaneMask lanes_mask) const {
  return {&instruction, static_cast<uint16_t>(cta->rank), static_cast<uint16_t>(warp->index),
          lanes_mask};
}

uint32_t Strand::thread_index(int lane) const {
  return warp->index * kWarpLanes + static_cast<uint32_t>(lane);
}

std::string Strand::describe(const Instruction& instruction, LaneMask lanes_mask) const {
  const Kernel& kernel = cluster->kernel();
  const ptx::Instruction& source = kernel.source(instruction);
  std::string text =
      fmt::format("{}: `{}` in {}, CTA ({},{},{})", kernel.module().ptx().describe_location(source),
                  source.opcode, kernel.name(), cta->index.x, cta->index.y, cta->index.z);
  if (cluster->size() > 1) text += fmt::format(" rank {}", cta->rank);
  text += fmt::format(", warp {}", warp->index);
  if (std::popcount(lanes_mask) == 1) {
    text += fmt::format(", lane {}", lowest_lane(lanes_mask));
  } else if (lanes_mask != kAllLanes && lanes_mask != 0) {
    text += ", lanes " + hex_mask(lanes_mask);
  }
  return text;
}

ReportPlace Strand::place(const Instruction& instruction, LaneMask lanes_mask,
                          std::string role) const {
  const Kernel& kernel = cluster->kernel();
  ReportPlace place = kernel.module().ptx().report_place(kernel.source(instruction));
  place.role = std::move(role);
  place.kernel = kernel.name();
  place.cta = {cta->index.x, cta->index.y, cta->index.z};
  if (cluster->size() > 1) place.cta_rank = cta->rank;
  place.warp = warp->index;
  place.lanes = lanes_mask;
  return place;
}

Report Site::report(Fault fault) const {
  const std::string_view section =
      fault.section.value_or(strand.cluster->kernel().form(instruction).section);
  if (!section.empty()) fault.rule += fmt::format(" (PTX ISA, \"{}\")", section);
  std::vector<ReportPlace> places{strand.place(instruction, lanes)};
  std::move(fault.places.begin(), fault.places.end(), std::back_inserter(places));
  return Report{.code = fault.code,
                .what = std::move(fault.what),
                .where = strand.describe(instruction, lanes),
                .details = std::move(fault.details),
                .rule = std::move(fault.rule),
                .fix = std::move(fault.fix),
                .device_error = fault.device_error,
                .hardware_accepts = fault.hardware_accepts,
                .places = std::move(places),
                .event = strand.cluster->event(),
                .seed = strand.cluster->settings().chosen_seed()};
}

void Site::fault(Fault fault) const { throw SimulationError(report(std::move(fault))); }

bool Site::keeps(const Report& report) const {
  if (IgnoredCodes& ignored = IgnoredCodes::of_process(); ignored.contains(report.code)) {
    ignored.left_out(report.code);
    return true;
  }
  return strand.cluster->keep_fault(report);
}

bool Site::is_at_isa_level() const { return strand.cluster->at_isa_level(); }

Warnings& Site::warnings() const { return strand.cluster->warnings(); }

Strand* Warp::new_strand() {
  for (const auto& strand : strands) {
    if (strand->alive) continue;
    const uint32_t token = strand->wait_token;
    const LaneRegisters lanes = *strand;
    *strand = Strand{};
    static_cast<LaneRegisters&>(*strand) = lanes;
    strand->wait_token = token + 1;
    strand->warp = this;
    strand->cta = cta;
    strand->cluster = cta->cluster;
    strand->alive = true;
    return strand.get();
  }
  strands.push_back(std::make_unique<Strand>());
  Strand* const strand = strands.back().get();
  strand->bases[0] = registers.data();
  // Constants are only read; the pointer is shared with the registers' for one way of access.
  strand->bases[1] = const_cast<std::byte*>(cta->cluster->kernel().constants().data());
  strand->carry_flags = &carry;
  strand->warp = this;
  strand->cta = cta;
  strand->cluster = cta->cluster;
  strand->alive = true;
  return strand;
}

Reconvergence* Warp::new_frame() {
  if (free_frames.empty()) {
    frames.push_back(std::make_unique<Reconvergence>());
    return frames.back().get();
  }
  Reconvergence* const frame = free_frames.back();
  free_frames.pop_back();
  *frame = Reconvergence{};
  return frame;
}

}  // namespace bw::sim
