#pragma once
/// \file
/// A kernel of one CTA for one tile and one K block: load, copy the scales, multiply, and hand each
/// row of D to an epilogue.

#include <cstdint>

#include "solutions/07_block_scaled_gemm/labs/scaled_mma.cuh"

namespace bw {

constexpr int kOneBlockColumns = 256;  ///< D takes 128, the scales at most 32
/// Tensor memory of the CTA.
using OneBlockTmem = TmemAllocation<1, kOneBlockColumns>;

/// Kernel arguments. `Epilogue` is called by thread r with row r of D, scaled.
template <class Epilogue>
struct OneBlockArguments {
  CUtensorMap a;            ///< box of 128 rows × 128 bytes
  CUtensorMap b;            ///< the same of B
  const uint8_t* a_scales;  ///< atoms along K
  const uint8_t* b_scales;  ///< the same of B
  float factor;             ///< of D
  Epilogue epilogue;        ///< what becomes of D
  uint64_t* cycles;         ///< from the first instruction to the end of the MMAs
  ScaleMistake mistake;     ///< what is done wrong
};

/// Shared memory of the CTA.
template <BlockFormat format>
struct alignas(1024) OneBlockStorage {
  uint8_t a[kLabTile * kBlockScaledRowBytes];                ///< the tile of A
  uint8_t b[kLabTile * kBlockScaledRowBytes];                ///< the tile of B
  alignas(128) uint8_t a_scales[LabScales<format>::kBytes];  ///< atoms of A's scales
  alignas(128) uint8_t b_scales[LabScales<format>::kBytes];  ///< atoms of B's scales
  SharedMemBarrier loaded;                                   ///< counts the bytes of all four
  SharedMemBarrier done;                                     ///< the MMAs are complete
  uint32_t tmem_address;                                     ///< of the allocation
};

/// One lane: operands and scales, all on one barrier.
template <BlockFormat format, class Epilogue>
__device__ __forceinline__ void load_one_block(const OneBlockArguments<Epilogue>& args,
                                               OneBlockStorage<format>& shared) {
  const uint32_t loaded = shared.loaded.address();
  shared.loaded.arrive_and_expect_bytes(sizeof shared.a + sizeof shared.b + sizeof shared.a_scales +
                                        sizeof shared.b_scales);
  ptx::tma_load_2d(ptx::shared_address(shared.a), &args.a, loaded, 0, 0);
  ptx::tma_load_2d(ptx::shared_address(shared.b), &args.b, loaded, 0, 0);
  ptx::bulk_load(ptx::shared_address(shared.a_scales), args.a_scales, sizeof shared.a_scales,
                 loaded);
  ptx::bulk_load(ptx::shared_address(shared.b_scales), args.b_scales, sizeof shared.b_scales,
                 loaded);
}

/// One CTA of kLabThreads threads.
template <BlockFormat format, class Epilogue>
__global__ void __launch_bounds__(kLabThreads)
    one_block(const __grid_constant__ OneBlockArguments<Epilogue> args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<OneBlockStorage<format>*>(dynamic_shared);
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) OneBlockTmem::allocate(&shared.tmem_address);
  if (threadIdx.x == 0) {
    shared.loaded.init(1);
    shared.done.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const auto tmem = OneBlockTmem::from_shared(&shared.tmem_address);
  if (first_warp) {
    if (ptx::elect_one()) {
      load_one_block(args, shared);
      shared.loaded.wait(0);
      // Nothing waits between the copies and the MMAs: the tensor core executes them in order.
      const uint32_t a_scales = tmem.addr + kLabTile;
      spread_scales<format>(a_scales, ptx::shared_address(shared.a_scales));
      spread_scales<format>(a_scales + LabScales<format>::kColumns,
                            ptx::shared_address(shared.b_scales));
      multiply_scaled<format>(tmem.addr, shared.a, shared.b, a_scales, /*accumulate=*/false,
                              args.mistake);
      ptx::tcgen05_commit<1>(shared.done.address());
    }
    __syncwarp();
  }
  shared.done.wait(0);
  ptx::tcgen05_fence_after_thread_sync();
  const int64_t end = clock64();
  float row[kLabTile];
  TmemAddress{tmem.addr}.load_32x32b(row);
  TmemAddress::wait_load(row);
#pragma unroll
  for (float& value : row) value *= args.factor;
  args.epilogue(row);
  if (threadIdx.x == 0) *args.cycles = end - begin;
  meet_at_tensor_memory();
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

/// Runs the kernel once; `a_scales` and `b_scales` are atoms on the device.
template <BlockFormat format, class Epilogue>
void run_one_block(const DeviceBuffer<uint8_t>& a, const DeviceBuffer<uint8_t>& a_scales,
                   const DeviceBuffer<uint8_t>& b, const DeviceBuffer<uint8_t>& b_scales,
                   float factor, const Epilogue& epilogue, DeviceBuffer<uint64_t>& cycles,
                   ScaleMistake mistake = {}) {
  run_timed(one_block<format, Epilogue>, {1, kLabThreads, sizeof(OneBlockStorage<format>)},
            OneBlockArguments<Epilogue>{.a = lab_operand_map("A", a.data(), kBlockScaledRowBytes),
                                        .b = lab_operand_map("B", b.data(), kBlockScaledRowBytes),
                                        .a_scales = a_scales.data(),
                                        .b_scales = b_scales.data(),
                                        .factor = factor,
                                        .epilogue = epilogue,
                                        .cycles = cycles.data(),
                                        .mistake = mistake});
}

/// Rows of fp32 to [128, 128].
struct ToFloats {
  float* d;  ///< in global memory
  /// Thread r: row r.
  __device__ __forceinline__ void operator()(const float (&row)[kLabTile]) const {
#pragma unroll
    for (int column = 0; column < kLabTile; ++column) {
      d[threadIdx.x * kLabTile + column] = row[column];
    }
  }
};

}  // namespace bw
