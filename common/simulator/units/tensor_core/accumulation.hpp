#pragma once
/// \file
/// In which order, and with how many bits, a tensor core sums the products of a tile. The PTX ISA
/// leaves both to the implementation; every matrix instruction of the simulator sums through the
/// interface here, so that a model is one class and a run says which one it used.
///
/// | model | rule | default on |
/// |---|---|---|
/// | sequential | one chain of fp32 fused multiply-adds in ascending order of k | Blackwell |
/// | hopper | what an H100 does, step by step | Hopper |
/// | blackwell | what a B200 does, as far as others have measured it: FP8 as all other formats | |
/// | none | nothing is summed, D does not change: times without results | |
///
/// Settings::summation chooses (BW_SIM_ACCUMULATION). A B200 was not available for a measurement:
/// the authors of "MATLAB-tensor-core" (north-numerical-computing, arXiv 2512.07004) have published
/// inner products of bf16, f16 and tf32 by wmma, and the rule explains all that were compared. We
/// assume that tcgen05 sums alike; for its FP8 they and DeepGEMM (issue 176) state the same 25
/// bits.

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/simulator/machine/settings.hpp"
#include "common/simulator/units/tensor_core/instruction_descriptor.hpp"

namespace bw::sim {

/// Rows of A are kept in blocks of this many, the unit in which M is scattered over TMEM lanes.
inline constexpr size_t kRowBlock = 16;

/// A block of 16 rows of A times `n` columns of B: D[n][row] += sum of A[row][k] * B[n][k].
///
/// Elements are exact fp32 values of the formats. With block scaling they are already scaled.
struct RowTile {
  const float* a = nullptr;  ///< [k][16]
  const float* b = nullptr;  ///< [n][b_stride], k contiguous
  size_t b_stride = 0;       ///< elements from row to row of B
  float* d = nullptr;        ///< [n][d_stride], rows contiguous
  size_t d_stride = 0;       ///< elements from row to row of D
  size_t n = 0;              ///< columns
  size_t k = 0;              ///< depth
  bool accumulate = false;   ///< start from D; else from 0
  /// Operands of 8 bits as they were in memory, [k][16] and [n][k], if available: with them a model
  /// need not take the fp32 values apart; where Accumulation::takes_codes(), `a` and `b` may be
  /// null.
  const uint8_t* a_codes = nullptr;
  const uint8_t* b_codes = nullptr;  ///< of B
};

/// What the elements of a tile were before they became fp32, for models whose rule depends on it.
struct TileFormats {
  MmaFormat a = MmaFormat::f16;  ///< the first operand
  MmaFormat b = MmaFormat::f16;  ///< the second operand
  /// Products that one instruction sums (its K). A tile's k is a multiple: several instructions on
  /// one accumulator, in their order.
  uint32_t step = 0;
  /// Of D. Tiles hold fp32; a model that rounds to f16 in its own way gives values of that format.
  AccumulatorFormat d = AccumulatorFormat::f32;
};

/// A model. Objects are stateless and shared by all host threads.
class Accumulation {
 public:
  Accumulation() = default;
  virtual ~Accumulation() = default;
  Accumulation(const Accumulation&) = delete;
  Accumulation& operator=(const Accumulation&) = delete;

  /// Whether it sums at all: operands need not be read for one that doesn't.
  [[nodiscard]] virtual bool sums() const { return true; }
  /// Whether it sums operands of these formats from their codes alone.
  [[nodiscard]] virtual bool takes_codes(const TileFormats&) const { return false; }
  /// Sums one tile. The same bits whatever the host's processor and however K is split into tiles
  /// of whole steps.
  virtual void multiply(const RowTile& tile, const TileFormats& formats) const = 0;

  /// Several tiles that share B: all but `a`, its codes, `d` and `d_stride` is the same. What
  /// multiply() gives for each; some models are quicker so.
  virtual void multiply_together(std::span<const RowTile> tiles, const TileFormats& formats) const {
    for (const RowTile& tile : tiles) multiply(tile, formats);
  }
};

/// The model of that name; not SummationModel::machine. Throws SimulationError{launch} for a model
/// that this build does not have.
[[nodiscard]] const Accumulation& accumulation(SummationModel model);

}  // namespace bw::sim
