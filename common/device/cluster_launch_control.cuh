#pragma once
/// \file
/// Cluster launch control: a running cluster takes over the work of one that hasn't started (PTX
/// ISA, "clusterlaunchcontrol").

#include <cstdint>

namespace bw::ptx {

/// The opaque answer to a request.
struct alignas(16) LaunchControlResponse {
  uint64_t opaque[2];  ///< to be read by the instructions alone
};

/// What the answer says.
struct CanceledCluster {
  bool is_canceled;  ///< false: nothing was left to take over; ask no more
  /// %ctaid of the cluster's first CTA; only if is_canceled.
  uint32_t first_cta_x, first_cta_y, first_cta_z;
};

// clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes
//     {.multicast::cluster::all}.b128 [addr], [mbar];
// PTX ISA 8.6, sm_100; with .multicast::cluster::all sm_100a; PTX ISA 8.8, sm_100f and sm_103a
/// Asks for a cluster that hasn't started. The answer is written to `response` (16 bytes) and
/// completes 16 bytes on `barrier`; with `multicast` at the same offsets in every CTA of the
/// cluster. One thread.
template <bool multicast>
__device__ __forceinline__ void launch_control_try_cancel(uint32_t response, uint32_t barrier) {
  if constexpr (multicast) {
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
        ".multicast::cluster::all.b128 [%0], [%1];" ::"r"(response),
        "r"(barrier)
        : "memory");
  } else {
    asm volatile(
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"
        " [%0], [%1];" ::"r"(response),
        "r"(barrier)
        : "memory");
  }
}

// clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, response;
// clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {x, y, z, _}, response;
// PTX ISA 8.6, sm_100
/// Decodes the answer at shared address `response`, after a wait on its barrier.
__device__ __forceinline__ CanceledCluster launch_control_query(uint32_t response) {
  uint32_t is_canceled, x, y, z;
  asm volatile(
      "{\n\t"
      ".reg .b128 response;\n\t"
      ".reg .pred canceled;\n\t"
      "ld.shared.b128 response, [%4];\n\t"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, response;\n\t"
      "selp.b32 %0, 1, 0, canceled;\n\t"
      "mov.b32 %1, 0;\n\t"
      "mov.b32 %2, 0;\n\t"
      "mov.b32 %3, 0;\n\t"
      "@canceled clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128"
      " {%1, %2, %3, _}, response;\n\t"
      "}"
      : "=&r"(is_canceled), "=&r"(x), "=&r"(y), "=&r"(z)
      : "r"(response)
      : "memory");
  return CanceledCluster{is_canceled != 0, x, y, z};
}

}  // namespace bw::ptx
