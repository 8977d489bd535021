#include "common/simulator/units/tensor_core/footprint.hpp"

#include <algorithm>

#include "common/simulator/units/tensor_core/block_scaling.hpp"
#include "common/simulator/units/tensor_core/sparse_metadata.hpp"

namespace bw::sim {
namespace {

enum class Use : uint8_t { read, write, both };

/// Ranges of one CTA, in all of its lanes unless said otherwise.
class Ranges {
 public:
  /// Adds to `ranges`.
  Ranges(std::vector<TensorRange>& ranges, uint32_t cta_rank)
      : ranges_(ranges), cta_rank_(static_cast<uint16_t>(cta_rank)) {}

  void add(const char* role, Use use, uint32_t column, uint32_t columns, uint32_t lane = 0,
           uint32_t lanes = TensorMemory::kLanes) {
    ranges_.push_back({cta_rank_, static_cast<uint16_t>(lane), static_cast<uint16_t>(lanes),
                       static_cast<uint16_t>(column), static_cast<uint16_t>(columns),
                       use != Use::write, use != Use::read, role});
  }
  /// In the lanes that hold the rows of A and D.
  void add_rows(const char* role, Use use, const DataPath& path, TensorAddress first,
                uint32_t columns) {
    const bool dense = !path.uses_half_lanes();
    if (dense && path.groups * path.row_blocks * kRowBlock == TensorMemory::kLanes) {
      add(role, use, first.column, columns);
      return;
    }
    for (uint32_t group = 0; group < path.groups; ++group)
      for (uint32_t block = 0; block < path.row_blocks; ++block)
        add(role, use, first.column, columns, path.lane(first.lane, block, group), kRowBlock);
  }

 private:
  std::vector<TensorRange>& ranges_;
  uint16_t cta_rank_;
};

}  // namespace

std::vector<TensorRange> tensor_ranges(const MmaOperation& mma, uint32_t first_rank) {
  std::vector<TensorRange> out;
  const DataPath path = mma.path();
  const auto group = static_cast<uint32_t>(mma.group);
  for (uint32_t member = 0; member < group; ++member) {
    Ranges ranges(out, first_rank + member);
    ranges.add_rows("D", mma.accumulate ? Use::both : Use::write, path, mma.d, mma.d_columns());
    if (mma.a_in_tensor_memory)
      ranges.add_rows("A", mma.shifts_a ? Use::both : Use::read, path, mma.a_address,
                      mma.a_columns());
    if (mma.shape.sparse)
      ranges.add_rows("the sparsity metadata", Use::read, path, mma.metadata,
                      sparse_chunks(mma.shape).columns);
    if (mma.scales == 0) continue;
    const auto scales = [&](const char* role, uint32_t first, uint32_t id, uint32_t rows) {
      for (uint32_t word = 0; word < scale_words(id, mma.scales); ++word)
        ranges.add(role, Use::read, first + word * scale_word_stride(rows), scale_columns(rows));
    };
    scales("the scale factors of A", mma.a_scales.column, mma.shape.a_scale_id,
           mma.shape.m / group);
    scales("the scale factors of B", mma.b_scales.column, mma.shape.b_scale_id, mma.d_columns());
  }
  return out;
}

std::vector<TensorRange> tensor_ranges(const CopyOperation& copy, uint32_t first_rank) {
  std::vector<TensorRange> out;
  const uint32_t columns = copy.columns();
  for (uint32_t member = 0; member < static_cast<uint32_t>(copy.group); ++member) {
    Ranges ranges(out, first_rank + member);
    constexpr const char* kRole = "the destination";
    if (!copy.one_row_a_quarter) {
      ranges.add(kRole, Use::write, copy.destination.column, columns);
      continue;
    }
    for (uint32_t quarter = 0; quarter < TensorMemory::kQuarters; ++quarter)
      ranges.add(kRole, Use::write, copy.destination.column, columns,
                 quarter * kWarpLanes + copy.destination.lane % kWarpLanes, 1);
  }
  return out;
}

std::vector<TensorRange> tensor_ranges(const ShiftOperation& shift, uint32_t first_rank) {
  std::vector<TensorRange> out;
  for (uint32_t member = 0; member < static_cast<uint32_t>(shift.group); ++member)
    Ranges(out, first_rank + member)
        .add("the shifted rows", Use::both, shift.matrix.column, ShiftOperation::kColumns,
             shift.matrix.lane, ShiftOperation::kRows);
  return out;
}

std::vector<MemoryRange> matrix_runs(const MatrixDescriptor& matrix, Major major, uint32_t rows,
                                     uint32_t element_bytes, uint32_t k_bytes, uint32_t cta_rank) {
  std::vector<uint32_t> chunks;
  chunks.reserve(size_t{rows} * k_bytes / kChunkBytes);
  if (major == Major::k) {
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t chunk = 0; chunk < k_bytes / kChunkBytes; ++chunk)
        chunks.push_back(matrix.k_major_chunk(row, chunk));
  } else {
    for (uint32_t k = 0; k < k_bytes / element_bytes; ++k)
      for (uint32_t chunk = 0; chunk < rows * element_bytes / kChunkBytes; ++chunk)
        chunks.push_back(matrix.mn_major_chunk(chunk, k));
  }
  std::sort(chunks.begin(), chunks.end());
  std::vector<MemoryRange> runs;
  for (size_t i = 0; i < chunks.size();) {
    const uint32_t first = chunks[i];
    uint32_t end = first;
    for (; i < chunks.size() && chunks[i] <= end; ++i) end = chunks[i] + kChunkBytes;
    runs.push_back({AddressSpace::shared_cta, static_cast<uint16_t>(cta_rank), first, end - first});
  }
  return runs;
}

std::vector<std::vector<MemoryRange>> shared_operands(const MmaOperation& mma,
                                                      uint32_t first_rank) {
  std::vector<std::vector<MemoryRange>> out;
  const MmaShape& shape = mma.shape;
  const auto group = static_cast<uint32_t>(mma.group);
  const uint32_t b_rows =
      shape.n / group + (mma.zero_columns != nullptr ? mma.zero_columns->shift : 0);
  for (uint32_t member = 0; !mma.a_in_tensor_memory && member < group; ++member)
    out.push_back(matrix_runs(mma.a, shape.a_major, shape.m / group,
                              container_bytes(shape.a_format), shape.a_k_bytes(),
                              first_rank + member));
  for (uint32_t member = 0; member < group; ++member)
    out.push_back(matrix_runs(mma.b, shape.b_major, b_rows, container_bytes(shape.b_format),
                              shape.b_k_bytes(), first_rank + member));
  return out;
}

std::vector<std::vector<MemoryRange>> shared_operands(const CopyOperation& copy,
                                                      uint32_t first_rank) {
  std::vector<std::vector<MemoryRange>> out;
  for (uint32_t member = 0; member < static_cast<uint32_t>(copy.group); ++member)
    out.push_back(
        matrix_runs(copy.source, Major::k, copy.rows, 1, copy.row_bytes, first_rank + member));
  return out;
}

std::vector<std::vector<MemoryRange>> shared_operands(const ShiftOperation&, uint32_t) {
  return {};
}

}  // namespace bw::sim
