#pragma once
/// \file
/// The rows of every family of instruction forms. Each function is defined with the family's
/// handlers; families.cpp puts them together.

#include <span>

#include "common/simulator/machine/binder.hpp"

namespace bw::sim {

using Rows = std::span<const InstructionForm>;  ///< forms of one family

// alu/
namespace integer {
/// Sums, products, quotients.
[[nodiscard]] Rows arithmetic_rows();
/// With a carry.
[[nodiscard]] Rows carry_rows();
[[nodiscard]] Rows bit_rows();  ///< logic, shifts, bit fields, prmt
}  // namespace integer
namespace floating {
/// Sums, products, quotients.
[[nodiscard]] Rows arithmetic_rows();
[[nodiscard]] Rows function_rows();  ///< the approximate functions
[[nodiscard]] Rows minmax_rows();    ///< abs, neg, min, max, copysign, testp
}  // namespace floating
namespace half {
[[nodiscard]] Rows rows();  ///< f16, bf16 and their packed types
}  // namespace half
[[nodiscard]] Rows comparison_rows();  ///< setp, set, selp, slct, logic of predicates
namespace conversion {
/// Copies of registers.
[[nodiscard]] Rows move_rows();
[[nodiscard]] Rows scalar_rows();   ///< cvt between scalar types, cvt.pack
[[nodiscard]] Rows packed_rows();   ///< cvt of packed 16-, 8-, 6- and 4-bit types
[[nodiscard]] Rows scaled_rows();   ///< cvt of bf16x2 and s2f6x2, with scale factors
[[nodiscard]] Rows address_rows();  ///< cvta, isspacep
}  // namespace conversion

// control/
[[nodiscard]] Rows control_rows();  ///< bra, ret, exit, trap, call, nanosleep
[[nodiscard]] Rows cluster_rows();  ///< mapa, getctarank, griddepcontrol, setmaxnreg
/// Clusterlaunchcontrol.
[[nodiscard]] Rows launch_control_rows();
[[nodiscard]] Rows unexecuted_rows();  ///< known forms that are refused by name

// memory/
[[nodiscard]] Rows load_store_rows();   ///< ld, st, ldu
[[nodiscard]] Rows cache_hint_rows();   ///< prefetch, discard, applypriority, createpolicy
[[nodiscard]] Rows atomic_rows();       ///< atom, red
[[nodiscard]] Rows matrix_move_rows();  ///< ldmatrix, stmatrix, movmatrix
[[nodiscard]] Rows bulk_zero_rows();    ///< st.bulk

// synchronisation/
[[nodiscard]] Rows warp_rows();     ///< shfl, vote, match, redux, elect, activemask, bar.warp.sync
[[nodiscard]] Rows barrier_rows();  ///< bar, barrier, barrier.cluster
/// Fences.
[[nodiscard]] Rows fence_rows();
namespace mbarrier_operations {
[[nodiscard]] Rows arrive_rows();  ///< init, inval, expect_tx, complete_tx, arrive, arrive_drop
[[nodiscard]] Rows wait_rows();    ///< test_wait, try_wait, pending_count
}  // namespace mbarrier_operations

// copies/
[[nodiscard]] Rows cp_async_rows();  ///< non-bulk cp.async
/// Bulk copies.
[[nodiscard]] Rows bulk_copy_rows();
/// Tensor copies.
[[nodiscard]] Rows tensor_copy_rows();
[[nodiscard]] Rows tensor_map_rows();   ///< tensormap.*, prefetch.tensormap
[[nodiscard]] Rows async_store_rows();  ///< st.async, red.async

// tensor_core/
[[nodiscard]] Rows mma_sync_rows();  ///< mma.sync, mma.sp
namespace tcgen05 {
/// Allocation of tensor memory.
[[nodiscard]] Rows alloc_rows();
/// Loads and stores.
[[nodiscard]] Rows load_store_rows();
/// Tcgen05.cp.
[[nodiscard]] Rows copy_rows();
/// Tcgen05.shift.
[[nodiscard]] Rows shift_rows();
/// Tcgen05.mma.
[[nodiscard]] Rows mma_rows();
[[nodiscard]] Rows commit_rows();  ///< commit and fence
}  // namespace tcgen05
namespace wgmma {
[[nodiscard]] Rows rows();  ///< mma_async, dense and sparse, fence, commit_group, wait_group
}  // namespace wgmma
namespace wmma {
[[nodiscard]] Rows rows();  ///< load, mma, store
}  // namespace wmma

}  // namespace bw::sim
