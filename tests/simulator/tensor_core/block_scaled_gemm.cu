/// \file
/// A block-scaled GEMM in the manner of production kernels: D = (A · scales) (B · scales)^T in
/// fp32, A and B as mxf8 (e4m3, one ue8m0 scale for 32 elements) or nvfp4 (e2m1, one ue4m3 scale
/// for 16). TMA loads operands and scales, tcgen05.cp spreads the scales over Tensor Memory, one
/// thread issues the MMAs, four warps write D. Compared with float64; runs in the simulator and on
/// a B200.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_descriptor.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "common/device/tma_load.cuh"
#include "common/host/device_buffer.hpp"
#include "common/host/tensor_map.hpp"

namespace bw::block_scaled {

constexpr int kTile = 128;      // rows of A, rows of B, and so M and N of a tile
constexpr int kRowBytes = 128;  // of A and B in a stage: one row of the swizzle
constexpr int kMmaKBytes = 32;  // of one MMA
constexpr int kSteps = kRowBytes / kMmaKBytes;
constexpr int kStages = 3;
constexpr int kOperandBytes = kTile * kRowBytes;
constexpr int kScaleAtomBytes = 512;  // scales of 128 rows, 4 a row: 32 rows of 16 bytes
constexpr int kScaleAtomColumns = 4;

/// The two formats.
struct Mxf8 {
  static constexpr bool kPairs = false;  // two elements a byte
  static constexpr int kBlock = 32;      // elements of a scale
};
struct Nvfp4 {
  static constexpr bool kPairs = true;
  static constexpr int kBlock = 16;
};

template <class Format>
struct Shape {
  static constexpr int kStageK = Format::kPairs ? 2 * kRowBytes : kRowBytes;  // elements
  static constexpr int kScaleAtoms = kStageK / Format::kBlock / 4;            // of a stage
  static constexpr int kScaleBytes = kScaleAtoms * kScaleAtomBytes;
  static constexpr int kScaleColumns = kScaleAtoms * kScaleAtomColumns;
  static constexpr int kStageBytes = 2 * (kOperandBytes + kScaleBytes);
  // Tensor Memory: D, then scales of A and of B for each stage.
  static constexpr int kScalesBegin = kTile;
  static constexpr int kColumns = 256;
  static_assert(kScalesBegin + kStages * 2 * kScaleColumns <= kColumns,
                "D and the scales of all stages fit into the allocation");
};

/// Instruction descriptor (PTX ISA, tables for .kind::mxf8f6f4 and .kind::mxf4nvf4); `id` is the
/// byte of the scales.
template <class Format>
__device__ constexpr uint32_t instruction_descriptor(uint32_t id) {
  constexpr uint32_t kE2m1 = 1, kUe8m0 = 1;
  const uint32_t formats = Format::kPairs ? kE2m1 << 7 | kE2m1 << 10 : 0;
  const uint32_t scale_type = Format::kPairs ? 0 : kUe8m0;
  return id << 4 | formats | (kTile >> 3) << 17 | scale_type << 23 | (kTile >> 7) << 27 | id << 29;
}

template <class Format>
__device__ void issue_mma(uint32_t d, uint64_t a, uint64_t b, uint32_t descriptor,
                          uint32_t a_scales, uint32_t b_scales, bool accumulate) {
  const uint32_t enable = accumulate ? 1 : 0;
  if constexpr (Format::kPairs) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %6, 0;\n\t"
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%0], %1, %2, %3, [%4], "
        "[%5], p;\n\t}" ::"r"(d),
        "l"(a), "l"(b), "r"(descriptor), "r"(a_scales), "r"(b_scales), "r"(enable)
        : "memory");
  } else {
    asm volatile(
        "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %6, 0;\n\t"
        "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%0], %1, %2, %3, [%4], "
        "[%5], p;\n\t}" ::"r"(d),
        "l"(a), "l"(b), "r"(descriptor), "r"(a_scales), "r"(b_scales), "r"(enable)
        : "memory");
  }
}

