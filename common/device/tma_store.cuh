#pragma once
/// \file
/// Tensor copies from shared to global memory, and the bulk groups that complete them. Groups
/// belong to the issuing thread: the same thread commits and waits, a barrier tells the others.

#include <cuda.h>

#include <cstdint>

namespace bw::ptx {

// cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [tensorMap, {x, y}], [srcMem];
// PTX ISA 8.0, sm_90
/// Stores the box whose first element is (x, y); elements outside of the tensor are not written.
/// The writers of the source execute `fence_proxy_async_shared` before.
__device__ __forceinline__ void tma_store_2d(const CUtensorMap* map, int32_t x, int32_t y,
                                             uint32_t source) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
      "r"(source), "r"(x), "r"(y)
      : "memory");
}

// cp.async.bulk.commit_group;
// PTX ISA 8.0, sm_90
/// Closes the group of all earlier bulk stores of this thread.
__device__ __forceinline__ void bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// cp.async.bulk.wait_group N;
// PTX ISA 8.0, sm_90
/// Waits until at most `pending` of this thread's groups are incomplete: writes are done.
template <int pending>
__device__ __forceinline__ void bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(pending) : "memory");
}

// cp.async.bulk.wait_group.read N;
// PTX ISA 8.0, sm_90
/// Waits until at most `pending` groups still read their source: the others may be overwritten.
template <int pending>
__device__ __forceinline__ void bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

}  // namespace bw::ptx
