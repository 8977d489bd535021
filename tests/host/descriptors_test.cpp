/// \file
/// Swizzles and descriptors against the tables of the PTX ISA, written out as literal bits.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "common/device/instruction_descriptor.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/swizzle.cuh"

namespace bw {
namespace {

TEST(Swizzle, MovesChunksOf128ByteRowsByTheRow) {
  for (uint32_t row = 0; row < 16; ++row) {
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      const uint32_t expected = row * 128 + (chunk ^ row % 8) * 16;
      EXPECT_EQ(swizzled_offset(Swizzle::k128B, row * 128 + chunk * 16), expected);
      EXPECT_EQ(swizzled_offset(Swizzle::k128B, row * 128 + chunk * 16 + 7), expected + 7);
    }
  }
}

TEST(Swizzle, NarrowerPatternsUseTheLineOf128Bytes) {
  // 64B: two rows per line; chunk bits [4,6) ^= line bits [7,9). 32B: bit 4 ^= bit 7.
  for (uint32_t offset = 0; offset < 2048; offset += 16) {
    EXPECT_EQ(swizzled_offset(Swizzle::k64B, offset), offset ^ ((offset >> 7 & 3) << 4));
    EXPECT_EQ(swizzled_offset(Swizzle::k32B, offset), offset ^ ((offset >> 7 & 1) << 4));
    EXPECT_EQ(swizzled_offset(Swizzle::kNone, offset), offset);
  }
}

TEST(Swizzle, IsAPermutationAndItsOwnInverse) {
  for (const Swizzle swizzle : {Swizzle::k32B, Swizzle::k64B, Swizzle::k128B}) {
    const uint32_t repeat = swizzle_repeat_bytes(swizzle);
    std::set<uint32_t> places;
    for (uint32_t offset = 0; offset < repeat; ++offset) {
      const uint32_t place = swizzled_offset(swizzle, offset);
      EXPECT_LT(place, repeat);
      EXPECT_EQ(swizzled_offset(swizzle, place), offset);
      EXPECT_EQ(swizzled_offset(swizzle, offset + repeat), place + repeat);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), repeat);
  }
  EXPECT_EQ(swizzle_repeat_bytes(Swizzle::k128B), 1024u);
  EXPECT_EQ(swizzle_repeat_bytes(Swizzle::k64B), 512u);
  EXPECT_EQ(swizzle_repeat_bytes(Swizzle::k32B), 256u);
}

TEST(SharedDescriptor, HasTheFieldsOfTheTable) {
  const uint64_t descriptor = make_k_major_descriptor(0x12400, Swizzle::k128B);
  EXPECT_EQ(descriptor & 0x3fff, 0x1240u);           // start address >> 4
  EXPECT_EQ(descriptor >> 14 & 0x3, 0u);             // reserved
  EXPECT_EQ(descriptor >> 16 & 0x3fff, 1u);          // leading offset: no meaning
  EXPECT_EQ(descriptor >> 30 & 0x3, 0u);             // reserved
  EXPECT_EQ(descriptor >> 32 & 0x3fff, 1024u >> 4);  // stride of 8 rows of 128 bytes
  EXPECT_EQ(descriptor >> 46 & 0x7, 1u);             // fixed constant 0b001
  EXPECT_EQ(descriptor >> 49 & 0x7, 0u);             // base offset: the tile is aligned
  EXPECT_EQ(descriptor >> 52 & 0x1, 0u);             // leading offset is relative
  EXPECT_EQ(descriptor >> 53 & 0xff, 0u);            // fixed constant 0
  EXPECT_EQ(descriptor >> 61, 2u);                   // 128-byte swizzle
}

TEST(SharedDescriptor, CodesTheOtherSwizzles) {
  EXPECT_EQ(make_k_major_descriptor(0, Swizzle::k64B) >> 61, 4u);
  EXPECT_EQ(make_k_major_descriptor(0, Swizzle::k64B) >> 32 & 0x3fff, 512u >> 4);
  EXPECT_EQ(make_k_major_descriptor(0, Swizzle::k32B) >> 61, 6u);
  EXPECT_EQ(make_k_major_descriptor(0, Swizzle::kNone) >> 61, 0u);
}

TEST(SharedDescriptor, DropsTheCtaRankOfAnAddress) {
  EXPECT_EQ(make_k_major_descriptor(0x03000400, Swizzle::k128B),
            make_k_major_descriptor(0x00000400, Swizzle::k128B));
}

TEST(SharedDescriptor, AdvancesAlongK) {
  const uint64_t descriptor = make_k_major_descriptor(0x8000, Swizzle::k128B);
  EXPECT_EQ(advance_descriptor(descriptor, 96), descriptor + 6);
}

TEST(InstructionDescriptor, HasTheFieldsOfTheTable) {
  constexpr uint32_t kDescriptor = make_e4m3_instruction_descriptor<128, 96, 1>();
  EXPECT_EQ(kDescriptor & 0xf, 0u);                // no sparsity, no saturation
  EXPECT_EQ(kDescriptor >> 4 & 0x3, 1u);           // D is fp32
  EXPECT_EQ(kDescriptor >> 6 & 0x1, 0u);           // reserved
  EXPECT_EQ(kDescriptor >> 7 & 0x7, 0u);           // A is e4m3
  EXPECT_EQ(kDescriptor >> 10 & 0x7, 0u);          // B is e4m3
  EXPECT_EQ(kDescriptor >> 13 & 0xf, 0u);          // not negated, both K-major
  EXPECT_EQ(kDescriptor >> 17 & 0x3f, 96u / 8);    // N
  EXPECT_EQ(kDescriptor >> 23 & 0x1, 0u);          // reserved
  EXPECT_EQ(kDescriptor >> 24 & 0x1f, 128u / 16);  // M
  EXPECT_EQ(kDescriptor >> 29, 0u);                // reserved, no shift
  EXPECT_EQ((make_e4m3_instruction_descriptor<128, 128, 1>()), 0x08200010u);
  EXPECT_EQ((make_e4m3_instruction_descriptor<256, 256, 2>()), 0x10400010u);
}

}  // namespace
}  // namespace bw
