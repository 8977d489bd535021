/// \file
/// Conditions of cuTensorMapEncodeTiled (CUDA driver API 13.0); the verdicts on strides, box size
/// and element strides were also seen with CUDA's own library.
#include <cstring>
#include <functional>
#include <string>

#include "tests/simulator/units/tensor_map_fixture.hpp"

namespace bw::sim::test::tensor_map_test {
namespace {

MapArguments base() {
  MapArguments a;
  a.address = 0x10000;
  a.extents = {256, 64, 8};
  a.strides = {512, 32768};
  a.box = {64, 8, 2};
  return a;
}

TEST(TensorMap, RoundTrip) {
  MapArguments a = base();
  a.type = TensorMapType::bf16;
  a.swizzle = TensorMapSwizzle::bytes128;
  a.element_strides = {1, 3, 1};
  a.l2_promotion = 2;
  a.nan_fill = true;
  a.extents[2] = uint64_t{1} << 32;
  const OpaqueMap opaque = a.encode();
  const std::optional<TensorMap> map = decode_tensor_map(&opaque);
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->type, TensorMapType::bf16);
  EXPECT_EQ(map->rank, 3u);
  EXPECT_EQ(map->address, 0x10000u);
  EXPECT_EQ(map->extents[2], uint64_t{1} << 32);
  EXPECT_EQ(map->stride_bytes[2], 32768u);
  EXPECT_EQ(map->box[1], 8u);
  EXPECT_EQ(map->count(1), 3u);  // ceil(8 / 3)
  EXPECT_EQ(map->swizzle, TensorMapSwizzle::bytes128);
  EXPECT_EQ(map->l2_promotion, 2);
  EXPECT_TRUE(map->nan_fill);
}

TEST(TensorMap, GarbageIsNotAMap) {
  OpaqueMap opaque{};
  EXPECT_FALSE(decode_tensor_map(&opaque).has_value());
  opaque = base().encode();
  for (size_t byte = 0; byte < kTensorMapBytes; ++byte) {
    OpaqueMap changed = opaque;
    changed.bytes[byte] ^= std::byte{1};
    EXPECT_FALSE(decode_tensor_map(&changed).has_value()) << "byte " << byte;
  }
}

TEST(TensorMap, ReplaceAddress) {
  OpaqueMap opaque = base().encode();
  EXPECT_TRUE(replace_tensor_map_address(&opaque, 0x20010).ok());
  EXPECT_EQ(decode_tensor_map(&opaque)->address, 0x20010u);
  EXPECT_EQ(replace_tensor_map_address(&opaque, 0x20008).code, TensorMapStatus::kInvalidValue);
  OpaqueMap garbage{};
  EXPECT_EQ(replace_tensor_map_address(&garbage, 0x20010).code, TensorMapStatus::kInvalidValue);
}

TEST(TensorMap, UnalignedObjectIsRefused) {
  OpaqueMap opaque[2];
  EXPECT_FALSE(encode_tensor_map(&opaque[0].bytes[32], base().raw()).ok());
}

struct Condition {
  const char* name;
  std::function<void(MapArguments&)> change;
  const char* message;  ///< part of it; nullptr: accepted
};

class TensorMapConditions : public testing::TestWithParam<Condition> {};

TEST_P(TensorMapConditions, Hold) {
  MapArguments a = base();
  GetParam().change(a);
  OpaqueMap opaque;
  const TensorMapStatus status = encode_tensor_map(&opaque, a.raw());
  if (GetParam().message == nullptr) {
    EXPECT_TRUE(status.ok()) << status.message;
  } else {
    EXPECT_EQ(status.code, TensorMapStatus::kInvalidValue);
    EXPECT_NE(status.message.find(GetParam().message), std::string::npos) << status.message;
  }
}

using A = MapArguments;
const Condition kConditions[] = {
    {"Base", [](A&) {}, nullptr},
    {"Stride0", [](A& a) { a.strides[1] = 0; }, nullptr},
    {"StrideBelowRow", [](A& a) { a.strides[0] = 256; }, nullptr},
    {"Stride520", [](A& a) { a.strides[0] = 520; }, "globalStrides[0] is 520"},
    {"Stride2To40", [](A& a) { a.strides[1] = uint64_t{1} << 40; },
     "globalStrides[1] is 1099511627776 bytes; it must be below 2^40"},
    {"StrideLargest", [](A& a) { a.strides[1] = (uint64_t{1} << 40) - 16; }, nullptr},
    {"Extent0", [](A& a) { a.extents[1] = 0; }, "globalDim[1] is 0"},
    {"ExtentLargest", [](A& a) { a.extents[2] = uint64_t{1} << 32; }, nullptr},
    {"ExtentTooLarge", [](A& a) { a.extents[2] = (uint64_t{1} << 32) + 1; }, "globalDim[2]"},
    {"Box0", [](A& a) { a.box[1] = 0; }, "boxDim[1] is 0"},
    {"Box256", [](A& a) { a.box[1] = 256; }, nullptr},
    {"Box257", [](A& a) { a.box[1] = 257; }, "boxDim[1] is 257"},
    {"BoxAboveExtent", [](A& a) { a.box[2] = 16; }, nullptr},
    // 228 KiB are 233472 bytes: 256 * 228 * 2 elements of two bytes fit, 120 * 139 * 7 do not.
    {"BoxOfTheSharedMemory",
     [](A& a) {
       a.swizzle = TensorMapSwizzle::none;
       a.box = {256, 228, 2};
     },
     nullptr},
    {"BoxALittleAboveSharedMemory",
     [](A& a) {
       a.swizzle = TensorMapSwizzle::none;
       a.box = {120, 139, 7};
     },
     "more than the shared memory"},
    // Without interleaving the innermost elementStride is not used; those of other dimensions are.
    {"BoxWithAnInnerStrideAboveSharedMemory",
     [](A& a) {
       a.swizzle = TensorMapSwizzle::none;
       a.element_strides = {2, 1, 1};
       a.box = {256, 229, 2};
     },
     "more than the shared memory"},
    {"BoxWithAnOuterStride",
     [](A& a) {
       a.swizzle = TensorMapSwizzle::none;
       a.element_strides = {1, 2, 1};
       a.box = {256, 229, 2};
     },
     nullptr},
    {"BoxAboveSharedMemory",
     [](A& a) {
       a.box = {256, 255, 2};
     },
     "boxDim describes 261120 bytes, more than the shared memory of an SM (233472)"},
    {"BoxOf228Kb",
     [](A& a) {
       a.box = {256, 228, 2};
     },
     nullptr},
    {"BoxOf128KbByStride",
     [](A& a) {
       a.box = {256, 256, 2};
       a.element_strides = {1, 2, 1};
     },
     nullptr},
    {"Inner24Bytes", [](A& a) { a.box[0] = 12; },
     "boxDim[0] is 12 elements of u16, which are 24 bytes; the inner dimension must be a multiple "
     "of "
     "16 bytes"},
    {"Swizzle128Inner144",
     [](A& a) {
       a.swizzle = TensorMapSwizzle::bytes128;
       a.box[0] = 72;
     },
     "boxDim[0] is 72 elements of u16, which are 144 bytes; with a 128-byte swizzle the inner "
     "dimension must not exceed 128 bytes"},
    {"Swizzle64Inner128", [](A& a) { a.swizzle = TensorMapSwizzle::bytes64; },
     "must not exceed 64"},
    {"Swizzle32Inner32",
     [](A& a) {
       a.swizzle = TensorMapSwizzle::bytes32;
       a.box[0] = 16;
     },
     nullptr},
    {"Swizzle32Inner48",
     [](A& a) {
       a.swizzle = TensorMapSwizzle::bytes32;
       a.box[0] = 24;
     },
     "must not exceed 32"},
    {"ElementStride8", [](A& a) { a.element_strides[1] = 8; }, nullptr},
    {"ElementStride9", [](A& a) { a.element_strides[1] = 9; }, "elementStrides[1] is 9"},
    {"ElementStride0", [](A& a) { a.element_strides[0] = 0; }, "elementStrides[0] is 0"},
    {"Address8", [](A& a) { a.address += 8; },
     "globalAddress 0x10008 must be a multiple of 16 bytes"},
    {"Address16", [](A& a) { a.address += 16; }, nullptr},
    {"Interleave16", [](A& a) { a.interleave = TensorMapInterleave::bytes16; }, nullptr},
    {"Interleave32NeedsSwizzle32", [](A& a) { a.interleave = TensorMapInterleave::bytes32; },
     "needs swizzle 32B"},
    {"Interleave32Address16",
     [](A& a) {
       a.interleave = TensorMapInterleave::bytes32;
       a.swizzle = TensorMapSwizzle::bytes32;
       a.address += 16;
     },
     "multiple of 32"},
    {"Interleave32Stride528",
     [](A& a) {
       a.interleave = TensorMapInterleave::bytes32;
       a.swizzle = TensorMapSwizzle::bytes32;
       a.strides[0] = 528;
     },
     "multiple of 32"},
    {"InterleaveRank2",
     [](A& a) {
       a.interleave = TensorMapInterleave::bytes16;
       a.extents.resize(2);
     },
     "tensorRank is 2; an interleaved layout needs 3 to 5"},
    {"Rank0", [](A& a) { a.extents.clear(); }, "tensorRank is 0; it must be 1 to 5"},
    {"Rank6", [](A& a) { a.extents.resize(6, 8); }, "tensorRank is 6; it must be 1 to 5"},
    {"NanFillOfIntegers", [](A& a) { a.nan_fill = true; }, "floating-point"},
    {"UnknownType", [](A& a) { a.type = static_cast<TensorMapType>(16); }, "tensorDataType is 16"},
    {"UnknownSwizzle", [](A& a) { a.swizzle = static_cast<TensorMapSwizzle>(7); }, "swizzle is 7"},
    {"UnknownPromotion", [](A& a) { a.l2_promotion = 4; }, "l2Promotion is 4"},
    {"PaddedBox64",
     [](A& a) {
       a.type = TensorMapType::u4x16_align16;
       a.box[0] = 64;
     },
     "boxDim[0] is 64; with 16U4_ALIGN16B it must be 128"},
    {"PaddedSwizzle64",
     [](A& a) {
       a.type = TensorMapType::u6x16_align16;
       a.box = {128, 4, 1};
       a.swizzle = TensorMapSwizzle::bytes64;
     },
     "must not exceed 64"},
    {"PaddedExtent",
     [](A& a) {
       a.type = TensorMapType::u4x16_align16;
       a.extents[0] = 192;
     },
     "globalDim[0] is 192; with 16U4_ALIGN16B it must be a multiple of 128"},
    {"Packed4Bits",
     [](A& a) {
       a.type = TensorMapType::u4x16_align8;
       a.box[0] = 32;
     },
     nullptr},
    {"Packed4BitsInner8Bytes",
     [](A& a) {
       a.type = TensorMapType::u4x16_align8;
       a.box[0] = 16;
     },
     "multiple of 16 bytes"},
    {"Packed4BitsOddExtent",
     [](A& a) {
       a.type = TensorMapType::u4x16_align8;
       a.extents[0] = 255;
     },
     "globalDim[0] is 255; with 16U4_ALIGN8B it must be a multiple of 2"},
};

INSTANTIATE_TEST_SUITE_P(Cuda, TensorMapConditions, testing::ValuesIn(kConditions),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace bw::sim::test::tensor_map_test
