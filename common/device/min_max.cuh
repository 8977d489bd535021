#pragma once
/// \file
/// The smaller and the larger of two numbers. The standard library's header for them costs nvcc
/// half a second in each file.

#include "common/device/host_device.cuh"

namespace bw {

/// The smaller one.
template <class Number>
BW_HOST_DEVICE constexpr Number min_of(Number a, Number b) {
  return b < a ? b : a;
}

/// The larger one.
template <class Number>
BW_HOST_DEVICE constexpr Number max_of(Number a, Number b) {
  return a < b ? b : a;
}

}  // namespace bw
