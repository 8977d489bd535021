#include "common/simulator/units/copies/tensor_map_check.hpp"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/text.hpp"

namespace bw::sim {

TensorMapStatus invalid_tiled(std::string message) {
  return {TensorMapStatus::kInvalidValue, "cuTensorMapEncodeTiled: " + std::move(message)};
}

TensorMapStatus check_address(uint64_t address, TensorMapType type,
                              TensorMapInterleave interleave) {
  const bool wide = interleave == TensorMapInterleave::bytes32 || tensor_map_type_is_padded(type);
  const uint64_t alignment = wide ? 32 : 16;
  if (!is_aligned(address, alignment))
    return invalid_tiled(
        fmt::format("globalAddress {} must be a multiple of {}{}", hex(address), alignment,
                    wide ? " bytes (32-byte interleave or padded data type)" : " bytes"));
  return {};
}

namespace {

constexpr uint64_t kMaxBoxBytes = 228 * 1024;  // of an SM's shared memory

std::string element(const char* array, uint32_t index, uint64_t value) {
  return fmt::format("{}[{}] is {}", array, index, value);
}

TensorMapStatus check_enumerations(const TensorMapArguments& a) {
  const auto out_of_range = [](const char* name, int value, int last) {
    return invalid_tiled(fmt::format("{} is {}, which is not one of 0 to {}", name, value, last));
  };
  constexpr int kLastType = 15, kLastInterleave = 2, kLastSwizzle = 6, kLastPromotion = 3,
                kLastFill = 1;
  if (a.data_type < 0 || a.data_type > kLastType)
    return out_of_range("tensorDataType", a.data_type, kLastType);
  if (a.interleave < 0 || a.interleave > kLastInterleave)
    return out_of_range("interleave", a.interleave, kLastInterleave);
  if (a.swizzle < 0 || a.swizzle > kLastSwizzle)
    return out_of_range("swizzle", a.swizzle, kLastSwizzle);
  if (a.l2_promotion < 0 || a.l2_promotion > kLastPromotion)
    return out_of_range("l2Promotion", a.l2_promotion, kLastPromotion);
  if (a.oob_fill < 0 || a.oob_fill > kLastFill)
    return out_of_range("oobFill", a.oob_fill, kLastFill);
  if (a.rank == 0 || a.rank > kTensorMapMaxRank)
    return invalid_tiled(fmt::format("tensorRank is {}; it must be 1 to 5", a.rank));
  if (a.interleave != 0 && a.rank < 3)
    return invalid_tiled(
        fmt::format("tensorRank is {}; an interleaved layout needs 3 to 5", a.rank));
  if (a.global_dim == nullptr || a.box_dim == nullptr || a.element_strides == nullptr ||
      (a.rank > 1 && a.global_strides == nullptr))
    return invalid_tiled("globalDim, globalStrides, boxDim and elementStrides must not be null");
  return {};
}

TensorMapStatus check_extents(const TensorMapArguments& a, TensorMapType type) {
  for (uint32_t d = 0; d < a.rank; ++d)
    if (a.global_dim[d] == 0 || a.global_dim[d] > kMaxExtent)
      return invalid_tiled(element("globalDim", d, a.global_dim[d]) +
                           "; it must be 1 to 2^32 elements");
  if (tensor_map_type_is_padded(type) && a.global_dim[0] % 128 != 0)
    return invalid_tiled(element("globalDim", 0, a.global_dim[0]) + "; with " +
                         tensor_map_type_name(type) + " it must be a multiple of 128");
  if (type == TensorMapType::u4x16_align8 && a.global_dim[0] % 2 != 0)
    return invalid_tiled(element("globalDim", 0, a.global_dim[0]) +
                         "; with 16U4_ALIGN8B it must be a multiple of 2");
  const bool wide = a.interleave == static_cast<int>(TensorMapInterleave::bytes32) ||
                    tensor_map_type_is_padded(type);
  const uint64_t multiple = wide ? 32 : 16;
  for (uint32_t d = 0; d + 1 < a.rank; ++d) {
    if (a.global_strides[d] % multiple != 0)
      return invalid_tiled(
          fmt::format("{} bytes; it must be a multiple of {} (pad the rows of the tensor)",
                      element("globalStrides", d, a.global_strides[d]), multiple));
    if (a.global_strides[d] >= kMaxStride)
      return invalid_tiled(element("globalStrides", d, a.global_strides[d]) +
                           " bytes; it must be below 2^40");
  }
  return {};
}

TensorMapStatus check_box(const TensorMapArguments& a, TensorMapType type) {
  uint64_t box_bits = tensor_map_element_bits(type);
  for (uint32_t d = 0; d < a.rank; ++d) {
    if (a.box_dim[d] == 0 || a.box_dim[d] > kMaxBox)
      return invalid_tiled(element("boxDim", d, a.box_dim[d]) + "; it must be 1 to 256 elements");
    if (a.element_strides[d] == 0 || a.element_strides[d] > kMaxElementStride)
      return invalid_tiled(element("elementStrides", d, a.element_strides[d]) +
                           "; it must be 1 to 8");
    const bool strided = d > 0 || a.interleave != 0;
    const uint32_t step = strided ? a.element_strides[d] : 1;
    box_bits *= ceil_div(a.box_dim[d], step);
  }
  if (tensor_map_type_is_padded(type) && a.box_dim[0] != 128)
    return invalid_tiled(element("boxDim", 0, a.box_dim[0]) + "; with " +
                         tensor_map_type_name(type) + " it must be 128");
  const uint64_t inner_bits = uint64_t{a.box_dim[0]} * tensor_map_element_bits(type);
  if (inner_bits % 128 != 0)
    return invalid_tiled(fmt::format(
        "{} elements of {}, which are {} bytes; the inner dimension must be a multiple of 16 bytes",
        element("boxDim", 0, a.box_dim[0]), tensor_map_type_name(type), inner_bits / 8));
  const auto swizzle = static_cast<TensorMapSwizzle>(a.swizzle);
  const uint32_t span = swizzle_span_bytes(swizzle);
  const uint64_t inner_shared_bytes = tensor_map_type_is_padded(type) ? 128 : inner_bits / 8;
  if (a.interleave == 0 && span != 0 && inner_shared_bytes > span)
    return invalid_tiled(
        fmt::format("{} elements of {}, which are {} bytes; with a {}-byte swizzle the inner "
                    "dimension must not exceed {} bytes",
                    element("boxDim", 0, a.box_dim[0]), tensor_map_type_name(type),
                    inner_shared_bytes, span, span));
  if (a.interleave == 0 && box_bits / 8 > kMaxBoxBytes)
    return invalid_tiled(
        fmt::format("boxDim describes {} bytes, more than the shared memory of an SM ({})",
                    box_bits / 8, kMaxBoxBytes));
  return {};
}

TensorMapStatus check_combinations(const TensorMapArguments& a, TensorMapType type) {
  const auto swizzle = static_cast<TensorMapSwizzle>(a.swizzle);
  if (a.interleave == static_cast<int>(TensorMapInterleave::bytes32) &&
      swizzle != TensorMapSwizzle::bytes32)
    return invalid_tiled(fmt::format("interleave 32B needs swizzle 32B, not {}", a.swizzle));
  if (type == TensorMapType::u6x16_align16 && a.interleave != 0)
    return invalid_tiled("16U6_ALIGN16B cannot be interleaved");
  if (tensor_map_type_is_padded(type)) {
    const bool allowed =
        swizzle == TensorMapSwizzle::none || swizzle == TensorMapSwizzle::bytes128 ||
        swizzle == TensorMapSwizzle::bytes128_atom32 ||
        (swizzle == TensorMapSwizzle::bytes128_atom64 && type == TensorMapType::u6x16_align16);
    if (!allowed)
      return invalid_tiled(
          fmt::format("{} does not allow swizzle {}", tensor_map_type_name(type), a.swizzle));
  }
  if (a.oob_fill == 1 && !tensor_map_type_is_float(type))
    return invalid_tiled(std::string("oobFill NaN needs a floating-point type, not ") +
                         tensor_map_type_name(type));
  return {};
}

}  // namespace

TensorMapStatus check_tiled_arguments(const TensorMapArguments& a) {
  TensorMapStatus status = check_enumerations(a);
  if (!status.ok()) return status;
  const auto type = static_cast<TensorMapType>(a.data_type);
  const auto interleave = static_cast<TensorMapInterleave>(a.interleave);
  status = check_address(a.global_address, type, interleave);
  if (status.ok()) status = check_extents(a, type);
  if (status.ok()) status = check_box(a, type);
  if (status.ok()) status = check_combinations(a, type);
  return status;
}

}  // namespace bw::sim
