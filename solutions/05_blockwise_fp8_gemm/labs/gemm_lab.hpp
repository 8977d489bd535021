#pragma once
/// \file
/// The host's side of the labs that run the whole GEMM with kernels of their own.

#include <cstdint>
#include <cstdio>

#include "common/host/ceil_div.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/lab_cycles.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "solutions/05_blockwise_fp8_gemm/gemm_program.hpp"
#include "solutions/05_blockwise_fp8_gemm/instantiate_kernel.cuh"
#include "solutions/05_blockwise_fp8_gemm/prepared_gemm.hpp"

namespace bw::lab {

/// Adds the options of a problem; `options` must outlive the parsing.
inline void add_gemm_options(CommandLine& command_line, GemmOptions& options) {
  command_line.add("m", options.m, "rows of A, C and D");
  command_line.add("n", options.n, "rows of B, columns of C and D; a multiple of 8");
  command_line.add("k", options.k, "columns of A and B; a multiple of 16");
  command_line.add("beta", options.beta, "factor of the residual C; 0: no C");
  command_line.add("seed", options.seed, "seed of the random inputs");
  command_line.add("fill", options.fill, GemmOptions::fill_names(),
                   "normal random inputs, or A = 0 and a C that encodes its positions");
}

/// Bytes of A, B and A-scales that TMA brings into shared memory; a slice that is multicast counts
/// once, as L2 reads it.
inline double operand_bytes(const GemmTraits& t, int64_t m, int64_t n, int64_t k) {
  const int64_t a_rows = t.cta_rows() / t.a_slices(), b_rows = t.cta_b_rows() / t.b_slices();
  const int64_t bytes = (a_rows + b_rows) * kScaleBlock + t.cta_rows() * int64_t{sizeof(float)};
  const int64_t clusters = ceil_div(m, t.cluster_rows()) * ceil_div(n, t.cluster_columns());
  return static_cast<double>(clusters * t.cluster_size() * ceil_div(k, kScaleBlock)) *
         static_cast<double>(bytes);
}

/// Runs the GEMM once with the kernel of `traits`, prints what it loads and its cycles, verifies
/// it.
template <GemmTraits traits>
ExitStatus run_gemm_lab(const GemmOptions& options) {
  using Config = GemmConfig<traits>;
  using Payload = typename Config::Payload;
  const GemmKernel kernel = detail::instantiate_kernel<traits>();
  options.validate();
  require_blackwell();
  print_machine();
  options.print(kernel.name);
  std::printf("stages   %d of %u bytes in each CTA: A %u, B %u, A-scales %u\n",
              Config::kNumInputStages, Payload::kStageBytes, Payload::kATileBytes,
              Payload::kBTileBytes, Payload::kAScalesBytes);
  const BlockwiseProblem problem = options.make_problem();
  const DeviceProblem on_device(problem);
  constexpr cudaStream_t kDefaultStream = nullptr;
  const PreparedGemm gemm(on_device.arguments(), kernel);
  EventTimer timer;
  timer.start(kDefaultStream);
  gemm.launch(kDefaultStream);
  const float milliseconds = timer.stop(kDefaultStream);
  constexpr double kMebibyte = 1 << 20;
  std::printf("operands %.1f MiB read from L2\n",
              operand_bytes(traits, options.m, options.n, options.k) / kMebibyte);
  print_cycles(milliseconds);
  return verify_gemm(problem, on_device.download_d<Bf16>());
}

}  // namespace bw::lab
