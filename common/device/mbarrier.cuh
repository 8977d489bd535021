#pragma once
/// \file
/// mbarrier: one wrapper per instruction (PTX ISA, "Parallel Synchronization and Communication
/// Instructions: mbarrier"). Addresses are shared-window addresses of 8-byte aligned objects.

#include <cstdint>

namespace bw::ptx {

// mbarrier.init{.shared::cta}.b64 [addr], count;
// PTX ISA 7.8, sm_80
/// Phase 0, `count` arrivals expected (1 … 2^20 - 1), tx-count 0. One thread.
__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// mbarrier.inval{.shared::cta}.b64 [addr];
// PTX ISA 7.8, sm_80
/// Ends the life of the object, so that its memory may be reused or initialised again.
__device__ __forceinline__ void mbarrier_inval(uint32_t barrier) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// mbarrier.arrive{.sem.scope}{.shared::cta}.b64 state, [addr];   sem = .release, scope = .cta
// PTX ISA 7.8, sm_80
/// One arrival on a barrier of the executing CTA.
__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// mbarrier.arrive{.sem.scope}.shared::cluster.b64 _, [addr];
// PTX ISA 8.0, sm_90
/// One arrival on a barrier of any CTA of the cluster, released at cluster scope.
__device__ __forceinline__ void mbarrier_arrive_cluster(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}

// mbarrier.arrive{.sem.scope}.shared::cluster.b64 _, [addr];   sem = .release, scope = .cta
// PTX ISA 8.0, sm_90
/// One arrival on a barrier of any CTA of the cluster that publishes nothing to other CTAs: for
/// "I have read it". Releasing at cluster scope would wait for all of the thread's earlier memory
/// operations.
__device__ __forceinline__ void mbarrier_arrive_remote(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// mbarrier.arrive.expect_tx{.sem.scope}{.shared::cta}.b64 state, [addr], tx_count;
// PTX ISA 8.0, sm_90
/// Raises the tx-count by `bytes`, then arrives once: call it once per phase with the sum.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// mbarrier.arrive.expect_tx{.sem.scope}.shared::cluster.b64 _, [addr], tx_count;
// PTX ISA 8.0, sm_90
/// As `mbarrier_arrive_expect_tx`, on a barrier of any CTA of the cluster.
__device__ __forceinline__ void mbarrier_arrive_expect_tx_cluster(uint32_t barrier,
                                                                  uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier),
      "r"(bytes)
      : "memory");
}

// mbarrier.expect_tx{.sem.scope}{.space}.b64 [addr], tx_count;
// PTX ISA 8.0, sm_90
/// Raises the tx-count by `bytes` without an arrival.
__device__ __forceinline__ void mbarrier_expect_tx(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// mbarrier.test_wait.parity{.sem.scope}{.shared::cta}.b64 wait_complete, [addr], parity;
// PTX ISA 7.8, sm_80
/// True when the phase of this parity has completed; never blocks. Acquires at CTA scope.
__device__ __forceinline__ bool mbarrier_test_wait_parity(uint32_t barrier, uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n\t"
      ".reg .pred complete;\n\t"
      "mbarrier.test_wait.parity.shared::cta.b64 complete, [%1], %2;\n\t"
      "selp.b32 %0, 1, 0, complete;\n\t"
      "}"
      : "=r"(complete)
      : "r"(barrier), "r"(parity)
      : "memory");
  return complete != 0;
}

// mbarrier.test_wait.parity.acquire.cluster{.shared::cta}.b64 wait_complete, [addr], parity;
// PTX ISA 8.0, sm_90
/// As `mbarrier_test_wait_parity`, acquiring at cluster scope: for arrivals of other CTAs.
__device__ __forceinline__ bool mbarrier_test_wait_parity_cluster(uint32_t barrier,
                                                                  uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n\t"
      ".reg .pred complete;\n\t"
      "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 complete, [%1], %2;\n\t"
      "selp.b32 %0, 1, 0, complete;\n\t"
      "}"
      : "=r"(complete)
      : "r"(barrier), "r"(parity)
      : "memory");
  return complete != 0;
}

// mbarrier.try_wait.parity{.sem.scope}{.shared::cta}.b64 wait_complete, [addr], parity;
// PTX ISA 7.8, sm_90
/// As test_wait, but may suspend the thread up to a time limit of the system: loop around it.
__device__ __forceinline__ bool mbarrier_try_wait_parity(uint32_t barrier, uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n\t"
      ".reg .pred complete;\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n\t"
      "selp.b32 %0, 1, 0, complete;\n\t"
      "}"
      : "=r"(complete)
      : "r"(barrier), "r"(parity)
      : "memory");
  return complete != 0;
}

// mbarrier.try_wait.parity.acquire.cluster{.shared::cta}.b64 wait_complete, [addr], parity;
// PTX ISA 8.0, sm_90
/// As `mbarrier_try_wait_parity`, acquiring at cluster scope: for arrivals of other CTAs.
__device__ __forceinline__ bool mbarrier_try_wait_parity_cluster(uint32_t barrier,
                                                                 uint32_t parity) {
  uint32_t complete;
  asm volatile(
      "{\n\t"
      ".reg .pred complete;\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [%1], %2;\n\t"
      "selp.b32 %0, 1, 0, complete;\n\t"
      "}"
      : "=r"(complete)
      : "r"(barrier), "r"(parity)
      : "memory");
  return complete != 0;
}

}  // namespace bw::ptx
