#pragma once
/// \file
/// The granularity of blockwise scaling, on the host and on the device.

namespace bw {

/// Elements along K (of A and B) and along N (of B) that share one scale.
constexpr int kScaleBlock = 128;

}  // namespace bw
