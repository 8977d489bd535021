#include "common/simulator/units/copies/tensor_box.hpp"

#include <algorithm>
#include <cstring>

#include "common/simulator/base/device_address.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kSwizzleChunkBytes = 16;
constexpr uint32_t kPackedElements = 16;  // of a padded type in a chunk
constexpr uint32_t kLineShift = 7;        // a line of all 32 banks is 128 bytes
constexpr uint32_t kFullRowBytes = 128;
/// Rows are far apart in global memory, where the host's hardware prefetcher does not help: the row
/// this many rows ahead is prefetched.
constexpr uint64_t kRowsAhead = 8;
constexpr uint64_t kHostLineBytes = 64;

/// Brings a row into the host's caches: into the first one for the copy that is under way, else
/// into the second one.
template <bool for_this_copy>
void prefetch_row(uint64_t address, uint64_t row_bytes) {
  constexpr int kReads = 0, kFirstCache = 3, kSecondCache = 2;
  for (uint64_t at = 0; at < row_bytes; at += kHostLineBytes)
    __builtin_prefetch(host_pointer(address + at), kReads,
                       for_this_copy ? kFirstCache : kSecondCache);
}

constexpr uint16_t kNanFill = 0x7ff7;  // "OOB-NaN", in each 16 bits of any type (seen on Hopper)

/// Copies one row between `linear` and shared memory; `address` is where the row would start in
/// `window` without a swizzle, which exchanges 16-byte chunks by the address.
template <bool to_shared>
void move_chunks(TensorMapSwizzle swizzle, std::byte* window, uint32_t address, std::byte* linear,
                 uint32_t size_bytes) {
  const bool flips = swizzle == TensorMapSwizzle::bytes128_atom32_flip8;
  for (uint32_t at = 0; at < size_bytes; at += kSwizzleChunkBytes) {
    const uint32_t plain = address + at;
    std::byte* const chunk =
        window + (plain ^ swizzle_chunk_exchange(swizzle, plain) * kSwizzleChunkBytes);
    const bool flip = flips && (plain >> kLineShift & 1u) != 0;
    constexpr uint32_t kHalf = kSwizzleChunkBytes / 2;
    for (uint32_t half = 0; half < kSwizzleChunkBytes; half += kHalf) {
      std::byte* const there = chunk + (flip ? kHalf - half : half);
      if constexpr (to_shared)
        std::memcpy(there, linear + at + half, kHalf);
      else
        std::memcpy(linear + at + half, there, kHalf);
    }
  }
}

/// As move_chunks, with fast ways for rows without a swizzle and for whole 128-byte rows.
template <bool to_shared>
void move_row(TensorMapSwizzle swizzle, std::byte* window, uint32_t address, std::byte* linear,
              uint32_t size_bytes) {
  std::byte* const shared = window + address;
  if (swizzle == TensorMapSwizzle::none) {
    if constexpr (to_shared)
      std::memcpy(shared, linear, size_bytes);
    else
      std::memcpy(linear, shared, size_bytes);
    return;
  }
  if (size_bytes != kFullRowBytes || swizzle == TensorMapSwizzle::bytes128_atom32_flip8 ||
      swizzle_span_bytes(swizzle) != kFullRowBytes || address % kFullRowBytes != 0) {
    move_chunks<to_shared>(swizzle, window, address, linear, size_bytes);
    return;
  }
  const uint32_t exchange = swizzle_chunk_exchange(swizzle, address) * kSwizzleChunkBytes;
  for (uint32_t at = 0; at < kFullRowBytes; at += kSwizzleChunkBytes) {
    if constexpr (to_shared)
      std::memcpy(shared + (at ^ exchange), linear + at, kSwizzleChunkBytes);
    else
      std::memcpy(linear + at, shared + (at ^ exchange), kSwizzleChunkBytes);
  }
}

/// A row of a padded type: the packed elements of each chunk of `padded`, and the bytes after them.
/// The PTX ISA does not say what a GPU writes there; here it can be told from data.
void pad_row(const std::byte* packed, std::vector<std::byte>& padded, uint32_t packed_bytes) {
  constexpr std::byte kPadding{0xcd};
  std::fill(padded.begin(), padded.end(), kPadding);
  for (size_t chunk = 0; chunk < padded.size() / kSwizzleChunkBytes; ++chunk)
    std::memcpy(padded.data() + chunk * kSwizzleChunkBytes, packed + chunk * packed_bytes,
                packed_bytes);
}

}  // namespace

