/// \file
/// mma.sync and mma.sp (PTX ISA, "mma", "mma.sp"): fragments of random numbers in, the bits of D
/// out. Which element of a matrix a register holds, and how a sum is rounded, are both in the bits.
#include <array>
#include <cstring>

#include "tests/hardware/inputs.hpp"
#include "tests/hardware/instruction_case.cuh"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::mma {

constexpr unsigned kWarp = 32;
/// Products of matrices in a case, each with other operands.
constexpr unsigned kTests = 96;

/// What the bits of an operand are.
enum class Kind { bits, f16, bf16, tf32, f32, f64, e4m3, e5m2, metadata, metadata_tf32 };

struct FormatBits {
  unsigned width, exponent, mantissa;
};
constexpr FormatBits kFormats[] = {{32, 0, 0},   {16, 5, 10}, {16, 8, 7}, {32, 8, 23}, {32, 8, 23},
                                   {64, 11, 52}, {8, 4, 3},   {8, 5, 2},  {32, 0, 0},  {32, 0, 0}};

/// How far apart the exponents of a test are; every eighth test has zeros, subnormals, infinities
/// and NaNs as well.
uint64_t random_float(RandomBits& random, const FormatBits& format, unsigned test) {
  const unsigned mode = test % 8;
  const uint64_t bits = random.next();
  const uint64_t sign = (bits >> 63) << (format.width - 1);
  const uint64_t mantissa = bits & ((uint64_t{1} << format.mantissa) - 1);
  const uint64_t all_exponents = (uint64_t{1} << format.exponent) - 1;
  if (mode == 7) {
    const uint64_t kind = random.below(16);
    if (kind == 0) return sign | all_exponents << format.mantissa;             // infinity
    if (kind == 1) return sign | all_exponents << format.mantissa | mantissa;  // mostly NaN
    if (kind < 6) return sign | mantissa;                                      // subnormal
    if (kind < 8) return sign;
  }
  constexpr uint64_t kSpread[] = {1, 2, 4, 6, 8, 12, 24, 6};
  const uint64_t bias = all_exponents >> 1;
  const uint64_t spread = kSpread[mode] < bias ? kSpread[mode] : bias;
  const uint64_t exponent = bias - spread / 2 + random.below(spread);
  if (mode == 2 && random.below(3) == 0) return 0;
  // Few bits, as of small integers, where sums are exact.
  const uint64_t kept =
      mode == 3 ? mantissa >> (format.mantissa - 2) << (format.mantissa - 2) : mantissa;
  return sign | exponent << format.mantissa | kept;
}

/// One 2-bit pair for each four elements, ascending; or what .tf32 takes for each two.
uint64_t random_metadata(RandomBits& random, Kind kind) {
  constexpr uint64_t kPairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  constexpr uint64_t kSingles[] = {0x4, 0xe};
  uint64_t bits = 0;
  for (unsigned nibble = 0; nibble < 8; ++nibble)
    bits |= (kind == Kind::metadata ? kPairs[random.below(6)] : kSingles[random.below(2)])
            << (4 * nibble);
  return bits;
}

/// Words of 32 bits for `registers` registers of all threads of all tests.
std::vector<uint64_t> operand_words(Kind kind, unsigned words_per_lane, uint64_t seed) {
  RandomBits random(seed);
  std::vector<uint64_t> words;
  const FormatBits& format = kFormats[static_cast<size_t>(kind)];
  for (unsigned test = 0; test < kTests; ++test)
    for (unsigned i = 0; i < kWarp * words_per_lane; ++i) {
      uint64_t word = 0;
      if (kind == Kind::bits) {
        word = random.next() >> 32;
      } else if (kind == Kind::metadata || kind == Kind::metadata_tf32) {
        word = random_metadata(random, kind);
      } else if (kind == Kind::f64) {
        const uint64_t value = random_float(random, format, test);
        words.push_back(value & 0xffffffff);
        word = value >> 32;
        ++i;
      } else {
        for (unsigned bit = 0; bit < 32; bit += format.width)
          word |= random_float(random, format, test) << bit;
      }
      words.push_back(word);
    }
  return words;
}

/// D, A, B, C and the metadata of all threads: `words` of each per thread.
struct Shape {
  unsigned d, a, b, c;
  Kind a_kind, b_kind, c_kind;
  Kind metadata_kind = Kind::metadata;
};

using Kernel = void (*)(uint32_t*, const uint32_t*, const uint32_t*, const uint32_t*,
                        const uint32_t*);

