#include "common/simulator/units/tensor_core/mma_product.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/machine/late_fault.hpp"
#include "common/simulator/units/tensor_core/block_scaling.hpp"
#include "common/simulator/units/tensor_core/operand_decode.hpp"
#include "common/simulator/units/tensor_core/sparse_metadata.hpp"
#include "common/simulator/units/tensor_core/tensor_operands.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kLanes = TensorMemory::kLanes;

/// Scratch memory for one product; holds nothing between two products.
struct Workspace {
  std::vector<std::byte> rows, raw_a, raw_b;
  std::vector<float> a, b, tile;
  std::vector<float> stored;              ///< a sparse A as it is stored: [block][element][16]
  std::vector<uint16_t> positions;        ///< where its elements belong along K, alike
  std::vector<float> scaled_b, scales;    ///< B times its scales
  std::vector<float> gathered_b, column;  ///< see multiply_sparse_rows
};
thread_local Workspace workspace;

/// The batch that is executed, and one CTA's part in it.
struct Product {
  std::span<const QueuedMma> batch;
  const MmaOperation& first;
  const MmaShape& shape;
  DataPath path;
  size_t k;       ///< of all operations
  bool as_codes;  ///< whether the model takes A and B as they were in memory

  [[nodiscard]] uint32_t rows() const { return path.row_blocks * uint32_t{kRowBlock}; }
  [[nodiscard]] uint32_t columns() const { return shape.n / path.groups; }
  [[nodiscard]] TileFormats formats() const { return {shape.a_format, shape.b_format, shape.k()}; }
  [[nodiscard]] ElementLayout a_layout() const { return {shape.a_format, packs_pairs(shape.kind)}; }
  [[nodiscard]] ElementLayout b_layout() const { return {shape.b_format, packs_pairs(shape.kind)}; }
};

/// Multiplies, and says when a finite element and a finite scale leave the range of fp32: what a
/// tensor core does with such products is not known.
float scaled(float element, float scale, const Cta& leader, const Origin& origin) {
  const float value = element * scale;
  if (std::isinf(value) && std::isfinite(element) && std::isfinite(scale))
    fault_at(*leader.cluster, origin,
             {.code = FaultCode::scaled_product_range,
              .what = fmt::format("an element of {} times its scale factor {} is beyond the range "
                                  "of fp32, and the result of a tensor core is then not known",
                                  element, scale),
              .rule = "the products of elements and scale factors are numbers",
              .fix = "choose scale factors whose products with the elements stay below 2^128",
              .section = "Block Scaling for tcgen05.mma.sync"});
  return value;
}

/// The scale factors of one operand of one operation as [row][count], in the workspace.
const float* scales_of(const Product& product, const QueuedMma& queued, Cta& cta, const Cta& leader,
                       bool of_a, uint32_t group) {
  const MmaOperation& mma = *queued.operation;
  const uint32_t rows = of_a ? product.rows() : product.columns();
  const bool cut = !of_a && product.path.groups > 1;
  workspace.scales.resize(size_t{rows} * mma.scales);
  const ScaleMatrix matrix{of_a ? mma.a_scales.column : mma.b_scales.column,
                           of_a ? mma.shape.a_scale_id : mma.shape.b_scale_id,
                           mma.scales,
                           mma.shape.scale_format,
                           cut ? group * product.path.group_lanes : 0,
                           cut ? product.path.group_lanes : kLanes};
  if (auto problem =
          read_scales(units_of(cta).tensor_memory, matrix, rows, workspace.scales.data())) {
    problem->what = std::string(of_a ? "A: " : "B: ") + problem->what;
    fault_at(*leader.cluster, *queued.origin, std::move(*problem));
  }
  return workspace.scales.data();
}

/// Multiplies the elements of A ([block][k][16], `step` of them of each operation) by their scales.
void scale_a(const Product& product, float* a, size_t step, Cta& cta, const Cta& leader) {
  const size_t k = product.batch.size() * step;
  for (size_t index = 0; index < product.batch.size(); ++index) {
    const QueuedMma& queued = product.batch[index];
    const uint32_t count = queued.operation->scales;
    const float* const scales = scales_of(product, queued, cta, leader, true, 0);
    for (uint32_t block = 0; block < product.path.row_blocks; ++block)
      for (size_t i = 0; i < step; ++i) {
        float* const elements = a + (block * k + index * step + i) * kRowBlock;
        const float* const of_chunk = scales + block * kRowBlock * count + i * count / step;
        for (size_t row = 0; row < kRowBlock; ++row)
          elements[row] = scaled(elements[row], of_chunk[row * count], leader, *queued.origin);
      }
  }
}

