#pragma once
/// \file
/// Runs one or a few tcgen05.mma on matrices that the host lays out, and hands back Tensor Memory.
///
/// Everything here is written from the PTX ISA alone: formats, canonical layouts, swizzles, lanes
/// of D.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test {

inline constexpr uint32_t kTmemLanes = 128;

/// A number format by its fields; `bias` < 0: an integer of `exponent` bits, signed if `mantissa`
/// is 1.
struct NumberFormat {
  std::string kind;
  uint32_t code;  ///< in the instruction descriptor
  int bits, exponent, mantissa, bias;
};
inline const NumberFormat kF16{"f16", 0, 16, 5, 10, 15}, kBf16{"f16", 1, 16, 8, 7, 127},
    kTf32{"tf32", 2, 32, 8, 23, 127}, kE4m3{"f8f6f4", 0, 8, 4, 3, 7},
    kE5m2{"f8f6f4", 1, 8, 5, 2, 15}, kE2m3{"f8f6f4", 3, 6, 2, 3, 1}, kE3m2{"f8f6f4", 4, 6, 3, 2, 3},
    kE2m1{"f8f6f4", 5, 4, 2, 1, 1}, kU8{"i8", 0, 8, 8, 0, -1}, kS8{"i8", 1, 8, 8, 1, -1};

/// A power of two that double has as a normal number. The references of large products ask for one
/// at each step, and std::ldexp would be a fourth of the time of these tests.
inline double power_of_two(int exponent) {
  constexpr int kBias = 1023, kMantissaBits = 52;
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << kMantissaBits);
}

/// The value of a finite code.
inline double value_of_code(const NumberFormat& format, uint32_t code) {
  if (format.bias < 0)
    return format.mantissa == 1 ? static_cast<int8_t>(code) : static_cast<double>(code);
  const uint32_t mantissa = code & ((1u << format.mantissa) - 1);
  const uint32_t exponent = code >> format.mantissa & ((1u << format.exponent) - 1);
  const double sign = (code >> (format.bits - 1) & 1u) != 0 ? -1 : 1;
  const double fraction = mantissa * power_of_two(-format.mantissa);
  if (exponent == 0) return sign * fraction * power_of_two(1 - format.bias);
  return sign * (1 + fraction) * power_of_two(static_cast<int>(exponent) - format.bias);
}

/// A random code whose value is of moderate size.
inline uint32_t random_code(const NumberFormat& format, std::mt19937& random) {
  const auto bits = static_cast<uint32_t>(random());
  if (format.bias < 0) return bits & 0xffu;
  const uint32_t sign = (bits >> 31) << (format.bits - 1);
  const uint32_t mantissa = bits & ((1u << std::min(format.mantissa, 10)) - 1);
  const uint32_t shift = format.mantissa > 10 ? format.mantissa - 10 : 0;
  const uint32_t spread = static_cast<uint32_t>(std::min(5, (1 << format.exponent) - 1));
  const uint32_t lowest = format.exponent <= 3 ? 0 : static_cast<uint32_t>(format.bias) - 3;
  const uint32_t exponent = lowest + (bits >> 16) % spread;
  return sign | exponent << format.mantissa | mantissa << shift;
}

/// Swizzle modes as the descriptor encodes them.
enum class Pattern : uint32_t { none = 0, b128_atom32 = 1, b128 = 2, b64 = 4, b32 = 6 };

/// A matrix operand in shared memory: rows (of M or N) x k elements.
struct SharedMatrix {
  NumberFormat format;
  bool mn_major = false;
  Pattern pattern = Pattern::none;
  uint32_t rows = 0, k = 0;
  uint32_t offset = 0;          ///< of the tile in the shared image, a multiple of 1024
  std::vector<uint32_t> codes;  ///< [row][k]

