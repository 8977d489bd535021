#pragma once
/// \file
/// The 32-bit instruction descriptor of tcgen05.mma: formats and shape.

#include <cstdint>
#include <optional>

#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

namespace bw::sim {

enum class MmaKind : uint8_t { f16, tf32, f8f6f4, i8 };

/// Element formats of A and B.
enum class MmaFormat : uint8_t { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, u8, s8 };

/// Element formats of D.
enum class AccumulatorFormat : uint8_t { f16 = 0, f32 = 1, s32 = 2 };

/// Bytes of one element in a K-contiguous row as tcgen05.mma counts them: 6- and 4-bit formats
/// stand in shared memory as 16 elements in 16 bytes (packed, then padding), so they count as one
/// byte.
[[nodiscard]] constexpr uint32_t container_bytes(MmaFormat format) {
  switch (format) {
    case MmaFormat::f16:
    case MmaFormat::bf16:
      return 2;
    case MmaFormat::tf32:
      return 4;
    default:
      return 1;
  }
}

/// What an instruction descriptor asks for.
struct MmaShape {
  MmaKind kind = MmaKind::f16;
  MmaFormat a_format = MmaFormat::f16, b_format = MmaFormat::f16;
  AccumulatorFormat d_format = AccumulatorFormat::f32;
  Major a_major = Major::k, b_major = Major::k;
  bool negate = false;    ///< products are negated (exactly one of A and B is)
  bool saturate = false;  ///< kind::i8: clamp to the range of s32
  uint32_t m = 0, n = 0;

  [[nodiscard]] constexpr uint32_t k() const { return kMmaKBytes / container_bytes(a_format); }
  friend bool operator==(const MmaShape&, const MmaShape&) = default;
};

/// Decodes `bits` for a kind; the result is meaningful when check_instruction_descriptor finds
/// nothing.
[[nodiscard]] MmaShape decode_instruction_descriptor(uint32_t bits, MmaKind kind);

/// What is wrong with the bits for a dense MMA of this kind and cta_group: reserved and sparse
/// bits, formats that the kind does not have, shapes that the kind and cta_group do not have.
/// Source: PTX ISA, "Instruction descriptor" and the tables of shapes and data types of
/// tcgen05.mma.
[[nodiscard]] std::optional<Fault> check_instruction_descriptor(uint32_t bits, MmaKind kind,
                                                                int cta_group);

/// "f16", "tf32", "f8f6f4", "i8".
[[nodiscard]] const char* kind_name(MmaKind kind);

}  // namespace bw::sim
