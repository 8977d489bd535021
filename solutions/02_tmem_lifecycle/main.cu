/// \file
/// Takes tensor memory through its whole life around one tcgen05.mma, D = C + A * B^T, explains the
/// descriptors, and verifies D as every shape of tcgen05.ld reads it.
/// Exit status: 0 verified, 1 wrong result, 2 bad input or a failure on the way.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/host/device_buffer.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/program.hpp"
#include "common/host/random_normal.hpp"
#include "common/host/timed_launch.hpp"
#include "solutions/02_tmem_lifecycle/tmem_lifecycle_kernel.cuh"

namespace {

constexpr int kK = 32;
const std::vector<const char*> kCtaGroupNames = {"1", "2"};
const std::vector<const char*> kNNames = {"32", "64", "128", "256"};
const std::vector<const char*> kFillNames = {"normal", "position"};
const std::vector<const char*> kShapeNames = {"32x32b", "16x64b", "16x128b", "16x256b"};
enum Fill { kNormal, kPosition };

struct ProgramOptions {
  int cta_group = 0;   ///< index into kCtaGroupNames
  int n = 1;           ///< index into kNNames
  int fill = kNormal;  ///< index into kFillNames
  int64_t seed = 1;
};

/// The operands on the host.
struct Problem {
  int64_t m, n;
  std::vector<bw::Fp8E4m3> a, b;
  std::vector<float> c;
};

/// Normal numbers; or A = 0 and a C of row * N + column, which D must then be to the bit.
Problem make_problem(int64_t m, int64_t n, Fill fill, uint64_t seed) {
  Problem problem{m, n, {}, {}, {}};
  const bw::RandomNormal normal_a(seed, 0), normal_b(seed, 1), normal_c(seed, 2);
  for (int64_t i = 0; i < m * kK; ++i) {
    problem.a.push_back(bw::to_fp8_e4m3(fill == kPosition ? 0.0f : normal_a(i)));
  }
  for (int64_t i = 0; i < n * kK; ++i) problem.b.push_back(bw::to_fp8_e4m3(normal_b(i)));
  for (int64_t i = 0; i < m * n; ++i) {
    problem.c.push_back(fill == kPosition ? static_cast<float>(i) : normal_c(i));
  }
  return problem;
}

/// D in float64, and what fp32 accumulation may be off: 1e-6 of the sum of magnitudes, nothing
/// where there is nothing to add.
struct Reference {
  std::vector<double> d, allowed_error;
};

Reference make_reference(const Problem& problem) {
  constexpr double kAccumulationError = 1e-6;
  Reference reference;
  for (int64_t row = 0; row < problem.m; ++row) {
    for (int64_t column = 0; column < problem.n; ++column) {
      const double c = problem.c[row * problem.n + column];
      double sum = 0, magnitude = 0;
      for (int k = 0; k < kK; ++k) {
        const double product = static_cast<double>(bw::to_float(problem.a[row * kK + k])) *
                               bw::to_float(problem.b[column * kK + k]);
        sum += product;
        magnitude += std::fabs(product);
      }
      reference.d.push_back(c + sum);
      reference.allowed_error.push_back(
          magnitude == 0 ? 0.0 : kAccumulationError * (magnitude + std::fabs(c)));
    }
  }
  return reference;
}

/// What one run gives.
struct Run {
  std::vector<float> d;  ///< [shapes, M, N]
  bw::MmaDescriptors descriptors;
  float milliseconds;
  double wall_seconds;
};

template <int CtaGroup, int n>
Run run_on_device(const Problem& problem) {
  using Config = bw::TmemLifecycleConfig<CtaGroup, n>;
  constexpr int kPoisonByte = 0xff;  // every float a NaN
  const bw::WallTimer wall;
  const bw::DeviceBuffer<bw::Fp8E4m3> a(problem.a), b(problem.b);
  const bw::DeviceBuffer<float> c(problem.c);
  bw::DeviceBuffer<float> d(bw::kNumTmemShapes * problem.c.size());
  bw::DeviceBuffer<bw::MmaDescriptors> descriptors(1);
  d.fill_bytes(kPoisonByte);
  const bw::TmemLifecycleArguments arguments{reinterpret_cast<const uint8_t*>(a.data()),
                                             reinterpret_cast<const uint8_t*>(b.data()), c.data(),
                                             d.data(), descriptors.data()};
  const float milliseconds =
      bw::run_timed(bw::tmem_lifecycle_kernel<CtaGroup, n>,
                    {.ctas = CtaGroup, .threads = Config::kThreads, .shared_bytes = 0}, arguments);
  return Run{d.download(), descriptors.download().front(), milliseconds, wall.seconds()};
}

/// Runs the kernel that the options name; the order is that of kNNames.
Run run_on_device(const ProgramOptions& options, const Problem& problem) {
  constexpr Run (*kRunners[][4])(const Problem&) = {
      {run_on_device<1, 32>, run_on_device<1, 64>, run_on_device<1, 128>, run_on_device<1, 256>},
      {run_on_device<2, 32>, run_on_device<2, 64>, run_on_device<2, 128>, run_on_device<2, 256>}};
  return kRunners[options.cta_group][options.n](problem);
}

/// Says what an operand's descriptor tells the tensor core.
void explain_operand(const char* name, uint64_t descriptor) {
  using Layout = bw::SharedDescriptorLayout;
  const auto field = [&](int shift) {
    return static_cast<unsigned>(descriptor >> shift & Layout::kFieldMask) << Layout::kUnitShift;
  };
  std::printf(
      "operand  %s %016llx: rows of 32 bytes from shared address 0x%x, groups of 8 rows %u bytes"
      " apart, swizzle code %u (6: 32 bytes), version %u\n",
      name, static_cast<unsigned long long>(descriptor), field(Layout::kStartAddressShift),
      field(Layout::kStrideByteOffsetShift),
      static_cast<unsigned>(descriptor >> Layout::kSwizzleShift),
      static_cast<unsigned>(descriptor >> Layout::kVersionShift & 3));
}

/// Says what the instruction descriptor tells the tensor core.
void explain_instruction(uint32_t descriptor) {
  using Layout = bw::InstructionDescriptorLayout;
  std::printf(
      "mma      %08x: M %u, N %u, A format %u and B format %u (0: e4m3), D format %u"
      " (1: fp32)\n",
      descriptor, (descriptor >> Layout::kMShift & 0x1f) * Layout::kMUnit,
      (descriptor >> Layout::kNShift & 0x3f) * Layout::kNUnit,
      descriptor >> Layout::kAFormatShift & 7, descriptor >> Layout::kBFormatShift & 7,
      descriptor >> Layout::kDFormatShift & 3);
}

/// Compares D as every shape read it; the first that is off is reported, else all together.
bw::ExitStatus verify(const Problem& problem, const std::vector<float>& d) {
  const Reference reference = make_reference(problem);
  const int64_t size = problem.m * problem.n;
  for (int shape = 0; shape < bw::kNumTmemShapes; ++shape) {
    const bw::Comparison comparison = bw::compare_elements(
        problem.m, problem.n, [&](int64_t i) { return d[shape * size + i]; },
        [&](int64_t i) { return reference.d[i]; },
        [&](int64_t i) { return reference.allowed_error[i]; });
    std::printf("read     %-8s %lld of %lld elements are right\n", kShapeNames[shape],
                static_cast<long long>(comparison.elements - comparison.bad_elements),
                static_cast<long long>(comparison.elements));
    if (!comparison.verified()) return bw::report(comparison, "D");
  }
  return bw::report(bw::compare_elements(
                        bw::kNumTmemShapes * problem.m, problem.n, [&](int64_t i) { return d[i]; },
                        [&](int64_t i) { return reference.d[i % size]; },
                        [&](int64_t i) { return reference.allowed_error[i % size]; }),
                    "D");
}

bw::ExitStatus run_program(const ProgramOptions& options) {
  bw::require_blackwell();
  const int cta_group = options.cta_group + 1;
  const int64_t n = std::atoll(kNNames[options.n]);
  const int64_t m = int64_t{128} * cta_group;
  bw::print_machine();
  std::printf("shape    m %lld, n %lld, k %d, cta_group %d, seed %lld, fill %s\n",
              static_cast<long long>(m), static_cast<long long>(n), kK, cta_group,
              static_cast<long long>(options.seed), kFillNames[options.fill]);
  const Problem problem =
      make_problem(m, n, static_cast<Fill>(options.fill), static_cast<uint64_t>(options.seed));
  const Run run = run_on_device(options, problem);
  explain_operand("A", run.descriptors.a);
  explain_operand("B", run.descriptors.b);
  explain_instruction(run.descriptors.instruction);
  bw::print_time(run.milliseconds, 0, run.wall_seconds);
  return verify(problem, run.d);
}

}  // namespace

int main(int argc, char** argv) {
  ProgramOptions options;
  bw::CommandLine command_line(
      "The life of tensor memory around one MMA, D = C + A * B^T with FP8 operands, K = 32 and\n"
      "fp32 accumulation, verified against float64.");
  command_line.add("cta-group", options.cta_group, kCtaGroupNames,
                   "CTAs that compute the MMA together: M is 128 for each");
  command_line.add("n", options.n, kNNames, "rows of B, columns of C and D");
  command_line.add("fill", options.fill, kFillNames,
                   "normal random inputs, or A = 0 and a C that encodes its positions");
  command_line.add("seed", options.seed, "seed of the random inputs");
  return bw::run_main(command_line, "02_tmem_lifecycle", argc, argv,
                      [&] { return run_program(options); });
}