  [[nodiscard]] uint32_t container() const { return format.bits < 8 ? 1 : format.bits / 8; }
  [[nodiscard]] uint32_t span() const {  // bytes of one row of the swizzle pattern
    return pattern == Pattern::none  ? 16
           : pattern == Pattern::b32 ? 32
           : pattern == Pattern::b64 ? 64
                                     : 128;
  }
  /// Bytes along the contiguous index and number of indices across.
  [[nodiscard]] uint32_t line_bytes() const { return (mn_major ? rows : k) * container(); }
  [[nodiscard]] uint32_t lines() const { return mn_major ? k : rows; }
  [[nodiscard]] uint32_t lines_per_group() const {
    return pattern == Pattern::b128_atom32 && mn_major ? 4 : 8;
  }
  /// Groups of lines follow each other; then the next column of pattern-wide pieces.
  [[nodiscard]] uint32_t group_bytes() const { return lines_per_group() * span(); }
  [[nodiscard]] uint32_t groups() const {
    return (lines() + lines_per_group() - 1) / lines_per_group();
  }
  [[nodiscard]] uint32_t column_bytes() const { return groups() * group_bytes(); }
  [[nodiscard]] uint32_t size_bytes() const {
    return (line_bytes() + span() - 1) / span() * column_bytes();
  }
  /// Place of the 16-byte chunk that holds byte `along` of line `line`, relative to the tile.
  [[nodiscard]] uint32_t chunk_place(uint32_t line, uint32_t along) const {
    const uint32_t column = along / span(), chunk = along % span() / 16;
    uint32_t physical = chunk;
    const uint32_t in_group = line % lines_per_group();
    switch (pattern) {  // the figures of "Swizzling modes": the chunk at each position of a line
      case Pattern::none:
        break;
      case Pattern::b128:
        physical = chunk ^ in_group;
        break;
      case Pattern::b64:
        physical = chunk ^ in_group / 2;
        break;
      case Pattern::b32:
        physical = chunk ^ in_group / 4;
        break;
      case Pattern::b128_atom32:
        physical = chunk ^ 2 * (in_group % 4);
        break;
    }

    return column * column_bytes() + line / lines_per_group() * group_bytes() + in_group * span() +
           physical * 16;
  }
  /// Descriptor with start address 0 for the K slice that starts at element `first_k`.
  [[nodiscard]] uint64_t descriptor(uint32_t first_k = 0) const {
    uint64_t leading = 0, stride = 0;
    if (pattern == Pattern::none) {
      // K-major: leading = next 16 bytes along K, stride = next 8 rows. MN-major: leading = next 8
      // k, stride = next 16 bytes along MN.
      leading = mn_major ? group_bytes() : column_bytes();
      stride = mn_major ? column_bytes() : group_bytes();
    } else {
      leading = mn_major ? column_bytes() : 16;
      stride = group_bytes();
    }
    uint32_t start = offset;
    if (!mn_major)
      start += pattern == Pattern::none ? first_k * container() / 16 * column_bytes()
                                        : first_k * container() / span() * column_bytes() +
                                              first_k * container() % span();
    else
      start += first_k / lines_per_group() * group_bytes();
    return uint64_t{start} >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | uint64_t{1} << 46 |
           static_cast<uint64_t>(pattern) << 61;
  }
  void randomise(std::mt19937& random) {
    codes.resize(size_t{rows} * k);
    for (auto& code : codes) code = random_code(format, random);
  }
  [[nodiscard]] double value(uint32_t row, uint32_t column) const {
    return value_of_code(format, codes[size_t{row} * k + column]);
  }
  void place(std::vector<uint8_t>& image) const {
    if (image.size() < offset + size_bytes()) image.resize(offset + size_bytes());
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t column = 0; column < k; ++column) {
        const uint32_t line = mn_major ? column : row, index = mn_major ? row : column;
        const uint32_t along = index * container();
        uint8_t* const chunk = image.data() + offset + chunk_place(line, along);
        const uint32_t code = codes[size_t{row} * k + column];
        if (format.bits >= 8) {
          std::memcpy(chunk + along % 16, &code, container());
        } else {  // 16 elements packed from bit 0 of the chunk
          for (int bit = 0; bit < format.bits; ++bit) {
            const uint32_t position = along % 16 * format.bits + bit;
            const uint8_t flag = static_cast<uint8_t>(1u << position % 8);
            chunk[position / 8] = static_cast<uint8_t>(
                (code >> bit & 1u) != 0 ? chunk[position / 8] | flag : chunk[position / 8] & ~flag);
          }
        }
      }
  }
};

/// Instruction descriptor from its fields.
inline uint32_t instruction_descriptor(const NumberFormat& a, const NumberFormat& b,
                                       uint32_t d_format, uint32_t m, uint32_t n,
                                       bool a_mn_major = false, bool b_mn_major = false) {
  return d_format << 4 | a.code << 7 | b.code << 10 | (a_mn_major ? 1u << 15 : 0) |
         (b_mn_major ? 1u << 16 : 0) | n / 8 << 17 | m / 16 << 24;
}