/// 32 rows of 16 bytes without swizzle: eight consecutive rows of 16 bytes.
__device__ uint64_t scale_descriptor(uint32_t shared) {
  using Layout = SharedDescriptorLayout;
  constexpr uint64_t kStrideBytes = 128;
  return make_k_major_descriptor(shared, Swizzle::kNone) |
         kStrideBytes >> Layout::kUnitShift << Layout::kStrideByteOffsetShift;
}

__device__ void copy_scales(uint32_t tmem, uint32_t shared) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(tmem),
               "l"(scale_descriptor(shared))
               : "memory");
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

struct Maps {
  CUtensorMap a, b, a_scales, b_scales;
};

/// Warp 0 loads, warp 1 multiplies, warps 2 to 5 write D. One tile a CTA.
template <class Format>
__global__ void __launch_bounds__(192)
    gemm(const __grid_constant__ Maps maps, float* d, int n, int k_stages) {
  using S = Shape<Format>;
  extern __shared__ __align__(1024) uint8_t stages[];
  __shared__ uint64_t full[kStages], empty[kStages], done;
  __shared__ uint32_t tmem_slot;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int tile_m = static_cast<int>(blockIdx.x), tile_n = static_cast<int>(blockIdx.y);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(ptx::shared_address(&full[stage]), 1);
      ptx::mbarrier_init(ptx::shared_address(&empty[stage]), 1);
    }
    ptx::mbarrier_init(ptx::shared_address(&done), 1);
    ptx::fence_mbarrier_init();
  }
  if (warp == 1) {
    ptx::tcgen05_alloc<1>(ptx::shared_address(&tmem_slot), S::kColumns);
    ptx::tcgen05_relinquish_alloc_permit<1>();
  }
  ptx::tcgen05_fence_before_thread_sync();
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  const uint32_t tmem = tmem_slot;
  const auto place_of = [&](int stage) {
    return ptx::shared_address(stages) + static_cast<uint32_t>(stage * S::kStageBytes);
  };
  if (warp == 0 && lane == 0) {
    constexpr int kScaleRows = S::kScaleBytes / kRowBytes;  // the scales' map has rows of 128 bytes
    for (int i = 0; i < k_stages; ++i) {
      const int stage = i % kStages, round = i / kStages;
      wait(ptx::shared_address(&empty[stage]), (round + 1) & 1);
      const uint32_t barrier = ptx::shared_address(&full[stage]), to = place_of(stage);
      ptx::mbarrier_arrive_expect_tx(barrier, S::kStageBytes);
      ptx::tma_load_2d(to, &maps.a, barrier, i * kRowBytes, tile_m * kTile);
      ptx::tma_load_2d(to + kOperandBytes, &maps.b, barrier, i * kRowBytes, tile_n * kTile);
      const uint32_t scales = to + 2 * kOperandBytes;
      ptx::tma_load_2d(scales, &maps.a_scales, barrier, 0, (tile_m * k_stages + i) * kScaleRows);
      ptx::tma_load_2d(scales + S::kScaleBytes, &maps.b_scales, barrier, 0,
                       (tile_n * k_stages + i) * kScaleRows);
    }
  } else if (warp == 1 && lane == 0) {
    for (int i = 0; i < k_stages; ++i) {
      const int stage = i % kStages;
      wait(ptx::shared_address(&full[stage]), (i / kStages) & 1);
      ptx::tcgen05_fence_after_thread_sync();
      const uint32_t from = place_of(stage), scales = from + 2 * kOperandBytes;
      const uint32_t a_scales =
          tmem + static_cast<uint32_t>(S::kScalesBegin + stage * 2 * S::kScaleColumns);
      const uint32_t b_scales = a_scales + S::kScaleColumns;
      for (int atom = 0; atom < S::kScaleAtoms; ++atom) {
        copy_scales(a_scales + atom * kScaleAtomColumns, scales + atom * kScaleAtomBytes);
        copy_scales(b_scales + atom * kScaleAtomColumns,
                    scales + S::kScaleBytes + atom * kScaleAtomBytes);
      }
      const uint64_t a = make_k_major_descriptor(from, Swizzle::k128B);
      const uint64_t b = make_k_major_descriptor(from + kOperandBytes, Swizzle::k128B);
      for (int step = 0; step < kSteps; ++step) {
        // mxf8: the four steps' scales are the four bytes of one word; nvfp4: each has its words.
        const uint32_t id = Format::kPairs ? 0 : static_cast<uint32_t>(step);
        const uint32_t column =
            Format::kPairs ? static_cast<uint32_t>(step) * kScaleAtomColumns : 0;
        issue_mma<Format>(tmem, advance_descriptor(a, step * kMmaKBytes),
                          advance_descriptor(b, step * kMmaKBytes),
                          instruction_descriptor<Format>(id), a_scales + column, b_scales + column,
                          i != 0 || step != 0);
      }
      ptx::tcgen05_commit<1>(ptx::shared_address(&empty[stage]));
    }
    ptx::tcgen05_commit<1>(ptx::shared_address(&done));
  } else if (warp >= 2) {
    wait(ptx::shared_address(&done), 0);
    ptx::tcgen05_fence_after_thread_sync();
    const int quarter = warp % 4;
    float* const row = d + static_cast<int64_t>(tile_m * kTile + quarter * 32 + lane) * n +
                       static_cast<int64_t>(tile_n) * kTile;
    constexpr int kColumns = 32;
    for (int column = 0; column < kTile; column += kColumns) {
      float values[kColumns];
      ptx::tcgen05_ld_32x32b(
          values, tmem + (static_cast<uint32_t>(quarter) << 21) + static_cast<uint32_t>(column));
      ptx::tcgen05_wait_ld(values);
      for (int i = 0; i < kColumns; ++i) row[column + i] = values[i];
    }
    ptx::tcgen05_fence_before_thread_sync();
  }
  __syncthreads();
  ptx::tcgen05_fence_after_thread_sync();
  if (warp == 1) ptx::tcgen05_dealloc<1>(tmem, S::kColumns);
}

