#include "common/host/gemm_checks.hpp"

#include "common/host/error.hpp"

namespace bw {

void validate_gemm_shape(int64_t m, int64_t n, int64_t k) {
  // TMA's coordinates are signed 32-bit numbers, and the last cluster's tiles may begin up to
  // 1024 rows or columns after the matrix' end.
  constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1024;
  // A grid counts to 2^31 - 1 CTAs. Clusters round up to 16 CTAs; the smallest tile counts.
  constexpr int64_t kMaxTiles = (int64_t{1} << 31) - 1;
  constexpr int64_t kTileM = 64, kTileN = 64;
  const auto check = [&](const char* name, int64_t extent) {
    require(extent >= 1 && extent <= kMaxExtent, name, " is ", extent,
            "; it must be between 1 and 2^31 - 1024, the range of TMA's coordinates.");
  };
  check("M", m);
  check("N", n);
  check("K", k);
  const int64_t tiles = ((m + kTileM - 1) / kTileM) * ((n + kTileN - 1) / kTileN);
  require(tiles <= kMaxTiles, "M x N = ", m, " x ", n, " makes ", tiles, " tiles of ", kTileM,
          " x ", kTileN, "; the tile scheduler counts to 2^31 - 1: split the problem.");
}

void validate_tma_matrix(const char* name, const void* data, int64_t columns, int64_t stride,
                         int64_t element_bytes) {
  constexpr int64_t kAlignment = 16;                // bytes
  constexpr int64_t kMaxStride = int64_t{1} << 40;  // bytes
  require(data != nullptr, name, " is a null pointer; it must be a device address.");
  require(reinterpret_cast<uintptr_t>(data) % kAlignment == 0, name, " starts at ", data,
          "; TMA needs an address that is a multiple of 16 bytes.");
  require(stride >= columns, name, " has ", columns, " columns, but its rows are only ", stride,
          " elements apart; the leading dimension must be at least the number of columns.");
  require(stride <= kMaxStride / element_bytes && stride * element_bytes % kAlignment == 0 &&
              stride * element_bytes < kMaxStride,
          name, " has rows ", stride, " elements (", element_bytes, " bytes each) apart; TMA needs",
          " a multiple of 16 bytes below 2^40, that is a leading dimension that is a multiple of ",
          kAlignment / element_bytes, ": pad the rows.");
}

}  // namespace bw
