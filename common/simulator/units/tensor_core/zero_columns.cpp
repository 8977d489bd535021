#include "common/simulator/units/tensor_core/zero_columns.hpp"

#include <fmt/core.h>

#include "common/simulator/units/tensor_core/descriptor_bits.hpp"

namespace bw::sim {
namespace {

constexpr unsigned kStartCounts = 0, kFirstSpans = 32, kReserved = 36, kNonZero = 39,
                   kSkipSpan = 40, kUseSpan = 48, kShift = 56, kUnused = 62;
constexpr std::string_view kZeroColumnsSection = "Zero-Column Mask Descriptor";

}  // namespace

ZeroColumns decode_zero_columns(uint64_t bits, const MmaShape& shape) {
  ZeroColumns zero;
  zero.shift = static_cast<uint32_t>(bits_of(bits, kShift, 6));
  if (bits_of(bits, kNonZero, 1) == 0) return zero;
  constexpr uint32_t kRowsOfOneMask = 128;
  const uint32_t masks = kRowsOfOneMask / shape.m, columns = shape.n / masks;
  const uint64_t spans[2] = {bits_of(bits, kUseSpan, 8) + 1, bits_of(bits, kSkipSpan, 8) + 1};
  for (uint32_t mask = 0; mask < masks; ++mask) {
    uint64_t value = bits_of(bits, kFirstSpans + mask, 1);
    uint64_t left = spans[value];
    // The start count drops low bits of the pattern.
    const auto skipped = static_cast<uint32_t>(bits_of(bits, kStartCounts + 8 * mask, 8));
    for (uint32_t i = 0; i < skipped + columns; ++i) {
      if (left == 0) {
        value ^= 1;
        left = spans[value];
      }
      --left;
      if (i >= skipped && value != 0) zero.mask.set(mask * columns + i - skipped);
    }
  }
  return zero;
}

std::optional<Fault> check_zero_columns(uint64_t bits, const MmaShape& shape) {
  if (bits_of(bits, kReserved, 3) != 0 || bits_of(bits, kUnused, 2) != 0)
    return Fault{.code = FaultCode::zero_column_mask,
                 .what =
                     "the zero-column mask descriptor has reserved bits set (36 to 38, 62 and "
                     "63 must be 0)",
                 .rule = "reserved bits are 0",
                 .fix = "clear bits 36 to 38, 62 and 63",
                 .section = kZeroColumnsSection};
  const auto shift = static_cast<uint32_t>(bits_of(bits, kShift, 6));
  const uint32_t most = shape.m == 32 ? 16 : 32;
  if (shift > most || shift > shape.largest_shift)
    return Fault{
        .code = FaultCode::zero_column_mask,
        .what = fmt::format("the zero-column mask descriptor shifts B by {} columns; with "
                            "M = {} the most are {}, and the instruction descriptor allows "
                            "{} (bits 30 and 31)",
                            shift, shape.m, most, shape.largest_shift),
        .rule = "the column shift is at most the maximum shift",
        .fix =
            "encode the maximum shift in the instruction descriptor: 1 is 8, 2 is 16, 3 "
            "is 32 columns",
        .section = kZeroColumnsSection};
  return std::nullopt;
}

}  // namespace bw::sim