/// B of one group of columns times its scales: [n][k] in the workspace.
const float* scale_b(const Product& product, Cta& cta, const Cta& leader, uint32_t group) {
  const size_t step = product.shape.k();
  const uint32_t columns = product.columns();
  const float* const b = workspace.b.data() + size_t{group} * columns * product.k;
  workspace.scaled_b.resize(columns * product.k);
  for (size_t index = 0; index < product.batch.size(); ++index) {
    const QueuedMma& queued = product.batch[index];
    const uint32_t count = queued.operation->scales;
    const float* const scales = scales_of(product, queued, cta, leader, false, group);
    for (uint32_t column = 0; column < columns; ++column)
      for (size_t i = 0; i < step; ++i) {
        const size_t place = column * product.k + index * step + i;
        workspace.scaled_b[place] =
            scaled(b[place], scales[column * count + i * count / step], leader, *queued.origin);
      }
  }
  return workspace.scaled_b.data();
}

/// Puts the stored elements of a sparse A to their places along K; the others are zero.
void spread_sparse_a(const Product& product, Cta& cta, const Cta& leader, uint32_t group) {
  const size_t stored = product.shape.a_k();
  const QueuedMma& queued = product.batch[0];
  const MmaOperation& mma = *queued.operation;
  workspace.positions.resize(product.rows() * stored);
  workspace.a.assign(product.rows() * product.k, 0.0f);
  for (uint32_t block = 0; block < product.path.row_blocks; ++block) {
    uint16_t* const positions = workspace.positions.data() + block * stored * kRowBlock;
    if (auto problem =
            read_metadata(units_of(cta).tensor_memory, mma.shape,
                          product.path.lane(mma.metadata.lane, block, group), mma.metadata.column,
                          !leader.cluster->at_isa_level(), positions))
      fault_at(*leader.cluster, *queued.origin, std::move(*problem));
    const float* const elements = workspace.stored.data() + block * stored * kRowBlock;
    float* const a = workspace.a.data() + block * product.k * kRowBlock;
    for (size_t i = 0; i < stored; ++i)
      for (size_t row = 0; row < kRowBlock; ++row)
        a[positions[i * kRowBlock + row] * kRowBlock + row] += elements[i * kRowBlock + row];
  }
}

/// A of all operations for one CTA as [block of 16 rows][k][16].
void decode_a(const Product& product, Cta& cta, const Cta& leader, uint32_t group) {
  const MmaShape& shape = product.shape;
  const uint32_t rows = product.rows(), step = shape.a_k();
  const size_t element = container_bytes(shape.a_format), k = product.batch.size() * step;
  const size_t row_bytes = step * element;
  const ElementLayout layout = product.a_layout();
  workspace.rows.resize(rows * row_bytes);
  workspace.raw_a.resize(rows * k * element);
  for (size_t index = 0; index < product.batch.size(); ++index) {
    const MmaOperation& mma = *product.batch[index].operation;
    if (!mma.a_in_tensor_memory)
      fetch_shared_rows(cta.shared.data(), mma.a, shape.a_major, layout, rows, shape.a_k_bytes(),
                        workspace.rows.data(), row_bytes);
    for (uint32_t block = 0; block < product.path.row_blocks; ++block) {
      std::byte* const block_rows = workspace.rows.data() + block * kRowBlock * row_bytes;
      if (mma.a_in_tensor_memory)
        fetch_tensor_memory_rows(
            units_of(cta).tensor_memory, product.path.lane(mma.a_address.lane, block, group),
            mma.a_address.column, mma.a_columns(), layout, block_rows, row_bytes);
      std::byte* const raw =
          workspace.raw_a.data() + (block * k + index * step) * kRowBlock * element;
      transpose_row_block(block_rows, row_bytes, raw, step, element);
    }
  }
  if (product.as_codes) return;
  std::vector<float>& out = shape.sparse ? workspace.stored : workspace.a;
  out.resize(rows * k);
  decode_elements(shape.a_format, workspace.raw_a.data(), out.data(), rows * k);
  if (product.first.scales != 0) scale_a(product, out.data(), step, cta, leader);
  if (shape.sparse) spread_sparse_a(product, cta, leader, group);
}