// Host.

double e2m1(uint32_t code) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}
double e4m3(uint32_t code) {
  const int exponent = static_cast<int>(code >> 3 & 15), mantissa = static_cast<int>(code & 7);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

/// A matrix of codes with its scales, and both as the kernel wants them.
template <class Format>
struct Matrix {
  int rows, k;
  std::vector<double> values;          // [row][k], scaled
  std::vector<uint8_t> bytes, scales;  // operand rows; scale atoms by tile, stage and K

  Matrix(int row_count, int length, std::mt19937& random) : rows(row_count), k(length) {
    const int blocks = k / Format::kBlock;
    values.resize(static_cast<size_t>(rows) * k);
    bytes.resize(values.size() / (Format::kPairs ? 2 : 1));
    scales.resize(static_cast<size_t>(rows) * blocks);
    for (int row = 0; row < rows; ++row)
      for (int block = 0; block < blocks; ++block) {
        const uint32_t code = Format::kPairs ? 0x28 + random() % 32 : 124 + random() % 6;
        const double scale =
            Format::kPairs ? e4m3(code) : std::ldexp(1.0, static_cast<int>(code) - 127);
        scales[scale_place(row, block)] = static_cast<uint8_t>(code);
        for (int i = block * Format::kBlock; i < (block + 1) * Format::kBlock; ++i) {
          const size_t at = static_cast<size_t>(row) * k + i;
          const uint32_t element =
              Format::kPairs ? random() & 15 : (random() & 0x80) | (0x28 + random() % 32);
          values[at] = scale * (Format::kPairs ? e2m1(element) : e4m3(element));
          if (Format::kPairs)
            bytes[at / 2] = static_cast<uint8_t>(bytes[at / 2] | element << (at % 2 * 4));
          else
            bytes[at] = static_cast<uint8_t>(element);
        }
      }
  }

  /// Atoms of 128 rows and 4 blocks follow each other along K, then by tile; in an atom, row r
  /// is in row r % 32 of 16 bytes, at byte r / 32 * 4.
  [[nodiscard]] size_t scale_place(int row, int block) const {
    const int atoms = k / Format::kBlock / 4;
    const size_t atom = static_cast<size_t>(row / kTile) * atoms + block / 4;
    const int in_tile = row % kTile;
    return atom * kScaleAtomBytes + in_tile % 32 * 16 + in_tile / 32 * 4 + block % 4;
  }
};

CUtensorMap operand_map(const char* name, const DeviceBuffer<uint8_t>& bytes, int rows,
                        int row_bytes) {
  return make_tensor_map({name, bytes.data(), CU_TENSOR_MAP_DATA_TYPE_UINT8, 1,
                          static_cast<uint64_t>(row_bytes), static_cast<uint64_t>(rows),
                          static_cast<uint64_t>(row_bytes), kRowBytes, kTile,
                          CU_TENSOR_MAP_SWIZZLE_128B});
}
CUtensorMap scale_map(const char* name, const DeviceBuffer<uint8_t>& scales, int stage_bytes) {
  return make_tensor_map({name, scales.data(), CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, kRowBytes,
                          scales.size() / kRowBytes, kRowBytes, kRowBytes,
                          static_cast<uint32_t>(stage_bytes / kRowBytes),
                          CU_TENSOR_MAP_SWIZZLE_NONE});
}

/// Runs one problem; the number of wrong elements.
template <class Format>
int run(const char* name, int m, int n, int k) {
  using S = Shape<Format>;
  std::mt19937 random(42);
  const Matrix<Format> a(m, k, random), b(n, k, random);
  const DeviceBuffer<uint8_t> a_bytes(a.bytes), b_bytes(b.bytes), a_scales(a.scales),
      b_scales(b.scales);
  DeviceBuffer<float> d(static_cast<size_t>(m) * n);
  const int row_bytes = Format::kPairs ? k / 2 : k;
  const Maps maps{operand_map("A", a_bytes, m, row_bytes), operand_map("B", b_bytes, n, row_bytes),
                  scale_map("scales of A", a_scales, S::kScaleBytes),
                  scale_map("scales of B", b_scales, S::kScaleBytes)};
  constexpr int kSharedBytes = kStages * S::kStageBytes;
  check_cuda(
      cudaFuncSetAttribute(gemm<Format>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
      "ask for the shared memory");
  gemm<Format>
      <<<dim3(m / kTile, n / kTile), 192, kSharedBytes>>>(maps, d.data(), n, k / S::kStageK);
  check_cuda(cudaGetLastError(), "launch the GEMM");
  const std::vector<float> result = d.download();
  int wrong = 0;
  double largest = 0;
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      double sum = 0, magnitude = 0;
      for (int i = 0; i < k; ++i) {
        const double product = a.values[static_cast<size_t>(row) * k + i] *
                               b.values[static_cast<size_t>(column) * k + i];
        sum += product;
        magnitude += std::fabs(product);
      }
      // Each of the K additions in fp32 may lose half a unit in the last place of the sum so far.
      const double bound = (k + 1) * std::ldexp(magnitude, -24);
      const double error = std::fabs(result[static_cast<size_t>(row) * n + column] - sum);
      largest = std::fmax(largest, error / bound);
      if (!(error <= bound) && ++wrong <= 3)
        std::printf("%s: D[%d][%d] is %g, expected %g\n", name, row, column,
                    static_cast<double>(result[static_cast<size_t>(row) * n + column]), sum);
    }
  std::printf("%s %d x %d x %d: %d of %d elements wrong, largest error %.3f of the bound\n", name,
              m, n, k, wrong, m * n, largest);
  return wrong;
}

}  // namespace bw::block_scaled

int main() {
  using namespace bw::block_scaled;
  try {
    const int wrong = run<Mxf8>("mxf8", 256, 256, 1024) + run<Nvfp4>("nvfp4", 256, 256, 2048);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
