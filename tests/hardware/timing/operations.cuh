#pragma once
/// \file
/// Instructions that are measured in chains: each step needs the result of the one before.

#include <cstdint>

namespace bw::timing {

// Seeds differ between lanes: what is the same for a warp goes to the uniform datapath. Each chain
// has a second register of its own and no third: three reads would meet in the register banks.

struct FusedMultiplyAdd {
  float x;
  float a;
  __device__ explicit FusedMultiplyAdd(uint32_t seed)
      : x(static_cast<float>(seed + threadIdx.x)), a(x + 1) {}
  __device__ void step() { asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a)); }
  __device__ uint32_t result() const { return __float_as_uint(x); }
};

/// D = A B + D, 16 by 8 by 16 of f16 with sums in f32: a chain through D.
struct MatrixMultiplyAdd {
  float d[4];
  uint32_t a;
  __device__ explicit MatrixMultiplyAdd(uint32_t seed) : d{}, a(seed + threadIdx.x) {}
  __device__ void step() {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
        "{%4, %4}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a));
  }
  __device__ uint32_t result() const { return __float_as_uint(d[0] + d[1] + d[2] + d[3]); }
};

struct IntegerMultiplyAdd {
  uint32_t x;
  uint32_t a;
  __device__ explicit IntegerMultiplyAdd(uint32_t seed) : x(seed + threadIdx.x), a(x + 1) {}
  __device__ void step() { asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(a)); }
  __device__ uint32_t result() const { return x; }
};

/// An addition, then an exclusive or: two instructions, so that neither can be merged.
struct AddAndXor {
  uint32_t x;
  uint32_t y;
  __device__ explicit AddAndXor(uint32_t seed) : x(seed + threadIdx.x), y(x + 1) {}
  __device__ void step() {
    asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(y));
    asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(y));
  }
  __device__ uint32_t result() const { return x; }
};

struct Exponential {
  float x;
  __device__ explicit Exponential(uint32_t seed) : x(static_cast<float>(seed + threadIdx.x)) {}
  __device__ void step() { asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)); }
  __device__ uint32_t result() const { return __float_as_uint(x); }
};

struct PackedHalfMultiplyAdd {
  uint32_t x;
  uint32_t a;
  __device__ explicit PackedHalfMultiplyAdd(uint32_t seed) : x(seed + threadIdx.x), a(x + 1) {}
  __device__ void step() { asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(a)); }
  __device__ uint32_t result() const { return x; }
};

struct DoubleMultiplyAdd {
  double x;
  __device__ explicit DoubleMultiplyAdd(uint32_t seed) : x(seed + threadIdx.x) {}
  __device__ void step() { asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(x)); }
  __device__ uint32_t result() const { return static_cast<uint32_t>(__double2loint(x)); }
};

struct Shuffle {
  uint32_t x;
  __device__ explicit Shuffle(uint32_t seed) : x(seed + threadIdx.x) {}
  __device__ void step() {
    asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(x));
  }
  __device__ uint32_t result() const { return x; }
};

/// A special register, which another instruction takes.
struct SpecialRegister {
  uint32_t x;
  __device__ explicit SpecialRegister(uint32_t seed) : x(seed + threadIdx.x) {}
  __device__ void step() {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(sm));
  }
  __device__ uint32_t result() const { return x; }
};

/// Two floats to one register of bf16; the next step takes its bits for a float.
struct Convert {
  float x;
  __device__ explicit Convert(uint32_t seed) : x(static_cast<float>(seed + threadIdx.x)) {}
  __device__ void step() {
    uint32_t packed;
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %1;" : "=r"(packed) : "f"(x));
    asm volatile("mov.b32 %0, %1;" : "=f"(x) : "r"(packed));
  }
  __device__ uint32_t result() const { return __float_as_uint(x); }
};

}  // namespace bw::timing