/// B of all operations as [n][k]; of a pair, each CTA holds half of N.
void decode_b(const Product& product, Cta& leader) {
  const MmaShape& shape = product.shape;
  const auto group = static_cast<uint32_t>(product.first.group);
  const uint32_t shift = product.first.zero_columns ? product.first.zero_columns->shift : 0;
  const uint32_t rows = shape.n / group + shift;
  const ElementLayout layout = product.b_layout();
  const size_t step_bytes = layout.unpacked(shape.b_k_bytes());
  const size_t row_bytes = product.batch.size() * step_bytes;
  workspace.raw_b.resize((shape.n + shift) * row_bytes);
  for (uint32_t member = 0; member < group; ++member) {
    const Cta& cta = leader.cluster->cta(leader.rank + member);
    for (size_t index = 0; index < product.batch.size(); ++index)
      fetch_shared_rows(cta.shared.data(), product.batch[index].operation->b, shape.b_major, layout,
                        rows, shape.b_k_bytes(),
                        workspace.raw_b.data() + member * rows * row_bytes + index * step_bytes,
                        row_bytes);
  }
  if (product.as_codes) return;
  workspace.b.resize(shape.n * product.k);
  decode_elements(shape.b_format, workspace.raw_b.data() + shift * row_bytes, workspace.b.data(),
                  shape.n * product.k);
  if (shape.negate)
    for (float& value : workspace.b) value = -value;
  if (product.first.zero_columns == nullptr) return;
  for (uint32_t column = 0; column < shape.n; ++column)
    if (product.first.zero_columns->mask[column])
      std::fill_n(workspace.b.begin() + static_cast<std::ptrdiff_t>(column * product.k), product.k,
                  0.0f);
}

