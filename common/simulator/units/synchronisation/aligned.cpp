#include "common/simulator/units/synchronisation/aligned.hpp"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "common/simulator/base/text.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/machine/late_fault.hpp"

namespace bw::sim {

namespace {

[[noreturn]] void fault(const Strand& strand, const Instruction& instruction, LaneMask active) {
  std::vector<std::string> details;
  if (active == strand.mask && strand.frame != nullptr)
    details.push_back(
        "the warp diverged at " +
        place_of(*strand.cluster, strand.cluster->kernel().code()[strand.frame->branch]));
  Site{strand, instruction, active}.fault(
      {.code = FaultCode::aligned_divergence,
       .what = "an .aligned instruction executed under divergence: the warp's live lanes are " +
               hex_mask(strand.warp->live),
       .rule = "all threads of a warp execute an .aligned instruction together",
       .fix = "move it out of the divergent branch, reconverge with bar.warp.sync first, or use "
              "the form without .aligned where there is one",
       .details = std::move(details),
       .hardware_accepts = true});
}

}  // namespace

void notify_converged(const Strand& strand, const Instruction& instruction) {
  strand.cluster->notify(&Observer::on_order,
                         OrderEvent{.operation = OrderEvent::Operation::aligned,
                                    .origin = strand.origin(instruction, strand.warp->live),
                                    .cycle = strand.time});
}

void require_other_lanes(const Strand& strand, const Instruction& instruction, LaneMask active) {
  if (!strand.cluster->at_isa_level()) {
    // Cluster::fault_waiting_lanes has sent them on, because the others don't come.
    const bool have_waited =
        strand.wait.kind == WaitKind::reconvergence && strand.wait.object == strand.pc;
    if (active != strand.mask || have_waited) return;
    throw DivergedLanes{nullptr};
  }
  // Lanes whose guard skips the instruction won't come.
  if (active != strand.mask) fault(strand, instruction, active);
  try {
    fault(strand, instruction, active);
  } catch (...) {
    throw DivergedLanes{std::current_exception()};
  }
}

}  // namespace bw::sim
