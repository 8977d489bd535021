#include "common/simulator/units/tensor_core/matrix_product.hpp"

#include <Eigen/Core>
#include <array>
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

/// Blocks of rows that a panel takes: where a block is one packet, each element of B that is loaded
/// serves two, since two loads and two products a cycle are all that a core has.
constexpr size_t kJointBlocks = kVectors == 1 ? 2 : 1;
/// N is a multiple of it in all forms: no narrow panel is left over.
constexpr size_t kJointColumns = 8;

/// Positions of `blocks` 16-row blocks.
template <size_t blocks>
struct PanelRows {
  std::array<const float*, blocks> a;
  std::array<float*, blocks> d;
};

/// `columns` columns of D at once, from `first` on.
template <size_t columns, size_t blocks>
void multiply_panel(const PanelRows<blocks>& rows, const RowTile& tile, size_t first) {
  namespace simd = Eigen::internal;
  constexpr size_t kPackets = blocks * kVectors;
  const float* const b = tile.b + first * tile.b_stride;
  const auto place_in_d = [&](size_t column, size_t packet) {
    return rows.d[packet / kVectors] + (first + column) * tile.d_stride +
           packet % kVectors * kPacketLanes;
  };
  Packet sum[columns][kPackets];
  for (size_t column = 0; column < columns; ++column)
    for (size_t p = 0; p < kPackets; ++p)
      sum[column][p] =
          tile.accumulate ? simd::ploadu<Packet>(place_in_d(column, p)) : simd::pset1<Packet>(0.0f);
  for (size_t i = 0; i < tile.k; ++i) {
    Packet row[kPackets];
    for (size_t p = 0; p < kPackets; ++p)
      row[p] =
          simd::ploadu<Packet>(rows.a[p / kVectors] + i * kRowBlock + p % kVectors * kPacketLanes);
    for (size_t column = 0; column < columns; ++column) {
      const Packet factor = simd::pset1<Packet>(b[column * tile.b_stride + i]);
      for (size_t p = 0; p < kPackets; ++p) sum[column][p] = fused(row[p], factor, sum[column][p]);
    }
  }
  for (size_t column = 0; column < columns; ++column)
    for (size_t p = 0; p < kPackets; ++p) simd::pstoreu(place_in_d(column, p), sum[column][p]);
}

/// Panels of `columns` as long as they fit, then narrower ones.
template <size_t columns, size_t blocks>
void multiply_from(size_t first, const PanelRows<blocks>& rows, const RowTile& tile) {
  for (; first + columns <= tile.n; first += columns) multiply_panel<columns>(rows, tile, first);
  if constexpr (columns > 1) multiply_from<std::bit_floor(columns - 1)>(first, rows, tile);
}

}  // namespace

void multiply_row_blocks(std::span<const RowTile> tiles) {
  if constexpr (kJointBlocks == 2) {
    for (; tiles.size() >= 2 && tiles[0].d_stride == tiles[1].d_stride; tiles = tiles.subspan(2))
      multiply_from<kJointColumns, 2>(0, {{tiles[0].a, tiles[1].a}, {tiles[0].d, tiles[1].d}},
                                      tiles[0]);
  }
  for (const RowTile& tile : tiles) multiply_from<kWidestPanel, 1>(0, {{tile.a}, {tile.d}}, tile);
}

}  // namespace bw::sim