Result measure(Kernel kernel, const Shape& shape, AnyNan any_nan) {
  DeviceBuffer<uint8_t> a = to_device(operand_words(shape.a_kind, shape.a, 1), 4);
  DeviceBuffer<uint8_t> b = to_device(operand_words(shape.b_kind, shape.b, 2), 4);
  DeviceBuffer<uint8_t> c = to_device(operand_words(shape.c_kind, shape.c, 3), 4);
  DeviceBuffer<uint8_t> e = to_device(operand_words(shape.metadata_kind, 1, 4), 4);
  DeviceBuffer<uint8_t> d(size_t{4} * kTests * kWarp * shape.d);
  d.fill_bytes(0xcd);
  launch(reinterpret_cast<const void*>(kernel), kTests, kWarp, d.data(), a.data(), b.data(),
         c.data(), e.data());
  std::vector<uint64_t> values = from_device(d, 4);
  if (any_nan == AnyNan::f64)
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      if ((values[i + 1] & 0x7fffffff) > 0x7ff00000) values[i] = 0, values[i + 1] = 0x7fffffff;
  return {std::move(values), [=](size_t i) {
            const size_t lane = i / shape.d;
            return "product " + std::to_string(lane / kWarp) + ", lane " +
                   std::to_string(lane % kWarp) + ", word " + std::to_string(i % shape.d);
          }};
}

// Register lists and loads of 1 to 16 words, by name.
#define BW_LIST_1(R) "{" R "0}"
#define BW_LIST_2(R) "{" R "0," R "1}"
#define BW_LIST_4(R) "{" R "0," R "1," R "2," R "3}"
#define BW_LIST_8(R) "{" R "0," R "1," R "2," R "3," R "4," R "5," R "6," R "7}"

/// Loads words 0 to N-1 of 4 or 8 bytes, and stores them.
#define BW_LOADS_1(R, P, T, W) "ld.global." T " " R "0, [" P "];"
#define BW_LOADS_2(R, P, T, W) BW_LOADS_1(R, P, T, W) "ld.global." T " " R "1, [" P "+" #W "];"
#define BW_LOADS_4(R, P, T, W) \
  BW_LOADS_2(R, P, T, W)       \
  "ld.global." T " " R "2, [" P "+2*" #W "];ld.global." T " " R "3, [" P "+3*" #W "];"
#define BW_LOADS_8(R, P, T, W)                                                    \
  BW_LOADS_4(R, P, T, W)                                                          \
  "ld.global." T " " R "4, [" P "+4*" #W "];ld.global." T " " R "5, [" P "+5*" #W \
  "];"                                                                            \
  "ld.global." T " " R "6, [" P "+6*" #W "];ld.global." T " " R "7, [" P "+7*" #W "];"
#define BW_STORES_2(R, P, T, W) \
  "st.global." T " [" P "], " R "0;st.global." T " [" P "+" #W "], " R "1;"
#define BW_STORES_4(R, P, T, W) \
  BW_STORES_2(R, P, T, W)       \
  "st.global." T " [" P "+2*" #W "], " R "2;st.global." T " [" P "+3*" #W "], " R "3;"
#define BW_STORES_8(R, P, T, W)                                                   \
  BW_STORES_4(R, P, T, W)                                                         \
  "st.global." T " [" P "+4*" #W "], " R "4;st.global." T " [" P "+5*" #W "], " R \
  "5;"                                                                            \
  "st.global." T " [" P "+6*" #W "], " R "6;st.global." T " [" P "+7*" #W "], " R "7;"

/// A case. D and C have the same number of registers but where an f16 C meets an f32 D. TAIL is
/// what follows C: the metadata and the selector of sparse forms.
#define BW_MMA_AT(LINE, PTX, NAME, ND, NA, NB, NC, T, W, AK, BK, CK, EK, NAN_, TAIL)              \
  __global__ void kernel##LINE(uint32_t* d, const uint32_t* a, const uint32_t* b,                 \
                               const uint32_t* c, const uint32_t* e) {                            \
    const unsigned i = blockIdx.x * kWarp + threadIdx.x;                                          \
    asm volatile(                                                                                 \
        "{.reg ." T " a<8>, b<8>, c<8>, d<8>; .reg .b32 e;" BW_LOADS_##NA("a", "%1", T, W)        \
            BW_LOADS_##NB("b", "%2", T, W)                                                        \
                BW_LOADS_##NC("c", "%3", T, W) "ld.global.b32 e, [%4];" PTX " " BW_LIST_##ND(     \
                    "d") "," BW_LIST_##NA("a") "," BW_LIST_##NB("b") "," BW_LIST_##NC("c") TAIL   \
        ";" BW_STORES_##ND("d", "%0", T, W) "}" ::"l"(d + i * ND * W / 4),                        \
        "l"(a + i * NA * W / 4), "l"(b + i * NB * W / 4), "l"(c + i * NC * W / 4), "l"(e + i)     \
        : "memory");                                                                              \
  }                                                                                               \
  const Registration registration##LINE(NAME, [] {                                                \
    return measure(                                                                               \
        kernel##LINE,                                                                             \
        {ND * W / 4, NA * W / 4, NB * W / 4, NC * W / 4, Kind::AK, Kind::BK, Kind::CK, Kind::EK}, \
        AnyNan::NAN_);                                                                            \
  });
