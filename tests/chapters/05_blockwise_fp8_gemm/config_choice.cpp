/// \file
/// Which configuration of the GEMM is fastest for a shape, in simulated cycles, and how far off the
/// one is that choose_gemm_kernel picks: for the shapes that the choice was fitted to, for others,
/// or for one shape with every configuration's rate, the published rates next to it, and its
/// roofline.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/command_line.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/dense_gemm.hpp"
#include "common/host/program.hpp"
#include "common/simulator/clock/timing_table.hpp"
#include "common/simulator/cudart/runtime/runtime.hpp"
#include "solutions/05_blockwise_fp8_gemm/blockwise_fp8_gemm.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_cost_model.hpp"

namespace {

/// A problem, and the SMs of the device that it runs on: fewer make more waves of tiles, which
/// would take long to simulate with all of them.
struct Case {
  int64_t m, n, k;
  uint32_t multiprocessors;
};

constexpr uint32_t kB200Multiprocessors = 148;

/// The shapes that the cost model's numbers were fitted to.
constexpr Case kFitted[] = {
    {1, 4096, 1024, kB200Multiprocessors},
    {64, 2112, 2048, kB200Multiprocessors},
    {128, 4096, 2048, kB200Multiprocessors},
    {512, 2048, 2048, kB200Multiprocessors},
    {1000, 576, 4096, kB200Multiprocessors},
    {1024, 1536, 1024, kB200Multiprocessors},
    {2048, 2048, 512, kB200Multiprocessors},
    {2048, 4096, 512, kB200Multiprocessors},
    {1536, 4096, 1024, kB200Multiprocessors},
    {4096, 2048, 256, kB200Multiprocessors},
    {500, 3072, 512, 16},
    {1024, 1024, 512, 8},
};

/// Shapes that were simulated only after the numbers had been fixed.
constexpr Case kHeldOut[] = {
    {16, 7168, 512, kB200Multiprocessors},    {256, 2048, 1536, kB200Multiprocessors},
    {129, 136, 2064, kB200Multiprocessors},   {768, 3072, 768, kB200Multiprocessors},
    {1280, 2048, 1024, kB200Multiprocessors}, {300, 4096, 1024, kB200Multiprocessors},
    {2048, 1024, 2048, kB200Multiprocessors}, {1792, 3584, 512, kB200Multiprocessors},
    {3072, 2560, 384, kB200Multiprocessors},  {640, 1280, 512, 16},
};

struct Measured {
  const bw::GemmKernel* kernel;
  uint64_t cycles;
};

uint64_t simulated_cycles(const bw::DeviceProblem& problem, const bw::GemmKernel& kernel) {
  constexpr cudaStream_t kDefaultStream = nullptr;
  bw::blockwise_fp8_gemm(problem.arguments(), kernel, kDefaultStream);
  bw::check_cuda(cudaStreamSynchronize(kDefaultStream), "run the GEMM");
  return bw::sim::cudart::Runtime::instance().device().last_launch().clock_cycles;
}

/// Every bf16 configuration whose clusters the device holds, the fastest first.
std::vector<Measured> measure(const Case& shape, float beta) {
  constexpr uint64_t kSeed = 1;
  const bw::DeviceProblem problem(
      bw::make_blockwise_problem(shape.m, shape.n, shape.k, beta, kSeed, bw::Fill::kNormal));
  std::vector<Measured> all;
  for (const bw::GemmKernel& kernel : bw::gemm_kernels()) {
    if (kernel.traits.output != bw::OutputType::kBf16) continue;
    if (kernel.traits.cluster_size() > static_cast<int>(shape.multiprocessors)) continue;
    all.push_back({&kernel, simulated_cycles(problem, kernel)});
  }
  std::sort(all.begin(), all.end(),
            [](const Measured& a, const Measured& b) { return a.cycles < b.cycles; });
  return all;
}

/// Prints the model's choice and the fastest configuration. The ratio of their cycles.
double compare(const Case& shape, bool every) {
  const auto multiprocessors = static_cast<int>(shape.multiprocessors);
  bw::sim::cudart::Runtime::instance().device().settings().sm_count = shape.multiprocessors;
  constexpr float kBeta = 0.5f;
  const std::vector<Measured> all = measure(shape, kBeta);
  const bw::GemmKernel& chosen =
      bw::choose_gemm_kernel(shape.m, shape.n, shape.k, bw::OutputType::kBf16, multiprocessors);
  const auto of_chosen = std::find_if(
      all.begin(), all.end(), [&](const Measured& measured) { return measured.kernel == &chosen; });
  const double ratio =
      static_cast<double>(of_chosen->cycles) / static_cast<double>(all.front().cycles);
  const std::string name =
      std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  std::printf("%-16s %4d  %-26s %8llu  %-26s %8llu  %5.2f\n", name.c_str(), multiprocessors,
              chosen.name, static_cast<unsigned long long>(of_chosen->cycles),
              all.front().kernel->name, static_cast<unsigned long long>(all.front().cycles), ratio);
  for (const Measured& measured : all) {
    if (!every) break;
    const int64_t modelled =
        bw::modelled_cycles(*measured.kernel, shape.m, shape.n, shape.k, multiprocessors);
    std::printf("    %-26s %8llu  (model %lld)\n", measured.kernel->name,
                static_cast<unsigned long long>(measured.cycles), static_cast<long long>(modelled));
  }
  std::fflush(stdout);
  return ratio;
}

/// A published rate for 4096 x 4096 x 4096 on a B200.
struct Published {
  const char* name;
  double teraflops;
};
constexpr Published kPublished[] = {{"CUTLASS, in vLLM", 1446}, {"TLX", 1507}};
constexpr Case kPublishedShape = {4096, 4096, 4096, kB200Multiprocessors};

constexpr double kTera = 1e12;

/// FLOP that a configuration makes of a byte that its SM takes from the L2 cache; what is multicast
/// counts once.
double flops_per_byte(const bw::GemmTraits& t) {
  const double flops = 2.0 * t.cta_rows() * t.mma_n * bw::kScaleBlock;
  const int rows = t.cta_rows() / t.a_slices() + t.cta_b_rows() / t.b_slices();
  return flops / (rows * bw::kScaleBlock + t.cta_rows() * static_cast<int>(sizeof(float)));
}

/// What no configuration exceeds, at the highest clock: of the tensor cores in TFLOP/s, and of the
/// L2 cache in TB/s.
struct Roofs {
  double tensor_cores, l2;

