/// \file
/// The product of a warpgroup's MMAs: A and B on their way to fp32, D in the registers of the
/// warps.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "common/simulator/units/tensor_core/operand_decode.hpp"
#include "common/simulator/units/tensor_core/tensor_operands.hpp"
#include "common/simulator/units/tensor_core/wgmma/wgmma_unit.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kColumnsPerBlock = 8;

/// Scratch memory for one product. Only B stays until the next one.
struct Workspace {
  std::vector<std::byte> rows, raw;
  std::vector<float> a, tile;
  std::vector<uint8_t> a_codes;  ///< of 8-bit elements: as `a`
};
thread_local Workspace workspace;

/// B as [n][k]. The warpgroups of a CTA, and often the CTAs of a cluster, multiply by the same B
/// one after the other.
struct DecodedB {
  MmaFormat format = MmaFormat::f16;
  bool is_binary = false, negate = false;
  std::vector<std::byte> raw;  ///< as in memory; if negated, 8-bit elements are so here
  std::vector<float> values;
};
thread_local DecodedB decoded_b;

/// Elements that encode one number each, in a byte, with the sign in front.
bool is_fp8(const WgmmaForm& form) {
  return !form.is_binary && (form.b_format == MmaFormat::e4m3 || form.b_format == MmaFormat::e5m2);
}

/// Single bits as 0 and 1.
void decode_bits(const std::byte* raw, float* out, size_t bytes) {
  constexpr size_t kBits = 8;
  for (size_t i = 0; i < bytes; ++i)
    for (size_t bit = 0; bit < kBits; ++bit)
      out[i * kBits + bit] = static_cast<float>(std::to_integer<unsigned>(raw[i]) >> bit & 1u);
}

/// B of all operations, in decoded_b.
void decode_b(std::span<const WgmmaOperation> batch, const Cta& cta) {
  const WgmmaForm& form = *batch[0].form;
  const size_t row_bytes = batch.size() * form.b_row_bytes();
  const size_t k = batch.size() * form.k();
  workspace.raw.resize(form.n * row_bytes);
  for (size_t index = 0; index < batch.size(); ++index)
    fetch_shared_rows(cta.shared.data(), batch[index].b, form.b_major, {form.b_format}, form.n,
                      form.b_row_bytes(), workspace.raw.data() + index * form.b_row_bytes(),
                      row_bytes);
  if (form.negate && is_fp8(form))
    for (std::byte& code : workspace.raw) code ^= std::byte{0x80};
  DecodedB& b = decoded_b;
  if (b.format == form.b_format && b.is_binary == form.is_binary && b.negate == form.negate &&
      b.values.size() == form.n * k && b.raw.size() == workspace.raw.size() &&
      std::memcmp(b.raw.data(), workspace.raw.data(), b.raw.size()) == 0)
    return;
  b.format = form.b_format;
  b.is_binary = form.is_binary;
  b.negate = form.negate;
  b.values.resize(form.n * k);
  std::swap(b.raw, workspace.raw);
  if (form.is_binary)
    decode_bits(b.raw.data(), b.values.data(), b.raw.size());
  else
    decode_elements(form.b_format, b.raw.data(), b.values.data(), form.n * k);
  if (form.negate && !is_fp8(form))
    for (float& value : b.values) value = -value;
}

/// The 16 rows of 32 bytes that a warp's fragment holds: register 2c + h of lane l is row l / 4 +
/// 8h, bytes 16c + 4 (l % 4) and the three after (PTX ISA, "Register Fragments for
/// wgmma.mma_async").
void fragment_rows(const uint32_t* registers, std::byte* rows) {
  for (uint32_t r = 0; r < kFragmentRegisters; ++r)
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      const uint32_t row = lane / 4 + r % 2 * 8, byte = r / 2 * kChunkBytes + lane % 4 * 4;
      std::memcpy(rows + row * kMmaKBytes + byte, &registers[r * kWarpLanes + lane],
                  sizeof(uint32_t));
    }
}

/// Which elements of K those of a sparse row are (PTX ISA, "Sparse Matrix Storage"): four bits for
/// each four elements, or for each two of tf32. Rows of 8 groups are in two of the four threads of
/// the row, by the selector: four groups in each, rows 8 and up in the upper half. Rows of 16
/// groups (8-bit elements) take two threads each, the even ones, rows 8 and up the odd ones.
struct SparseRow {
  const WgmmaForm& form;
  const uint32_t* metadata;  ///< of the warp, by lane

