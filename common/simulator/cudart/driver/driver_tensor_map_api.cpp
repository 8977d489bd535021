/// \file
/// The driver's functions that encode tensor maps.
#include <cuda.h>

#include <fmt/core.h>

#include "common/simulator/cudart/driver/driver.hpp"
#include "common/simulator/units/copies/tensor_map.hpp"

namespace bw::sim::cudart {
namespace {

/// What both kinds of map are described by.
TensorMapArguments arguments_of(CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* extents, const cuuint64_t* strides,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                                CUtensorMapFloatOOBfill fill) {
  TensorMapArguments arguments;
  arguments.data_type = type;
  arguments.rank = rank;
  arguments.global_address = reinterpret_cast<uint64_t>(address);
  arguments.global_dim = extents;
  arguments.global_strides = strides;
  arguments.element_strides = element_strides;
  arguments.interleave = interleave;
  arguments.swizzle = swizzle;
  arguments.l2_promotion = l2_promotion;
  arguments.oob_fill = fill;
  return arguments;
}

CUresult from_status(const char* api, const TensorMapStatus& status) {
  if (!status.ok()) explain(FaultCode::tensor_map_encoding, api, status.message);
  return static_cast<CUresult>(status.code);
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim;
using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
    const cuuint32_t* element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  static_assert(sizeof(CUtensorMap) == kTensorMapBytes, "tensor maps have the driver's size");
  TensorMapArguments arguments =
      arguments_of(type, rank, address, extents, strides, element_strides, interleave, swizzle,
                   l2_promotion, fill);
  arguments.box_dim = box;
  return from_status("cuTensorMapEncodeTiled", encode_tensor_map(map, arguments));
}

BW_CUDART_API CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return from_status("cuTensorMapReplaceAddress",
                     replace_tensor_map_address(map, reinterpret_cast<uint64_t>(address)));
}

BW_CUDART_API CUresult cuTensorMapEncodeIm2col(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* extents, const cuuint64_t* strides, const int* lower, const int* upper,
    cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* element_strides,
    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  const TensorMapArguments arguments =
      arguments_of(type, rank, address, extents, strides, element_strides, interleave, swizzle,
                   l2_promotion, fill);
  return from_status("cuTensorMapEncodeIm2col",
                     encode_im2col_tensor_map(map, arguments, {lower, upper, channels, pixels}));
}

BW_CUDART_API CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* extents, const cuuint64_t* strides, int lower, int upper, cuuint32_t channels,
    cuuint32_t pixels, const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
    CUtensorMapFloatOOBfill fill) {
  constexpr const char* kApi = "cuTensorMapEncodeIm2colWide";
  constexpr int kBlackwell = 10;
  int major = 0;
  const CUresult found =
      cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  if (found != CUDA_SUCCESS) return found;
  if (major < kBlackwell) {
    explain(FaultCode::tensor_map_encoding, kApi,
            fmt::format("the machine has compute capability {}.x, and maps for im2col::w need 10.0 "
                        "or higher; use cuTensorMapEncodeIm2col, or the machine b200",
                        major));
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const TensorMapArguments arguments =
      arguments_of(type, rank, address, extents, strides, element_strides, interleave, swizzle,
                   l2_promotion, fill);
  return from_status(
      kApi, encode_im2col_wide_tensor_map(map, arguments, {lower, upper, channels, pixels, mode}));
}