uint32_t swizzle_chunk_exchange(TensorMapSwizzle swizzle, uint32_t row_address) noexcept {
  const uint32_t line = row_address >> kLineShift;
  switch (swizzle) {
    case TensorMapSwizzle::none:
      return 0;
    case TensorMapSwizzle::bytes32:
    case TensorMapSwizzle::bytes96:
      return line & 1u;
    case TensorMapSwizzle::bytes64:
      return line & 3u;
    case TensorMapSwizzle::bytes128:
      return line & 7u;
    case TensorMapSwizzle::bytes128_atom32:
    case TensorMapSwizzle::bytes128_atom32_flip8:
      return (line & 3u) << 1;
    case TensorMapSwizzle::bytes128_atom64:
      return (line & 1u) << 2;
  }
  return 0;
}

ReductionType reduction_type(TensorMapType type) noexcept {
  switch (type) {
    case TensorMapType::u32:
      return ReductionType::u32;
    case TensorMapType::s32:
      return ReductionType::s32;
    case TensorMapType::u64:
      return ReductionType::u64;
    case TensorMapType::s64:
      return ReductionType::s64;
    case TensorMapType::f16:
      return ReductionType::f16;
    case TensorMapType::bf16:
      return ReductionType::bf16;
    case TensorMapType::f32:
      return ReductionType::f32;
    case TensorMapType::f32_ftz:
      return ReductionType::f32_ftz;
    case TensorMapType::f64:
      return ReductionType::f64;
    default:
      return ReductionType::none;
  }
}

TensorBox::TensorBox(const TensorMap& map,
                     const std::array<int32_t, kTensorMapMaxRank>& coordinates, bool gathered)
    : map_(map), gathered_(gathered) {
  count_.fill(1);
  for (uint32_t d = 0; d < map.rank; ++d) {
    start_[d] = coordinates[d];
    count_[d] = map.count(d);
  }
  if (gathered) {
    count_[1] = kGatheredRows;
    for (uint32_t r = 0; r < kGatheredRows; ++r) gathered_rows_[r] = coordinates[1 + r];
  }
  for (uint32_t d = 1; d < kTensorMapMaxRank; ++d) rows_ *= count_[d];
  set_rows();
}

TensorBox::TensorBox(const TensorMap& map,
                     const std::array<int32_t, kTensorMapMaxRank>& coordinates,
                     const Im2colOffsets& offsets)
    : map_(map), offsets_(offsets), rows_(map.im2col.pixels) {
  count_.fill(1);
  count_[0] = map.im2col.channels;
  for (uint32_t d = 0; d < map.rank; ++d) start_[d] = coordinates[d];
  set_rows();
}

TensorBox::TensorBox(const TensorMap& map,
                     const std::array<int32_t, kTensorMapMaxRank>& coordinates,
                     const Im2colWide& wide)
    : map_(map), offsets_{wide.offset}, rows_(map.im2col.pixels + wide.halo) {
  count_.fill(1);
  count_[0] = map.im2col.channels;
  for (uint32_t d = 0; d < map.rank; ++d) start_[d] = coordinates[d];
  set_rows();
}

void TensorBox::set_rows() {
  const TensorMap& map = map_;
  constexpr int64_t kBitsPerByte = 8;
  const int64_t bits = map.element_bits();
  const bool interleaved = map.interleave != TensorMapInterleave::none;
  const int64_t step = interleaved ? map.element_strides[0] : 1;
  row_bytes_ = static_cast<uint32_t>(count_[0] * bits / kBitsPerByte);
  row_start_bytes_ = start_[0] * bits / kBitsPerByte;
  shared_row_bytes_ = tensor_map_type_is_padded(map.type)
                          ? count_[0] / kPackedElements * kSwizzleChunkBytes
                          : row_bytes_;
  const uint32_t span = swizzle_span_bytes(map.swizzle);
  pitch_bytes_ = span != 0 && !interleaved ? std::max(span, shared_row_bytes_) : shared_row_bytes_;
  // Elements i of a row with 0 <= start + i * step < extent are inside of the tensor.
  const auto clamp_count = [this](int64_t count) {
    return std::clamp<int64_t>(count, 0, count_[0]);
  };
  const auto extent = static_cast<int64_t>(map.extents[0]);
  const int64_t first = clamp_count(start_[0] < 0 ? (-start_[0] + step - 1) / step : 0);
  const int64_t end = clamp_count(start_[0] < extent ? (extent - start_[0] + step - 1) / step : 0);
  valid_begin_ = static_cast<uint32_t>(first * bits / kBitsPerByte);
  valid_end_ = static_cast<uint32_t>(std::max(first, end) * bits / kBitsPerByte);
}

