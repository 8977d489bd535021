#pragma once
/// \file
/// One form of wgmma.mma_async, and an execution of it by a warpgroup.

#include <array>
#include <cstdint>
#include <vector>

#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/machine/observer.hpp"
#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"
#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

namespace bw::sim {

inline constexpr uint32_t kWarpgroupWarps = 4;  ///< warps of a warpgroup
/// Rows of A and D: 16 for each warp.
inline constexpr uint32_t kWgmmaRows = 64;
/// 32-bit registers of a warp's A fragment.
inline constexpr uint32_t kFragmentRegisters = 4;

/// What the modifiers and immediate operands of an instruction say.
struct WgmmaForm {
  MmaFormat a_format = MmaFormat::f16;                  ///< elements of A
  MmaFormat b_format = MmaFormat::f16;                  ///< elements of B
  AccumulatorFormat d_format = AccumulatorFormat::f32;  ///< elements of D
  uint32_t n = 0;                                       ///< columns of B and D
  Major a_major = Major::k;                             ///< of A in shared memory
  Major b_major = Major::k;                             ///< of B
  bool is_binary = false;                               ///< .b1: the formats count for nothing
  bool a_in_registers = false;                          ///< else A is in shared memory
  bool sparse = false;                                  ///< .sp: half of A's elements are stored
  bool saturate = false;                                ///< .satfinite: clamp to the range of s32
  bool negate = false;                                  ///< exactly one of A and B is negated
  uint32_t selector = 0;     ///< which threads hold the metadata of a sparse A
  uint32_t d_registers = 0;  ///< 32-bit registers of D in a thread
  // Where the operands begin among the decoded ones; D's are the first.
  uint32_t a_operand = 0;         ///< A's descriptor or fragment
  uint32_t b_operand = 0;         ///< B's descriptor
  uint32_t metadata_operand = 0;  ///< of a sparse A
  uint32_t scale_d_operand = 0;   ///< whether D is added

  /// Elements of K that 32 bytes hold.
  [[nodiscard]] uint32_t stored_k() const {
    constexpr uint32_t kBitsPerByte = 8;
    return is_binary ? kMmaKBytes * kBitsPerByte : kMmaKBytes / container_bytes(a_format);
  }
  /// Elements of K: of a sparse A every second one is stored.
  [[nodiscard]] uint32_t k() const { return sparse ? 2 * stored_k() : stored_k(); }
  /// Bytes of a row of B along K.
  [[nodiscard]] uint32_t b_row_bytes() const { return sparse ? 2 * kMmaKBytes : kMmaKBytes; }

  /// Whether all of it is the same.
  friend bool operator==(const WgmmaForm&, const WgmmaForm&) = default;
};

/// One MMA of a warpgroup. Each of its warps issues its part; when the last one has, it begins.
struct WgmmaOperation {
  const WgmmaForm* form = nullptr;           ///< of the instruction
  const Instruction* instruction = nullptr;  ///< has D's registers
  Origin origin;                             ///< of the first warp
  MatrixDescriptor a;                        ///< A, if it is in shared memory
  MatrixDescriptor b;                        ///< B
  uint64_t a_bits = 0;                       ///< A's descriptor as it was given
  uint64_t b_bits = 0;                       ///< B's
  bool accumulate = false;                   ///< scale-d: D is added
  uint32_t warps = 0;                        ///< those that have issued it, a bit each
  Cycle issued = 0;                          ///< by the last of them
  Cycle completion = kNever;                 ///< when D is there; kNever before it begins
  uint64_t id = 0;                           ///< for observers
  std::vector<uint32_t> fragments;           ///< of A, read at issue: [warp][register][lane]
  std::vector<uint32_t> metadata;            ///< of a sparse A, read at issue: [warp][lane]
};

}  // namespace bw::sim
