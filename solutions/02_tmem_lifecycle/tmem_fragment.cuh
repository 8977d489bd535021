#pragma once
/// \file
/// Which element of tensor memory a register of tcgen05.ld holds, for each shape (PTX ISA, "Data
/// movement shape" of tcgen05.ld).

#include "common/device/host_device.cuh"
#include "solutions/02_tmem_lifecycle/tmem_address.cuh"

namespace bw {

/// Shapes of one copy: lanes × bits per lane.
enum class TmemShape { k32x32b, k16x64b, k16x128b, k16x256b };
constexpr int kNumTmemShapes = 4;  ///< shapes that are read

/// A place relative to a copy's address.
struct TmemElement {
  int lane;    ///< of tensor memory
  int column;  ///< of tensor memory
};

/// Lanes that one warp's copy of a shape reaches: its quarter, or one half of it.
template <TmemShape shape>
constexpr int kTmemShapeLanes = shape == TmemShape::k32x32b ? 32 : 16;

/// Registers per thread that hold `columns` columns of a shape's lanes.
template <TmemShape shape>
BW_HOST_DEVICE constexpr int tmem_fragment_registers(int columns) {
  return kTmemShapeLanes<shape> * columns / 32;
}

/// What register `r` of the warp's thread `t` holds. In the 16-lane shapes a group of threads
/// shares a lane's 64, 128 or 256 bits, and every further group of registers is that many bits
/// further right.
template <TmemShape shape>
BW_HOST_DEVICE constexpr TmemElement tmem_element(int t, int r) {
  switch (shape) {
    case TmemShape::k32x32b:
      return {t, r};
    case TmemShape::k16x64b:  // r: 2 columns; the thread's parity picks the lane
      return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
    case TmemShape::k16x128b:  // pairs of r: 4 columns, one per thread; r's parity: the lane
      return {t / 4 + 8 * (r % 2), 4 * (r / 2) + t % 4};
    case TmemShape::k16x256b:  // fours of r: 8 columns, two per thread
      return {t / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2};
  }
  return {0, 0};
}

/// Starts the load of a fragment of `shape`.
template <TmemShape shape, int registers>
__device__ __forceinline__ void load_tmem_fragment(TmemAddress from, float (&values)[registers]) {
  if constexpr (shape == TmemShape::k32x32b) from.load_32x32b(values);
  if constexpr (shape == TmemShape::k16x64b) from.load_16x64b(values);
  if constexpr (shape == TmemShape::k16x128b) from.load_16x128b(values);
  if constexpr (shape == TmemShape::k16x256b) from.load_16x256b(values);
}

}  // namespace bw
