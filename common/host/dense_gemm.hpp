#pragma once
/// \file
/// GEMMs over matrices in dense rows, D [M, N] = A [M, K] · B [N, K]ᵀ with e4m3 operands: the
/// shapes that programs take, and the operands' tensor maps.

#include <cstdint>

#include "common/device/scale_block.cuh"
#include "common/host/blockwise_problem.hpp"
#include "common/host/error.hpp"
#include "common/host/gemm_checks.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"

namespace bw {

/// Throws Error for options --m, --n, --k that TMA can't address, whose dense rows it can't take,
/// or whose matrices and reference don't fit the host. `bytes_per_d`: what the host holds for each
/// element of D, C and their copies on the device (which the simulator keeps in host memory too).
inline void validate_dense_gemm(int64_t m, int64_t n, int64_t k, size_t bytes_per_d) {
  constexpr int64_t kKUnit = 16, kNUnit = 8;  // 16 bytes of e4m3, of bf16
  validate_gemm_shape(m, n, k);
  require(k % kKUnit == 0, "--k ", k,
          ": this program stores A and B without padding, and TMA needs rows that are a multiple"
          " of 16 bytes apart: give a multiple of 16.");
  require(n % kNUnit == 0, "--n ", n,
          ": this program stores C and D without padding, and rows must be a multiple of 16 bytes"
          " apart: give a multiple of 8.");
  // Codes on host and device, and the decoded float64 and fp32 of the reference's A.
  constexpr double kBytesPerA = 2 + sizeof(double) + sizeof(float), kBytesPerB = 2;
  constexpr double kBytesPerReference = 2 * sizeof(double);  // the value and the magnitude
  const double rows = static_cast<double>(m), columns = static_cast<double>(n);
  const double depth = static_cast<double>(k);
  require_host_memory(kBytesPerA * rows * depth + kBytesPerB * columns * depth +
                      (static_cast<double>(bytes_per_d) + kBytesPerReference) * rows * columns);
}

/// Map of an e4m3 operand [rows, k] whose tiles are `tile_rows` rows of 128 bytes along K, with
/// the 128B swizzle.
inline CUtensorMap make_fp8_operand_map(const char* name, const Fp8E4m3* data, int64_t rows,
                                        int64_t k, uint32_t tile_rows) {
  return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_UINT8, sizeof(Fp8E4m3),
                          static_cast<uint64_t>(k), static_cast<uint64_t>(rows),
                          static_cast<uint64_t>(k), kScaleBlock, tile_rows,
                          CU_TENSOR_MAP_SWIZZLE_128B});
}

}  // namespace bw
