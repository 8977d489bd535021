/// \file
/// New: two CTAs, one block-scaled MMA of 256 × 256. B is halved between them, the B-scales are
/// not: each CTA's tensor memory needs those of all columns. Each CTA loads them all (--sfb all),
/// or half of them for both (--sfb multicast); one lane of the leader copies in both.

#include <cstdio>
#include <vector>

#include "common/device/cluster.cuh"
#include "solutions/02_tmem_lifecycle/tmem_dealloc_barrier.cuh"
#include "solutions/02_tmem_lifecycle/warp_group_barrier.cuh"
#include "solutions/07_block_scaled_gemm/labs/scaled_lab.cuh"

namespace bw {

constexpr BlockFormat kFormat = BlockFormat::kMxfp8;
constexpr int kPair = 2;
constexpr int kPairTile = kPair * kLabTile;  ///< M and N of the MMA
constexpr uint32_t kPairThreads = kLabThreads + ptx::kWarpThreads;
constexpr uint32_t kPairMmaWarp = kLabThreads / ptx::kWarpThreads;
constexpr int kTmemColumns = 512;  ///< D takes 256, the scales 12
using Tmem = TmemAllocation<kPair, kTmemColumns>;
using TmemReady = WarpGroupBarrier<kPairThreads, 1>;
using Dealloc = TmemDeallocBarrier<kPair>;

/// Which B-scales a CTA loads.
enum class SfbLoad {
  kAll,        ///< both atoms, for itself
  kMulticast,  ///< one atom, for both CTAs
  kHalf,       ///< a mistake: only those of its half of B, in place of both atoms
};

struct PairArguments {
  CUtensorMap a, b;      ///< boxes of 128 rows × 128 bytes
  CUtensorMap a_scales;  ///< an atom a row; boxes of one
  CUtensorMap b_scales;  ///< the same of B
  float* d;              ///< [256, 256]
  uint64_t* cycles;      ///< of each CTA
  SfbLoad sfb;
};

struct alignas(1024) PairStorage {
  uint8_t a[kLabTile * kBlockScaledRowBytes];  ///< this CTA's rows
  uint8_t b[kLabTile * kBlockScaledRowBytes];  ///< its half of the columns
  alignas(128) uint8_t a_scales[kScaleAtomBytes];
  alignas(128) uint8_t b_scales[kPair][kScaleAtomBytes];  ///< of all columns
  SharedMemBarrier loaded;                                ///< the leader's: the bytes of both CTAs
  SharedMemBarrier done, dealloc;
  uint32_t tmem_address;
};

/// One lane of each CTA: what it loads, all on the leader's barrier.
__device__ void load_pair(const PairArguments& args, PairStorage& shared, uint32_t rank) {
  constexpr uint32_t kBytesPerCta =
      sizeof(PairStorage::a) + sizeof(PairStorage::b) + (1 + kPair) * kScaleAtomBytes;
  constexpr uint16_t kBothCtas = 0b11;
  if (rank == 0) shared.loaded.arrive_and_expect_bytes(kPair * kBytesPerCta);
  const uint32_t loaded = ptx::leader_address(shared.loaded.address());
  const int32_t row = static_cast<int32_t>(rank) * kLabTile, atom = static_cast<int32_t>(rank);
  ptx::tma_load_2d_pair(ptx::shared_address(shared.a), &args.a, loaded, 0, row);
  ptx::tma_load_2d_pair(ptx::shared_address(shared.b), &args.b, loaded, 0, row);
  ptx::tma_load_2d_pair(ptx::shared_address(shared.a_scales), &args.a_scales, loaded, 0, atom);
  if (args.sfb == SfbLoad::kMulticast) {
    ptx::tma_load_2d_multicast_pair(ptx::shared_address(shared.b_scales[rank]), &args.b_scales,
                                    loaded, 0, atom, kBothCtas);
    return;
  }
  for (int32_t part = 0; part < kPair; ++part) {
    ptx::tma_load_2d_pair(ptx::shared_address(shared.b_scales[part]), &args.b_scales, loaded, 0,
                          args.sfb == SfbLoad::kAll ? part : atom);
  }
}

/// One lane of the leader: copies and MMAs for both CTAs.
__device__ void multiply_pair(PairStorage& shared, uint32_t d) {
  const uint32_t a_scales = d + kPairTile, b_scales = a_scales + kScaleAtomColumns;
  ptx::tcgen05_cp_32x128b_warpx4<kPair>(
      a_scales, make_scale_atom_descriptor(ptx::shared_address(shared.a_scales)));
  for (int part = 0; part < kPair; ++part) {
    ptx::tcgen05_cp_32x128b_warpx4<kPair>(
        b_scales + part * kScaleAtomColumns,
        make_scale_atom_descriptor(ptx::shared_address(shared.b_scales[part])));
  }
  const uint64_t a = make_k_major_descriptor(ptx::shared_address(shared.a), Swizzle::k128B);
  const uint64_t b = make_k_major_descriptor(ptx::shared_address(shared.b), Swizzle::k128B);
#pragma unroll
  for (int mma = 0; mma < kMmasPerKBlock; ++mma) {
    ptx::tcgen05_mma_block_scaled<kFormat, kPair>(
        d, advance_descriptor(a, mma * kBlockScaledMmaBytes),
        advance_descriptor(b, mma * kBlockScaledMmaBytes),
        make_block_scaled_instruction_descriptor<kFormat, kPairTile, kPairTile, kPair>(
            scale_id_of_mma(kFormat, mma)),
        a_scales, b_scales, /*accumulate=*/mma > 0);
  }
}

/// The fifth warp of each CTA.
__device__ void load_and_multiply(const PairArguments& args, PairStorage& shared, uint32_t rank) {
  constexpr uint16_t kBothCtas = 0b11;
  const Tmem tmem = Tmem::allocate(&shared.tmem_address);
  TmemReady::arrive();
  if (ptx::elect_one()) {
    load_pair(args, shared, rank);
    if (rank == 0) {
      shared.loaded.wait_cluster(0);
      multiply_pair(shared, tmem.addr);
      ptx::tcgen05_commit_multicast<kPair>(shared.done.address(), kBothCtas);
    }
  }
  __syncwarp();
  Dealloc{&shared.dealloc}.complete_dealloc(tmem);
}

/// Warps 0 to 3 of each CTA: its own 128 rows, all columns.
__device__ void read_rows(const PairArguments& args, PairStorage& shared, uint32_t rank,
                          int64_t begin) {
  TmemReady::sync();
  const TmemAddress d{Tmem::from_shared(&shared.tmem_address).addr};
  shared.done.wait_cluster(0);
  ptx::tcgen05_fence_after_thread_sync();
  if (threadIdx.x == 0) args.cycles[rank] = clock64() - begin;
  float* const out = args.d + (rank * kLabTile + threadIdx.x) * kPairTile;
  for (int part = 0; part < kPair; ++part) {
    float row[kLabTile];
    (d + part * kLabTile).load_32x32b(row);
    TmemAddress::wait_load(row);
#pragma unroll
    for (int i = 0; i < kLabTile; ++i) out[part * kLabTile + i] = row[i];
  }
  Dealloc{&shared.dealloc}.signal_complete();
}

__global__ __cluster_dims__(kPair, 1, 1)
    __launch_bounds__(kPairThreads) void scaled_pair(const __grid_constant__ PairArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<PairStorage*>(dynamic_shared);
  const int64_t begin = clock64();
  const uint32_t rank = ptx::cluster_cta_rank();
  if (threadIdx.x == 0) {
    shared.loaded.init(1);
    shared.done.init(1);
    Dealloc{&shared.dealloc}.init_barrier();
    ptx::fence_mbarrier_init();
  }
  __syncwarp();           // the cluster's barrier is .aligned
  ptx::cluster_arrive();  // no copy comes before the barriers
  ptx::cluster_wait();
  if (threadIdx.x / ptx::kWarpThreads == kPairMmaWarp) {
    load_and_multiply(args, shared, rank);
  } else {
    read_rows(args, shared, rank, begin);
  }
  __syncwarp();
  ptx::cluster_arrive();  // a CTA's shared memory outlives what the other sends to it
  ptx::cluster_wait();
}

/// A map of atoms, one a row.
CUtensorMap atom_map(const char* name, const DeviceBuffer<uint8_t>& atoms) {
  constexpr uint32_t kWords = kScaleAtomBytes / sizeof(uint32_t);
  return make_tensor_map({.name = name,
                          .data = atoms.data(),
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                          .element_bytes = sizeof(uint32_t),
                          .inner = kWords,
                          .outer = atoms.size() / kScaleAtomBytes,
                          .stride_bytes = kScaleAtomBytes,
                          .box_inner = kWords,
                          .box_outer = 1,
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
}

class PairLab {
 public:
  Comparison run(SfbLoad sfb) {
    const DeviceBuffer<uint8_t> a(problem_.a.values), b(problem_.b.values);
    const DeviceBuffer<uint8_t> a_scales(lay_out_scales("A", problem_.a));
    const DeviceBuffer<uint8_t> b_scales(lay_out_scales("B", problem_.b));
    DeviceBuffer<float> d = poisoned_floats(size_t{kPairTile} * kPairTile);
    run_timed(scaled_pair, {kPair, kPairThreads, sizeof(PairStorage)},
              PairArguments{.a = lab_operand_map("A", a.data(), kBlockScaledRowBytes, kPairTile),
                            .b = lab_operand_map("B", b.data(), kBlockScaledRowBytes, kPairTile),
                            .a_scales = atom_map("the scales of A", a_scales),
                            .b_scales = atom_map("the scales of B", b_scales),
                            .d = d.data(),
                            .cycles = cycles_.data(),
                            .sfb = sfb});
    return compare_lab(problem_, d.download());
  }

  ExitStatus run_right(SfbLoad sfb) {
    const int scale_bytes_read = (sfb == SfbLoad::kAll ? 2 * kPair : kPair) * kScaleAtomBytes;
    show_wrong("B-scales halved like B", run(SfbLoad::kHalf));
    const Comparison right = run(sfb);
    std::printf("stage    A %d, B %d, SFA %d, SFB %d bytes in each CTA; SFB read from L2: %d\n",
                kLabTile * kBlockScaledRowBytes, kLabTile * kBlockScaledRowBytes, kScaleAtomBytes,
                kPair * kScaleAtomBytes, scale_bytes_read);
    print_most_cycles(cycles_.download());
    return report(right, "D");
  }

 private:
  BlockScaledProblem problem_ = make_lab_problem(kFormat, /*k_blocks=*/1, kPairTile);
  DeviceBuffer<uint64_t> cycles_{kPair};
};

}  // namespace bw

int main(int argc, char** argv) {
  int sfb = 0;
  bw::CommandLine command_line("A pair of CTAs, and which B-scales each of them needs.");
  command_line.add("sfb", sfb, {"all", "multicast"}, "loaded whole by each CTA, or half for both");
  return bw::run_main(command_line, "lab_07_scaled_pair", argc, argv, [&] {
    bw::require_blackwell();
    bw::print_machine();
    return bw::PairLab().run_right(static_cast<bw::SfbLoad>(sfb));
  });
}
