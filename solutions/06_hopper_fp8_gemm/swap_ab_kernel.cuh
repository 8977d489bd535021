#pragma once
/// \file
/// The kernel for few rows: D^T = B · A^T, the columns of D on wgmma's M side, its rows, "tokens",
/// on the N side, which can be as narrow as 8.
///
///     load warp ──B, A, A-scales──▶ ring ──▶ math warpgroup: wgmma, promotion
///     sums ──distributed shared memory──▶ the CTA that owns them ──▶ D
///
/// Such a GEMM is B's way from memory to the multiprocessors. Every CTA therefore has one small
/// tile, or one part of its K, and several CTAs share a multiprocessor: while one begins or ends,
/// the others keep memory busy.

#include <cstdint>

#include "common/device/cluster.cuh"
#include "common/device/elect.cuh"
#include "common/device/global_store.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/shared_load.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_load.cuh"
#include "solutions/06_hopper_fp8_gemm/swap_ab_math.cuh"

namespace bw::hopper {

/// Rows of D's tile in shared memory, walked by the math warpgroup in chunks of 16 bytes.
template <class Config>
class SwapAbTile {
 public:
  /// The tile of a cluster.
  __device__ __forceinline__ SwapAbTile(const HopperGemmArguments& args,
                                        const typename Config::SharedStorage& shared,
                                        const SwapAbPart& part, uint32_t thread)
      : direct_(args.direct),
        part_(part),
        rows_(ptx::shared_address(shared.d_rows())),
        thread_(thread) {}

  /// Loads C to where D will be; 0 without a C.
  __device__ __forceinline__ void load_c() const {
    for_each_chunk([&](uint32_t address, uint64_t row, uint32_t column, bool is_in_d) {
      const uint16_t* const c = direct_.c + row * direct_.ldc + column;
      ptx::store_shared_v4(address,
                           is_in_d ? *reinterpret_cast<const uint4*>(c) : make_uint4(0, 0, 0, 0));
    });
  }

  /// Writes D.
  __device__ __forceinline__ void store_d() const {
    for_each_chunk([&](uint32_t address, uint64_t row, uint32_t column, bool is_in_d) {
      if (!is_in_d) return;
      ptx::store_global_v4(direct_.d + row * direct_.ldd + column, ptx::load_shared_v4(address));
    });
  }

 private:
  /// What this CTA owns of the tile: of one whose K is split, the rank's part of each thread's
  /// registers, of which pair 2j + h is columns 8h to 8h + 7 of a warp's 16, by 8 tokens. (The last
  /// chunk may reach past column n, as TMA's stores do: rows are whole 16 bytes.)
  template <class Body>
  __device__ __forceinline__ void for_each_chunk(Body&& body) const {
    constexpr uint32_t kBytes = 16, kColumns = kBytes / sizeof(uint16_t), kFragmentTokens = 8;
    constexpr uint32_t kChunks = Config::kTileN / kColumns;
    constexpr uint32_t kPairs = Config::kVector / 2;  // of a vector
    const uint32_t first_pair = Config::first_vector(part_.rank, part_.split) * kPairs;
    const uint32_t owned = Config::vectors_of(part_.rank, part_.split) * kPairs;
#pragma unroll
    for (uint32_t i = thread_; i < Config::kTileM * kChunks; i += kWarpgroupThreads) {
      const uint32_t token = i / kChunks, chunk = i % kChunks;
      const uint32_t pair = token / kFragmentTokens * 2 + chunk % 2;
      const uint32_t row = part_.row + token, column = part_.column + chunk * kColumns;
      if (pair - first_pair < owned) {
        body(rows_ + token * Config::kRowBytes + chunk * kBytes, row, column,
             row < direct_.m && column < direct_.n);
      }
    }
    __syncwarp();
  }

