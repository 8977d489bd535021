#include "common/host/tensor_map.hpp"

#include <cuda_runtime_api.h>

#include "common/host/cuda_check.hpp"

namespace bw {
namespace {

TensorMapEncoder find_tensor_map_encoder() {
  constexpr unsigned kCudaVersion = 12000;  // the version that introduced the function
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kCudaVersion,
                                              cudaEnableDefault, &found),
             "look up cuTensorMapEncodeTiled in the driver");
  require(found == cudaDriverEntryPointSuccess && function != nullptr,
          "The CUDA driver has no cuTensorMapEncodeTiled; it must be of version 12.0 or newer.");
  return reinterpret_cast<TensorMapEncoder>(function);
}

}  // namespace

TensorMapEncoder tensor_map_encoder() {
  static const TensorMapEncoder encoder = find_tensor_map_encoder();
  return encoder;
}

CUtensorMap make_tensor_map(const TensorMapSpec& spec) {
  constexpr uint64_t kAlignment = 16;
  constexpr uint64_t kMaxExtent = uint64_t{1} << 32;
  constexpr uint64_t kMaxStride = uint64_t{1} << 40;
  constexpr uint32_t kMaxBox = 256;
  require(reinterpret_cast<uintptr_t>(spec.data) % kAlignment == 0, "Matrix ", spec.name,
          " starts at address ", spec.data, "; TMA needs a multiple of 16 bytes.");
  require(spec.stride_bytes % kAlignment == 0 && spec.stride_bytes < kMaxStride, "Matrix ",
          spec.name, " has rows ", spec.stride_bytes,
          " bytes apart; TMA needs a multiple of 16 bytes below 2^40: pad the rows.");
  require(
      spec.inner >= 1 && spec.inner <= kMaxExtent && spec.outer >= 1 && spec.outer <= kMaxExtent,
      "Matrix ", spec.name, " is ", spec.outer, " x ", spec.inner,
      "; TMA addresses 1 to 2^32 elements in each dimension.");
  require(spec.box_inner >= 1 && spec.box_inner <= kMaxBox && spec.box_outer >= 1 &&
              spec.box_outer <= kMaxBox,
          "The box of matrix ", spec.name, " is ", spec.box_outer, " x ", spec.box_inner,
          "; TMA moves 1 to 256 elements in each dimension.");

  // The member keeps the map from being built where the caller wants it: GCC 12 doesn't always
  // align a temporary to the 128 bytes that its type asks for, and the driver insists on 64.
  struct {
    CUtensorMap map;
  } encoded{};
  constexpr cuuint32_t kRank = 2;
  const cuuint64_t extents[kRank] = {spec.inner, spec.outer};
  const cuuint64_t strides[kRank - 1] = {spec.stride_bytes};
  const cuuint32_t box[kRank] = {spec.box_inner, spec.box_outer};
  const cuuint32_t element_strides[kRank] = {1, 1};
  const CUresult result = tensor_map_encoder()(
      &encoded.map, spec.type, kRank, const_cast<void*>(spec.data), extents, strides, box,
      element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE, spec.swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  require(result == CUDA_SUCCESS, "The driver refused the tensor map of matrix ", spec.name,
          " (CUresult ", static_cast<int>(result), "): ", spec.outer, " x ", spec.inner,
          " elements of ", spec.element_bytes, " bytes, rows ", spec.stride_bytes,
          " bytes apart, box ", spec.box_outer, " x ", spec.box_inner, ".");
  return encoded.map;
}

}  // namespace bw
