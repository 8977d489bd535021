#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/units/tensor_core/descriptor_bits.hpp"

namespace bw::sim {
namespace {

constexpr std::string_view kMatrixSection = "Shared memory descriptor";
constexpr const char* kMatrixRule = "the fields of the descriptor hold what its layout allows";

}  // namespace

MatrixDescriptor decode_matrix_descriptor(uint64_t bits) {
  constexpr unsigned kUnitShift = 4;
  MatrixDescriptor descriptor;
  descriptor.start_bytes = static_cast<uint32_t>(bits_of(bits, 0, 14) << kUnitShift);
  descriptor.leading_bytes = static_cast<uint32_t>(bits_of(bits, 16, 14) << kUnitShift);
  descriptor.stride_bytes = static_cast<uint32_t>(bits_of(bits, 32, 14) << kUnitShift);
  descriptor.base_offset = static_cast<uint32_t>(bits_of(bits, 49, 3));
  descriptor.leading_is_address = bits_of(bits, 52, 1) != 0;
  descriptor.swizzle = static_cast<SharedSwizzle>(bits_of(bits, 61, 3));
  return descriptor;
}

std::optional<Fault> check_matrix_descriptor(uint64_t bits, bool may_have_address) {
  // Mostly unused: the text is built on demand.
  const auto given = [bits] { return "the shared-memory descriptor " + hex_word(bits) + " has "; };
  if (bits_of(bits, 14, 2) != 0 || bits_of(bits, 30, 2) != 0)
    return Fault{.code = FaultCode::matrix_descriptor,
                 .what = given() + "reserved bits set (14, 15, 30 and 31 must be 0)",
                 .rule = kMatrixRule,
                 .fix =
                     "encode addresses and offsets as (bytes & 0x3ffff) >> 4 before they "
                     "are shifted into place",
                 .section = kMatrixSection};
  if (bits_of(bits, 46, 3) != 1)
    return Fault{
        .code = FaultCode::matrix_descriptor,
        .what = fmt::format("{}the fixed constant {} in bits 46 to 48, where sm_100 needs 1",
                            given(), bits_of(bits, 46, 3)),
        .rule = kMatrixRule,
        .fix = "set bit 46 and clear bits 47 and 48",
        .section = kMatrixSection};
  const bool has_address = bits_of(bits, 52, 1) != 0;
  if (has_address && !may_have_address)
    return Fault{.code = FaultCode::matrix_descriptor,
                 .what = given() +
                         "bit 52 set (leading offset as an absolute address), which only K = 96 of "
                         "sm_103a has",
                 .rule = kMatrixRule,
                 .fix = "clear bit 52 and give the leading offset in bytes >> 4",
                 .section = kMatrixSection};
  if (bits_of(bits, 53, 8) != 0)
    return Fault{.code = FaultCode::matrix_descriptor,
                 .what = given() + "the fixed constant in bits 53 to 60 not 0",
                 .rule = kMatrixRule,
                 .fix = "clear bits 53 to 60",
                 .section = kMatrixSection};
  const uint64_t swizzle = bits_of(bits, 61, 3);
  if (swizzle == 3 || swizzle == 5 || swizzle == 7)
    return Fault{.code = FaultCode::matrix_descriptor,
                 .what = fmt::format("{}the swizzle mode {} in bits 61 to 63, which is invalid",
                                     given(), swizzle),
                 .rule = kMatrixRule,
                 .fix = "use 0 (none), 1 (128B with 32B atom), 2 (128B), 4 (64B) or 6 (32B)",
                 .section = kMatrixSection};
  constexpr uint64_t kPattern128 = 2;
  if (has_address && (swizzle != kPattern128 || bits_of(bits, 49, 3) != 0))
    return Fault{.code = FaultCode::matrix_descriptor,
                 .what = fmt::format("{}bit 52 set (leading offset as an absolute address) with "
                                     "swizzle mode {} and base offset {}",
                                     given(), swizzle, bits_of(bits, 49, 3)),
                 .rule =
                     "an absolute address needs the 128-byte swizzle with 16-byte atoms and a "
                     "base offset of 0",
                 .fix = "use swizzle mode 2 and start both buffers at multiples of 1024 bytes",
                 .section = "Restrictions on the Leading Dimension Absolute Address Stride"};
  return std::nullopt;
}

namespace {

/// Chunks of a matrix: across M or N of a K-major one, along K of the other, and the reverse.
struct Extent {
  uint32_t outer = 0, inner = 0;
};

constexpr Extent extent_of(Major major, uint32_t rows, uint32_t k_elements,
                           uint32_t element_bytes) {
  if (major == Major::k) return {rows, k_elements * element_bytes / kChunkBytes};
  return {rows * element_bytes / kChunkBytes, k_elements};
}

}  // namespace

SharedLines lines_of(const MatrixDescriptor& descriptor, Major major, uint32_t rows,
                     uint32_t k_elements, uint32_t element_bytes) {
  const bool k_major = major == Major::k;
  const auto [outer, inner] = extent_of(major, rows, k_elements, element_bytes);
  if (descriptor.leading_is_address) {
    const auto [low, high] = std::minmax(descriptor.start_bytes, descriptor.leading_bytes);
    const uint64_t rows_bytes =
        uint64_t{(outer - 1) / 8} * descriptor.stride_bytes + 8 * uint64_t{kLineBytes};
    return {low / kLineBytes * kLineBytes, high / kLineBytes * kLineBytes + rows_bytes};
  }
  // The largest offset belongs to the largest indices; a swizzle moves chunks within a line.
  const bool plain = descriptor.swizzle == SharedSwizzle::none;
  const uint32_t pieces = plain ? 1 : descriptor.width_bytes() / kChunkBytes;
  const uint32_t group = descriptor.swizzle == SharedSwizzle::k128b_atom32 ? 4 : 8;
  const uint64_t groups = k_major ? (outer - 1) / 8 : (inner - 1) / group;
  const uint64_t columns = k_major ? inner - 1 : (outer - 1) / pieces;
  const bool stride_is_along = plain && !k_major;  // none, MN-major: the two offsets change places
  const uint64_t leading = k_major && !plain ? 0 : columns * descriptor.leading_bytes;
  const uint64_t offsets =
      stride_is_along ? columns * descriptor.stride_bytes + groups * descriptor.leading_bytes
                      : leading + groups * descriptor.stride_bytes;
  const uint32_t along = k_major ? inner : pieces;
  const uint64_t last = descriptor.start_bytes + offsets + 7 * descriptor.width_bytes() +
                        (plain ? 0 : (along - 1) * kChunkBytes);
  return {descriptor.start_bytes / kLineBytes * kLineBytes,
          last / kLineBytes * kLineBytes + kLineBytes};
}

bool matrix_in_bounds(const MatrixDescriptor& descriptor, Major major, uint32_t rows,
                      uint32_t k_elements, uint32_t element_bytes, size_t shared_bytes,
                      uint32_t reserved_bytes) {
  if (descriptor.start_bytes < reserved_bytes) return false;
  if (descriptor.leading_is_address && descriptor.leading_bytes < reserved_bytes) return false;
  if (lines_of(descriptor, major, rows, k_elements, element_bytes).end_bytes <= shared_bytes)
    return true;
  const auto [outer, inner] = extent_of(major, rows, k_elements, element_bytes);
  for (uint32_t i = 0; i < outer; ++i)
    for (uint32_t j = 0; j < inner; ++j) {
      const uint32_t address =
          major == Major::k ? descriptor.k_major_chunk(i, j) : descriptor.mn_major_chunk(i, j);
      if (address < reserved_bytes || address + size_t{kChunkBytes} > shared_bytes) return false;
    }
  return true;
}

}  // namespace bw::sim
