#include "common/simulator/units/tensor_core/matrix_product.hpp"

#include <Eigen/Core>
#include <bit>
#include <cmath>

namespace bw::sim {
namespace {

// Eigen's packets are the SIMD registers of whatever processor this is compiled for. Its matrix
// product itself cannot be used: it sums from zero and adds D at the end, which would make the
// result depend on how K is split.
#if defined(EIGEN_VECTORIZE_FMA) || defined(__aarch64__)
using Packet = Eigen::internal::packet_traits<float>::type;
constexpr size_t kPacketLanes = Eigen::internal::packet_traits<float>::size;
inline Packet fused(const Packet& a, const Packet& b, const Packet& c) {
  return Eigen::internal::pmadd(a, b, c);
}
#else
using Packet = float;
constexpr size_t kPacketLanes = 1;
inline Packet fused(float a, float b, float c) { return std::fma(a, b, c); }
#endif

constexpr size_t kVectors = kRowBlock / kPacketLanes;
static_assert(kRowBlock % kPacketLanes == 0, "a block of rows is a whole number of packets");
/// Accumulators kept in registers: enough to hide the latency of FMA, few enough for 16 registers.
constexpr size_t kAccumulators = 12;
constexpr size_t kWidestPanel = kVectors >= kAccumulators ? 1 : kAccumulators / kVectors;

/// `columns` columns of D at once.
template <size_t columns>
void multiply_panel(const float* a, const float* b, size_t ldb, float* d, size_t ldd, size_t k,
                    bool accumulate) {
  namespace simd = Eigen::internal;
  Packet sum[columns][kVectors];
  for (size_t column = 0; column < columns; ++column)
    for (size_t v = 0; v < kVectors; ++v)
      sum[column][v] = accumulate ? simd::ploadu<Packet>(d + column * ldd + v * kPacketLanes)
                                  : simd::pset1<Packet>(0.0f);
  for (size_t i = 0; i < k; ++i) {
    Packet row[kVectors];
    for (size_t v = 0; v < kVectors; ++v)
      row[v] = simd::ploadu<Packet>(a + i * kRowBlock + v * kPacketLanes);
    for (size_t column = 0; column < columns; ++column) {
      const Packet factor = simd::pset1<Packet>(b[column * ldb + i]);
      for (size_t v = 0; v < kVectors; ++v) sum[column][v] = fused(row[v], factor, sum[column][v]);
    }
  }
  for (size_t column = 0; column < columns; ++column)
    for (size_t v = 0; v < kVectors; ++v)
      simd::pstoreu(d + column * ldd + v * kPacketLanes, sum[column][v]);
}

/// Panels of `columns` as long as they fit, then narrower ones.
template <size_t columns>
void multiply_from(size_t first, const float* a, const float* b, size_t ldb, float* d, size_t ldd,
                   size_t n, size_t k, bool accumulate) {
  for (; first + columns <= n; first += columns)
    multiply_panel<columns>(a, b + first * ldb, ldb, d + first * ldd, ldd, k, accumulate);
  if constexpr (columns > 1)
    multiply_from<std::bit_floor(columns - 1)>(first, a, b, ldb, d, ldd, n, k, accumulate);
}

}  // namespace

void multiply_row_block(const float* a, const float* b, size_t ldb, float* d, size_t ldd, size_t n,
                        size_t k, bool accumulate) {
  multiply_from<kWidestPanel>(0, a, b, ldb, d, ldd, n, k, accumulate);
}

}  // namespace bw::sim
