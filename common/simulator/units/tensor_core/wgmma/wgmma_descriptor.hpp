#pragma once
/// \file
/// The 64-bit shared-memory descriptor of wgmma (PTX ISA, "Matrix Descriptor Format" of wgmma). The
/// layouts are those of tcgen05 (matrix_descriptor.hpp); the swizzle's field is another.

#include <cstdint>
#include <optional>

#include "common/simulator/units/tensor_core/matrix_descriptor.hpp"

namespace bw::sim {

/// The fields of the descriptor, meaningful when check_wgmma_descriptor finds nothing.
[[nodiscard]] MatrixDescriptor decode_wgmma_descriptor(uint64_t bits);

/// What is wrong with the bits: reserved ones are set.
[[nodiscard]] std::optional<Fault> check_wgmma_descriptor(uint64_t bits);

}  // namespace bw::sim
