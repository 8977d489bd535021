#pragma once
/// \file
/// The 32-bit instruction descriptor of tcgen05.mma: formats, shape, sparsity and block scaling.

#include <cstdint>
#include <optional>

#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

namespace bw::sim {

/// The kinds that are executed.
enum class MmaKind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// Whether a kind scales its operands by blocks of K.
[[nodiscard]] constexpr bool is_block_scaled(MmaKind kind) {
  return kind == MmaKind::mxf8f6f4 || kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4;
}
/// Whether 4-bit elements are packed, two a byte without padding; other kinds pad them
/// (PTX ISA, "Packing formats of elements in Tensor and Shared memory").
[[nodiscard]] constexpr bool packs_pairs(MmaKind kind) {
  return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4;
}

/// Element formats of A and B.
enum class MmaFormat : uint8_t { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, u8, s8 };

/// Element formats of D.
enum class AccumulatorFormat : uint8_t { f16 = 0, f32 = 1, s32 = 2 };

/// Formats of scale factors, as the descriptor encodes them.
enum class ScaleFormat : uint8_t { ue4m3 = 0, ue8m0 = 1 };

/// Bytes of one element in a K-contiguous row as tcgen05.mma counts them: 6- and 4-bit formats are
/// in shared memory as 16 elements in 16 bytes (packed, then padding), so they count as one byte.
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

/// What the opcode says of an MMA; the descriptor has to go with it.
struct MmaForm {
  MmaKind kind = MmaKind::f16;     ///< which one it is
  int group = 1;                   ///< .cta_group
  bool sparse = false;             ///< .sp
  bool weight_stationary = false;  ///< .ws
  uint32_t scales = 0;  ///< scale factors of 32 bytes along K: 1, 2, 4; 0 without block scaling
  bool may_be_long = false;  ///< whether the machine has K = 96 (sm_103a)
};

/// What an instruction descriptor asks for.
struct MmaShape {
  MmaKind kind = MmaKind::f16;                          ///< which one it is
  MmaFormat a_format = MmaFormat::f16;                  ///< of A
  MmaFormat b_format = MmaFormat::f16;                  ///< of B
  AccumulatorFormat d_format = AccumulatorFormat::f32;  ///< of D
  Major a_major = Major::k;                             ///< which of A's indices is contiguous
  Major b_major = Major::k;                             ///< which of B's indices is contiguous
  bool negate = false;            ///< products are negated (exactly one of A and B is)
  bool saturate = false;          ///< kind::i8: clamp to the range of s32
  bool sparse = false;            ///< whether A holds two of four values
  uint8_t sparsity_selector = 0;  ///< which of the metadata's parts
  ScaleFormat scale_format = ScaleFormat::ue8m0;  ///< of the scales
  uint8_t a_scale_id = 0;      ///< byte of a Tensor Memory word of the first scale
  uint8_t b_scale_id = 0;      ///< byte of a Tensor Memory word of the first scale
  uint32_t largest_shift = 0;  ///< of columns of B, with .ws
  uint32_t m = 0;              ///< rows
  uint32_t n = 0;              ///< columns
  bool is_long = false;        ///< K = 96 instead of 64

  /// K of the product.
  [[nodiscard]] constexpr uint32_t k() const { return a_k() * (sparse ? 2 : 1); }
  /// Bytes of a row of A as it is stored.
  [[nodiscard]] constexpr uint32_t a_k_bytes() const { return is_long ? kLongKBytes : kMmaKBytes; }
  /// Elements of a row of A as it is stored: half of K when sparse.
  [[nodiscard]] constexpr uint32_t a_k() const {
    return packs_pairs(kind) ? 2 * a_k_bytes() : a_k_bytes() / container_bytes(a_format);
  }
  /// Bytes along K of a row of B.
  [[nodiscard]] constexpr uint32_t b_k_bytes() const { return a_k_bytes() * (sparse ? 2 : 1); }
  /// Scale factors of a row where 32 bytes have `scales` of them.
  [[nodiscard]] constexpr uint32_t scales_of_row(uint32_t scales) const {
    return scales * a_k_bytes() / kMmaKBytes;
  }
  friend bool operator==(const MmaShape&, const MmaShape&) = default;
};

/// Decodes `bits` for a kind; the result is meaningful when check_instruction_descriptor finds
/// nothing.
[[nodiscard]] MmaShape decode_instruction_descriptor(uint32_t bits, MmaKind kind);

/// What is wrong with the bits for such an MMA: reserved bits, sparsity that differs from the
/// opcode's, formats, scale formats and ids that the kind does not have, shapes that it does not
/// have. Source: PTX ISA, "Instruction descriptor" and the tables of shapes and data types of
/// tcgen05.mma.
[[nodiscard]] std::optional<Fault> check_instruction_descriptor(uint32_t bits, const MmaForm& form);

/// "f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4".
[[nodiscard]] const char* kind_name(MmaKind kind);

}  // namespace bw::sim