template <class Row>
void TensorBox::for_each_pixel(Row&& row) const {
  const uint32_t batch = map_.rank - 1;
  const uint32_t walked_end = map_.im2col.is_wide() ? 2 : batch;  // one past the last walked one
  std::array<int64_t, kTensorMapMaxRank> position = start_;
  for (uint32_t pixel = 0; pixel < rows_; ++pixel) {
    bool inside = true;
    int64_t offset = row_start_bytes_;
    for (uint32_t d = 1; d <= batch; ++d) {
      const int64_t at = position[d] + (d < batch ? offsets_[d - 1] : 0);
      inside &= at >= 0 && at < static_cast<int64_t>(map_.extents[d]);
      offset += at * static_cast<int64_t>(map_.stride_bytes[d]);
    }
    row(map_.address + static_cast<uint64_t>(offset), inside);
    // The next position in the bounding box; past its end, the next image.
    uint32_t d = 1;
    for (; d < walked_end; ++d) {
      position[d] += map_.element_strides[d];
      const int64_t last = static_cast<int64_t>(map_.extents[d]) - 1 + map_.im2col.upper[d - 1];
      if (position[d] <= last) break;
      position[d] = map_.im2col.lower[d - 1];
    }
    if (d == walked_end) ++position[batch];
  }
}

template <class Row>
void TensorBox::for_each_row(Row&& row) const {
  if (map_.im2col.is_used()) return for_each_pixel(row);
  std::array<uint32_t, kTensorMapMaxRank> index{};
  // Dimensions 2 and up form an outer loop, dimension 1 the inner one.
  for (;;) {
    bool outer_inside = true;
    int64_t outer_offset = row_start_bytes_;
    for (uint32_t d = 2; d < map_.rank; ++d) {
      const int64_t at = start_[d] + int64_t{index[d]} * map_.element_strides[d];
      outer_inside &= at >= 0 && at < static_cast<int64_t>(map_.extents[d]);
      outer_offset += at * static_cast<int64_t>(map_.stride_bytes[d]);
    }
    const auto extent = static_cast<int64_t>(map_.rank > 1 ? map_.extents[1] : 1);
    for (uint32_t i = 0; i < count_[1]; ++i) {
      const int64_t at =
          gathered_ ? gathered_rows_[i] : start_[1] + int64_t{i} * map_.element_strides[1];
      const int64_t offset = outer_offset + at * static_cast<int64_t>(map_.stride_bytes[1]);
      row(map_.address + static_cast<uint64_t>(offset), outer_inside && at >= 0 && at < extent);
    }
    uint32_t d = 2;
    while (d < map_.rank && ++index[d] == count_[d]) index[d++] = 0;
    if (d >= map_.rank) return;
  }
}

bool TensorBox::is_inside() const {
  if (pitch_bytes_ != row_bytes_) return false;
  uint64_t rows = 0;
  for_each_row([&](uint64_t, bool inside) { rows += inside; });
  return rows * (valid_end_ - valid_begin_) == transfer_bytes();
}

std::optional<TensorBox::Range> TensorBox::global_range() const {
  if (valid_begin_ == valid_end_) return std::nullopt;
  if (map_.im2col.is_used()) {
    uint64_t first = ~uint64_t{0}, last = 0;
    for_each_pixel([&](uint64_t address, bool inside) {
      if (!inside) return;
      first = std::min(first, address);
      last = std::max(last, address);
    });
    if (first > last) return std::nullopt;
    return Range{first + valid_begin_, last - first + valid_end_ - valid_begin_};
  }
  // Lowest and highest row inside of the tensor: strides are not negative, so each dimension counts
  // by itself.
  int64_t lowest = row_start_bytes_, highest = row_start_bytes_;
  for (uint32_t d = 1; d < map_.rank; ++d) {
    const auto extent = static_cast<int64_t>(map_.extents[d]);
    int64_t first = extent, last = -1;
    if (gathered_) {
      for (const int64_t row : gathered_rows_) {
        if (row < 0 || row >= extent) continue;
        first = std::min(first, row);
        last = std::max(last, row);
      }
    } else {
      const int64_t step = map_.element_strides[d];
      const int64_t skipped = start_[d] < 0 ? (-start_[d] + step - 1) / step : 0;
      first = start_[d] + skipped * step;
      last = start_[d] + (int64_t{count_[d]} - 1) * step;
      if (last >= extent) last -= (last - extent + step) / step * step;
    }
    if (first > last) return std::nullopt;
    lowest += first * static_cast<int64_t>(map_.stride_bytes[d]);
    highest += last * static_cast<int64_t>(map_.stride_bytes[d]);
  }
  const int64_t step = row_step_bytes();
  int64_t begin = valid_begin_, end = valid_end_;
  if (step != 0) {
    const int64_t slice = map_.element_bits() / 8;
    begin = begin / slice * step;
    end = (end / slice - 1) * step + slice;
  }
  return Range{map_.address + static_cast<uint64_t>(lowest + begin),
               static_cast<uint64_t>(highest + end - lowest - begin)};
}

