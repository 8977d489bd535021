#pragma once
/// \file
/// One K block as the MMA warp sees it (contract, chapter 4).

#include "solutions/03_warp_contexts/output_role_views.cuh"

namespace bw {

/// Scope of one K block of the MMA warp (all 32 lanes): blockwise scaling promotes every K block
/// by its own scales, so that each has an accumulator stage of its own, and is handed over as
/// chapter 3 hands over a whole tile.
///
///     enter: waits for accumulator-empty; `stage().tmem().offset()` is D of the MMAs
///     exit:  one elected lane commits to accumulator-full; all lanes step
template <OutputPipelineConfig opc>
class [[nodiscard]] MmaKStage : public OutputProducerStage<opc> {
 public:
  using OutputProducerStage<opc>::OutputProducerStage;
};

}  // namespace bw
