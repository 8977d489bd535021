/// \file
/// What cuTensorMapEncodeTiled accepts: its CUresult for valid and invalid arguments.
#include <cuda_runtime_api.h>
#include <functional>

#include "common/host/cuda_check.hpp"
#include "tests/hardware/cases.hpp"
#include "tests/hardware/tensor_maps.hpp"

namespace bw::conformance {
namespace {

struct Variant {
  const char* name;
  std::function<void(MapArguments&)> change;
};

using M = MapArguments;

CUtensorMapDataType type_of(int number) { return static_cast<CUtensorMapDataType>(number); }
CUtensorMapSwizzle swizzle_of(int number) { return static_cast<CUtensorMapSwizzle>(number); }

void interleave16(M& m) {
  m.rank = 3;
  m.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
  m.box = {16, 8, 2, 1, 1};
}

void interleave32(M& m) {
  interleave16(m);
  m.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
  m.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
}

const Variant kVariants[] = {
    {"valid", [](M&) {}},
    {"rank0", [](M& m) { m.rank = 0; }},
    {"rank1", [](M& m) { m.rank = 1; }},
    {"rank3", [](M& m) { m.rank = 3; }},
    {"rank5", [](M& m) { m.rank = 5; }},
    {"rank6", [](M& m) { m.rank = 6; }},
    {"type_negative", [](M& m) { m.type = type_of(-1); }},
    {"type_99", [](M& m) { m.type = type_of(99); }},
    {"address_8", [](M& m) { m.address += 8; }},
    {"address_16", [](M& m) { m.address += 16; }},
    {"address_0", [](M& m) { m.address = 0; }},
    {"extent_0", [](M& m) { m.extents[1] = 0; }},
    {"extent_2^32", [](M& m) { m.extents[1] = 1ull << 32; }},
    {"extent_2^32+1", [](M& m) { m.extents[1] = (1ull << 32) + 1; }},
    {"inner_extent_2^32",
     [](M& m) {
       m.extents[0] = 1ull << 32;
       m.strides[0] = 1ull << 34;
     }},
    {"stride_8", [](M& m) { m.strides[0] = 264; }},
    {"stride_0", [](M& m) { m.strides[0] = 0; }},
    {"stride_0_rank3",
     [](M& m) {
       m.rank = 3;
       m.strides[1] = 0;
     }},
    {"stride_0_extent_1",
     [](M& m) {
       m.strides[0] = 0;
       m.extents[1] = 1;
     }},
    {"stride_below_row", [](M& m) { m.strides[0] = 128; }},
    {"stride_descending",
     [](M& m) {
       m.rank = 3;
       m.strides = {8192, 256, 0, 0};
     }},
    {"stride_2^40", [](M& m) { m.strides[0] = 1ull << 40; }},
    {"stride_2^40-16", [](M& m) { m.strides[0] = (1ull << 40) - 16; }},
    {"box_0", [](M& m) { m.box[1] = 0; }},
    {"box_256", [](M& m) { m.box[1] = 256; }},
    {"box_257", [](M& m) { m.box[1] = 257; }},
    {"box_above_extent",
     [](M& m) {
       m.box[1] = 64;
       m.box[0] = 128;
     }},
    {"box_inner_8_bytes", [](M& m) { m.box[0] = 2; }},
    {"box_inner_20_bytes", [](M& m) { m.box[0] = 5; }},
    {"box_256_x_256",
     [](M& m) {
       m.box[0] = 256;
       m.box[1] = 256;
     }},
    {"box_256_x_228",
     [](M& m) {
       m.box[0] = 256;
       m.box[1] = 228;
     }},
    {"box_256_x_229",
     [](M& m) {
       m.box[0] = 256;
       m.box[1] = 229;
     }},
    {"box_256_x_227",
     [](M& m) {
       m.box[0] = 256;
       m.box[1] = 227;
     }},
    {"box_strided_256_x_256",
     [](M& m) {
       m.box[0] = 256;
       m.box[1] = 256;
       m.element_strides[1] = 2;
     }},
    {"element_stride_0", [](M& m) { m.element_strides[1] = 0; }},
    {"element_stride_0_inner", [](M& m) { m.element_strides[0] = 0; }},
    {"element_stride_8", [](M& m) { m.element_strides[1] = 8; }},
    {"element_stride_9", [](M& m) { m.element_strides[1] = 9; }},
    {"element_stride_8_inner", [](M& m) { m.element_strides[0] = 8; }},
    {"element_stride_9_inner", [](M& m) { m.element_strides[0] = 9; }},
    {"element_stride_above_box",
     [](M& m) {
       m.element_strides[1] = 8;
       m.box[1] = 4;
     }},
    {"swizzle32_inner_32",
     [](M& m) {
       m.swizzle = swizzle_of(1);
       m.box[0] = 8;
     }},
    {"swizzle32_inner_16",
     [](M& m) {
       m.swizzle = swizzle_of(1);
       m.box[0] = 4;
     }},
    {"swizzle32_inner_64",
     [](M& m) {
       m.swizzle = swizzle_of(1);
       m.box[0] = 16;
     }},
    {"swizzle64_inner_64",
     [](M& m) {
       m.swizzle = swizzle_of(2);
       m.box[0] = 16;
     }},
    {"swizzle64_inner_48",
     [](M& m) {
       m.swizzle = swizzle_of(2);
       m.box[0] = 12;
     }},
    {"swizzle64_inner_80",
     [](M& m) {
       m.swizzle = swizzle_of(2);
       m.box[0] = 20;
     }},
    {"swizzle128_inner_128",
     [](M& m) {
       m.swizzle = swizzle_of(3);
       m.box[0] = 32;
     }},
    {"swizzle128_inner_144",
     [](M& m) {
       m.swizzle = swizzle_of(3);
       m.box[0] = 36;
     }},
    {"swizzle128_inner_strided",
     [](M& m) {
       m.swizzle = swizzle_of(3);
       m.box[0] = 64;
       m.element_strides[0] = 2;
     }},
    {"swizzle_negative", [](M& m) { m.swizzle = swizzle_of(-1); }},
    {"swizzle_99", [](M& m) { m.swizzle = swizzle_of(99); }},
    {"promotion_3", [](M& m) { m.promotion = static_cast<CUtensorMapL2promotion>(3); }},
    {"promotion_4", [](M& m) { m.promotion = static_cast<CUtensorMapL2promotion>(4); }},
    {"fill_nan_u32", [](M& m) { m.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; }},
    {"fill_nan_f32",
     [](M& m) {
       m.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
       m.type = type_of(7);
     }},
    {"fill_nan_f64",
     [](M& m) {
       m.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
       m.type = type_of(8);
     }},
    {"fill_nan_bf16",
     [](M& m) {
       m.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
       m.type = type_of(9);
     }},
    {"fill_nan_u8",
     [](M& m) {
       m.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
       m.type = type_of(0);
     }},
    {"fill_2", [](M& m) { m.fill = static_cast<CUtensorMapFloatOOBfill>(2); }},
    {"interleave_3",
     [](M& m) {
       m.interleave = static_cast<CUtensorMapInterleave>(3);
       m.rank = 3;
     }},
    {"interleave16", interleave16},
    {"interleave16_rank2",
     [](M& m) {
       interleave16(m);
       m.rank = 2;
     }},
    {"interleave16_swizzle32",
     [](M& m) {
       interleave16(m);
       m.swizzle = swizzle_of(1);
     }},
    {"interleave16_swizzle128",
     [](M& m) {
       interleave16(m);
       m.swizzle = swizzle_of(3);
     }},
    {"interleave16_address_16",
     [](M& m) {
       interleave16(m);
       m.address += 16;
     }},
    {"interleave32", interleave32},
    {"interleave32_rank4",
     [](M& m) {
       interleave32(m);
       m.rank = 4;
     }},
    {"interleave32_rank2",
     [](M& m) {
       interleave32(m);
       m.rank = 2;
     }},
    {"interleave32_address_16",
     [](M& m) {
       interleave32(m);
       m.address += 16;
     }},
    {"interleave32_stride_16",
     [](M& m) {
       interleave32(m);
       m.strides[0] = 272;
     }},
    {"interleave32_inner_16_bytes",
     [](M& m) {
       interleave32(m);
       m.box[0] = 4;
     }},
    {"interleave16_inner_8_bytes",
     [](M& m) {
       interleave16(m);
       m.box[0] = 2;
     }},
    {"extent_inner_odd", [](M& m) { m.extents[0] = 63; }},
    {"extent_all_1",
     [](M& m) {
       m.extents = {1, 1, 1, 1, 1};
     }},
    {"box_u8_16",
     [](M& m) {
       m.type = type_of(0);
       m.box[0] = 16;
     }},
    {"box_u8_8",
     [](M& m) {
       m.type = type_of(0);
       m.box[0] = 8;
     }},
    {"box_f64_256",
     [](M& m) {
       m.type = type_of(8);
       m.box[0] = 256;
     }},
};

const Registration kEncode("tensor_map.encode", [] {
  Result result;
  check_cuda(cudaFree(nullptr), "create the context that the encoder needs");
  for (const Variant& variant : kVariants) {
    MapArguments arguments;
    variant.change(arguments);
    CUtensorMap map;
    result.values.push_back(static_cast<uint64_t>(encode(map, arguments)));
  }
  result.describe = [](size_t i) { return std::string("CUresult of ") + kVariants[i].name; };
  return result;
});

const Registration kTypes("tensor_map.encode_types", [] {
  constexpr int kHopperTypes = 13;
  Result result;
  check_cuda(cudaFree(nullptr), "create the context that the encoder needs");
  for (int type = 0; type < kHopperTypes; ++type) {
    MapArguments arguments;
    arguments.type = type_of(type);
    CUtensorMap map;
    result.values.push_back(static_cast<uint64_t>(encode(map, arguments)));
  }
  result.describe = [](size_t i) { return "CUresult of type " + std::to_string(i); };
  return result;
});

}  // namespace
}  // namespace bw::conformance
