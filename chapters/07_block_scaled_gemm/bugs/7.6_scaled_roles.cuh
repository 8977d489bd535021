#pragma once
/// \file
/// Three roles on one tile of 128 × 128 and any number of K blocks: chapter 3's kernel, with scales
/// in the stages of its ring. The accumulator collects the whole of K; the epilogue reads it once.

#include <cstdint>

#include "common/device/exercise.cuh"
#include "solutions/03_warp_contexts/output_row_writer.cuh"
#include "solutions/07_block_scaled_gemm/labs/scaled_mma.cuh"

namespace bw {

constexpr uint32_t kLabStages = 4;         ///< of the ring
constexpr uint32_t kLabRoleThreads = 192;  ///< epilogue 128, load 32, MMA 32
constexpr uint32_t kLabLoadWarp = 4;       ///< fills the stages
constexpr uint32_t kLabMmaWarp = 5;        ///< copies scales and multiplies

/// How the thread that copies scales and multiplies keeps the two in order.
enum class ScaleOrder {
  kWaitForCopies,  ///< it waits until the copies are complete, and for the MMAs before them
  kOneSet,         ///< it waits for the MMAs that read the columns, not for the copies
  kSetPerStage,    ///< each stage of the ring has columns of its own: no waits but the ring's
};

/// Which threads bring the scales into shared memory.
enum class ScaleSource {
  kAtoms,    ///< the load warp, by bulk copies of atoms
  kThreads,  ///< 128 threads, by ordinary loads and stores, from a plain matrix of scales
};

/// One tile's problem on the device.
struct ScaledRolesArguments {
  CUtensorMap a;            ///< boxes of 128 rows × 128 bytes
  CUtensorMap b;            ///< the same of B
  const uint8_t* a_scales;  ///< kAtoms: atoms along K; kThreads: [row][block]
  const uint8_t* b_scales;  ///< the same of B
  uint32_t k_blocks;        ///< rows of 128 bytes along K
  float factor;             ///< of D
  OutputMatrix d;           ///< [128, 128]
  ScaleOrder order;         ///< of copies and MMAs
};

/// Shared memory of the CTA.
template <BlockFormat format>
struct alignas(1024) ScaledRolesStorage {
  static constexpr uint32_t kTileBytes = kLabTile * kBlockScaledRowBytes;  ///< of A, and of B
  uint8_t a[kLabStages][kTileBytes];                                       ///< tiles of A
  uint8_t b[kLabStages][kTileBytes];                                       ///< tiles of B
  alignas(128) uint8_t a_scales[kLabStages][LabScales<format>::kBytes];    ///< atoms of A's scales
  alignas(128) uint8_t b_scales[kLabStages][LabScales<format>::kBytes];    ///< atoms of B's scales
  SharedMemBarrier full[kLabStages];   ///< copies have arrived, and what threads wrote
  SharedMemBarrier empty[kLabStages];  ///< the MMAs have read
  SharedMemBarrier copied;             ///< scales are in tensor memory
  SharedMemBarrier done;               ///< all MMAs are complete
  uint32_t tmem_address;               ///< of the allocation
};

constexpr int kLabRoleColumns = 256;  ///< D 128, scales at most 4 stages × 2 × 16
/// Tensor memory of the CTA.
using LabRoleTmem = TmemAllocation<1, kLabRoleColumns>;

/// The roles of one CTA.
template <BlockFormat format, ScaleSource source>
struct ScaledRoles {
  using Storage = ScaledRolesStorage<format>;  ///< shared memory
  using Scales = LabScales<format>;            ///< of a K block
  const ScaledRolesArguments& args;            ///< of the kernel
  Storage& shared;                             ///< of the CTA

  /// One thread initialises the barriers.
  __device__ __forceinline__ void init_barriers() const {
    constexpr uint32_t kWriters = source == ScaleSource::kThreads ? kLabThreads : 0;
    for (uint32_t stage = 0; stage < kLabStages; ++stage) {
      shared.full[stage].init(1 + kWriters);
      shared.empty[stage].init(1);
    }
    shared.copied.init(1);
    shared.done.init(1);
    ptx::fence_mbarrier_init();
  }

