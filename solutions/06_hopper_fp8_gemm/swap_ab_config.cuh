#pragma once
/// \file
/// Ring and shared memory of the kernel for few rows, as GemmTraits determine them.

#include <cstdint>

#include "common/device/elect.cuh"
#include "common/device/scale_block.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "solutions/01_mbarrier_pipeline/producer_consumer_pipeline.cuh"
#include "solutions/06_hopper_fp8_gemm/gemm_traits.hpp"

namespace bw::hopper {

/// Everything that follows from `traits_`, of a kernel with swap_ab. One compiled kernel serves
/// every split of K.
template <GemmTraits traits_>
struct SwapAbConfig {
  static constexpr GemmTraits traits = traits_;  ///< the shape that it is made for
  static constexpr int kTileM = traits.tile_m;   ///< rows of a tile of D
  static constexpr int kTileN = traits.tile_n;   ///< columns of a tile of D
  static constexpr int kTileK = kScaleBlock;     ///< elements of K in a block
  static constexpr int kStages = traits.stages;  ///< stages of the ring
  /// Stages that are asked for before anything else: more would keep the others waiting.
  static constexpr int kFirstStages = kStages < 4 ? kStages : 4;
  /// Threads of a CTA.
  static constexpr int kThreads = traits.threads();
  static constexpr int kRegisters = kTileM / 2;  ///< of a math thread's accumulator
  static_assert(traits.swap_ab, "these are the kernels with B on wgmma's M side");
  static_assert(kTileN == kMmaRows && kScaleBlock % kTileN == 0,
                "one wgmma has all columns of a tile, and they share a B-scale");
  static_assert(kTileM % 8 == 0 && kTileM <= 256, "wgmma's N is a multiple of 8 up to 256");

  static constexpr uint32_t kBBytes = kTileN * kTileK;  ///< of a tile of B
  static constexpr uint32_t kABytes = kTileM * kTileK;  ///< of a tile of A
  /// Of a stage.
  static constexpr uint32_t kAScalesBytes = kTileM * sizeof(float);
  /// Bytes that fill a stage.
  static constexpr uint32_t kStageBytes = kBBytes + kABytes + kAScalesBytes;
  /// TMA writes to multiples of 128 bytes.
  static constexpr int kAScalesStride = (kTileM + 31) / 32 * 32;

  using Pipeline = ProducerConsumerPipeline<kStages>;  ///< the ring
  static constexpr uint32_t kProducerArrivals = 1;     ///< the lane that announces the bytes
  static constexpr uint32_t kConsumerArrivals = kWarpgroupWarps;  ///< each math warp's
  static constexpr uint32_t kSumsArrivals = 1;  ///< announces the bytes of the others' sums
  static constexpr int kMathBarrier = 1;        ///< of the CTA's named ones: the math warpgroup's

  /// Sums travel from CTA to CTA in vectors of this many floats of one thread, and each CTA of a
  /// tile gets as many.
  static constexpr int kVector = kRegisters >= 32 ? 4 : 2;
  static constexpr int kVectors = kRegisters / kVector;  ///< vectors of a thread's sums
  static constexpr int kMostSplit = 8;                   ///< larger clusters aren't portable
  /// Whether a split is possible: each CTA gets something.
  static constexpr bool divides(int split) { return split <= kMostSplit && split <= kVectors; }
  /// The first of the vectors that CTA `rank` of `split` gets.
  static constexpr __host__ __device__ uint32_t first_vector(uint32_t rank, uint32_t split) {
    return kVectors * rank / split;
  }
  /// How many they are.
  static constexpr __host__ __device__ uint32_t vectors_of(uint32_t rank, uint32_t split) {
    return first_vector(rank + 1, split) - first_vector(rank, split);
  }
  /// Bytes from one vector of a thread to its next.
  static constexpr uint32_t kVectorStride = kWarpgroupThreads * kVector * sizeof(float);

  /// Rows of D on their way out: kTileN bf16, and 16 bytes that spread the rows over the banks.
  static constexpr uint32_t kRowBytes = kTileN * sizeof(uint16_t) + 16;
  static_assert(kTileM * kRowBytes <= kStages * kBBytes, "D fits where the ring's B was");

  static constexpr uint32_t kDBytes = kTileM * kRowBytes;  ///< of all rows
  /// The kernel's dynamic shared memory. Tiles come first: they want 1024-byte alignment. When the
  /// ring has been read, D takes its place; with `grouped` the ring goes on with the next tile.
  struct alignas(1024) SharedStorage {
    uint8_t b[kStages][kBBytes];                          ///< tiles of B of each stage
    uint8_t a[kStages][kABytes];                          ///< tiles of A of each stage
    float a_scales[kStages][kAScalesStride];              ///< scales of A of each stage
    SharedMemBarrier barriers[Pipeline::kNumBarriers];    ///< of the ring
    SharedMemBarrier sums_arrived;                        ///< counts partial sums
    alignas(16) uint8_t d[traits.grouped ? kDBytes : 1];  ///< with `grouped`: rows of D
    /// Address of the rows of D.
    __device__ __forceinline__ const uint8_t* d_rows() const { return traits.grouped ? d : b[0]; }
  };
  /// Of a tile's sums.
  static constexpr uint32_t kSumsBytes = kTileM * kTileN * sizeof(float);
  /// Of the sums that CTA `rank` gets from the others that split its tile's K.
  static constexpr __host__ __device__ uint32_t incoming_bytes(uint32_t rank, uint32_t split) {
    return vectors_of(rank, split) * kVectorStride * (split - 1);
  }
  /// Bytes of shared memory of a CTA; where K is split, the data from the other CTAs come after
  /// the rest: [rank, without its own][vectors][threads].
  static constexpr uint32_t shared_bytes(uint32_t split) {
    return sizeof(SharedStorage) + incoming_bytes(/*rank=*/split - 1, split);  // the largest
  }
  static constexpr uint32_t kSharedBytes = 228 * 1024;  ///< of a multiprocessor (sm_90)
  static constexpr uint32_t kSystemBytes = 1024;  ///< of it, for each CTA, belong to the system
  static_assert(traits.resident_ctas * (shared_bytes(traits.grouped ? 1 : 2) + kSystemBytes) <=
                    kSharedBytes,
                "ring and sums need more shared memory than there is: fewer stages");
};

}  // namespace bw::hopper
