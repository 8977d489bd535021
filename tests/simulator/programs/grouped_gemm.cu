/// \file
/// A grouped GEMM: products of different sizes in one launch. Each CTA makes the tensor maps of the
/// group that it works on itself, with tensormap.replace, from the map of the first group.
#include "common/host/tensor_map.hpp"
#include "tests/simulator/programs/program_check.hpp"
#include "tests/simulator/programs/warp_tile.cuh"

namespace bw::programs {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kCtas = 3;
constexpr int kTileM = 16 * kWarps, kTileN = 32, kTileK = 32;
constexpr unsigned kMapWords = sizeof(CUtensorMap) / 4;

/// D = A B^T of one group; A is m x k, B n x k, both row-major.
struct Group {
  const __nv_bfloat16 *a, *b;
  float* d;
  int m, n, k;
};

/// The map at `shared` becomes that of a matrix of rows x k, and is published at `global`. By a
/// whole warp.
__device__ void make_map(uint32_t* shared, CUtensorMap* global, const CUtensorMap& pattern,
                         const void* matrix, int rows, int k) {
  const unsigned lane = threadIdx.x % 32;
  if (lane < kMapWords) shared[lane] = reinterpret_cast<const uint32_t*>(&pattern)[lane];
  __syncwarp();
  const uint32_t map = shared_address(shared);
  if (lane == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(map),
                 "l"(matrix)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(map),
                 "r"(k)
                 : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(map),
                 "r"(rows)
                 : "memory");
    asm volatile(
        "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(map),
        "l"(uint64_t{sizeof(__nv_bfloat16)} * static_cast<uint64_t>(k))
        : "memory");
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
      "[%0], "
      "[%1], 128;" ::"l"(global),
      "r"(map)
      : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(global) : "memory");
}

__device__ void load_tile(const void* tile, const CUtensorMap* map, uint32_t barrier, int k,
                          int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, "
      "%3}], [%4];" ::"r"(shared_address(tile)),
      "l"(map), "r"(k), "r"(row), "r"(barrier)
      : "memory");
}

__device__ void wait_for(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{.reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra WAIT;}" ::
          "r"(barrier),
      "r"(parity)
      : "memory");
}

/// `maps` holds two maps for each CTA.
__global__ void __launch_bounds__(kThreads)
    grouped_gemm(const Group* groups, int group_count, CUtensorMap* maps,
                 const __grid_constant__ CUtensorMap map_a,
                 const __grid_constant__ CUtensorMap map_b) {
  __shared__ alignas(128) __nv_bfloat16 tile_a[kTileM * kTileK], tile_b[kTileN * kTileK];
  __shared__ alignas(128) uint32_t map_words[2][kMapWords];
  __shared__ uint64_t barrier_object;
  const uint32_t barrier = shared_address(&barrier_object);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  CUtensorMap* const own = maps + 2 * blockIdx.x;
  uint32_t parity = 0;
  int first = 0;  // of the group's tiles, among all
  for (int g = 0; g < group_count; ++g) {
    const Group group = groups[g];
    const int tiles_n = (group.n + kTileN - 1) / kTileN;
    const int tiles = (group.m + kTileM - 1) / kTileM * tiles_n;
    bool has_maps = false;
    for (int tile = 0; tile < tiles; ++tile) {
      if ((first + tile) % kCtas != static_cast<int>(blockIdx.x)) continue;
      if (!has_maps && warp == 0) {
        make_map(map_words[0], &own[0], map_a, group.a, group.m, group.k);
        make_map(map_words[1], &own[1], map_b, group.b, group.n, group.k);
      }
      has_maps = true;
      const int row = tile / tiles_n * kTileM, column = tile % tiles_n * kTileN;
      float sum[kTileN / 8][4] = {};
      for (int k = 0; k < group.k; k += kTileK) {
        __syncthreads();  // the tiles have been read
        if (threadIdx.x == 0) {
          // Copies write by another proxy than the one by which the threads have read.
          asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                       "n"((kTileM + kTileN) * kTileK * 2)
                       : "memory");
          load_tile(tile_a, &own[0], barrier, k, row);
          load_tile(tile_b, &own[1], barrier, k, column);
        }
        wait_for(barrier, parity);
        parity ^= 1;
        for (int s = 0; s < kTileK; s += 16) {
          uint32_t a[4];
          load_a(a, tile_a + 16 * warp * kTileK + s, kTileK);
          for (int n = 0; n < kTileN / 8; ++n) {
            uint32_t b[2];
            load_b(b, tile_b + 8 * n * kTileK + s, kTileK);
            multiply(sum[n], a, b);
          }
        }
      }
      for (int n = 0; n < kTileN / 8; ++n)
        for (int i = 0; i < 4; ++i) {
          const int r = row + 16 * warp + lane / 4 + 8 * (i / 2);
          const int c = column + 8 * n + 2 * (lane % 4) + i % 2;
          if (r < group.m && c < group.n) group.d[r * group.n + c] = sum[n][i];
        }
    }
    first += tiles;
  }
}

