#pragma once
/// \file
/// A kernel of two warps that makes every kind of event happen once or twice.

#include <string>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test {

/// Bytes of the bulk copies. `in` holds 128 bytes, `out` these for each CTA.
inline constexpr uint32_t kObservedCopyBytes = 64;
inline constexpr uint32_t kObservedColumns = 64;

/// Thread 0 zeroes the MMA's operands. Warp 0 loads 64 bytes of `in` (full), stores them to its
/// CTA's part of `out`, runs one MMA (done), moves a column of Tensor Memory to registers and back,
/// and copies 32 words with cp.async; warp 1 waits for the load. Both meet at the CTA's barrier at
/// the start and at the cluster's at the end.
inline std::string observed_kernel() {
  return entry(".param .u64 out, .param .u64 in", R"(
  .reg .pred %p<8>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd0, [out];
  ld.param.u64 %rd1, [in];
  mov.u32 %r10, %ctaid.x;
  mul.wide.u32 %rd5, %r10, 64;
  add.u64 %rd0, %rd0, %rd5;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, full;
  mov.u32 %r2, landing;
  mov.u32 %r3, tile;
  setp.eq.u32 %p0, %r0, 0;
  setp.ge.u32 %p1, %r0, 32;
  @%p0 st.bulk.weak.shared::cta [%r3], 16384, 0;
  @%p0 mbarrier.init.shared::cta.b64 [full], 1;
  @%p0 mbarrier.init.shared::cta.b64 [done], 1;
  fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @%p1 bra CONSUMER;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tmem], 64;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 64;
  @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [landing], [%rd1], 64, [full];
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
  @!%p2 bra FULL;
  fence.proxy.async.shared::cta;
  @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [landing], 64;
  @%p0 cp.async.bulk.commit_group;
  @%p0 cp.async.bulk.wait_group 0;
  ld.shared.u32 %r4, [tmem];
  shr.u32 %r5, %r3, 4;
  cvt.u64.u32 %rd2, %r5;
  or.b64 %rd2, %rd2, 0x4000404000000000;
  mov.u32 %r6, 135266320;
  setp.ne.u32 %p3, %r0, %r0;
  @%p0 tcgen05.mma.cta_group::1.kind::f8f6f4 [%r4], %rd2, %rd2, %r6, %p3;
  mov.u32 %r9, done;
  @%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];
DONE:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [done], 0;
  @!%p2 bra DONE;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r7}, [%r4];
  tcgen05.wait::ld.sync.aligned;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r7};
  tcgen05.wait::st.sync.aligned;
  mul.wide.u32 %rd3, %r0, 4;
  add.u64 %rd4, %rd1, %rd3;
  mad.lo.u32 %r8, %r0, 4, %r2;
  cp.async.ca.shared.global [%r8+128], [%rd4], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 64;
  bra END;
CONSUMER:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0;
  @!%p2 bra CONSUMER;
END:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
)",
               ".shared .align 1024 .b8 tile[16384];\n.shared .align 16 .b8 landing[256];\n"
               ".shared .align 8 .b64 full;\n.shared .align 8 .b64 done;\n"
               ".shared .align 4 .b32 tmem;\n");
}

}  // namespace bw::sim::test
