/// \file
/// Named barriers, and loads and stores of every width (PTX ISA, "barrier", "ld", "st").
#include "tests/hardware/cases.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::barrier {

constexpr unsigned kThreads = 128;
constexpr unsigned kWarp = 32;

/// barrier.red over the whole CTA and over two of its warps.
__global__ void reductions(uint32_t* result) {
  const unsigned t = threadIdx.x;
  uint32_t* out = result + t * 6;
  const uint32_t chosen = t % 3 == 0;
#define BW_RED(INDEX, FORM, VALUE)                                             \
  asm volatile("{.reg .pred p, q; setp.ne.u32 p, %1, 0; barrier.cta.red." FORM \
               ".pred q, 3, p;"                                                \
               " selp.b32 %0, 1, 0, q;}"                                       \
               : "=r"(out[INDEX])                                              \
               : "r"(VALUE)                                                    \
               : "memory")
  asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; barrier.cta.red.popc.u32 %0, 3, p;}"
               : "=r"(out[0])
               : "r"(chosen)
               : "memory");
  BW_RED(1, "and", chosen);
  BW_RED(2, "and", 1);
  BW_RED(3, "or", static_cast<uint32_t>(t == 77));
  BW_RED(4, "or", 0);
  out[5] = 0;
  if (t < 2 * kWarp)
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 5, 64, !p;}"
                 : "=r"(out[5])
                 : "r"(chosen)
                 : "memory");
}

/// Warps hand a value round in a ring of named barriers: arrive at the next one's, wait at one's
/// own.
__global__ void ring(uint32_t* result) {
  __shared__ uint32_t value;
  const unsigned warp = threadIdx.x / kWarp;
  if (threadIdx.x == 0) value = 1;
  __syncthreads();
  constexpr unsigned kRounds = 3, kWarps = kThreads / kWarp;
  for (unsigned round = 0; round < kRounds; ++round) {
    if (warp != 0 || round != 0)
      asm volatile("barrier.cta.sync %0, 64;" ::"r"(1 + warp) : "memory");
    if (threadIdx.x % kWarp == 0) value = value * 3 + warp;
    __syncwarp();
    result[round * kThreads + threadIdx.x] = value;
    __syncwarp();
    if (round + 1 < kRounds || warp + 1 < kWarps)
      asm volatile("barrier.cta.arrive %0, 64;" ::"r"(1 + (warp + 1) % kWarps) : "memory");
  }
}

/// Sub-word loads into wider registers, vectors, stores of the low bits.
__global__ void widths(const uint8_t* source, uint32_t* result) {
  const uint8_t* from = source + threadIdx.x * 64;
  uint32_t* to = result + threadIdx.x * 24;
  asm volatile(
      "{.reg .u32 a, b, c, d; .reg .u64 e, f; .reg .b16 h;\n"
      "ld.global.u8 a, [%0 + 3]; st.global.u32 [%1], a;\n"
      "ld.global.s8 a, [%0 + 5]; st.global.u32 [%1 + 4], a;\n"
      "ld.global.u16 a, [%0 + 6]; st.global.u32 [%1 + 8], a;\n"
      "ld.global.s16 a, [%0 + 10]; st.global.u32 [%1 + 12], a;\n"
      "ld.global.s8 e, [%0 + 7]; st.global.u64 [%1 + 16], e;\n"
      "ld.global.s32 e, [%0 + 12]; st.global.u64 [%1 + 24], e;\n"
      "ld.global.u32 e, [%0 + 12]; st.global.u64 [%1 + 32], e;\n"
      "ld.global.v4.u8 {a, b, c, d}, [%0 + 16]; st.global.v4.u32 [%1 + 48], {d, c, b, a};\n"
      "ld.global.v2.s16 {a, b}, [%0 + 20]; st.global.v2.u32 [%1 + 40], {b, a};\n"
      "ld.global.v2.u64 {e, f}, [%0 + 32]; st.global.v2.u64 [%1 + 64], {f, e};\n"
      "ld.global.u32 a, [%0 + 48]; st.global.u8 [%1 + 80], a; st.global.u8 [%1 + 83], a;\n"
      "ld.global.s8 h, [%0 + 52]; st.global.u16 [%1 + 84], h; st.global.u8 [%1 + 87], h;\n"
      "ld.global.nc.v4.u16 {a, b, c, d}, [%0 + 56]; st.global.v4.u8 [%1 + 88], {a, b, c, d};}" ::
          "l"(from),
      "l"(to)
      : "memory");
}

const Registration kCases[] = {
    {"barrier.reductions",
     [] {
       DeviceBuffer<uint8_t> result(kThreads * 24);
       launch(reinterpret_cast<const void*>(&reductions), 1, kThreads, result.data());
       return Result{from_device(result, 4), [](size_t i) {
                       return "thread " + std::to_string(i / 6) + " form " + std::to_string(i % 6);
                     }};
     }},
    {"barrier.ring",
     [] {
       DeviceBuffer<uint8_t> result(kThreads * 12);
       launch(reinterpret_cast<const void*>(&ring), 1, kThreads, result.data());
       return Result{from_device(result, 4), [](size_t i) {
                       return "round " + std::to_string(i / kThreads) + " thread " +
                              std::to_string(i % kThreads);
                     }};
     }},
    {"memory.widths",
     [] {
       DeviceBuffer<uint8_t> source = to_device(operands(4, 0, kThreads * 16), 4);
       DeviceBuffer<uint8_t> result(kThreads * 96);
       result.fill_bytes(0);
       launch(reinterpret_cast<const void*>(&widths), 1, kThreads, source.data(), result.data());
       return Result{from_device(result, 4), [](size_t i) {
                       return "thread " + std::to_string(i / 24) + " word " +
                              std::to_string(i % 24);
                     }};
     }},
};

}  // namespace bw::conformance::barrier
