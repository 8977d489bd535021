#include "common/simulator/units/synchronisation/aligned.hpp"

#include "common/simulator/base/text.hpp"

namespace bw::sim {

void fault_diverged(const Strand& strand, const Instruction& instruction, LaneMask active) {
  Site{strand, instruction, active}.fault(
      {.code = FaultCode::aligned_divergence,
       .what = "an .aligned instruction executed under divergence: the warp's live lanes are " +
               hex_mask(strand.warp->live),
       .rule = "all threads of a warp execute an .aligned instruction together",
       .fix = "move it out of the divergent branch, reconverge with bar.warp.sync first, or use "
              "the form without .aligned where there is one",
       .hardware_accepts = true});
}

}  // namespace bw::sim