  /// The load warp's lane: operands, and atoms of scales. Atoms of one row of tiles follow each
  /// other along K, so those of a K block are one piece of memory.
  __device__ __forceinline__ void load() const {
    constexpr uint32_t kScaleBytes =
        source == ScaleSource::kAtoms ? 2 * Scales::kAtoms * kScaleAtomBytes : 0;
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const uint32_t stage = k_block % kLabStages, full = shared.full[stage].address();
      shared.empty[stage].wait((k_block / kLabStages + 1) & 1);
      shared.full[stage].arrive_and_expect_bytes(2 * Storage::kTileBytes + kScaleBytes);
      const int32_t x = k_block * kBlockScaledRowBytes;
      ptx::tma_load_2d(ptx::shared_address(shared.a[stage]), &args.a, full, x, 0);
      ptx::tma_load_2d(ptx::shared_address(shared.b[stage]), &args.b, full, x, 0);
      if constexpr (source == ScaleSource::kAtoms) {
        const uint32_t first = k_block * kScaleAtomBytes;
        ptx::bulk_load(ptx::shared_address(shared.a_scales[stage]), args.a_scales + first,
                       Scales::kBytes, full);
        ptx::bulk_load(ptx::shared_address(shared.b_scales[stage]), args.b_scales + first,
                       Scales::kBytes, full);
      }
    }
  }

  /// A thread of the epilogue, before D is there: row `threadIdx.x`'s scales of A and of B, from
  /// the plain matrices into the atoms of every stage.
  __device__ __forceinline__ void write_scales() const {
    const uint32_t row = threadIdx.x;
    const uint32_t row_words = args.k_blocks * Scales::kAtoms;
    const auto* const a_words = reinterpret_cast<const uint32_t*>(args.a_scales) + row * row_words;
    const auto* const b_words = reinterpret_cast<const uint32_t*>(args.b_scales) + row * row_words;
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const uint32_t stage = k_block % kLabStages;
      shared.empty[stage].wait((k_block / kLabStages + 1) & 1);
#pragma unroll
      for (int atom = 0; atom < Scales::kAtoms; ++atom) {
        const int64_t place = atom * kScaleAtomBytes + scale_offset_in_atom(row, 0);
        const uint32_t word = k_block * Scales::kAtoms + atom;
        *reinterpret_cast<uint32_t*>(shared.a_scales[stage] + place) = a_words[word];
        *reinterpret_cast<uint32_t*>(shared.b_scales[stage] + place) = b_words[word];
      }
      // Right lines, not shown here: you write them in exercise 7.4.
      //
    }
  }

  /// The MMA warp's lane: copies the scales of a K block, multiplies, and releases the stage.
  __device__ __forceinline__ void multiply(uint32_t d) const {
    const uint32_t scales = d + kLabTile;
    for (uint32_t k_block = 0; k_block < args.k_blocks; ++k_block) {
      const uint32_t stage = k_block % kLabStages;
      shared.full[stage].wait(k_block / kLabStages & 1);
      const uint32_t columns = columns_of(scales, k_block);
      // The columns were read by MMAs whose commit came here through the load warp.
      ptx::tcgen05_fence_after_thread_sync();
      spread_scales<format>(columns, ptx::shared_address(shared.a_scales[stage]));
      spread_scales<format>(columns + Scales::kAtoms * kScaleAtomColumns,
                            ptx::shared_address(shared.b_scales[stage]));
      if (args.order == ScaleOrder::kWaitForCopies) {
        ptx::tcgen05_commit<1>(shared.copied.address());
        shared.copied.wait(k_block & 1);
      }
      multiply_scaled<format>(d, shared.a[stage], shared.b[stage], columns, k_block > 0);
      ptx::tcgen05_commit<1>(shared.empty[stage].address());
    }
    ptx::tcgen05_commit<1>(shared.done.address());
  }

  /// The columns for the scales of a K block, when no MMA reads them any more.
  __device__ __forceinline__ uint32_t columns_of(uint32_t scales, uint32_t k_block) const {
    if (args.order != ScaleOrder::kSetPerStage) {
      wait_for_mmas_before(k_block);
      return scales;
    }
    // Right lines, not shown here: you write them in exercise 7.5.
    //
    //
  }

  /// Waits for the MMAs of the K block before this one.
  __device__ __forceinline__ void wait_for_mmas_before(uint32_t k_block) const {
    if (k_block == 0) return;
    const uint32_t before = k_block - 1;
    shared.empty[before % kLabStages].wait(before / kLabStages & 1);
  }
};