/// PTX of a warp: `columns` columns of its quarter of Tensor Memory, from %address on, get what %in
/// points to, where they are `stride_bytes` apart. Counts in %i; uses %p3 and %v.
inline std::string fill_tensor_memory(uint32_t columns, int stride_bytes) {
  return R"(
  mov.u32 %i, 0;
FILL:
  ld.global.b32 %v, [%in];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%address], {%v};
  add.s64 %in, %in, )" +
         std::to_string(stride_bytes) + R"(;
  add.u32 %address, %address, 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p3, %i, )" +
         std::to_string(columns) + R"(;
  @%p3 bra FILL;
  tcgen05.wait::st.sync.aligned;
)";
}

/// The opposite, to where %out points.
inline std::string drain_tensor_memory(uint32_t columns, int stride_bytes) {
  return R"(
  mov.u32 %i, 0;
DRAIN:
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v}, [%address];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%out], %v;
  add.s64 %out, %out, )" +
         std::to_string(stride_bytes) + R"(;
  add.u32 %address, %address, 1;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p3, %i, )" +
         std::to_string(columns) + R"(;
  @%p3 bra DRAIN;
)";
}

/// Operands of an MMA, and the shared memory that holds both.
struct Operands {
  SharedMatrix a, b;
  std::vector<uint8_t> image;
};

/// Fills matrices of these shapes at random and places them.
inline Operands random_operands(std::mt19937& random, SharedMatrix a, SharedMatrix b) {
  Operands operands{std::move(a), std::move(b), {}};
  operands.a.randomise(random);
  operands.b.randomise(random);
  operands.a.place(operands.image);
  operands.b.place(operands.image);
  return operands;
}

/// What the program does in addition to the fixed frame.
struct MmaProgram {
  int group = 1;
  /// PTX of the issuing thread. Registers: %tmem (allocation), %smem (start of the image >> 4, 64
  /// bit in %smem64), %enable (predicate, from the parameter), %a and %b (descriptors with the
  /// start added), %idesc, %bar (shared address of the mbarrier), %r<8>, %rd<8>.
  std::string issue;
  uint32_t columns = 512;  ///< that are copied in and out
  /// Copies out before it waits for the commit, at least 200 cycles after the first operation is
  /// issued.
  bool drains_early = false;
};

/// The program's PTX: parameters image, image bytes, TMEM in, TMEM out, descriptor a, b, idesc,
/// enable.
inline std::string mma_text(const MmaProgram& program) {
  const std::string group = ".cta_group::" + std::to_string(program.group);
  const bool pair = program.group == 2;
  constexpr int kColumnBytes = kTmemLanes * 4;
  std::string text = R"(
  .reg .pred %p<8>, %enable, %leader;
  .reg .b32 %r<8>, %t, %warp, %lane, %i, %tmem, %smem, %bar, %idesc, %address, %v, %cta, %bytes;
  .reg .b64 %rd<8>, %image, %in, %out, %a, %b, %smem64, %offset, %g;
  mov.u32 %t, %tid.x;
  shr.u32 %warp, %t, 5;
  and.b32 %lane, %t, 31;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %smem, image_smem;
  mov.u32 %bar, barrier;
  ld.param.u64 %image, [image];
  ld.param.u32 %bytes, [bytes];
  ld.param.u64 %in, [tmem_in];
  ld.param.u64 %out, [tmem_out];
  mul.wide.u32 %offset, %cta, %bytes;
  add.s64 %image, %image, %offset;
  mul.wide.u32 %offset, %cta, )" +
                     std::to_string(program.columns * kTmemLanes * 4) + R"(;
  add.s64 %in, %in, %offset;
  add.s64 %out, %out, %offset;
  mul.wide.u32 %offset, %t, 4;
  add.s64 %in, %in, %offset;
  add.s64 %out, %out, %offset;
  shl.b32 %i, %t, 2;
COPY:
  setp.ge.u32 %p0, %i, %bytes;
  @%p0 bra COPIED;
  cvt.u64.u32 %offset, %i;
  add.s64 %g, %image, %offset;
  ld.global.b32 %v, [%g];
  add.u32 %address, %smem, %i;
  st.shared.b32 [%address], %v;
  add.u32 %i, %i, 512;
  bra COPY;
COPIED:
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra INITIALISED;
  mbarrier.init.shared::cta.b64 [%bar], 1;
INITIALISED:
  setp.ne.u32 %p2, %warp, 0;
  @%p2 bra ALLOCATED;
  tcgen05.alloc)" + group +
                     R"(.sync.aligned.shared::cta.b32 [slot], 512;