  explicit Roofs(const bw::sim::TimingTable& times) {
    constexpr double kFlopsOfTensorCore = 2 * 8192;  // a cycle and SM, of e4m3
    const double terahertz = bw::device_clock_hz() / kTera;
    tensor_cores = kFlopsOfTensorCore * kB200Multiprocessors * terahertz;
    l2 = times.l2_bytes_per_cycle * terahertz;
  }
  double of(const bw::GemmTraits& traits) const {
    return std::min(tensor_cores, flops_per_byte(traits) * l2);
  }
};

/// Prints every configuration's rate for a shape, the fastest first.
void print_rates(const Case& shape) {
  bw::sim::cudart::Runtime::instance().device().settings().sm_count = shape.multiprocessors;
  const bw::sim::TimingTable* const times =
      bw::sim::cudart::Runtime::instance().device().settings().times();
  bw::require(times != nullptr, "The rates are the timing model's: leave BW_SIM_TIMING out.");
  const Roofs roofs(*times);
  std::printf("roofs: the tensor cores' %.0f TFLOP/s, the L2 cache's %.2f TB/s\n",
              roofs.tensor_cores, roofs.l2);
  const bool is_published =
      shape.m == kPublishedShape.m && shape.n == kPublishedShape.n && shape.k == kPublishedShape.k;
  std::printf("%-26s %9s %9s %9s %9s", "configuration", "FLOP/byte", "cycles", "TFLOP/s",
              "roofline");
  for (const Published& other : kPublished) {
    if (is_published) std::printf("  / %s", other.name);
  }
  std::printf("\n");
  for (const Measured& measured : measure(shape, /*beta=*/0)) {
    const double seconds = static_cast<double>(measured.cycles) / bw::device_clock_hz();
    const double rate = bw::gemm_flops(shape.m, shape.n, shape.k) / seconds / kTera;
    std::printf("%-26s %9.0f %9llu %9.0f %8.0f%%", measured.kernel->name,
                flops_per_byte(measured.kernel->traits),
                static_cast<unsigned long long>(measured.cycles), rate,
                100 * rate / roofs.of(measured.kernel->traits));
    for (const Published& other : kPublished) {
      if (is_published)
        std::printf("  %*.2f", static_cast<int>(std::strlen(other.name)) + 2,
                    rate / other.teraflops);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  const bw::GemmKernel& chosen = bw::choose_gemm_kernel(
      shape.m, shape.n, shape.k, bw::OutputType::kBf16, static_cast<int>(shape.multiprocessors));
  std::printf("the program takes %s\n", chosen.name);
}

struct Options {
  int set = 0;                  ///< held out, or fitted
  int64_t shapes = 0;           ///< how many of the set, from the first; 0: all
  bool every = false;           ///< print all configurations' cycles
  double most = 0;              ///< the largest mean ratio
  int64_t m = 0, n = 0, k = 0;  ///< one shape's rates instead
};

bw::ExitStatus run(const Options& options) {
  if (options.m != 0 || options.n != 0 || options.k != 0) {
    bw::validate_dense_gemm(options.m, options.n, options.k, sizeof(float));
    print_rates({options.m, options.n, options.k, kB200Multiprocessors});
    return bw::kVerified;
  }
  std::printf("%-16s %4s  %-26s %8s  %-26s %8s  %5s\n", "M x N x K", "SMs", "chosen", "cycles",
              "fastest", "cycles", "ratio");
  double sum = 0, worst = 0;
  std::span<const Case> shapes = options.set == 0 ? std::span<const Case>(kHeldOut) : kFitted;
  bw::require(options.shapes >= 0 && options.shapes <= static_cast<int64_t>(shapes.size()),
              "--shapes is " + std::to_string(options.shapes) + "; the set has " +
                  std::to_string(shapes.size()) + " shapes. Give a number of them, or 0 for all.");
  if (options.shapes > 0) shapes = shapes.first(options.shapes);
  for (const Case& shape : shapes) {
    const double ratio = compare(shape, options.every);
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  const double mean = sum / static_cast<double>(shapes.size());
  std::printf("on average %.3f times the cycles of the fastest, at most %.2f times\n", mean, worst);
  if (options.most == 0 || mean <= options.most) return bw::kVerified;
  std::printf("The average may be %.3f.\n", options.most);
  return bw::kWrongResult;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bw::CommandLine command_line(
      "Chapter 5's choice of a configuration against the fastest one, in simulated cycles; with a\n"
      "shape, the rate of every configuration next to published ones.");
  command_line.add("set", options.set, {"held-out", "fitted"},
                   "the shapes: others than those that the choice was fitted to, or those");
  command_line.add("shapes", options.shapes, "how many of them, from the first; 0: all");
  command_line.add_flag("every", options.every, "print the cycles of every configuration");
  command_line.add("most", options.most,
                   "exit status 1 when the ratio is larger than this on average; 0: any is fine");
  command_line.add("m", options.m, "with --n and --k: rates for this shape; 0: the set");
  command_line.add("n", options.n, "columns of D");
  command_line.add("k", options.k, "columns of A and B");
  return bw::run_main(command_line, "05_config_choice", argc, argv, [&] { return run(options); });
}