  [[nodiscard]] uint32_t column(uint32_t row, uint32_t stored) const {
    constexpr uint32_t kGroupBits = 4, kIndexMask = 3, kIndexBits = 2;
    constexpr uint32_t kRowsPerHalf = 8, kLanesPerRow = 4, kHalfBits = 16;
    const bool of_two = form.a_format == MmaFormat::tf32;  // one of two, else two of four
    const uint32_t per_group = of_two ? 1 : 2, group = stored / per_group;
    const uint32_t first_lane = row % kRowsPerHalf * kLanesPerRow, half = row / kRowsPerHalf;
    const bool is_byte = container_bytes(form.a_format) == 1;
    const uint32_t groups = is_byte ? 8 : 4;  // in one word
    const uint32_t word = group / groups;
    const uint32_t lane = first_lane + (is_byte ? half + 2 * word : 2 * form.selector + word);
    const uint32_t first_bit = (is_byte ? 0 : half * kHalfBits) + group % groups * kGroupBits;
    const uint32_t index =
        metadata[lane] >> (first_bit + kIndexBits * (stored % per_group)) & kIndexMask;
    return of_two ? group * 2 + (index >> 1) : group * 4 + index;
  }
};

/// A of all operations for one warp as [k][16], at `a`. Unless `codes` is null, its elements as
/// stored in memory go there.
void decode_a(std::span<const WgmmaOperation> batch, const Cta& cta, uint32_t warp, float* a,
              uint8_t* codes) {
  const WgmmaForm& form = *batch[0].form;
  const uint32_t stored = form.stored_k();
  const size_t k = form.k();
  workspace.rows.resize(size_t{kWgmmaRows} * kMmaKBytes);
  const size_t element = form.is_binary ? 1 : container_bytes(form.a_format);
  workspace.raw.resize(kRowBlock * kMmaKBytes);
  std::vector<float> dense(form.sparse ? stored * kRowBlock : 0);
  for (size_t index = 0; index < batch.size(); ++index) {
    const WgmmaOperation& operation = batch[index];
    std::byte* const rows = workspace.rows.data();
    if (form.a_in_registers) {
      fragment_rows(operation.fragments.data() + warp * kFragmentRegisters * kWarpLanes, rows);
    } else {
      MatrixDescriptor matrix = operation.a;
      if (form.a_major == Major::k) {
        matrix.start_bytes += warp * 2 * matrix.stride_bytes;  // 16 rows are two groups of eight
        fetch_shared_rows(cta.shared.data(), matrix, form.a_major, {form.a_format}, kRowBlock,
                          kMmaKBytes, rows, kMmaKBytes);
      } else {
        std::byte all[kWgmmaRows * kMmaKBytes];
        fetch_shared_rows(cta.shared.data(), matrix, form.a_major, {form.a_format}, kWgmmaRows,
                          kMmaKBytes, all, kMmaKBytes);
        std::copy_n(all + warp * kRowBlock * kMmaKBytes, kRowBlock * kMmaKBytes, rows);
      }
    }
    float* const out = a + index * k * kRowBlock;
    if (form.is_binary) {
      constexpr size_t kBits = kMmaKBytes * 8;
      float bits[kBits];
      for (size_t row = 0; row < kRowBlock; ++row) {
        decode_bits(rows + row * kMmaKBytes, bits, kMmaKBytes);
        for (size_t i = 0; i < kBits; ++i) out[i * kRowBlock + row] = bits[i];
      }
      continue;
    }
    transpose_row_block(rows, kMmaKBytes, workspace.raw.data(), stored, element);
    if (!form.sparse) {
      decode_elements(form.a_format, workspace.raw.data(), out, stored * kRowBlock);
      if (codes != nullptr)
        std::memcpy(codes + index * k * kRowBlock, workspace.raw.data(), k * kRowBlock);
      continue;
    }
    decode_elements(form.a_format, workspace.raw.data(), dense.data(), dense.size());
    std::fill_n(out, k * kRowBlock, 0.0f);
    const SparseRow sparse{form, operation.metadata.data() + warp * kWarpLanes};
    for (uint32_t row = 0; row < kRowBlock; ++row)
      for (uint32_t i = 0; i < stored; ++i)
        out[sparse.column(row, i) * kRowBlock + row] = dense[i * kRowBlock + row];
  }
}

/// D's registers of one warp. For 32-bit elements, register 4j + 2h + i of lane l is row l / 4 +
/// 8h, column 8j + 2 (l % 4) + i; halves come in pairs, i in the upper half (PTX ISA, "Register
/// Fragments for wgmma.mma_async").
class Accumulators {
 public:
  Accumulators(Warp& warp, const WgmmaOperation& operation)
      : base_(warp.registers.data()), operands_(operation.instruction->operands) {}

  [[nodiscard]] uint32_t* lanes(uint32_t reg) const {
    return reinterpret_cast<uint32_t*>(base_ + operands_[reg].offset_bytes);
  }

  /// Calls visit(place in the tile, register, lane) for every 32-bit element of 8 columns.
  template <class Move>
  void move_words(uint32_t n, float* tile, Move&& move) const {
    for (uint32_t block = 0; block < n / kColumnsPerBlock; ++block)
      for (uint32_t half = 0; half < 2; ++half)
        for (uint32_t i = 0; i < 2; ++i) {
          uint32_t* const values = lanes(4 * block + 2 * half + i);
          // Four columns, two apart, of eight rows.
          float* const first = tile + (block * kColumnsPerBlock + i) * kRowBlock + half * 8;
          for (uint32_t row = 0; row < 8; ++row)
            for (uint32_t column = 0; column < 4; ++column)
              move(first[column * 2 * kRowBlock + row], values[4 * row + column]);
        }
  }

