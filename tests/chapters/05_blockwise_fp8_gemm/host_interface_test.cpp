/// \file
/// The GEMM as a library: leading dimensions, D in place of C, dependent launches, refusals, the
/// bits of D.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/blockwise_reference.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/comparison.hpp"
#include "common/host/error.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_cost_model.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_launch.hpp"
#include "tests/chapters/with_stride.hpp"

namespace bw {
namespace {

/// The simulator's numbers of a B200.
struct SimulatedB200 {
#define BW_TIMING(name, value, source, from) static constexpr double name = value;
#include "common/simulator/clock/table_b200.inc"
#undef BW_TIMING
};

constexpr cudaStream_t kDefaultStream = nullptr;

/// The unsigned integer of a size in bytes.
template <size_t bytes>
using BitsOf = std::conditional_t<bytes == sizeof(uint16_t), uint16_t, uint32_t>;

BlockwiseProblem small_problem(float beta) {
  return make_blockwise_problem(200, 264, 272, beta, /*seed=*/5, Fill::kNormal);
}

/// Leading dimensions of the matrices, in elements.
struct Strides {
  int64_t a, b, a_scales, b_scales, c, d;
};

/// D of the problem with its rows `strides.d` apart, all matrices laid out with these strides. The
/// gaps between the rows are NaN in the inputs and have all bits set in D before the GEMM.
std::vector<Bf16> padded_result(const BlockwiseProblem& problem, const Strides& strides) {
  const int64_t m = problem.m, n = problem.n, k = problem.k;
  constexpr Fp8E4m3 kNanFp8{0x7f};
  constexpr Bf16 kNanBf16{0xffff};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  DeviceBuffer<Fp8E4m3> a(with_stride(problem.a.values, k, strides.a, kNanFp8));
  DeviceBuffer<Fp8E4m3> b(with_stride(problem.b.values, k, strides.b, kNanFp8));
  DeviceBuffer<float> a_scales(
      with_stride(problem.a.scales, problem.a.scales_stride, strides.a_scales, nan));
  DeviceBuffer<float> b_scales(
      with_stride(problem.b.scales, ceil_div(k, 128), strides.b_scales, nan));
  DeviceBuffer<Bf16> c(with_stride(problem.c, n, strides.c, kNanBf16));
  DeviceBuffer<Bf16> d(m * strides.d);
  d.fill_bytes(0xff);
  blockwise_fp8_gemm({.m = m,
                      .n = n,
                      .k = k,
                      .a = a.data(),
                      .lda = strides.a,
                      .b = b.data(),
                      .ldb = strides.b,
                      .a_scales = a_scales.data(),
                      .lda_scales = strides.a_scales,
                      .b_scales = b_scales.data(),
                      .ldb_scales = strides.b_scales,
                      .c = c.data(),
                      .ldc = strides.c,
                      .d = d.data(),
                      .ldd = strides.d,
                      .beta = problem.beta},
                     kDefaultStream);
  return d.download();
}

/// `columns` of each row.
std::vector<Bf16> without_padding(const std::vector<Bf16>& padded, int64_t columns,
                                  int64_t stride) {
  std::vector<Bf16> dense;
  for (auto row = padded.begin(); row != padded.end(); row += stride) {
    dense.insert(dense.end(), row, row + columns);
  }
  return dense;
}

TEST(GemmCostModel, HasTheBandwidthOfTheSimulatedB200) {
  EXPECT_EQ(static_cast<double>(kL2BytesPerCycle), double{SimulatedB200::l2_bytes_per_cycle});
}

TEST(HostInterface, EveryLeadingDimensionCounts) {
  const BlockwiseProblem problem = small_problem(0.5f);
  const int64_t n = problem.n, k = problem.k, stride = n + 24;
  const std::vector<Bf16> padded = padded_result(problem, {.a = k + 16,
                                                           .b = k + 48,
                                                           .a_scales = problem.a.scales_stride + 4,
                                                           .b_scales = ceil_div(k, 128) + 3,
                                                           .c = n + 8,
                                                           .d = stride});
  for (int64_t row = 0; row < problem.m; ++row) {
    for (int64_t i = n; i < stride; ++i) {
      ASSERT_EQ(padded[row * stride + i].bits, 0xffff) << "padding was written";
    }
  }
  EXPECT_TRUE(
      compare_with_reference(without_padding(padded, n, stride), n, blockwise_reference(problem))
          .verified());
}

TEST(HostInterface, NoExtentHasToBeAMultipleOfAnything) {
  // Only the rows' distances do.
  for (const auto& [m, n, k] : {std::tuple{77, 100, 200}, {5, 3, 7}, {1, 257, 129}, {131, 1, 1}}) {
    const BlockwiseProblem problem =
        make_blockwise_problem(m, n, k, 0.5f, /*seed=*/7, Fill::kNormal);
    const int64_t stride = round_up(n, 8);
    const std::vector<Bf16> padded = padded_result(problem, {.a = round_up(k, 16),
                                                             .b = round_up(k, 16),
                                                             .a_scales = problem.a.scales_stride,
                                                             .b_scales = ceil_div(k, 128),
                                                             .c = stride,
                                                             .d = stride});
    EXPECT_TRUE(
        compare_with_reference(without_padding(padded, n, stride), n, blockwise_reference(problem))
            .verified())
        << m << " x " << n << " x " << k;
  }
}

TEST(HostInterface, OutputMayReplaceTheResidual) {
  const BlockwiseProblem problem = small_problem(1.0f);
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (kernel.traits.output != OutputType::kBf16) continue;
    const DeviceProblem on_device(problem);
    BlockwiseFp8GemmArguments arguments = on_device.arguments();
    DeviceBuffer<Bf16> c_and_d(problem.c);
    arguments.c = c_and_d.data();
    arguments.d = c_and_d.data();
    blockwise_fp8_gemm(arguments, kernel, kDefaultStream);
    EXPECT_TRUE(compare_with_reference(c_and_d.download(), problem.n, blockwise_reference(problem))
                    .verified())
        << kernel.name;
  }
}

TEST(HostInterface, LaunchesOfAStreamSeeEachOthersResults) {
  // The second GEMM adds the first one's D, which has just been launched.
  BlockwiseProblem problem = small_problem(1.0f);
  const DeviceProblem first(problem), second(problem);
  BlockwiseFp8GemmArguments chained = second.arguments();
  chained.c = static_cast<const Bf16*>(first.arguments().d);
  blockwise_fp8_gemm(first.arguments(), kDefaultStream);
  blockwise_fp8_gemm(chained, kDefaultStream);
  problem.c = first.download_d<Bf16>();
  EXPECT_TRUE(
      compare_with_reference(second.download_d<Bf16>(), problem.n, blockwise_reference(problem))
          .verified());
}

void expect_refused(const std::string& part, const BlockwiseFp8GemmArguments& arguments,
                    const GemmKernel& kernel) {
  try {
    blockwise_fp8_gemm(arguments, kernel, kDefaultStream);
    ADD_FAILURE() << "was accepted: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(HostInterface, RefusesWhatTheKernelCantDo) {
  const DeviceProblem on_device(small_problem(0.0f));
  const BlockwiseFp8GemmArguments& good = on_device.arguments();
  const GemmKernel& kernel = gemm_kernels().front();
  expect_refused("cta1_128x128_1x1_fp32 writes fp32", good,
                 find_gemm_kernel("cta1_128x128_1x1_fp32"));
  GemmKernel greedy = kernel;
  greedy.shared_bytes = 300 * 1024;
  expect_refused("needs 307200 bytes of shared memory", good, greedy);
  GemmKernel huge = kernel;
  huge.traits.cluster_m = 1024;
  expect_refused("clusters of 1024 CTAs", good, huge);
  BlockwiseFp8GemmArguments without_c = good;
  without_c.beta = 1;
  without_c.c = nullptr;
  expect_refused("C is a null pointer", without_c, kernel);
}

TEST(KernelChoice, FollowsTheShapeAndTheOutputType) {
  constexpr int kMultiprocessors = 148;
  for (const int64_t m : {1, 64, 500, 4096}) {
    for (const OutputType output : {OutputType::kBf16, OutputType::kFp32}) {
      EXPECT_EQ(choose_gemm_kernel(m, 4096, 1024, output, kMultiprocessors).traits.output, output);
    }
  }
  EXPECT_EQ(
      choose_gemm_kernel(1, 2048, 1024, OutputType::kBf16, kMultiprocessors).traits.cta_rows(), 64)
      << "one row needs no more than half a tile";
  EXPECT_EQ(choose_gemm_kernel(4096, 4096, 1024, OutputType::kBf16, 1).traits.cluster_size(), 1)
      << "one SM holds no cluster";
  EXPECT_THROW(find_gemm_kernel("none"), Error);
}

/// D of every configuration, as text.
std::string bits_of_every_configuration() {
  std::ostringstream bits;
  for (const GemmKernel& kernel : gemm_kernels()) {
    DeviceProblem on_device(small_problem(0.5f), kernel.traits.output);
    blockwise_fp8_gemm(on_device.arguments(), kernel, kDefaultStream);
    bits << kernel.name << std::hex;
    const auto append = [&](const auto& d) {
      for (const auto& element : d) bits << ' ' << +std::bit_cast<BitsOf<sizeof element>>(element);
    };
    if (kernel.traits.output == OutputType::kBf16) {
      append(on_device.download_d<Bf16>());
    } else {
      append(on_device.download_d<float>());
    }
    bits << '\n';
  }
  return bits.str();
}

/// Names the file that a run of this program with other settings writes its bits to.
const GemmKernel& launch_control_kernel() { return find_gemm_kernel("cta2_256x256_4x2_clc"); }

TEST(Grid, OfLaunchControlIsTheRaster) {
  for (uint32_t m = 1; m <= 100; ++m) {
    constexpr uint32_t kColumns = 5;
    const TileRaster raster{m, kColumns};
    const dim3 grid = grid_to_launch(launch_control_kernel(), raster);
    EXPECT_EQ(grid.x % 4, 0u);
    EXPECT_EQ(grid.x / 4 * grid.z, m) << "every cluster has a piece";
    EXPECT_EQ(grid.y, 2 * kColumns);
    EXPECT_GE(grid.x / 4, std::min(TileRaster::kBand, m));
    if (m % TileRaster::kBand != 0) continue;
    for (uint32_t index = 0; index < raster.size(); ++index) {  // CTAs in the order of the launch
      const uint32_t band = grid.x / 4, in_band = index % (band * kColumns);
      const WorkTile tile = raster.tile(index);
      EXPECT_EQ(tile.m, index / (band * kColumns) * band + in_band % band);
      EXPECT_EQ(tile.n, in_band / band);
    }
  }
}

TEST(Grid, OfLaunchControlIsRefusedWhereItWouldBeTooLong) {
  for (const TileRaster& raster : {TileRaster{1, 32768}, TileRaster{8 * 65536, 1}}) {
    try {
      grid_to_launch(launch_control_kernel(), raster);
      FAIL() << raster.m << " x " << raster.n;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("choose one without launch control"),
                std::string::npos)
          << error.what();
    }
  }
}

constexpr const char* kBitsFile = "BW_TEST_BITS_FILE";

TEST(Bits, AreWrittenForTheOtherRun) {
  const char* const path = std::getenv(kBitsFile);
  if (path == nullptr) GTEST_SKIP() << "has no file to write to";
  std::ofstream(path) << bits_of_every_configuration();
}

TEST(Bits, DependOnNeitherThreadsNorSeedNorLevel) {
  const std::string expected = bits_of_every_configuration();
  EXPECT_GT(std::count(expected.begin(), expected.end(), '\n'), 1);
  // A process has one simulated machine.
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const std::string settings :
       {"BW_SIM_THREADS=1 BW_SIM_SEED=0", "BW_SIM_THREADS=3 BW_SIM_SEED=9",
        "BW_SIM_STRICTNESS=hardware BW_SIM_SEED=4", "BW_SIM_CHECKS=off BW_SIM_SMS=20"}) {
    const std::string path = testing::TempDir() + "chapter05_bits_" + std::to_string(getpid());
    const std::string command = "env " + settings + " " + kBitsFile + "='" + path + "' '" +
                                program + "' --gtest_filter=Bits.AreWritten* > /dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::ostringstream found;
    found << std::ifstream(path).rdbuf();
    EXPECT_TRUE(found.str() == expected) << settings;
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace bw
