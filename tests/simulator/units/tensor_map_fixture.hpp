#pragma once
/// \file
/// Tensor maps for tests: the arguments of cuTensorMapEncodeTiled with defaults.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/units/copies/tensor_map.hpp"

namespace bw::sim::test {

/// The opaque object, as a kernel takes it by value.
struct alignas(kTensorMapAlignmentBytes) OpaqueMap {
  std::array<std::byte, kTensorMapBytes> bytes{};
};

/// Arguments that own their arrays.
struct MapArguments {
  TensorMapType type = TensorMapType::u16;
  uint64_t address = 0;
  std::vector<uint64_t> extents;
  std::vector<uint64_t> strides;  ///< of dimensions 1 and up, bytes
  std::vector<uint32_t> box;
  std::vector<uint32_t> element_strides{1, 1, 1, 1, 1};
  TensorMapInterleave interleave = TensorMapInterleave::none;
  TensorMapSwizzle swizzle = TensorMapSwizzle::none;
  int l2_promotion = 0;
  bool nan_fill = false;

  [[nodiscard]] TensorMapArguments raw() const {
    TensorMapArguments a;
    a.data_type = static_cast<int>(type);
    a.rank = static_cast<uint32_t>(extents.size());
    a.global_address = address;
    a.global_dim = extents.data();
    a.global_strides = strides.data();
    a.box_dim = box.data();
    a.element_strides = element_strides.data();
    a.interleave = static_cast<int>(interleave);
    a.swizzle = static_cast<int>(swizzle);
    a.l2_promotion = l2_promotion;
    a.oob_fill = nan_fill ? 1 : 0;
    return a;
  }
  [[nodiscard]] OpaqueMap encode() const {
    // Not in the returned object itself: compilers do not always align temporaries that much.
    alignas(kTensorMapAlignmentBytes) std::array<std::byte, kTensorMapBytes> bytes{};
    const TensorMapStatus status = encode_tensor_map(bytes.data(), raw());
    EXPECT_TRUE(status.ok()) << status.message;
    return {bytes};
  }
};

}  // namespace bw::sim::test
