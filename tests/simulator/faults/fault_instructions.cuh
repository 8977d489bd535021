#pragma once
/// \file
/// Instructions that the workbook's kernels don't use, as the catalogue's kernels need them. The
/// PTX ISA has their meaning.

#include <cuda.h>

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"

namespace bw::faults {

/// mbarrier.arrive.relaxed.cta
__device__ __forceinline__ void arrive_relaxed(uint32_t barrier) {
  asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// mbarrier.try_wait.parity.relaxed.cta, looped
__device__ __forceinline__ void wait_relaxed(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n"
      "AGAIN:\n\t"
      "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra AGAIN;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
/// fence.acq_rel.cta
__device__ __forceinline__ void fence_acq_rel_cta() {
  asm volatile("fence.acq_rel.cta;" ::: "memory");
}
/// fence.acq_rel.cluster
__device__ __forceinline__ void fence_acq_rel_cluster() {
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
}
/// fence.proxy.async of global memory
__device__ __forceinline__ void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// cp.async of 4 bytes
__device__ __forceinline__ void copy_async_word(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(ptx::shared_address(to)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
/// cp.async.commit_group
__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// cp.async.wait_group
template <int pending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
/// cp.async.mbarrier.arrive.noinc
__device__ __forceinline__ void copy_async_arrive_noinc(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/// cp.async.mbarrier.arrive
__device__ __forceinline__ void copy_async_arrive(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
/// ld.relaxed.gpu
__device__ __forceinline__ uint32_t load_relaxed_gpu(const uint32_t* from) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return value;
}
/// st.relaxed.gpu
__device__ __forceinline__ void store_relaxed_gpu(uint32_t* to, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
}
/// st.release.cta
__device__ __forceinline__ void store_release_cta(uint32_t* to, uint32_t value) {
  asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(value)
               : "memory");
}
/// st.shared::cluster of a word
__device__ __forceinline__ void store_cluster(uint32_t address, uint32_t value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
/// ld.shared::cluster of a word
__device__ __forceinline__ uint32_t load_cluster(uint32_t address) {
  uint32_t value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
/// st.async of a word
__device__ __forceinline__ void store_async_word(uint32_t address, uint32_t value,
                                                 uint32_t barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(address),
      "r"(value), "r"(barrier)
      : "memory");
}
/// bar.sync with an id and a count that are not template parameters
__device__ __forceinline__ void barrier_sync(uint32_t id, uint32_t threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Loads the box of `map` that begins at row `row`; its bytes complete on `full`.
__device__ __forceinline__ void load_box(void* box, const CUtensorMap& map, SharedMemBarrier& full,
                                         int32_t row) {
  ptx::tma_load_2d(ptx::shared_address(box), &map, full.address(), 0, row);
}
/// The same to all CTAs of `mask`, each of whose barriers gets the bytes.
__device__ __forceinline__ void multicast_box(void* box, const CUtensorMap& map,
                                              SharedMemBarrier& full, int32_t row, uint16_t mask) {
  ptx::tma_load_2d_multicast(ptx::shared_address(box), &map, full.address(), 0, row, mask);
}
/// Stores a box to the rows from `row` on.
__device__ __forceinline__ void store_box(const CUtensorMap& map, int32_t row, const void* box) {
  ptx::tma_store_2d(&map, 0, row, ptx::shared_address(box));
}
/// The shared::cluster address of the same place in the CTA of a rank.
__device__ __forceinline__ uint32_t in_cta(const void* place, uint32_t rank) {
  return ptx::map_to_cta(ptx::shared_address(place), rank);
}

/// cp.async.bulk from `place` to the same place in the CTA of a rank, whose `full` gets the bytes.
__device__ __forceinline__ void bulk_to_cta(const void* place, const SharedMemBarrier* full,
                                            uint32_t rank, uint32_t bytes) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(in_cta(place, rank)),
      "r"(ptx::shared_address(place)), "r"(bytes), "r"(in_cta(full, rank))
      : "memory");
}

/// tensormap.replace: the map is that of another matrix from now on.
__device__ __forceinline__ void replace_address(CUtensorMap* map, const void* address) {
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(
                   __cvta_generic_to_global(map)),
               "l"(address)
               : "memory");
}

/// A barrier of all threads of a cluster, by whole warps.
__device__ __forceinline__ void meet_cluster() {
  __syncwarp();
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

constexpr uint32_t kColumns = 32;  ///< of Tensor Memory that a kernel allocates

/// tcgen05.alloc, by a whole warp
__device__ __forceinline__ void allocate(uint32_t* slot, uint32_t columns = kColumns) {
  ptx::tcgen05_alloc<1>(ptx::shared_address(slot), columns);
}
/// tcgen05.relinquish_alloc_permit and tcgen05.dealloc, by a whole warp
__device__ __forceinline__ void free_columns(uint32_t address, uint32_t columns = kColumns) {
  ptx::tcgen05_relinquish_alloc_permit<1>();
  ptx::tcgen05_dealloc<1>(address, columns);
}

}  // namespace bw::faults
