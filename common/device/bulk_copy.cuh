#pragma once
/// \file
/// Bulk copies of contiguous bytes (PTX ISA, "cp.async.bulk"): addresses and size are multiples
/// of 16 bytes.

#include <cstdint>

namespace bw::ptx {

// cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
//     [dstMem], [srcMem], size, [mbar];
// PTX ISA 8.0, sm_90
/// Global to shared memory; complete_tx(bytes) on `barrier`.
__device__ __forceinline__ void bulk_load(uint32_t destination, const void* source, uint32_t bytes,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1], %2, [%3];" ::"r"(destination),
      "l"(__cvta_generic_to_global(source)), "r"(bytes), "r"(barrier)
      : "memory");
}

// cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
//     [dstMem], [srcMem], size, [mbar];
// PTX ISA 8.0, sm_90
/// Shared memory of this CTA to that of another one of the cluster; complete_tx(bytes) on
/// `barrier`, an mbarrier of the destination. The source is read until then. The writers of the
/// source, or a thread ordered after them, execute `fence_proxy_async_shared` before.
__device__ __forceinline__ void bulk_copy_to_cta(uint32_t destination, uint32_t source,
                                                 uint32_t bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
      " [%0], [%1], %2, [%3];" ::"r"(destination),
      "r"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

// cp.async.bulk.global.shared::cta.bulk_group [dstMem], [srcMem], size;
// PTX ISA 8.0, sm_90
/// Shared to global memory, completed by the bulk groups of tma_store.cuh.
__device__ __forceinline__ void bulk_store(void* destination, uint32_t source, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(destination)),
               "r"(source), "r"(bytes)
               : "memory");
}

}  // namespace bw::ptx
