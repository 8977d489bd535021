/// \file
/// Exchanges and reductions within a warp (PTX ISA, "shfl.sync", "vote.sync", "match.sync",
/// "redux.sync", "elect.sync", "movmatrix", "Special Registers").
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/instruction_case.cuh"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::warp {

#define BW_SHFL(MODE)                                       \
  BW_ASSEMBLY(3, w, w, w, w, "shfl.sync." MODE ".b32",      \
              "{.reg .pred p; .reg .b32 t; shfl.sync." MODE \
              ".b32 t|p, %1, %2, %3, 0xffffffff;"           \
              " selp.b32 %0, 0, 0xa5a5a5a5, p; xor.b32 %0, %0, t;}")
BW_SHFL("up")
BW_SHFL("down")
BW_SHFL("bfly")
BW_SHFL("idx")
// A part of the warp, each thread reading itself or another one of the part: the odd values.
BW_ASSEMBLY(1, w, w, w, w, "shfl.sync.idx.b32.partial",
            "{.reg .pred p; .reg .b32 m, n; and.b32 m, %1, 1; setp.ne.u32 p, m, 0;"
            " vote.sync.ballot.b32 m, p, 0xffffffff; bfind.u32 n, m; mov.b32 %0, 7;"
            " @p shfl.sync.idx.b32 %0, %1, n, 31, m;}")

#define BW_VOTE(FORM)                                                       \
  BW_ASSEMBLY(2, w, w, w, w, "vote.sync." FORM ".pred",                     \
              "{.reg .pred p, q; and.b32 %0, %1, 31; setp.ne.u32 p, %0, 3;" \
              " vote.sync." FORM ".pred q, p, 0xffffffff; selp.b32 %0, 1, 0, q;}")
BW_VOTE("all")
BW_VOTE("any")
BW_VOTE("uni")
BW_ASSEMBLY(1, w, w, w, w, "vote.sync.all.pred.negated",
            "{.reg .pred p, q; setp.eq.u32 p, %1, 0xffffffff;"
            " vote.sync.all.pred q, !p, 0xffffffff; selp.b32 %0, 1, 0, q;}")
BW_ASSEMBLY(2, w, w, w, w, "vote.sync.ballot.b32",
            "{.reg .pred p; setp.lt.s32 p, %1, %2; vote.sync.ballot.b32 %0, p, 0xffffffff;}")
BW_ASSEMBLY(1, w, w, w, w, "match.any.sync.b32",
            "{.reg .b32 t; and.b32 t, %1, 7; match.any.sync.b32 %0, t, 0xffffffff;}")
BW_ASSEMBLY(1, w, d, w, w, "match.any.sync.b64",
            "{.reg .b64 t; and.b64 t, %1, 0x100000001; match.any.sync.b64 %0, t, 0xffffffff;}")
BW_ASSEMBLY(1, w, w, w, w, "match.all.sync.b32",
            "{.reg .pred p; .reg .b32 t; and.b32 t, %1, 0x00800000;"
            " match.all.sync.b32 %0|p, t, 0xffffffff; @p or.b32 %0, %0, 1; @!p add.u32 %0, %0, 6;}")

#define BW_REDUX(FORM) \
  BW_ASSEMBLY(1, w, w, w, w, "redux.sync." FORM, "redux.sync." FORM " %0, %1, 0xffffffff;")
BW_REDUX("add.s32")
BW_REDUX("add.u32")
BW_REDUX("min.s32")
BW_REDUX("min.u32")
BW_REDUX("max.s32")
BW_REDUX("max.u32")
BW_REDUX("and.b32")
BW_REDUX("or.b32")
BW_REDUX("xor.b32")
BW_ASSEMBLY(1, w, w, w, w, "redux.sync.add.s32.partial",
            "{.reg .pred p; .reg .b32 m; and.b32 m, %1, 1; setp.ne.u32 p, m, 0;"
            " vote.sync.ballot.b32 m, p, 0xffffffff; mov.b32 %0, 7;"
            " @p redux.sync.add.s32 %0, %1, m;}")
BW_ASSEMBLY(1, w, w, w, w, "movmatrix.sync.aligned.m8n8.trans.b16",
            "movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;")