std::vector<TensorBox::Range> TensorBox::global_rows() const {
  std::vector<Range> rows;
  if (valid_begin_ == valid_end_) return rows;
  const int64_t step = row_step_bytes();
  const uint32_t slice = map_.element_bits() / 8;
  for_each_row([&](uint64_t global, bool inside) {
    if (!inside) return;
    if (step == 0) {
      const Range row{global + valid_begin_, valid_end_ - valid_begin_};
      const bool continues =
          !rows.empty() && rows.back().address + rows.back().size_bytes == row.address;
      if (continues)
        rows.back().size_bytes += row.size_bytes;
      else
        rows.push_back(row);
      return;
    }
    for (uint32_t at = valid_begin_; at < valid_end_; at += slice)
      rows.push_back({global + static_cast<uint64_t>(int64_t{at / slice} * step), slice});
  });
  return rows;
}

std::optional<TensorBox::Run> TensorBox::only_run() const {
  if (map_.im2col.is_used() || gathered_ || map_.rank > 2) return std::nullopt;
  const int64_t extent = map_.rank > 1 ? static_cast<int64_t>(map_.extents[1]) : 1;
  const int64_t pitch = static_cast<int64_t>(map_.stride_bytes[1]) * map_.element_strides[1];
  const bool all_inside = start_[1] >= 0 && start_[1] < extent &&
                          (int64_t{count_[1]} - 1) * map_.element_strides[1] < extent - start_[1];
  if (!all_inside || valid_begin_ == valid_end_ || pitch <= 0) return std::nullopt;
  const int64_t first =
      row_start_bytes_ + start_[1] * static_cast<int64_t>(map_.stride_bytes[1]) + valid_begin_;
  const uint64_t row_bytes = valid_end_ - valid_begin_;
  return Run{map_.address + static_cast<uint64_t>(first), row_bytes,
             count_[1] > 1 ? static_cast<uint64_t>(pitch) : row_bytes, count_[1]};
}

std::vector<TensorBox::Run> TensorBox::global_runs() const {
  std::vector<Run> runs;
  if (const std::optional<Run> only = only_run()) return {*only};
  if (valid_begin_ == valid_end_) return runs;
  const uint64_t row_bytes = valid_end_ - valid_begin_;
  for_each_row([&](uint64_t global, bool inside) {
    if (!inside) return;
    const uint64_t address = global + valid_begin_;
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.rows == 1 && address > last.address) last.pitch_bytes = address - last.address;
      if (address == last.address + last.rows * last.pitch_bytes) {
        ++last.rows;
        return;
      }
    }
    runs.push_back({address, row_bytes, row_bytes, 1});
  });
  return runs;
}

void TensorBox::gather_row(uint64_t address, std::byte* row) const {
  const std::byte* const source = host_pointer(address);
  const int64_t step = row_step_bytes();
  if (step == 0) {
    std::memcpy(row + valid_begin_, source + valid_begin_, valid_end_ - valid_begin_);
    return;
  }
  const uint32_t slice = map_.element_bits() / 8;
  for (uint32_t at = valid_begin_; at < valid_end_; at += slice)
    std::memcpy(row + at, source + int64_t{at / slice} * step, slice);
}

