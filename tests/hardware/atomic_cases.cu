/// \file
/// Atomic operations and reductions on memory (PTX ISA, "atom", "red").
#include <cstdint>

#include "tests/hardware/inputs.hpp"
#include "tests/hardware/instruction_case.cuh"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::atomic {

/// A memory location of its own for each element.
__device__ uint64_t global_slots[2048];

/// The old value, and the new one where it has room or else mixed in.
__device__ uint64_t both(uint64_t old_value, uint64_t new_value, unsigned bytes) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
  return bytes == 8 ? old_value * kOdd + new_value : old_value | new_value << 32;
}

#define BW_GLOBAL_SLOT() (global_slots + blockIdx.x * kThreads + threadIdx.x)

__device__ uint64_t* shared_slots() {
  __shared__ uint64_t slots[kThreads];
  return slots;
}

/// A location is given the first operand, the instruction the second (and third).
#define BW_ATOMIC_AT(LINE, USED, W, SPACE, SLOT, NAME, TEXT)                       \
  struct Form##LINE {                                                              \
    using A = BW_TYPE_##W;                                                         \
    using B = BW_TYPE_##W;                                                         \
    using C = BW_TYPE_##W;                                                         \
    using R = uint64_t;                                                            \
    static __device__ R run(A a, B b, C c) {                                       \
      volatile A* const slot = reinterpret_cast<volatile A*>(SLOT);                \
      *slot = a;                                                                   \
      A old_value = 0;                                                             \
      asm volatile(TEXT                                                            \
                   : "+" BW_LETTER_##W(old_value)                                  \
                   : "l"(const_cast<A*>(slot)), BW_LETTER_##W(b), BW_LETTER_##W(c) \
                   : "memory");                                                    \
      return both(old_value, *slot, sizeof(A));                                    \
    }                                                                              \
  };                                                                               \
  const Registration registration##LINE(NAME, [] { return measure_form<Form##LINE>(USED); });
#define BW_ATOMIC_LINE(LINE, ...) BW_ATOMIC_AT(LINE, __VA_ARGS__)
#define BW_GLOBAL(W, FORM)                                                      \
  BW_ATOMIC_LINE(__LINE__, 2, W, global, BW_GLOBAL_SLOT(), "atom.global." FORM, \
                 "{.reg .b64 a; cvta.to.global.u64 a, %1; atom.global." FORM " %0, [a], %2;}")
#define BW_REDUCTION(W, FORM)                                                  \
  BW_ATOMIC_LINE(__LINE__, 2, W, global, BW_GLOBAL_SLOT(), "red.global." FORM, \
                 "{.reg .b64 a; cvta.to.global.u64 a, %1; red.global." FORM " [a], %2;}")
#define BW_SHARED(W, FORM)                                                                  \
  BW_ATOMIC_LINE(__LINE__, 2, W, shared, shared_slots() + threadIdx.x, "atom.shared." FORM, \
                 "{.reg .b64 a; cvta.to.shared.u64 a, %1; atom.shared." FORM " %0, [a], %2;}")
#define BW_CAS(W, SPACE, SLOT, FORM)                                   \
  BW_ATOMIC_LINE(__LINE__, 3, W, SPACE, SLOT, "atom." #SPACE "." FORM, \
                 "{.reg .b64 a; cvta.to." #SPACE                       \
                 ".u64 a, %1;"                                         \
                 " atom." #SPACE "." FORM " %0, [a], %2, %3;}")

BW_GLOBAL(w, "add.u32")
BW_GLOBAL(w, "add.s32")
BW_GLOBAL(d, "add.u64")
BW_GLOBAL(w, "min.s32")
BW_GLOBAL(w, "max.u32")
BW_GLOBAL(d, "min.u64")
BW_GLOBAL(d, "max.s64")
BW_GLOBAL(w, "and.b32")
BW_GLOBAL(d, "or.b64")
BW_GLOBAL(w, "xor.b32")
BW_GLOBAL(w, "exch.b32")
BW_GLOBAL(d, "exch.b64")
BW_GLOBAL(w, "inc.u32")
BW_GLOBAL(w, "dec.u32")
BW_GLOBAL(w, "add.f32")
BW_GLOBAL(h, "add.noftz.f16")
BW_GLOBAL(w, "add.noftz.f16x2")
BW_GLOBAL(h, "add.noftz.bf16")
BW_GLOBAL(w, "add.noftz.bf16x2")
BW_CAS(h, global, BW_GLOBAL_SLOT(), "cas.b16")
BW_CAS(w, global, BW_GLOBAL_SLOT(), "cas.b32")
BW_CAS(d, global, BW_GLOBAL_SLOT(), "cas.b64")
BW_SHARED(w, "add.u32")
BW_SHARED(d, "add.u64")
BW_SHARED(w, "min.s32")
BW_SHARED(d, "max.u64")
BW_SHARED(d, "and.b64")
BW_SHARED(w, "inc.u32")
BW_SHARED(w, "dec.u32")
BW_SHARED(w, "add.f32")
BW_SHARED(h, "add.noftz.f16")
BW_SHARED(w, "add.noftz.bf16x2")
BW_CAS(w, shared, shared_slots() + threadIdx.x, "cas.b32")
BW_CAS(d, shared, shared_slots() + threadIdx.x, "cas.b64")
BW_REDUCTION(w, "add.f32")
BW_REDUCTION(w, "max.s32")
BW_REDUCTION(d, "xor.b64")
BW_REDUCTION(w, "add.noftz.f16x2")
BW_REDUCTION(h, "add.noftz.bf16")

// Vectors of floats, red.global alone: four elements of the thread's own.
__global__ void vector_reductions(const float4* input, float4* result) {
  const unsigned i = threadIdx.x;
  const float4 value = input[blockDim.x + i];
  result[i] = input[i];
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(result + i), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
}

/// All threads of a block on one location each operation: only order-independent final values.
__global__ void contended(uint32_t* result) {
  const uint32_t value = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
  atomicAdd(result + 0, value);
  atomicMin(result + 1, value);
  atomicMax(result + 2, value);
  atomicAnd(result + 3, value | 0xff);
  atomicOr(result + 4, value & 0xf0f0);
  atomicXor(result + 5, value);
  atomicInc(result + 6, 99);
  atomicDec(result + 7, 99);
}

const Registration kOtherCases[] = {
    {"red.global.add.v4.f32",
     [] {
       constexpr size_t kWords = 8 * kThreads;
       DeviceBuffer<uint8_t> input = to_device(operands(4, 0, kWords), 4);
       DeviceBuffer<uint8_t> result(kWords / 2 * 4);
       launch(reinterpret_cast<const void*>(&vector_reductions), 1, kThreads, input.data(),
              result.data());
       const std::vector<uint64_t> words = operands(4, 0, kWords);
       return Result{from_device(result, 4), [words](size_t i) {
                       return hexadecimal(words[i], 4) + " + " +
                              hexadecimal(words[i + kWords / 2], 4);
                     }};
     }},
    {"atomics.contended",
     [] {
       DeviceBuffer<uint8_t> result = to_device({5, ~0ull, 0, ~0ull, 0, 0, 7, 7}, 4);
       launch(reinterpret_cast<const void*>(&contended), 7, 96, result.data());
       return Result{from_device(result, 4),
                     [](size_t i) { return "operation " + std::to_string(i); }};
     }},
};

}  // namespace bw::conformance::atomic
