#pragma once
/// \file
/// GEMMs over matrices in dense rows, D [M, N] = A [M, K] · B [N, K]ᵀ with e4m3 operands and bf16
/// D: the shapes that programs take, and the operands' tensor maps.

#include <cstdint>

#include "common/device/scale_block.cuh"
#include "common/host/blockwise_problem.hpp"
#include "common/host/error.hpp"
#include "common/host/program.hpp"
#include "common/host/tensor_map.hpp"

namespace bw {

/// Throws Error for options --m, --n, --k that TMA can't address, whose tiles of `tile_m` x
/// `tile_n` a grid can't count, or whose matrices and reference don't fit the host.
inline void validate_dense_gemm(int64_t m, int64_t n, int64_t k, int64_t tile_m, int64_t tile_n) {
  // TMA's coordinates are signed 32-bit numbers; the last tile may end up to 256 further.
  constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 256;
  constexpr int64_t kMaxTiles = (int64_t{1} << 31) - 1;
  constexpr int64_t kKUnit = 16, kNUnit = 8;  // 16 bytes of e4m3, of bf16
  const auto check = [&](const char* name, int64_t extent) {
    require(extent >= 1 && extent <= kMaxExtent, "--", name, " ", extent,
            ": it must lie between 1 and 2^31 - 256, the range of TMA's coordinates.");
  };
  check("m", m);
  check("n", n);
  check("k", k);
  require(k % kKUnit == 0, "--k ", k,
          ": this program stores A and B without padding, and TMA needs rows that are a multiple"
          " of 16 bytes apart: give a multiple of 16.");
  require(n % kNUnit == 0, "--n ", n,
          ": this program stores D without padding, and writes it 16 bytes at a time: give a"
          " multiple of 8.");
  const int64_t tiles = ceil_div(m, tile_m) * ceil_div(n, tile_n);
  require(tiles <= kMaxTiles, "--m ", m, " --n ", n, " makes ", tiles, " tiles of ", tile_m, " x ",
          tile_n, "; a grid counts to 2^31 - 1: give smaller sizes.");
  // Codes on host and device, and the reference's decoded A; D on both, its reference and the
  // magnitudes.
  constexpr double kBytesPerA = 2 + sizeof(double) + sizeof(float), kBytesPerB = 2;
  constexpr double kBytesPerD = 2 * sizeof(Bf16) + 2 * sizeof(double);
  const double rows = static_cast<double>(m), columns = static_cast<double>(n);
  const double depth = static_cast<double>(k);
  require_host_memory(kBytesPerA * rows * depth + kBytesPerB * columns * depth +
                      kBytesPerD * rows * columns);
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
