#pragma once
/// \file
/// The chapter's roles with an epilogue that the labs write themselves: what happens with one K
/// block is the lab's `Promotion`.

#include <cstdint>

#include "solutions/04_per_k_contexts/blockwise_tile_kernel.cuh"
#include "solutions/04_per_k_contexts/labs/lab_run.hpp"

namespace bw {

/// Columns of an accumulator that a thread loads at once: its row's sum takes a register a column
/// already.
constexpr int kPartColumns = 32;

/// Adds `part * scale` to the columns of `sum` from `first` on.
template <int columns>
__device__ __forceinline__ void add_scaled(float (&sum)[columns], int first,
                                           const float (&part)[kPartColumns], float scale) {
#pragma unroll
  for (int i = 0; i < kPartColumns; ++i) sum[first + i] = fmaf(part[i], scale, sum[first + i]);
}

/// Load and MMA warps of the chapter. The epilogue calls, for each K block,
/// `Promotion::promote(sum, stage, a_scales, b_scales)`: `sum` is the thread's row, `stage` the
/// EpilogueKStage, `a_scales` the stage's scales in shared memory, `b_scales` a BScalePair.
template <class Config, class Promotion>
struct LabRoles : BlockwiseTileRoles<Config> {
  using SharedStorage = typename Config::SharedStorage;  ///< contents of the CTA's shared memory

  /// What the epilogue warps do.
  __device__ __forceinline__ void write() const {
    auto& shared = this->shared;
    Config::EpilogueWarp::Sync::wait();
    auto epilogue = Config::EpilogueWarp::create(&shared.tmem_address, shared.accumulator_barriers,
                                                 &shared.tmem_dealloc, mma_complete_mask<1>(0));
    auto input = this->input_pipeline();
    float sum[Config::kTileN] = {};
    for (uint32_t k_block = 0; k_block < this->args.k_blocks; ++k_block) {
      const BScalePair b_scales =
          this->args.b_scales.template pair_at<Config::kTileN>(this->column(), k_block);
      auto k_context = epilogue.per_k_stage(input);
      Promotion::promote(sum, k_context.stage(),
                         input.payload.a_scales_tile(k_context.input_stage_index()), b_scales);
    }
    write_output_row<Config::kTileN>(this->args.d, this->row() + threadIdx.x, this->column(), sum);
  }
};

/// Entry: TileRoles::kThreads threads, one CTA per output tile, sizeof(SharedStorage) bytes of
/// dynamic shared memory, whose base is 1024-byte aligned.
template <class Roles>
__global__ __launch_bounds__(TileRoles::kThreads, 1) void lab_roles_kernel(
    const __grid_constant__ BlockwiseTileArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  const Roles roles{args, *reinterpret_cast<typename Roles::SharedStorage*>(dynamic_shared)};
  if (threadIdx.x == 0) roles.init_barriers();
  __syncthreads();
  run_role(roles);
}

/// The kernel of a class of roles, with tiles of 128 × `tile_n`.
template <class Roles, int tile_n>
constexpr BlockwiseTileKernel lab_roles_kernel_of() {
  return {.entry = lab_roles_kernel<Roles>,
          .threads = TileRoles::kThreads,
          .shared_bytes = sizeof(typename Roles::SharedStorage),
          .ctas = {.rows = 128, .columns = tile_n, .b_rows = tile_n}};
}

}  // namespace bw