/// A group's memory and its reference.
struct Problem {
  int m, n, k;
  std::vector<float> a, b;
  DeviceBuffer<__nv_bfloat16> device_a, device_b;
  DeviceBuffer<float> d;

  Problem(int rows, int columns, int depth, unsigned seed)
      : m(rows),
        n(columns),
        k(depth),
        a(random_values(static_cast<size_t>(m * k), seed)),
        b(random_values(static_cast<size_t>(n * k), seed + 100)),
        device_a(converted<__nv_bfloat16>(a)),
        device_b(converted<__nv_bfloat16>(b)),
        d(static_cast<size_t>(m * n)) {}

  int check() const {
    std::vector<double> expected, allowed;
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        double sum = 0, magnitude = 0;
        for (int i = 0; i < k; ++i) {
          const double product =
              double{a[static_cast<size_t>(row * k + i)]} * b[static_cast<size_t>(column * k + i)];
          sum += product;
          magnitude += std::fabs(product);
        }
        expected.push_back(sum);
        allowed.push_back(magnitude * k * 0x1p-24);  // fp32, one rounding or cut a product
      }
    return verdict("grouped_gemm", d.download(), expected, allowed);
  }
  [[nodiscard]] CUtensorMap map(const char* name, const void* data, int rows, uint32_t box) const {
    const auto depth = static_cast<uint64_t>(k);
    return make_tensor_map({name, data, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, depth,
                            static_cast<uint64_t>(rows), 2 * depth, kTileK, box,
                            CU_TENSOR_MAP_SWIZZLE_NONE});
  }
};

int run() {
  std::vector<Problem> problems;
  problems.emplace_back(64, 64, 64, 1);
  problems.emplace_back(100, 40, 72, 2);
  problems.emplace_back(17, 96, 32, 3);
  problems.emplace_back(130, 24, 136, 4);
  std::vector<Group> groups;
  for (Problem& p : problems)
    groups.push_back({p.device_a.data(), p.device_b.data(), p.d.data(), p.m, p.n, p.k});
  DeviceBuffer<Group> device_groups(groups);
  DeviceBuffer<CUtensorMap> maps(2 * kCtas);
  const Problem& first = problems.front();
  grouped_gemm<<<kCtas, kThreads>>>(device_groups.data(), static_cast<int>(groups.size()),
                                    maps.data(),
                                    first.map("A", first.device_a.data(), first.m, kTileM),
                                    first.map("B", first.device_b.data(), first.n, kTileN));
  check_cuda(cudaDeviceSynchronize(), "run the kernel");
  int status = 0;
  for (const Problem& problem : problems) status |= problem.check();
  return status;
}

}  // namespace bw::programs

int main() { return bw::programs::run(); }