uint32_t add_integers(uint32_t d, float product, bool saturate) {
  const int64_t sum = int64_t{static_cast<int32_t>(d)} + static_cast<int64_t>(product);
  if (!saturate) return static_cast<uint32_t>(sum);
  return static_cast<uint32_t>(static_cast<int32_t>(std::clamp<int64_t>(
      sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
}

/// One block of 16 rows.
struct Block {
  const float* a;   ///< [k][16]
  const float* b;   ///< [n][k]
  uint32_t index;   ///< of the block
  bool row_by_row;  ///< see multiply_sparse_rows
};

/// A sparse product takes only those elements of B that A's metadata names. Zeros in the other
/// places of A do the same unless B has an infinity or a NaN there: then each row is multiplied on
/// its own by the elements of B that it takes.
void multiply_sparse_rows(const Accumulation& model, const Product& product, const Block& block,
                          const RowTile& tile) {
  const size_t stored = product.shape.a_k(), n = tile.n;
  const float* const elements = workspace.stored.data() + block.index * stored * kRowBlock;
  const uint16_t* const positions = workspace.positions.data() + block.index * stored * kRowBlock;
  workspace.gathered_b.resize(n * stored);
  workspace.column.resize(n * kRowBlock);
  for (size_t row = 0; row < kRowBlock; ++row) {
    for (size_t column = 0; column < n; ++column) {
      for (size_t i = 0; i < stored; ++i)
        workspace.gathered_b[column * stored + i] =
            tile.b[column * tile.b_stride + positions[i * kRowBlock + row]];
      workspace.column[column * kRowBlock + row] = tile.d[column * tile.d_stride + row];
    }
    model.multiply({elements, workspace.gathered_b.data(), stored, workspace.column.data(),
                    kRowBlock, n, stored, tile.accumulate},
                   product.formats());
    for (size_t column = 0; column < n; ++column)
      tile.d[column * tile.d_stride + row] = workspace.column[column * kRowBlock + row];
  }
}

void multiply_block(const Accumulation& model, const Product& product, const Block& block,
                    const RowTile& tile) {
  if (block.row_by_row)
    multiply_sparse_rows(model, product, block, tile);
  else
    model.multiply(tile, product.formats());
}

/// 16 rows of D by way of a tile in fp32: every case but the plain fp32 accumulator.
void multiply_through_tile(const Accumulation& chosen, const Product& product, const Block& block,
                           uint32_t* d, uint32_t n, uint32_t disabled_rows) {
  const MmaOperation& mma = product.first;
  const AccumulatorFormat format = mma.shape.d_format;
  const float scale = std::bit_cast<float>((127u - mma.scale_d_exponent) << 23);
  std::vector<float>& tile = workspace.tile;
  tile.resize(n * kRowBlock);
  const bool from_d = mma.accumulate && format != AccumulatorFormat::s32;
  for (uint32_t column = 0; from_d && column < n; ++column)
    for (size_t row = 0; row < kRowBlock; ++row) {
      const uint32_t word = d[column * kLanes + row];
      tile[column * kRowBlock + row] =
          scale * (format == AccumulatorFormat::f16 ? float_from_half(static_cast<uint16_t>(word))
                                                    : std::bit_cast<float>(word));
    }
  // Integers are summed exactly: K of one instruction stays far below 2^24.
  const bool exact = format == AccumulatorFormat::s32;
  const Accumulation& model = exact ? accumulation(SummationModel::sequential) : chosen;
  multiply_block(model, product, block,
                 {block.a, block.b, product.k, tile.data(), kRowBlock, n, product.k, from_d});
  for (uint32_t column = 0; column < n; ++column)
    for (size_t row = 0; row < kRowBlock; ++row) {
      if ((disabled_rows >> row & 1u) != 0) continue;
      uint32_t& word = d[column * kLanes + row];
      const float value = tile[column * kRowBlock + row];
      switch (format) {
        case AccumulatorFormat::f16:
          word = half_from_float(value);
          break;
        case AccumulatorFormat::f32:
          word = std::bit_cast<uint32_t>(value);
          break;
        case AccumulatorFormat::s32:
          word = add_integers(mma.accumulate ? word : 0, value, mma.shape.saturate);
          break;
      }
    }
}

bool is_plain(const MmaOperation& mma) {
  return mma.shape.d_format == AccumulatorFormat::f32 && !mma.any_disabled &&
         (!mma.accumulate || mma.scale_d_exponent == 0);
}

const uint8_t* codes(const std::vector<std::byte>& raw) {
  return reinterpret_cast<const uint8_t*>(raw.data());
}

/// Whether A and B go to the model as they are in memory.
bool goes_as_codes(const Accumulation& model, const MmaOperation& mma, const TileFormats& formats) {
  return is_plain(mma) && mma.scales == 0 && mma.zero_columns == nullptr && !mma.shape.sparse &&
         !mma.shape.negate && model.takes_codes(formats);
}

/// D of one CTA (`member` of the pair) in one group of the lanes.
void multiply(const Accumulation& model, const Product& product, const float* b, Cta& cta,
              uint32_t member, uint32_t group) {
  const MmaOperation& mma = product.first;
  const uint32_t n = product.columns();
  const bool row_by_row =
      product.shape.sparse &&
      !std::all_of(b, b + n * product.k, [](float value) { return std::isfinite(value); });
  const bool in_place = is_plain(mma) && !row_by_row;
  std::array<RowTile, kLanes / kRowBlock> tiles;  // that are multiplied together
  size_t count = 0;
  for (uint32_t index = 0; index < product.path.row_blocks; ++index) {
    const uint32_t lane = product.path.lane(mma.d.lane, index, group);
    uint32_t* const d = units_of(cta).tensor_memory.column(mma.d.column) + lane;
    const float* const a =
        product.as_codes ? nullptr : workspace.a.data() + index * product.k * kRowBlock;
    const Block block{a, b, index, row_by_row};
    RowTile tile{block.a, b, product.k, reinterpret_cast<float*>(d),
                 kLanes,  n, product.k, mma.accumulate};
    if (in_place) {
      if (product.as_codes) {
        tile.a_codes = codes(workspace.raw_a) + index * product.k * kRowBlock;
        tile.b_codes = codes(workspace.raw_b) + size_t{group} * n * product.k;
      }
      tiles[count++] = tile;
    } else if (is_plain(mma)) {
      multiply_sparse_rows(model, product, block, tile);
    } else {
      constexpr uint32_t kWordsPerCta = kLanes / 32;
      const uint32_t word = mma.disabled_lanes[member * kWordsPerCta + lane / 32];
      multiply_through_tile(model, product, block, d, n, word >> lane % 32);
    }
  }
  if (in_place) model.multiply_together({tiles.data(), count}, product.formats());
}

}  // namespace

void execute_product(std::span<const QueuedMma> batch, Cta& leader, const Accumulation& model) {
  if (!model.sums()) return;
  const MmaOperation& first = *batch[0].operation;
  Product product{batch, first, first.shape, first.path(), batch.size() * first.shape.k(), false};
  product.as_codes = goes_as_codes(model, first, product.formats());
  decode_b(product, leader);
  for (uint32_t member = 0; member < static_cast<uint32_t>(first.group); ++member) {
    Cta& cta = leader.cluster->cta(leader.rank + member);
    for (uint32_t group = 0; group < product.path.groups; ++group) {
      // A in shared memory, and so its metadata too, is the same for all groups; the metadata's
      // copies in the other lanes are read for what they are.
      if (group == 0 || first.a_in_tensor_memory || first.shape.sparse)
        decode_a(product, cta, leader, group);
      const float* const b =
          first.scales != 0  ? scale_b(product, cta, leader, group)
          : product.as_codes ? nullptr
                             : workspace.b.data() + size_t{group} * product.columns() * product.k;
      multiply(model, product, b, cta, member, group);
    }
  }
}

}  // namespace bw::sim