  const DirectOutput& direct_;
  const SwapAbPart& part_;
  uint32_t rows_;
  uint32_t thread_;
};

/// The one tile of a cluster, or its CTA's part of the tile's K: the CTA's whole life. (All warps
/// meet at the same places of the code: that is what __syncthreads asks for, and a cluster of one
/// CTA meets by it, too.)
template <class Config>
__device__ __forceinline__ void compute_tile(const HopperGemmArguments& args,
                                             typename Config::SharedStorage& shared,
                                             uint32_t warp) {
  const SwapAbPart part = SwapAbPart::here(args, Config::kTileM, Config::kTileN);
  const bool loads = warp == kWarpgroupWarps;
  SwapAbLoader<Config> loader(args, shared);
  SwapAbMath<Config> math(shared, threadIdx.x);
  if (loads) {
    loader.init_barriers(part.rank, part.split);
    loader.load_first_stages(part);
  }
  // Nobody sends sums to a CTA that hasn't begun. (Relaxed: the fence after the initialisation of
  // the barriers is what orders it, PTX ISA, "fence.mbarrier_init".)
  ptx::cluster_arrive_relaxed();
  __syncthreads();
  if (loads) {
    loader.load_rest(part, part.first + Config::kFirstStages);
  } else {
    math.run(args, part);
  }
  ptx::cluster_wait();
  if (loads) {
    if (part.split > 1) ptx::cluster_arrive_relaxed();
  } else {
    ptx::bar_sync<Config::kMathBarrier, kWarpgroupThreads>();  // all warps have read the ring
    const SwapAbTile<Config> tile(args, shared, part, threadIdx.x);
    if (args.has_residual) {
      tile.load_c();
      ptx::bar_sync<Config::kMathBarrier, kWarpgroupThreads>();
    }
    if (part.split == 1) {
      math.stage_all(args);
    } else {
      math.send(part);
      math.wait_for_sums();
      ptx::cluster_arrive_relaxed();
      math.add_and_stage(args, part);
    }
    ptx::bar_sync<Config::kMathBarrier, kWarpgroupThreads>();
    tile.store_d();
  }
  // The others read the sums that a CTA sends in place, from its memory.
  if (part.split > 1) ptx::cluster_wait();
}

/// Tiles of several products, in sequence; the load warp runs ahead into the next one.
template <class Config>
__device__ __forceinline__ void compute_group_tiles(const HopperGemmArguments& args,
                                                    typename Config::SharedStorage& shared,
                                                    uint32_t warp) {
  const auto for_each_part = [&](auto&& body) {
    args.groups.for_each_tile(blockIdx.x, gridDim.x, [&](const GroupTile& tile) {
      body(SwapAbPart::of_group(args, tile, Config::kTileM, Config::kTileN));
    });
  };
  const bool loads = warp == kWarpgroupWarps;
  SwapAbLoader<Config> loader(args, shared);
  if (loads) loader.init_barriers(/*rank=*/0, /*split=*/1);
  __syncthreads();
  if (loads) {
    for_each_part([&](const SwapAbPart& part) { loader.load_rest(part, part.first); });
  } else {
    SwapAbMath<Config> math(shared, threadIdx.x);
    for_each_part([&](const SwapAbPart& part) {
      math.run(args, part);
      ptx::bar_sync<Config::kMathBarrier, kWarpgroupThreads>();  // the last tile's D has been read
      const SwapAbTile<Config> tile(args, shared, part, threadIdx.x);
      if (args.has_residual) {
        tile.load_c();
        ptx::bar_sync<Config::kMathBarrier, kWarpgroupThreads>();
      }
      math.stage_all(args);
      ptx::bar_sync<Config::kMathBarrier, kWarpgroupThreads>();
      tile.store_d();
    });
  }
}

/// Entry: Config::kThreads threads; a cluster of up to Config::kMostSplit CTAs along x for each
/// tile, a power of two, which split its K, or with `grouped` any number of CTAs. Dynamic shared
/// memory: Config::shared_bytes, whose base is 1024-byte aligned.
template <class Config>
__global__ __launch_bounds__(Config::kThreads, Config::traits.resident_ctas) void swap_ab_kernel(
    const __grid_constant__ HopperGemmArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<typename Config::SharedStorage*>(dynamic_shared);
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);
  if constexpr (Config::traits.grouped) {
    compute_group_tiles<Config>(args, shared, warp);
  } else {
    compute_tile<Config>(args, shared, warp);
  }
}

}  // namespace bw::hopper