#define BW_MMA_LINE(LINE, ...) BW_MMA_AT(LINE, __VA_ARGS__)
#define BW_MMA(SHAPE, ND, NA, NB, NC, AK, BK, CK)                                                  \
  BW_MMA_LINE(__LINE__, "mma.sync.aligned." SHAPE, "mma." SHAPE, ND, NA, NB, NC, "b32", 4, AK, BK, \
              CK, bits, none, "")
#define BW_MMA_F64(SHAPE, ND, NA, NB)                                                           \
  BW_MMA_LINE(__LINE__, "mma.sync.aligned." SHAPE, "mma." SHAPE, ND, NA, NB, ND, "f64", 8, f64, \
              f64, f64, bits, f64, "")
#define BW_MMA_SP(SP, SHAPE, SELECTOR, ND, NA, NB, NC, AK, BK, CK, EK)                          \
  BW_MMA_LINE(__LINE__, "mma." SP ".sync.aligned." SHAPE, "mma." SP "." SHAPE "." SELECTOR, ND, \
              NA, NB, NC, "b32", 4, AK, BK, CK, EK, none, ", e, " SELECTOR)
// clang-format off
BW_MMA("m16n8k8.row.col.f32.f16.f16.f32", 4, 2, 1, 4, f16, f16, f32)
BW_MMA("m16n8k8.row.col.f16.f16.f16.f16", 2, 2, 1, 2, f16, f16, f16)
BW_MMA("m16n8k16.row.col.f32.f16.f16.f32", 4, 4, 2, 4, f16, f16, f32)
BW_MMA("m16n8k16.row.col.f16.f16.f16.f16", 2, 4, 2, 2, f16, f16, f16)
BW_MMA("m16n8k8.row.col.f32.bf16.bf16.f32", 4, 2, 1, 4, bf16, bf16, f32)
BW_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 4, 2, 4, bf16, bf16, f32)
BW_MMA("m16n8k4.row.col.f32.tf32.tf32.f32", 4, 2, 1, 4, tf32, tf32, f32)
BW_MMA("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 2, 4, tf32, tf32, f32)
BW_MMA("m16n8k16.row.col.f32.e4m3.e5m2.f32", 4, 2, 1, 4, e4m3, e5m2, f32)
BW_MMA("m16n8k16.row.col.f16.e5m2.e4m3.f16", 2, 2, 1, 2, e5m2, e4m3, f16)
BW_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 4, 2, 4, e4m3, e4m3, f32)
BW_MMA("m16n8k32.row.col.f32.e5m2.e4m3.f32", 4, 4, 2, 4, e5m2, e4m3, f32)
BW_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32", 4, 4, 2, 4, e5m2, e5m2, f32)
BW_MMA("m16n8k32.row.col.f16.e4m3.e5m2.f16", 2, 4, 2, 2, e4m3, e5m2, f16)
BW_MMA_F64("m8n8k4.row.col.f64.f64.f64.f64", 2, 1, 1)
BW_MMA_F64("m16n8k4.row.col.f64.f64.f64.f64", 4, 2, 1)
BW_MMA_F64("m16n8k8.row.col.f64.f64.f64.f64", 4, 4, 2)
BW_MMA_F64("m16n8k16.row.col.f64.f64.f64.f64", 4, 8, 4)
BW_MMA("m8n8k16.row.col.s32.s8.s8.s32", 2, 1, 1, 2, bits, bits, bits)
BW_MMA("m8n8k16.row.col.satfinite.s32.u8.s8.s32", 2, 1, 1, 2, bits, bits, bits)
BW_MMA("m16n8k16.row.col.s32.s8.u8.s32", 4, 2, 1, 4, bits, bits, bits)
BW_MMA("m16n8k32.row.col.s32.s8.s8.s32", 4, 4, 2, 4, bits, bits, bits)
BW_MMA("m16n8k32.row.col.satfinite.s32.u8.u8.s32", 4, 4, 2, 4, bits, bits, bits)
BW_MMA("m8n8k32.row.col.s32.u4.s4.s32", 2, 1, 1, 2, bits, bits, bits)
BW_MMA("m16n8k32.row.col.s32.s4.u4.s32", 4, 2, 1, 4, bits, bits, bits)
BW_MMA("m16n8k64.row.col.s32.s4.s4.s32", 4, 4, 2, 4, bits, bits, bits)
BW_MMA("m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 2, 1, 1, 2, bits, bits, bits)
BW_MMA("m16n8k128.row.col.s32.b1.b1.s32.and.popc", 4, 2, 1, 4, bits, bits, bits)
BW_MMA("m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 4, 4, 2, 4, bits, bits, bits)
BW_MMA("m8n8k4.row.col.f32.f16.f16.f32", 8, 2, 2, 8, f16, f16, f32)
BW_MMA("m8n8k4.col.row.f32.f16.f16.f32", 8, 2, 2, 8, f16, f16, f32)
BW_MMA("m8n8k4.row.row.f16.f16.f16.f16", 4, 2, 2, 4, f16, f16, f16)
BW_MMA("m8n8k4.col.col.f32.f16.f16.f16", 8, 2, 2, 4, f16, f16, f16)
BW_MMA_SP("sp", "m16n8k16.row.col.f32.f16.f16.f32", "0", 4, 2, 2, 4, f16, f16, f32, metadata)
BW_MMA_SP("sp", "m16n8k16.row.col.f32.f16.f16.f32", "3", 4, 2, 2, 4, f16, f16, f32, metadata)
BW_MMA_SP("sp", "m16n8k16.row.col.f16.f16.f16.f16", "1", 2, 2, 2, 2, f16, f16, f16, metadata)
BW_MMA_SP("sp::ordered_metadata", "m16n8k16.row.col.f32.bf16.bf16.f32", "2", 4, 2, 2, 4, bf16, bf16, f32, metadata)
BW_MMA_SP("sp::ordered_metadata", "m16n8k32.row.col.f32.f16.f16.f32", "0", 4, 4, 4, 4, f16, f16, f32, metadata)
BW_MMA_SP("sp", "m16n8k32.row.col.f16.f16.f16.f16", "1", 2, 4, 4, 2, f16, f16, f16, metadata)
BW_MMA_SP("sp", "m16n8k32.row.col.f32.bf16.bf16.f32", "1", 4, 4, 4, 4, bf16, bf16, f32, metadata)
BW_MMA_SP("sp", "m16n8k8.row.col.f32.tf32.tf32.f32", "0", 4, 2, 2, 4, tf32, tf32, f32, metadata_tf32)
BW_MMA_SP("sp::ordered_metadata", "m16n8k8.row.col.f32.tf32.tf32.f32", "3", 4, 2, 2, 4, tf32, tf32, f32, metadata_tf32)
BW_MMA_SP("sp", "m16n8k16.row.col.f32.tf32.tf32.f32", "0", 4, 4, 4, 4, tf32, tf32, f32, metadata_tf32)
BW_MMA_SP("sp", "m16n8k16.row.col.f32.tf32.tf32.f32", "1", 4, 4, 4, 4, tf32, tf32, f32, metadata_tf32)
BW_MMA_SP("sp", "m16n8k32.row.col.s32.s8.u8.s32", "0", 4, 2, 2, 4, bits, bits, bits, metadata)
BW_MMA_SP("sp", "m16n8k32.row.col.satfinite.s32.u8.s8.s32", "1", 4, 2, 2, 4, bits, bits, bits, metadata)
BW_MMA_SP("sp::ordered_metadata", "m16n8k64.row.col.s32.s8.s8.s32", "0", 4, 4, 4, 4, bits, bits, bits, metadata)
BW_MMA_SP("sp", "m16n8k64.row.col.s32.s4.u4.s32", "0", 4, 2, 2, 4, bits, bits, bits, metadata)
BW_MMA_SP("sp", "m16n8k64.row.col.s32.u4.s4.s32", "1", 4, 2, 2, 4, bits, bits, bits, metadata)
BW_MMA_SP("sp", "m16n8k128.row.col.s32.s4.s4.s32", "0", 4, 4, 4, 4, bits, bits, bits, metadata)
BW_MMA_SP("sp", "m16n8k64.row.col.f32.e4m3.e5m2.f32", "0", 4, 4, 4, 4, e4m3, e5m2, f32, metadata)
// clang-format on

}  // namespace bw::conformance::mma