// Which thread of a whole warp is elected, and its number in the other threads.
BW_ASSEMBLY(1, w, w, w, w, "elect.sync",
            "{.reg .pred p; .reg .b32 t; elect.sync t|p, 0xffffffff; selp.b32 %0, 256, 0, p;"
            " or.b32 %0, %0, t;}")

#define BW_LANE_MASK(NAME) BW_ASSEMBLY(1, w, w, w, w, NAME, "mov.u32 %0, %%" NAME ";")
BW_LANE_MASK("lanemask_eq")
BW_LANE_MASK("lanemask_lt")
BW_LANE_MASK("lanemask_le")
BW_LANE_MASK("lanemask_gt")
BW_LANE_MASK("lanemask_ge")
BW_LANE_MASK("laneid")
BW_LANE_MASK("ctaid.x")
BW_LANE_MASK("nctaid.x")
BW_LANE_MASK("clusterid.x")
BW_LANE_MASK("nclusterid.x")
BW_LANE_MASK("cluster_nctarank")

constexpr unsigned kWarp = 32;
/// Room for the matrices with rows in any order, each row 16 bytes.
constexpr unsigned kRows = 64;

/// ldmatrix of `count` matrices with rows at offsets 16 * ((7 * lane + 3) % kRows).
template <int count, bool transposed>
__global__ void load_matrices(const uint32_t* input, uint32_t* result) {
  __shared__ alignas(16) uint32_t memory[kRows * 4];
  for (unsigned i = threadIdx.x; i < kRows * 4; i += kWarp) memory[i] = input[i];
  __syncwarp();
  const unsigned row = (7 * threadIdx.x + 3) % kRows;
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(memory)) + 16 * row;
  uint32_t r[4] = {};
  if constexpr (count == 4 && !transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  if constexpr (count == 4 && transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  if constexpr (count == 2 && !transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(address)
                 : "memory");
  if constexpr (count == 1 && transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(r[0])
                 : "r"(address)
                 : "memory");
  for (int i = 0; i < 4; ++i) result[threadIdx.x * 4 + i] = r[i];
}

template <int count, bool transposed>
__global__ void store_matrices(const uint32_t* input, uint32_t* result) {
  __shared__ alignas(16) uint32_t memory[kRows * 4];
  for (unsigned i = threadIdx.x; i < kRows * 4; i += kWarp) memory[i] = 0;
  __syncwarp();
  const unsigned row = (7 * threadIdx.x + 3) % kRows;
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(memory)) + 16 * row;
  const uint32_t* r = input + threadIdx.x * 4;
  if constexpr (count == 4 && !transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  if constexpr (count == 4 && transposed)
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
        "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
        : "memory");
  if constexpr (count == 2 && transposed)
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%0], {%1, %2};" ::"r"(address),
        "r"(r[0]), "r"(r[1])
        : "memory");
  if constexpr (count == 1 && !transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address), "r"(r[0])
                 : "memory");
  __syncwarp();
  for (unsigned i = threadIdx.x; i < kRows * 4; i += kWarp) result[i] = memory[i];
}

Result measure_matrices(void (*kernel)(const uint32_t*, uint32_t*)) {
  constexpr size_t kWords = kRows * 4;
  DeviceBuffer<uint8_t> input = to_device(operands(4, 0, kWords), 4);
  DeviceBuffer<uint8_t> result(kWords * 4);
  result.fill_bytes(0);
  launch(reinterpret_cast<const void*>(kernel), 1, kWarp, input.data(), result.data());
  return {from_device(result, 4), [](size_t i) { return "word " + std::to_string(i); }};
}

const Registration kMatrixCases[] = {
    {"ldmatrix.x4", [] { return measure_matrices(load_matrices<4, false>); }},
    {"ldmatrix.x4.trans", [] { return measure_matrices(load_matrices<4, true>); }},
    {"ldmatrix.x2", [] { return measure_matrices(load_matrices<2, false>); }},
    {"ldmatrix.x1.trans", [] { return measure_matrices(load_matrices<1, true>); }},
    {"stmatrix.x4", [] { return measure_matrices(store_matrices<4, false>); }},
    {"stmatrix.x4.trans", [] { return measure_matrices(store_matrices<4, true>); }},
    {"stmatrix.x2.trans", [] { return measure_matrices(store_matrices<2, true>); }},
    {"stmatrix.x1", [] { return measure_matrices(store_matrices<1, false>); }},
};

}  // namespace bw::conformance::warp