namespace {

/// What a load makes of f32 values when the map's type is tf32: 10 bits of mantissa, rounded to
/// nearest even, and one NaN (measured on a Hopper GPU: tests/hardware).
void round_to_tf32(std::byte* first, const std::byte* last) {
  constexpr uint32_t kDroppedBits = 13, kDropped = 0x1fff, kBelowHalf = 0xfff;
  constexpr uint32_t kMagnitude = 0x7fffffff;
  constexpr uint32_t kInfinity = 0x7f800000, kNan = 0x7fffe000;
  for (; first != last; first += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, first, sizeof(bits));
    bits = (bits & kMagnitude) > kInfinity
               ? kNan
               : (bits + kBelowHalf + (bits >> kDroppedBits & 1)) & ~kDropped;
    std::memcpy(first, &bits, sizeof(bits));
  }
}

}  // namespace

void TensorBox::load(const std::vector<std::byte*>& windows, uint32_t shared_offset) const {
  const bool rounds = map_.type == TensorMapType::tf32 || map_.type == TensorMapType::tf32_ftz;
  const bool whole_rows =
      valid_begin_ == 0 && valid_end_ == row_bytes_ && row_step_bytes() == 0 && !rounds;
  std::vector<std::byte> fill(row_bytes_);
  if (map_.nan_fill)
    for (uint32_t at = 0; at + sizeof(kNanFill) <= row_bytes_; at += sizeof(kNanFill))
      std::memcpy(fill.data() + at, &kNanFill, sizeof(kNanFill));
  std::vector<std::byte> clipped = fill;
  const bool pads = shared_row_bytes_ != row_bytes_;
  std::vector<std::byte> padded(pads ? shared_row_bytes_ : 0);
  uint32_t address = shared_offset;
  for_each_row([&](uint64_t global, bool inside) {
    prefetch_row<true>(global + kRowsAhead * map_.stride_bytes[1], row_bytes_);
    prefetch_row<false>(global + row_bytes_, row_bytes_);  // of the next step along the rows
    std::byte* row = fill.data();
    if (inside && whole_rows) {
      row = host_pointer(global);  // only read
    } else if (inside) {
      gather_row(global, clipped.data());
      if (rounds) round_to_tf32(clipped.data() + valid_begin_, clipped.data() + valid_end_);
      row = clipped.data();
    }
    if (pads) {
      pad_row(row, padded, kPackedElements * map_.element_bits() / 8);
      row = padded.data();
    }
    for (std::byte* const window : windows)
      move_row<true>(map_.swizzle, window, address, row, shared_row_bytes_);
    address += pitch_bytes_;
  });
}

void TensorBox::read_shared(const std::byte* window, uint32_t shared_offset,
                            std::vector<std::byte>& staged) const {
  staged.resize(transfer_bytes());
  auto* const shared = const_cast<std::byte*>(window);  // only read
  for (uint32_t row = 0; row < rows_; ++row) {
    const uint32_t address = shared_offset + row * pitch_bytes_;
    move_row<false>(map_.swizzle, shared, address, staged.data() + row * row_bytes_, row_bytes_);
  }
}

void TensorBox::store(const std::vector<std::byte>& staged) const {
  const std::byte* row = staged.data();
  const int64_t step = row_step_bytes();
  for_each_row([&](uint64_t global, bool inside) {
    std::byte* const destination = host_pointer(global);
    if (inside && step == 0) {
      std::memcpy(destination + valid_begin_, row + valid_begin_, valid_end_ - valid_begin_);
    } else if (inside) {
      const uint32_t slice = map_.element_bits() / 8;
      for (uint32_t at = valid_begin_; at < valid_end_; at += slice)
        std::memcpy(destination + int64_t{at / slice} * step, row + at, slice);
    }
    row += row_bytes_;
  });
}

void TensorBox::reduce(const std::vector<std::byte>& staged, Reduction operation) const {
  const std::byte* row = staged.data();
  const ReductionType type = reduction_type(map_.type);
  const int64_t step = row_step_bytes();
  for_each_row([&](uint64_t global, bool inside) {
    std::byte* const destination = host_pointer(global);
    if (inside && step == 0) {
      reduce_elements(operation, type, destination + valid_begin_, row + valid_begin_,
                      valid_end_ - valid_begin_);
    } else if (inside) {
      const uint32_t slice = map_.element_bits() / 8;
      for (uint32_t at = valid_begin_; at < valid_end_; at += slice)
        reduce_elements(operation, type, destination + int64_t{at / slice} * step, row + at, slice);
    }
    row += row_bytes_;
  });
}

int64_t TensorBox::row_step_bytes() const {
  if (map_.interleave == TensorMapInterleave::none || map_.element_strides[0] == 1) return 0;
  return int64_t{map_.element_strides[0]} * map_.element_bits() / 8;
}

}  // namespace bw::sim
