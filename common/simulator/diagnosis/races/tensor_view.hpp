#pragma once
/// \file
/// What synchronisation objects carry for Tensor Memory beside a View: the order of tcgen05
/// operations goes by rules of its own (PTX ISA, "tcgen05 Memory Consistency Model").

#include <cstdint>

#include "common/simulator/diagnosis/races/clock.hpp"
#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// What a warp has done to Tensor Memory, as far as another warp may know of it.
struct TensorView {
  VectorClock known;  ///< operations that are ordered

  /// Everything that `other` holds is added.
  void merge(const TensorView& other) { known.join(other.known); }
};

/// Who knows what each warp holds. The detector asks it wherever threads synchronise, whatever the
/// order and scope of the instruction.
class TensorOrder {
 public:
  TensorOrder() = default;
  virtual ~TensorOrder() = default;
  TensorOrder(const TensorOrder&) = delete;
  TensorOrder& operator=(const TensorOrder&) = delete;

  /// What the lanes hand on when they arrive somewhere.
  [[nodiscard]] virtual const TensorView& released(const Origin& origin) = 0;
  /// What the arrival of a tcgen05.commit hands on.
  [[nodiscard]] virtual const TensorView& committed(uint64_t operation_id) = 0;
  /// The lanes have waited for what `view` was handed to.
  virtual void acquired(const Origin& origin, const TensorView& view) = 0;
};

}  // namespace bw::sim::races
