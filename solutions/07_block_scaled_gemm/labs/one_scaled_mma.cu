/// \file
/// New: the tensor core scales. One K block, four MMAs, in three formats. Each MMA takes its scales
/// from tensor memory: an address names their columns, the instruction descriptor the byte of the
/// columns' words. Three mistakes run next to the right kernel.

#include "solutions/07_block_scaled_gemm/labs/scaled_mma.cuh"

namespace bw {

constexpr int kTmemColumns = 256;  ///< D takes 128, the scales at most 32
using Tmem = TmemAllocation<1, kTmemColumns>;

struct ScaledMmaArguments {
  CUtensorMap a, b;         ///< boxes of 128 rows × 128 bytes
  const uint8_t* a_scales;  ///< atoms along K
  const uint8_t* b_scales;
  float factor;      ///< of D
  float* d;          ///< [128, 128]
  uint64_t* cycles;  ///< from the first instruction to the end of the MMAs
  ScaleMistake mistake;
};

template <BlockFormat format>
struct alignas(1024) ScaledMmaStorage {
  uint8_t a[kLabTile * kBlockScaledRowBytes];
  uint8_t b[kLabTile * kBlockScaledRowBytes];
  alignas(128) uint8_t a_scales[LabScales<format>::kBytes];
  alignas(128) uint8_t b_scales[LabScales<format>::kBytes];
  SharedMemBarrier loaded, done;
  uint32_t tmem_address;
};

/// One lane: operands and scales, all on one barrier.
template <BlockFormat format>
__device__ void load(const ScaledMmaArguments& args, ScaledMmaStorage<format>& shared) {
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

template <BlockFormat format>
__global__ void scaled_mma(const __grid_constant__ ScaledMmaArguments args) {
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<ScaledMmaStorage<format>*>(dynamic_shared);
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&shared.tmem_address);
  if (threadIdx.x == 0) {
    shared.loaded.init(1);
    shared.done.init(1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const Tmem tmem = Tmem::from_shared(&shared.tmem_address);
  if (first_warp) {
    if (ptx::elect_one()) {
      load(args, shared);
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
  write_lab_row(TmemAddress{tmem.addr}, args.d, args.factor);
  if (threadIdx.x == 0) *args.cycles = end - begin;
  meet_at_tensor_memory();
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

/// The scales of 128 rows in the order of the plain matrix, row after row, in each atom: a mistake.
std::vector<uint8_t> row_after_row(const BlockScaledMatrix& matrix) {
  std::vector<uint8_t> bytes(scale_bytes(kLabTile, matrix.blocks));
  for (int64_t row = 0; row < kLabTile; ++row)
    for (int64_t block = 0; block < matrix.blocks; ++block)
      bytes[block / kScaleAtomBlocks * kScaleAtomBytes + row * kScaleAtomBlocks +
            block % kScaleAtomBlocks] = matrix.scales[row * matrix.blocks + block];
  return bytes;
}

template <BlockFormat format>
class ScaledMmaLab {
 public:
  /// The comparison with float64 of a run with a mistake.
  Comparison run(ScaleMistake mistake, bool in_atoms) {
    const auto laid_out = [&](const char* name, const BlockScaledMatrix& matrix) {
      return in_atoms ? lay_out_scales(name, matrix) : row_after_row(matrix);
    };
    const DeviceBuffer<uint8_t> a(problem_.a.values), b(problem_.b.values);
    const DeviceBuffer<uint8_t> a_scales(laid_out("A", problem_.a));
    const DeviceBuffer<uint8_t> b_scales(laid_out("B", problem_.b));
    DeviceBuffer<float> d = poisoned_floats(size_t{kLabTile} * kLabTile);
    run_timed(scaled_mma<format>, {1, kLabThreads, sizeof(ScaledMmaStorage<format>)},
              ScaledMmaArguments{.a = lab_operand_map("A", a.data(), problem_.a.row_bytes()),
                                 .b = lab_operand_map("B", b.data(), problem_.b.row_bytes()),
                                 .a_scales = a_scales.data(),
                                 .b_scales = b_scales.data(),
                                 .factor = problem_.factor(),
                                 .d = d.data(),
                                 .cycles = cycles_.data(),
                                 .mistake = mistake});
    return compare_lab(problem_, d.download());
  }

  ExitStatus run_right() {
    const Comparison right = run({}, true);
    print_own_cycles(cycles_);
    return report(right, "D");
  }

 private:
  BlockScaledProblem problem_ = make_lab_problem(format);
  DeviceBuffer<uint64_t> cycles_{1};
};

/// What each MMA is told.
template <BlockFormat format>
void print_mmas() {
  constexpr int kScales = scales_per_mma(format);
  std::printf("mma      128 x 128 x %d, scale_vec::%dX; a K block is %d of them, %d atom%s\n",
              mma_k(format), kScales, kMmasPerKBlock, scale_atoms_per_k_block(format),
              scale_atoms_per_k_block(format) == 1 ? "" : "s");
  for (int mma = 0; mma < kMmasPerKBlock; ++mma) {
    const int id = scale_id_of_mma(format, mma);
    std::printf("mma %d    scales %2d to %2d: column +%2d, id %d, descriptor 0x%08x\n", mma,
                mma * kScales, mma * kScales + kScales - 1,
                scale_atom_of_mma(format, mma) * kScaleAtomColumns, id,
                make_block_scaled_instruction_descriptor<format, kLabTile, kLabTile, 1>(id));
  }
}

template <BlockFormat format>
ExitStatus run_format(bool other_scales) {
  using Layout = BlockScaledDescriptorLayout;
  constexpr uint32_t kOtherScales = 1u << Layout::kScaleTypeShift;
  constexpr uint32_t kE5m2 = 1u << Layout::kBFormatShift;
  print_mmas<format>();
  ScaledMmaLab<format> lab;
  show_wrong("every MMA takes the first one's scales", lab.run({.first_for_all = true}, true));
  show_wrong("scales laid out row after row", lab.run({}, false));
  if (format == BlockFormat::kMxfp8)
    show_wrong("B read as e5m2", lab.run({.flipped = kE5m2}, true));
  if (other_scales || format == BlockFormat::kNvfp4)
    show_wrong("scales read as the other type", lab.run({.flipped = kOtherScales}, true));
  return lab.run_right();
}

}  // namespace bw

int main(int argc, char** argv) {
  int format = 0;
  bool other_scales = false;
  bw::CommandLine command_line("Four block-scaled MMAs, right and with mistakes.");
  command_line.add("format", format, {"mxfp8", "mxfp4", "nvfp4"}, "of the elements and scales");
  command_line.add_flag("other-scales", other_scales, "with the scales' type flipped, too");
  return bw::run_main(command_line, "lab_07_one_scaled_mma", argc, argv, [&] {
    bw::require_blackwell();
    bw::print_machine();
    if (format == 0) return bw::run_format<bw::BlockFormat::kMxfp8>(other_scales);
    if (format == 1) return bw::run_format<bw::BlockFormat::kMxfp4>(other_scales);
    return bw::run_format<bw::BlockFormat::kNvfp4>(other_scales);
  });
}
