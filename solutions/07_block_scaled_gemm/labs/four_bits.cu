/// \file
/// New: elements of four bits. Two of them share a byte in global memory. A tensor copy keeps them
/// so, or gives every 16 elements 16 bytes of shared memory; the tensor core has an MMA for each.
/// The packed one takes 64 elements along K, the padded one 32, in the same time.

#include <vector>

#include "common/device/instruction_descriptor.cuh"
#include "common/device/tcgen05_mma.cuh"
#include "solutions/07_block_scaled_gemm/labs/scaled_lab.cuh"

namespace bw {

constexpr int kElements = 128;  ///< of a row: 64 bytes of global memory
constexpr int kTmemColumns = 256;
using Tmem = TmemAllocation<1, kTmemColumns>;

/// 16 elements are 8 bytes of shared memory. kind::mxf4 takes 64 elements, and wants scales.
struct Packed {
  static constexpr CUtensorMapDataType kType = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
  static constexpr const char* kTypeName = "16U4_ALIGN8B";
  static constexpr CUtensorMapSwizzle kMapSwizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  static constexpr Swizzle kSwizzle = Swizzle::k64B;
  static constexpr int kMmaElements = 64;
};
/// 16 elements are 8 bytes and 8 bytes that nothing reads. kind::f8f6f4 takes 32 elements.
struct Padded {
  static constexpr CUtensorMapDataType kType = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
  static constexpr const char* kTypeName = "16U4_ALIGN16B";
  static constexpr CUtensorMapSwizzle kMapSwizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  static constexpr Swizzle kSwizzle = Swizzle::k128B;
  static constexpr int kMmaElements = 32;
};

struct FourBitsArguments {
  CUtensorMap a, b;      ///< boxes of 128 rows × 128 elements
  float* d;              ///< [128, 128]
  uint8_t* first_bytes;  ///< of A in shared memory
  uint64_t* mma_cycles;  ///< from the first MMA to the commit's arrival
  uint64_t* cycles;      ///< from the first instruction to the end of the MMAs
};
constexpr uint32_t kShownBytes = 16;

template <class Form>
struct alignas(1024) FourBitsStorage {
  static constexpr uint32_t kRowBytes = static_cast<uint32_t>(Form::kSwizzle);
  uint8_t a[kLabTile * kRowBytes];
  uint8_t b[kLabTile * kRowBytes];
  alignas(128) uint32_t ones[kScaleAtomBytes / sizeof(uint32_t)];  ///< an atom of scales of 1
  SharedMemBarrier loaded, done;
  uint32_t tmem_address;
};

/// One lane: D = A · Bᵀ. The descriptor's steps along K are 32 bytes for both forms.
template <class Form>
__device__ void multiply(uint32_t d, FourBitsStorage<Form>& shared) {
  const uint64_t a = make_k_major_descriptor(ptx::shared_address(shared.a), Form::kSwizzle);
  const uint64_t b = make_k_major_descriptor(ptx::shared_address(shared.b), Form::kSwizzle);
  const uint32_t ones = d + kLabTile;
  if constexpr (Form::kMmaElements == 64) {
    ptx::tcgen05_cp_32x128b_warpx4<1>(ones,
                                      make_scale_atom_descriptor(ptx::shared_address(shared.ones)));
  }
#pragma unroll
  for (int mma = 0; mma < kElements / Form::kMmaElements; ++mma) {
    const uint64_t a_step = advance_descriptor(a, mma * kBlockScaledMmaBytes);
    const uint64_t b_step = advance_descriptor(b, mma * kBlockScaledMmaBytes);
    if constexpr (Form::kMmaElements == 64) {
      constexpr uint32_t kInstruction =
          make_block_scaled_instruction_descriptor<BlockFormat::kMxfp4, kLabTile, kLabTile, 1>(0);
      ptx::tcgen05_mma_mxf4<1>(d, a_step, b_step, kInstruction, ones, ones, mma > 0);
    } else {
      using Layout = InstructionDescriptorLayout;
      constexpr auto kE2m1 = static_cast<uint32_t>(MmaFp8Format::kE2m1);
      constexpr uint32_t kInstruction =  // e4m3's code is 0
          make_e4m3_instruction_descriptor<kLabTile, kLabTile, 1>() |
          kE2m1 << Layout::kAFormatShift | kE2m1 << Layout::kBFormatShift;
      ptx::tcgen05_mma_f8f6f4<1>(d, a_step, b_step, kInstruction, mma > 0);
    }
  }
  ptx::tcgen05_commit<1>(shared.done.address());
}

template <class Form>
__global__ void four_bits(const __grid_constant__ FourBitsArguments args) {
  // What is announced is what is read from global memory: the padding does not count.
  constexpr uint32_t kCopiedBytes = 2 * kLabTile * kElements / 2;
  constexpr uint32_t kFourOnes = 0x7f7f7f7f;  // 2^(127 - 127)
  extern __shared__ __align__(1024) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<FourBitsStorage<Form>*>(dynamic_shared);
  const int64_t begin = clock64();
  const bool first_warp = threadIdx.x < ptx::kWarpThreads;
  if (first_warp) Tmem::allocate(&shared.tmem_address);
  if (threadIdx.x == 0) {
    shared.loaded.init(1);
    shared.done.init(1);
    ptx::fence_mbarrier_init();
  }
  shared.ones[threadIdx.x] = kFourOnes;
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const Tmem tmem = Tmem::from_shared(&shared.tmem_address);
  if (first_warp) {
    if (ptx::elect_one()) {
      shared.loaded.arrive_and_expect_bytes(kCopiedBytes);
      ptx::tma_load_2d(ptx::shared_address(shared.a), &args.a, shared.loaded.address(), 0, 0);
      ptx::tma_load_2d(ptx::shared_address(shared.b), &args.b, shared.loaded.address(), 0, 0);
    }
    __syncwarp();
  }
  shared.loaded.wait(0);
  const int64_t loaded = clock64();
  if (first_warp) {
    if (ptx::elect_one()) multiply(tmem.addr, shared);
    __syncwarp();
  }
  shared.done.wait(0);
  ptx::tcgen05_fence_after_thread_sync();
  const int64_t end = clock64();
  if (threadIdx.x < kShownBytes) args.first_bytes[threadIdx.x] = shared.a[threadIdx.x];
  float row[kLabTile];
  TmemAddress{tmem.addr}.load_32x32b(row);
  TmemAddress::wait_load(row);
#pragma unroll
  for (int column = 0; column < kLabTile; ++column) {
    args.d[threadIdx.x * kLabTile + column] = row[column];
  }
  if (threadIdx.x == 0) {
    *args.mma_cycles = end - loaded;
    *args.cycles = end - begin;
  }
  meet_at_tensor_memory();
  if (first_warp) {
    tmem.release_lock();
    tmem.deallocate();
  }
}

/// Codes 0, 1, 2, … 15 along each row, from another one in each row.
BlockScaledMatrix make_codes(int64_t step) {
  constexpr int kCodes = 16;
  constexpr uint8_t kOne = 127;
  BlockScaledMatrix matrix;
  matrix.format = BlockFormat::kMxfp4;
  matrix.rows = kLabTile;
  matrix.k = kElements;
  matrix.blocks = kElements / scale_block(matrix.format);
  matrix.values.resize(matrix.rows * matrix.row_bytes());
  matrix.scales.assign(matrix.rows * matrix.blocks, kOne);
  for (int64_t i = 0; i < matrix.rows * matrix.k; ++i) {
    const int64_t code = (i % kElements + i / kElements * step) % kCodes;
    matrix.values[i / 2] |= static_cast<uint8_t>(code << i % 2 * 4);
  }
  return matrix;
}

template <class Form>
CUtensorMap packed_map(const char* name, const DeviceBuffer<uint8_t>& bytes) {
  return make_tensor_map({.name = name,
                          .data = bytes.data(),
                          .type = Form::kType,
                          .element_bytes = 1,
                          .inner = kElements,
                          .outer = kLabTile,
                          .stride_bytes = kElements / 2,
                          .box_inner = kElements,
                          .box_outer = kLabTile,
                          .swizzle = Form::kMapSwizzle});
}

template <class Form>
Comparison run_form(const char* name, const BlockScaledProblem& problem,
                    DeviceBuffer<uint64_t>& cycles) {
  const DeviceBuffer<uint8_t> a(problem.a.values), b(problem.b.values);
  DeviceBuffer<float> d = poisoned_floats(size_t{kLabTile} * kLabTile);
  DeviceBuffer<uint8_t> first_bytes(kShownBytes);
  DeviceBuffer<uint64_t> mma_cycles(1);
  run_timed(four_bits<Form>, {1, kLabThreads, sizeof(FourBitsStorage<Form>)},
            FourBitsArguments{packed_map<Form>("A", a), packed_map<Form>("B", b), d.data(),
                              first_bytes.data(), mma_cycles.data(), cycles.data()});
  std::printf("%s   %s: a row of %d elements is %u bytes, %d MMAs of K %d take %llu cycles\n", name,
              Form::kTypeName, kElements, FourBitsStorage<Form>::kRowBytes,
              kElements / Form::kMmaElements, Form::kMmaElements,
              static_cast<unsigned long long>(mma_cycles.download().front()));
  std::printf("bytes   ");
  const std::vector<uint8_t> shown = first_bytes.download();
  for (uint32_t i = 0; i < kShownBytes; ++i) {
    const bool is_padding = Form::kMmaElements != 64 && i >= kShownBytes / 2;
    if (is_padding) {
      std::printf(" --");
    } else {
      std::printf(" %02x", shown[i]);
    }
  }
  std::printf("\n");
  return compare_lab(problem, d.download());
}

ExitStatus run_four_bits() {
  require_blackwell();
  print_machine();
  constexpr int64_t kAStep = 1, kBStep = 3;
  const BlockScaledProblem problem{.m = kLabTile,
                                   .n = kLabTile,
                                   .k = kElements,
                                   .beta = 0,
                                   .fill = Fill::kNormal,
                                   .a = make_codes(kAStep),
                                   .b = make_codes(kBStep),
                                   .c = {}};
  DeviceBuffer<uint64_t> cycles(1);
  const Comparison padded = run_form<Padded>("padded", problem, cycles);
  if (!padded.verified()) return report(padded, "D of the padded form");
  const Comparison packed = run_form<Packed>("packed", problem, cycles);
  print_own_cycles(cycles);
  return report(packed, "D");
}

}  // namespace bw

int main(int argc, char** argv) {
  const bw::CommandLine command_line("e2m1 elements, packed and padded.");
  return bw::run_main(command_line, "lab_07_four_bits", argc, argv,
                      [] { return bw::run_four_bits(); });
}