/// A thread of the epilogue: its row of D, from tensor memory to global memory.
__device__ __forceinline__ void write_scaled_row(const ScaledRolesArguments& args, TmemAddress d) {
  float row[kLabTile];
  d.load_32x32b(row);
  TmemAddress::wait_load(row);
#pragma unroll
  for (float& value : row) value *= args.factor;
  write_output_row<kLabTile>(args.d, threadIdx.x, /*column=*/0, row);
}

/// One CTA of kLabRoleThreads threads.
template <BlockFormat format, ScaleSource source>
__global__ void __launch_bounds__(kLabRoleThreads)
    scaled_roles(const __grid_constant__ ScaledRolesArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<ScaledRolesStorage<format>*>(dynamic_shared);
  const ScaledRoles<format, source> roles{args, shared};
  const uint32_t warp = __shfl_sync(ptx::kFullWarpMask, threadIdx.x / ptx::kWarpThreads, 0);
  if (warp == kLabMmaWarp) LabRoleTmem::allocate(&shared.tmem_address);
  if (threadIdx.x == 0) roles.init_barriers();
  __syncthreads();
  const auto tmem = LabRoleTmem::from_shared(&shared.tmem_address);
  if (warp == kLabLoadWarp) {
    if (ptx::elect_one()) roles.load();
    __syncwarp();
  } else if (warp == kLabMmaWarp) {
    if (ptx::elect_one()) roles.multiply(tmem.addr);
    __syncwarp();
  } else {
    if constexpr (source == ScaleSource::kThreads) roles.write_scales();
    shared.done.wait(0);
    ptx::tcgen05_fence_after_thread_sync();
    write_scaled_row(args, TmemAddress{tmem.addr});
  }
  meet_at_tensor_memory();
  if (warp == kLabMmaWarp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

/// What a run gives.
struct ScaledRolesRun {
  Comparison comparison;  ///< with float64
  float milliseconds;     ///< of the kernel
};

/// Runs `kernel`, whose scales come from `source`, once on `problem`, one tile of 128 × 128.
inline ScaledRolesRun run_roles_kernel(void (*kernel)(ScaledRolesArguments), uint32_t shared_bytes,
                                       ScaleSource source, const BlockScaledProblem& problem,
                                       ScaleOrder order) {
  const auto scales_of_matrix = [&](const char* name, const BlockScaledMatrix& matrix) {
    return source == ScaleSource::kAtoms ? lay_out_scales(name, matrix) : matrix.scales;
  };
  const DeviceBuffer<uint8_t> a(problem.a.values), b(problem.b.values);
  const DeviceBuffer<uint8_t> a_scales(scales_of_matrix("A", problem.a));
  const DeviceBuffer<uint8_t> b_scales(scales_of_matrix("B", problem.b));
  DeviceBuffer<Bf16> d(size_t{kLabTile} * kLabTile);
  constexpr int kPoisonByte = 0xff;  // every bf16 a NaN
  d.fill_bytes(kPoisonByte);
  const float milliseconds =
      run_timed(kernel, {1, kLabRoleThreads, shared_bytes},
                ScaledRolesArguments{
                    .a = lab_operand_map("A", a.data(), problem.a.row_bytes()),
                    .b = lab_operand_map("B", b.data(), problem.b.row_bytes()),
                    .a_scales = a_scales.data(),
                    .b_scales = b_scales.data(),
                    .k_blocks = static_cast<uint32_t>(problem.a.row_bytes() / kBlockScaledRowBytes),
                    .factor = problem.factor(),
                    .d = {reinterpret_cast<uint16_t*>(d.data()), kLabTile, kLabTile},
                    .order = order});
  return {compare_lab(problem, d.download()), milliseconds};
}

/// Runs the kernel of a format once.
template <BlockFormat format, ScaleSource source = ScaleSource::kAtoms>
ScaledRolesRun run_scaled_roles(const BlockScaledProblem& problem, ScaleOrder order) {
  return run_roles_kernel(scaled_roles<format, source>, sizeof(ScaledRolesStorage<format>), source,
                          problem, order);
}

}  // namespace bw
