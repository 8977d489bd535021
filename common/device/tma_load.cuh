#pragma once
/// \file
/// Tensor copies from global to shared memory (PTX ISA, "cp.async.bulk.tensor"). Each is issued
/// by one thread and completes with complete_tx of the full box size on an mbarrier, whatever
/// part of the box is outside of the tensor (that part is filled with zeros).

#include <cuda.h>

#include <cstdint>

namespace bw::ptx {

// prefetch{.tensormap} [a];
// PTX ISA 8.0, sm_90
/// Brings a tensor map into the descriptor cache. `map` is a generic address (of a
/// `__grid_constant__` parameter, constant or global memory).
__device__ __forceinline__ void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes
//     [dstMem], [tensorMap, {x, y}], [mbar];
// PTX ISA 8.6, sm_90
/// Loads the box whose first element is (x, y); x counts along the contiguous dimension.
__device__ __forceinline__ void tma_load_2d(uint32_t destination, const CUtensorMap* map,
                                            uint32_t barrier, int32_t x, int32_t y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

// cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
//     [dstMem], [tensorMap, {x, y}], [mbar], ctaMask;
// PTX ISA 8.0, sm_90
/// As `tma_load_2d`, written to the same offset in every CTA of `cta_mask`, each of which gets
/// complete_tx on its own barrier of the same offset.
__device__ __forceinline__ void tma_load_2d_multicast(uint32_t destination, const CUtensorMap* map,
                                                      uint32_t barrier, int32_t x, int32_t y,
                                                      uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(cta_mask)
      : "memory");
}

// cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2
//     [dstMem], [tensorMap, {x, y}], [mbar];
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// As `tma_load_2d`, for a CTA pair: `destination` is in the executing CTA, `barrier` may be in
/// it or in its peer (a shared::cluster address, as `leader_address` makes).
__device__ __forceinline__ void tma_load_2d_pair(uint32_t destination, const CUtensorMap* map,
                                                 uint32_t barrier, int32_t x, int32_t y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

// cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
//     .cta_group::2 [dstMem], [tensorMap, {x, y}], [mbar], ctaMask;
// PTX ISA 8.6, sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// As `tma_load_2d_multicast`, for CTA pairs: in each destination's pair, the CTA whose rank has
/// the parity of `barrier`'s gets complete_tx.
__device__ __forceinline__ void tma_load_2d_multicast_pair(uint32_t destination,
                                                           const CUtensorMap* map, uint32_t barrier,
                                                           int32_t x, int32_t y,
                                                           uint16_t cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster.cta_group::2 [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(cta_mask)
      : "memory");
}

}  // namespace bw::ptx