ALLOCATED:
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tmem, [slot];
  shl.b32 %address, %warp, 21;
  add.u32 %address, %address, %tmem;
)" + fill_tensor_memory(program.columns, kColumnBytes) +
                     R"(
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
)";
  if (pair) text += "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  text += R"(
  tcgen05.fence::after_thread_sync;
  mov.u32 %r7, %cluster_ctarank;
  add.u32 %r6, %t, %r7;
  setp.ne.u32 %p4, %r6, 0;
  @%p4 bra ISSUED;
  ld.param.u64 %a, [a_descriptor];
  ld.param.u64 %b, [b_descriptor];
  ld.param.u32 %idesc, [idesc];
  ld.param.u32 %r0, [enable];
  setp.ne.u32 %enable, %r0, 0;
  shr.u32 %r1, %smem, 4;
  cvt.u64.u32 %smem64, %r1;
  add.s64 %a, %a, %smem64;
  add.s64 %b, %b, %smem64;
)" + program.issue;
  text += pair ? R"(
  mov.b16 %mask, 3;
  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %mask;
)"
               : R"(
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
)";
  const auto wait_at = [](const std::string& label) {
    return "\n" + label +
           ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%bar], 0;\n  @!%p5 bra " + label +
           ";\n";
  };
  const std::string delay = R"(
ISSUED:
  mov.u32 %i, 0;
DELAY:
  add.u32 %i, %i, 1;
  setp.lt.u32 %p5, %i, 200;
  @%p5 bra DELAY;
)";
  text +=
      (program.drains_early ? delay : wait_at("ISSUED")) + R"(  tcgen05.fence::after_thread_sync;
  shl.b32 %address, %warp, 21;
  add.u32 %address, %address, %tmem;
)" + drain_tensor_memory(program.columns, kColumnBytes) +
      (program.drains_early ? wait_at("COMMITTED") : "") + R"(  tcgen05.fence::before_thread_sync;
  bar.sync 0;
)";
  if (pair) text += "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  text += R"(
  setp.ne.u32 %p7, %warp, 0;
  @%p7 bra DONE;
  tcgen05.dealloc)" +
          group + R"(.sync.aligned.b32 %tmem, 512;
DONE:
  ret;
)";
  return entry(
      ".param .u64 image, .param .u32 bytes, .param .u64 tmem_in, .param .u64 tmem_out, "
      ".param .u64 a_descriptor, .param .u64 b_descriptor, .param .u32 idesc, .param .u32 enable",
      "  .reg .b16 %mask;\n" + text,
      ".shared .align 8 .b64 barrier;\n.shared .align 4 .b32 slot;\n"
      ".extern .shared .align 1024 .b8 image_smem[];\n");
}

/// A module of entry() for the target of the settings' machine.
inline std::string for_machine(std::string text, const Settings& settings) {
  const std::string target = "sm_100a";
  return text.replace(text.find(target), target.size(),
                      "sm_" + settings.machine->specific_target());
}

/// Tensor Memory of all CTAs after the program: [cta][column][lane].
inline std::vector<uint32_t> run_mma(const MmaProgram& program,
                                     std::vector<uint8_t> image_of_each_cta,
                                     const std::vector<uint32_t>& tensor_memory, uint64_t a,
                                     uint64_t b, uint32_t idesc, bool enable,
                                     Settings settings = test_settings()) {
  Runner runner(settings);
  const auto ctas = static_cast<uint32_t>(program.group);
  const auto bytes = static_cast<uint32_t>(image_of_each_cta.size() / ctas);
  const auto image = runner.buffer(std::move(image_of_each_cta));
  const auto in = runner.buffer(tensor_memory);
  const auto out = runner.buffer(std::vector<uint32_t>(tensor_memory.size(), 0));
  LaunchConfiguration configuration = grid(ctas, 128, ctas);
  configuration.dynamic_shared_bytes = bytes;
  runner.run(for_machine(mma_text(program), settings), configuration, image, bytes, in, out, a, b,
             idesc, static_cast<uint32_t>(enable));
  return out.values();
}

/// Random fp32 contents of Tensor Memory: [cta][column][lane].
inline std::vector<uint32_t> random_tensor_memory(uint32_t ctas, uint32_t columns,
                                                  std::mt19937& random) {
  std::vector<uint32_t> words(size_t{ctas} * columns * kTmemLanes);
  std::normal_distribution<float> normal;
  for (auto& word : words) word = std::bit_cast<uint32_t>(normal(random));
  return words;
}

/// Largest error that a chain of `steps` fp32 roundings can have on a sum of this magnitude.
inline double chain_bound(double magnitude, uint32_t steps) {
  return (steps + 1) * std::ldexp(magnitude, -24);
}

}  // namespace bw::sim::test
