#pragma once
/// \file
/// The box of a tensor copy: which bytes of global memory go where in shared memory (PTX ISA,
/// "Tensors": bounding box, traversal stride, out of boundary access, swizzling modes).
///
/// Pure geometry and byte moves; no simulated time and no faults.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/simulator/units/copies/element_reduction.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"

namespace bw::sim {

/// Offsets of an im2col load, one a spatial dimension: added to the position of every pixel.
using Im2colOffsets = std::array<uint16_t, Im2col::kMaxSpatial>;

/// What .im2col::w takes instead (PTX ISA, "wHalo" and "wOffset").
struct Im2colWide {
  uint16_t halo = 0;    ///< pixels after those that the map requests
  uint16_t offset = 0;  ///< added to every pixel's position in dimension 1
};

/// The four explicit rows of .tile::gather4 and .tile::scatter4.
inline constexpr uint32_t kGatheredRows = 4;

/// A box at coordinates of a tensor. Rows are the runs along dimension 0; they follow each other in
/// shared memory at `pitch_bytes` (the swizzle's span where there is one, also when a row is
/// shorter). Of padded types each 16 elements have 16 bytes there, of which the first ones hold
/// them.
class TensorBox {
 public:
  /// `coordinates` has one entry a dimension; with `gathered` it is {column, row0, ..., row3} and
  /// the box is kGatheredRows rows of a 2-D tensor.
  TensorBox(const TensorMap& map, const std::array<int32_t, kTensorMapMaxRank>& coordinates,
            bool gathered);
  /// The pixels of an im2col map: as many as the map says from the one at `coordinates` on, row by
  /// row of the map's bounding box and image by image. A row of the box is one pixel's channels.
  TensorBox(const TensorMap& map, const std::array<int32_t, kTensorMapMaxRank>& coordinates,
            const Im2colOffsets& offsets);
  /// The pixels of a map for .im2col::w: along dimension 1 of the bounding box and image by image,
  /// the other spatial dimensions staying at `coordinates`; the halo continues after the last of
  /// them.
  TensorBox(const TensorMap& map, const std::array<int32_t, kTensorMapMaxRank>& coordinates,
            const Im2colWide& wide);

  /// The tensor map.
  [[nodiscard]] const TensorMap& map() const { return map_; }
  /// Bytes of a row in global memory.
  [[nodiscard]] uint32_t row_bytes() const { return row_bytes_; }
  /// How many rows.
  [[nodiscard]] uint32_t rows() const { return rows_; }
  /// From row to row in shared memory.
  [[nodiscard]] uint32_t pitch_bytes() const { return pitch_bytes_; }
  /// Bytes that the copy reports to the mbarrier: the whole box, including what is outside of the
  /// tensor. Padding is not copied and does not count: 16 elements of 4 bits are 8 bytes, which is
  /// what CUTLASS announces for its block-scaled kernels (elements times sizeof_bits of the type).
  [[nodiscard]] uint32_t transfer_bytes() const { return rows_ * row_bytes_; }
  /// Bytes of shared memory from the box's start to its end.
  [[nodiscard]] uint32_t shared_bytes() const { return rows_ * pitch_bytes_; }

  /// Global memory that the box touches.
  struct Range {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
  };
  /// From the lowest to the highest byte of the box inside of the tensor; nullopt when all is
  /// outside.
  [[nodiscard]] std::optional<Range> global_range() const;

  /// The same, row by row without gaps.
  [[nodiscard]] std::vector<Range> global_rows() const;

  /// Rows that follow each other at one distance.
  struct Run {
    uint64_t address = 0;      ///< of the first row's first byte
    uint64_t row_bytes = 0;    ///< of each, from the first to the last
    uint64_t pitch_bytes = 0;  ///< from row to row
    uint64_t rows = 0;
  };
  /// The box's rows inside of the tensor.
  [[nodiscard]] std::vector<Run> global_runs() const;
  /// The same where they are one run, as those of a box of two dimensions are; found without a look
  /// at each row. nullopt: they may be any number.
  [[nodiscard]] std::optional<Run> only_run() const;

  /// Whether all of the box's bytes in shared memory are inside of the tensor, without gaps.
  [[nodiscard]] bool is_inside() const;

  /// Global to shared memory: writes the box, filled where it is outside of the tensor, at
  /// `shared_offset` of each of the windows (a CTA's shared memory from its offset 0).
  void load(const std::vector<std::byte*>& windows, uint32_t shared_offset) const;
  /// Shared memory to `staged` (transfer_bytes() bytes, rows without gaps, not swizzled). Not of
  /// padded types.
  void read_shared(const std::byte* window, uint32_t shared_offset,
                   std::vector<std::byte>& staged) const;
  /// `staged` to global memory; what is outside of the tensor is not written.
  void store(const std::vector<std::byte>& staged) const;
  /// As `store`, but combines each element with the one in memory. The type must not be
  /// ReductionType::none.
  void reduce(const std::vector<std::byte>& staged, Reduction operation) const;

 private:
  /// Calls row(global address of the row's first byte, whether the row is inside of the tensor).
  template <class Row>
  void for_each_row(Row&& row) const;
  template <class Row>
  void for_each_pixel(Row&& row) const;
  /// The bytes of a row, and which of them are inside of the tensor.
  void set_rows();
  /// Bytes from one element of a row to the next in global memory; 0 where they are contiguous.
  [[nodiscard]] int64_t row_step_bytes() const;
  /// Reads the valid part of the row at `address`.
  void gather_row(uint64_t address, std::byte* row) const;

  TensorMap map_;
  std::array<int64_t, kTensorMapMaxRank> start_{};   ///< first coordinate per dimension
  std::array<uint32_t, kTensorMapMaxRank> count_{};  ///< elements per dimension; 1 above the rank
  std::array<int64_t, kGatheredRows> gathered_rows_{};
  bool gathered_ = false;
  Im2colOffsets offsets_{};
  uint32_t row_bytes_ = 0;
  uint32_t shared_row_bytes_ = 0;  ///< the same but for padded types
  uint32_t rows_ = 1;
  uint32_t pitch_bytes_ = 0;
  int64_t row_start_bytes_ = 0;  ///< of the row's first byte from the tensor's row start
  uint32_t valid_begin_ = 0;     ///< bytes of a row inside of the tensor: [begin, end)
  uint32_t valid_end_ = 0;
};

/// The type in which elements of a tensor are reduced; none where the ISA has no reduction of them.
[[nodiscard]] ReductionType reduction_type(TensorMapType type) noexcept;

/// Exchanges for the 16-byte chunks of a shared-memory row: chunk c of the row at shared address
/// `row_address` is at chunk c ^ the result (PTX ISA, "Swizzling modes").
[[nodiscard]] uint32_t swizzle_chunk_exchange(TensorMapSwizzle swizzle,
                                              uint32_t row_address) noexcept;

}  // namespace bw::sim