  /// The same for halves: move(element, place of its 16 bits).
  template <class Move>
  void move_halves(uint32_t n, float* tile, Move&& move) const {
    for (uint32_t block = 0; block < n / kColumnsPerBlock; ++block)
      for (uint32_t half = 0; half < 2; ++half) {
        auto* const values = reinterpret_cast<uint16_t*>(lanes(2 * block + half));
        for (uint32_t lane = 0; lane < kWarpLanes; ++lane)
          for (uint32_t i = 0; i < 2; ++i) {
            const uint32_t column = block * kColumnsPerBlock + lane % 4 * 2 + i;
            move(tile[column * kRowBlock + half * 8 + lane / 4], values[2 * lane + i]);
          }
      }
  }

 private:
  std::byte* base_;
  const Operand* operands_;
};

uint32_t add_integers(uint32_t d, float product, bool saturate) {
  const int64_t sum = int64_t{static_cast<int32_t>(d)} + static_cast<int64_t>(product);
  if (!saturate) return static_cast<uint32_t>(sum);
  return static_cast<uint32_t>(static_cast<int32_t>(std::clamp<int64_t>(
      sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
}

/// D of one warp before, as a tile.
void load_tile(const WgmmaOperation& first, Warp& warp, float* tile) {
  const Accumulators d(warp, first);
  if (first.form->d_format == AccumulatorFormat::f32)
    d.move_words(first.form->n, tile,
                 [](float& element, uint32_t& word) { element = std::bit_cast<float>(word); });
  else
    d.move_halves(first.form->n, tile,
                  [](float& element, uint16_t& bits) { element = float_from_half(bits); });
}

/// And after.
void store_tile(const WgmmaOperation& first, Warp& warp, float* tile) {
  const WgmmaForm& form = *first.form;
  const Accumulators d(warp, first);
  switch (form.d_format) {
    case AccumulatorFormat::f32:
      d.move_words(form.n, tile,
                   [](float& element, uint32_t& word) { word = std::bit_cast<uint32_t>(element); });
      break;
    case AccumulatorFormat::f16:
      d.move_halves(form.n, tile,
                    [](float& element, uint16_t& bits) { bits = tensor_core_half(element); });
      break;
    case AccumulatorFormat::s32:
      d.move_words(form.n, tile, [&](float& element, uint32_t& word) {
        word = add_integers(first.accumulate ? word : 0, element, form.saturate);
      });
      break;
  }
}

}  // namespace

void execute_wgmma(std::span<const WgmmaOperation> batch, Cta& cta, uint32_t first_warp,
                   const Accumulation& model) {
  if (!model.sums()) return;
  const WgmmaOperation& first = batch[0];
  const WgmmaForm& form = *first.form;
  const size_t k = batch.size() * form.k();
  const bool is_integer = form.d_format == AccumulatorFormat::s32;
  const bool from_d = first.accumulate && !is_integer;
  decode_b(batch, cta);
  workspace.a.resize(kWarpgroupWarps * k * kRowBlock);
  workspace.tile.resize(kWarpgroupWarps * form.n * kRowBlock);
  const bool has_codes = is_fp8(form) && !form.sparse;
  workspace.a_codes.resize(has_codes ? workspace.a.size() : 0);
  RowTile tiles[kWarpgroupWarps];
  for (uint32_t warp = 0; warp < kWarpgroupWarps; ++warp) {
    RowTile& tile = tiles[warp];
    float* const a = workspace.a.data() + warp * k * kRowBlock;
    tile = {.a = a,
            .b = decoded_b.values.data(),
            .b_stride = k,
            .d = workspace.tile.data() + warp * form.n * kRowBlock,
            .d_stride = kRowBlock,
            .n = form.n,
            .k = k,
            .accumulate = from_d};
    if (has_codes) {
      tile.a_codes = workspace.a_codes.data() + warp * k * kRowBlock;
      tile.b_codes = reinterpret_cast<const uint8_t*>(decoded_b.raw.data());
    }
    decode_a(batch, cta, warp, a,
             has_codes ? workspace.a_codes.data() + warp * k * kRowBlock : nullptr);
    if (from_d) load_tile(first, cta.warps[first_warp + warp], tile.d);
  }
  // Integers are summed exactly: K of one instruction stays far below 2^24.
  (is_integer ? accumulation(SummationModel::sequential) : model)
      .multiply_together(tiles, {form.a_format, form.b_format, form.k(), form.d_format});
  for (uint32_t warp = 0; warp < kWarpgroupWarps; ++warp)
    store_tile(first, cta.warps[first_warp + warp], tiles[warp].d);
}

}  // namespace bw::sim
