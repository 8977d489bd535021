/// \file
/// New: a ring for the scales alone. An atom has 512 bytes, a small copy. The atoms of a row of
/// tiles follow each other along K, so one copy brings those of four K blocks, into a ring of its
/// own that turns once while the operands' ring turns four times.

#include "common/host/lab_cycles.hpp"
#include "solutions/07_block_scaled_gemm/labs/scaled_roles.cuh"

namespace bw {

constexpr BlockFormat kFormat = BlockFormat::kMxfp8;
constexpr uint32_t kGroup = 4;        ///< K blocks whose scales come together
constexpr uint32_t kGroupStages = 2;  ///< of the ring of scales, and sets of columns
using Scales = LabScales<kFormat>;
constexpr uint32_t kSetColumns = 2 * Scales::kColumns;  ///< of a K block: A's and B's
static_assert(kLabTile + kGroupStages * kGroup * kSetColumns <= kLabRoleColumns,
              "D and two sets of scales fit into the allocation");

struct GroupStorage {
  ScaledRolesStorage<kFormat> blocks;  ///< its places for scales stay empty
  alignas(128) uint8_t a_scales[kGroupStages][kGroup * Scales::kBytes];
  alignas(128) uint8_t b_scales[kGroupStages][kGroup * Scales::kBytes];
  SharedMemBarrier full[kGroupStages], empty[kGroupStages];  ///< of the ring of scales
};

/// The load warp's lane: scales before the first of their K blocks, operands before each.
__device__ void load(const ScaledRolesArguments& args, GroupStorage& shared) {
  auto& blocks = shared.blocks;
  for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
    if (k_block % kGroup == 0) {
      const uint32_t group = k_block / kGroup, stage = group % kGroupStages;
      const uint32_t bytes = min(kGroup, args.k_blocks - k_block) * Scales::kBytes;
      const uint32_t first = k_block * Scales::kBytes, full = shared.full[stage].address();
      shared.empty[stage].wait((group / kGroupStages + 1) & 1);
      shared.full[stage].arrive_and_expect_bytes(2 * bytes);
      ptx::bulk_load(ptx::shared_address(shared.a_scales[stage]), args.a_scales + first, bytes,
                     full);
      ptx::bulk_load(ptx::shared_address(shared.b_scales[stage]), args.b_scales + first, bytes,
                     full);
    }
    const uint32_t stage = k_block % kLabStages, full = blocks.full[stage].address();
    const int32_t x = k_block * kBlockScaledRowBytes;
    blocks.empty[stage].wait((k_block / kLabStages + 1) & 1);
    blocks.full[stage].arrive_and_expect_bytes(2 * blocks.kTileBytes);
    ptx::tma_load_2d(ptx::shared_address(blocks.a[stage]), &args.a, full, x, 0);
    ptx::tma_load_2d(ptx::shared_address(blocks.b[stage]), &args.b, full, x, 0);
  }
}

/// The MMA warp's lane, before the first K block of a group: all copies of the group, into the set
/// of columns of its stage; returns the set's first column. The commit releases the stage's shared
/// memory, not the columns: these were last read by the group before the one before, whose MMAs are
/// complete when this group's first operands have come, because their stage was read after them.
__device__ uint32_t copy_group(const ScaledRolesArguments& args, GroupStorage& shared,
                               uint32_t scales, uint32_t k_block) {
  const uint32_t group = k_block / kGroup, stage = group % kGroupStages;
  const uint32_t set = scales + stage * kGroup * kSetColumns;
  shared.full[stage].wait(group / kGroupStages & 1);
  ptx::tcgen05_fence_after_thread_sync();
  for (uint32_t i = 0; i < min(kGroup, args.k_blocks - k_block); ++i) {
    const uint32_t columns = set + i * kSetColumns, byte = i * Scales::kBytes;
    spread_scales<kFormat>(columns, ptx::shared_address(shared.a_scales[stage] + byte));
    spread_scales<kFormat>(columns + Scales::kColumns,
                           ptx::shared_address(shared.b_scales[stage] + byte));
  }
  ptx::tcgen05_commit<1>(shared.empty[stage].address());
  return set;
}

__device__ void multiply(const ScaledRolesArguments& args, GroupStorage& shared, uint32_t d) {
  auto& blocks = shared.blocks;
  uint32_t set = 0;
  for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
    const uint32_t stage = k_block % kLabStages;
    blocks.full[stage].wait(k_block / kLabStages & 1);
    if (k_block % kGroup == 0) set = copy_group(args, shared, d + kLabTile, k_block);
    multiply_scaled<kFormat>(d, blocks.a[stage], blocks.b[stage],
                             set + k_block % kGroup * kSetColumns, k_block > 0);
    ptx::tcgen05_commit<1>(blocks.empty[stage].address());
  }
  ptx::tcgen05_commit<1>(blocks.done.address());
}

__global__ void __launch_bounds__(kLabRoleThreads)
    scale_groups(const __grid_constant__ ScaledRolesArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<GroupStorage*>(dynamic_shared);
  auto& blocks = shared.blocks;
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);
  if (warp == kLabMmaWarp) LabRoleTmem::allocate(&blocks.tmem_address);
  if (threadIdx.x == 0) {
    for (uint32_t stage = 0; stage < kGroupStages; ++stage) {
      shared.full[stage].init(1);
      shared.empty[stage].init(1);
    }
    ScaledRoles<kFormat, ScaleSource::kAtoms>{args, blocks}.init_barriers();
  }
  __syncthreads();
  const auto tmem = LabRoleTmem::from_shared(&blocks.tmem_address);
  if (warp == kLabLoadWarp) {
    if (ptx::elect_one()) load(args, shared);
    __syncwarp();
  } else if (warp == kLabMmaWarp) {
    if (ptx::elect_one()) multiply(args, shared, tmem.addr);
    __syncwarp();
  } else {
    blocks.done.wait(0);
    ptx::tcgen05_fence_after_thread_sync();
    write_scaled_row(args, TmemAddress{tmem.addr});
  }
  meet_at_tensor_memory();
  if (warp == kLabMmaWarp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

ExitStatus run_scale_groups(int64_t k_blocks) {
  const BlockScaledProblem problem = make_lab_problem(kFormat, k_blocks);
  const ScaledRolesRun run = run_roles_kernel(
      scale_groups, sizeof(GroupStorage), ScaleSource::kAtoms, problem, ScaleOrder::kSetPerStage);
  std::printf("shape    m %d, n %d, k %lld: %lld K blocks, scales of %u at once\n", kLabTile,
              kLabTile, static_cast<long long>(problem.k), static_cast<long long>(k_blocks),
              kGroup);
  print_cycles(run.milliseconds);
  return report(run.comparison, "D");
}

}  // namespace bw

int main(int argc, char** argv) {
  int64_t k_blocks = 16;
  bw::CommandLine command_line("The scales of four K blocks by one copy.");
  command_line.add("k-blocks", k_blocks, "rows of 128 bytes along K");
  return bw::run_main(command_line, "lab_07_scale_groups", argc, argv, [&] {
    bw::require_blackwell();
    bw::require(k_blocks >= 1 && k_blocks <= 1024, "--k-blocks is ", k_blocks, "; give 1 to 1024.");
    bw::print_machine();
    return bw::run_scale_groups(k_blocks);
  });
}
