/// \file
/// One use of every instruction that common/device wraps, but for wgmma, which Blackwell doesn't
/// have: building this file is the test, because ptxas checks each instruction's syntax, types and
/// target. The kernels aren't meant to be run.
#include "common/device/bulk_copy.cuh"
#include "common/device/cluster.cuh"
#include "common/device/cluster_launch_control.cuh"
#include "common/device/convert.cuh"
#include "common/device/convert_narrow.cuh"
#include "common/device/device_flag.cuh"
#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/grid_dependency.cuh"
#include "common/device/matrix_copy.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/named_barrier.cuh"
#include "common/device/packed_math.cuh"
#include "common/device/register_budget.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/shared_load.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/device/tcgen05_alloc.cuh"
#include "common/device/tcgen05_commit.cuh"
#include "common/device/tcgen05_copy.cuh"
#include "common/device/tcgen05_fence.cuh"
#include "common/device/tcgen05_load_store.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "common/device/tcgen05_mma_block_scale.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"
#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/03_warp_contexts/output_tile_pipeline.cuh"
#include "solutions/04_per_k_contexts/blockwise_fp8_accumulator.cuh"

namespace bw {

__global__ void barriers(uint32_t* result) {
  __shared__ SharedMemBarrier barrier;
  const uint32_t address = barrier.address();
  barrier.init(1);
  ptx::fence_mbarrier_init();
  __syncthreads();
  ptx::mbarrier_arrive(address);
  ptx::mbarrier_arrive_cluster(ptx::map_to_cta(address, ptx::cluster_cta_rank() ^ 1));
  ptx::mbarrier_arrive_remote(ptx::map_to_cta(address, 0));
  ptx::mbarrier_arrive_expect_tx(address, 16);
  ptx::mbarrier_arrive_expect_tx_cluster(ptx::map_to_cta(address, 0), 16);
  ptx::mbarrier_expect_tx(address, 16);
  uint32_t done = ptx::mbarrier_test_wait_parity(address, 0);
  done += ptx::mbarrier_test_wait_parity_cluster(address, 0);
  done += ptx::mbarrier_try_wait_parity(address, 0);
  done += ptx::mbarrier_try_wait_parity_cluster(ptx::leader_address(address), 0);
  ptx::mbarrier_inval(address);
  ptx::bar_arrive<3, 64>();
  ptx::bar_sync<4, 64>();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  ptx::cluster_arrive_relaxed();
  ptx::cluster_wait();
  if (ptx::elect_one()) result[0] = done;
  result[1] = ptx::pack_bf16x2(ptx::unpack_bf16_low(done), ptx::unpack_bf16_high(done));
  const float value = ptx::unpack_bf16_low(done);
  result[2] = ptx::pack_e4m3x2(value, value) + ptx::round_up_to_ue8m0(value);
  const float2 pair = ptx::fma_f32x2({value, 2}, {3, value}, {value, 4});
  result[3] = __float_as_uint(pair.x + pair.y);
}

__global__ void shared_and_global_words(uint32_t* flag, float* result) {
  __shared__ alignas(16) uint8_t tile[512];
  const uint32_t address = ptx::shared_address(tile);
  ptx::stmatrix_x4(address + threadIdx.x * 16, 1, 2, 3, 4);
  ptx::store_shared_cluster(ptx::map_to_cta(address, 0), make_float4(1, 2, 3, 4));
  const uint4 words = ptx::load_shared_v4(address);
  result[0] = ptx::load_shared_f32(address);
  ptx::store_release_gpu(flag, words.x + words.y + words.z + words.w);
  uint32_t matrices[4];
  ptx::ldmatrix_x4(matrices, address + threadIdx.x * 16);
  ptx::store_release_gpu(flag + 1, ptx::load_acquire_gpu(flag) + matrices[0] + matrices[1] +
                                       matrices[2] + matrices[3]);
}

__global__ void transposed_matrices_and_asynchronous_stores(float* result) {
  __shared__ alignas(16) uint8_t tile[512];
  __shared__ SharedMemBarrier barrier;
  const uint32_t address = ptx::shared_address(tile) + threadIdx.x * 16;
  const uint32_t one[1] = {1}, two[2] = {1, 2}, four[4] = {1, 2, 3, 4};
  ptx::stmatrix_transposed(address, one);
  ptx::stmatrix_transposed(address, two);
  ptx::stmatrix_transposed(address, four);
  uint32_t r1[1], r2[2], r4[4];
  ptx::ldmatrix_transposed(r1, address);
  ptx::ldmatrix_transposed(r2, address);
  ptx::ldmatrix_transposed(r4, address);
  ptx::store_shared_v4(address, make_uint4(r1[0], r2[0] + r2[1], r4[0] + r4[1], r4[2] + r4[3]));
  const uint32_t owner = ptx::cluster_cta_count() - 1;
  const uint32_t remote = ptx::map_to_cta(address, owner);
  const uint32_t remote_barrier = ptx::map_to_cta(barrier.address(), owner);
  ptx::bulk_copy_to_cta(remote, address, 16, remote_barrier);
  const float2 pair = ptx::load_shared_f32x2(address);
  result[0] = pair.x + pair.y;
}

__global__ void __launch_bounds__(128, 1) launches_and_registers(uint32_t* result) {
  __shared__ ptx::LaunchControlResponse response;
  __shared__ SharedMemBarrier barrier;
  const uint32_t address = ptx::shared_address(&response);
  ptx::grid_dependency_wait();
  ptx::grid_dependency_launch_dependents();
  ptx::launch_control_try_cancel<false>(address, barrier.address());
  ptx::launch_control_try_cancel<true>(address, barrier.address());
  const ptx::CanceledCluster cluster = ptx::launch_control_query(address);
  ptx::decrease_registers<24>();
  ptx::increase_registers<240>();
  if (cluster.is_canceled) result[0] = cluster.first_cta_x;
}

__global__ void copies(const __grid_constant__ CUtensorMap map, void* global) {
  __shared__ alignas(1024) uint8_t tile[1024];
  __shared__ SharedMemBarrier barrier;
  const uint32_t address = ptx::shared_address(tile);
  ptx::prefetch_tensormap(&map);
  ptx::tma_load_2d(address, &map, barrier.address(), 1, 2);
  ptx::tma_load_2d_multicast(address, &map, barrier.address(), 1, 2, 3);
  ptx::tma_load_2d_pair(address, &map, barrier.address(), 1, 2);
  ptx::tma_load_2d_multicast_pair(address, &map, barrier.address(), 1, 2, 3);
  ptx::bulk_load(address, global, 16, barrier.address());
  ptx::fence_proxy_async_shared();
  ptx::tma_store_2d(&map, 1, 2, address);
  ptx::bulk_store(global, address, 16);
  ptx::bulk_commit_group();
  ptx::bulk_wait_group_read<1>();
  ptx::bulk_wait_group<0>();
}

template <int cta_group>
__global__ void tensor_core(uint32_t* slot_copy) {
  __shared__ uint32_t slot;
  __shared__ SharedMemBarrier barrier;
  ptx::tcgen05_alloc<cta_group>(ptx::shared_address(&slot), 32);
  ptx::tcgen05_mma_f8f6f4<cta_group>(slot, 1, 2, 3, slot != 0);
  ptx::tcgen05_mma_mxf8f6f4<cta_group>(slot, 1, 2, 3, slot + 4, slot + 8, slot != 0);
  ptx::tcgen05_mma_mxf4<cta_group>(slot, 1, 2, 3, slot + 4, slot + 8, slot != 0);
  ptx::tcgen05_mma_mxf4nvf4<cta_group>(slot, 1, 2, 3, slot + 4, slot + 8, slot != 0);
  ptx::tcgen05_cp_32x128b_warpx4<cta_group>(slot, 1);
  ptx::tcgen05_commit<cta_group>(barrier.address());
  ptx::tcgen05_commit_multicast<cta_group>(barrier.address(), 3);
  ptx::tcgen05_fence_before_thread_sync();
  ptx::tcgen05_fence_after_thread_sync();
  ptx::tcgen05_relinquish_alloc_permit<cta_group>();
  ptx::tcgen05_dealloc<cta_group>(slot, 32);
  TmemDeallocBarrier<cta_group>{&barrier}.signal_complete();
  using Output = OutputTilePipeline<OutputPipelineConfig{2, 128, cta_group}>;
  Output output{typename Output::Pipeline(&barrier), {slot}, 3};
  output.release_from_mma(output.acquire_for_mma());
  Output::epilogue_arrive(output.acquire_for_epilogue());
  slot_copy[0] = slot;
}
template __global__ void tensor_core<1>(uint32_t*);
template __global__ void tensor_core<2>(uint32_t*);

template <class Word, int registers>
__device__ void copy_tensor_memory() {
  Word r[registers];
  ptx::tcgen05_ld_32x32b(r, 0);
  ptx::tcgen05_wait_ld(r);
  ptx::tcgen05_st_32x32b(0, r);
  ptx::tcgen05_ld_16x64b(r, 0);
  ptx::tcgen05_wait_ld(r);
  ptx::tcgen05_st_16x64b(0, r);
  ptx::tcgen05_ld_16x32bx2<registers>(r, 0);
  ptx::tcgen05_wait_ld(r);
  ptx::tcgen05_st_16x32bx2<registers>(0, r);
  if constexpr (registers >= 2) {
    ptx::tcgen05_ld_16x128b(r, 0);
    ptx::tcgen05_wait_ld(r);
    ptx::tcgen05_st_16x128b(0, r);
  }
  if constexpr (registers >= 4) {
    ptx::tcgen05_ld_16x256b(r, 0);
    ptx::tcgen05_wait_ld(r);
    ptx::tcgen05_st_16x256b(0, r);
  }
  ptx::tcgen05_wait_st();
}

template <class Word>
__global__ void tensor_memory() {
  copy_tensor_memory<Word, 1>();
  copy_tensor_memory<Word, 2>();
  copy_tensor_memory<Word, 4>();
  copy_tensor_memory<Word, 8>();
  copy_tensor_memory<Word, 16>();
  copy_tensor_memory<Word, 32>();
  copy_tensor_memory<Word, 64>();
  copy_tensor_memory<Word, 128>();
}
template __global__ void tensor_memory<uint32_t>();
template __global__ void tensor_memory<float>();

}  // namespace bw

int main() { return 0; }
