#include "common/simulator/units/tensor_core/wgmma/wgmma_descriptor.hpp"

#include <array>

#include "common/simulator/base/text.hpp"
#include "common/simulator/units/tensor_core/descriptor_bits.hpp"

namespace bw::sim {
MatrixDescriptor decode_wgmma_descriptor(uint64_t bits) {
  constexpr unsigned kUnitShift = 4, kAddressBits = 14;
  constexpr unsigned kLeading = 16, kStride = 32, kBaseOffset = 49, kSwizzle = 62;
  constexpr std::array kSwizzles = {SharedSwizzle::none, SharedSwizzle::k128b, SharedSwizzle::k64b,
                                    SharedSwizzle::k32b};
  const auto bytes = [&](unsigned first) {
    return static_cast<uint32_t>(bits_of(bits, first, kAddressBits) << kUnitShift);
  };
  MatrixDescriptor descriptor;
  descriptor.start_bytes = bytes(0);
  descriptor.leading_bytes = bytes(kLeading);
  descriptor.stride_bytes = bytes(kStride);
  descriptor.base_offset = static_cast<uint32_t>(bits_of(bits, kBaseOffset, 3));
  descriptor.swizzle = kSwizzles[bits_of(bits, kSwizzle, 2)];
  return descriptor;
}

std::optional<Fault> check_wgmma_descriptor(uint64_t bits) {
  constexpr uint64_t kReserved = 0x3ff1c000c000c000;
  if ((bits & kReserved) == 0) return std::nullopt;
  return Fault{.code = FaultCode::matrix_descriptor,
               .what = "the shared-memory descriptor " + hex_word(bits) +
                       " has bits set that no field of it has (14, 15, 30, 31, 46 to 48 or 52 to "
                       "61)",
               .rule =
                   "the fields are start address (bits 0 to 13), leading offset (16 to 29), "
                   "stride offset (32 to 45), base offset (49 to 51) and swizzle (62, 63)",
               .fix =
                   "encode addresses and offsets as (bytes & 0x3ffff) >> 4; a descriptor for "
                   "tcgen05 has its swizzle elsewhere",
               .section = "Matrix Descriptor Format"};
}

}  // namespace bw::sim
