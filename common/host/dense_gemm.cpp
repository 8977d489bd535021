#include "common/host/dense_gemm.hpp"

#include <cstdio>

#include "common/device/scale_block.cuh"
#include "common/host/blockwise_reference.hpp"
#include "common/host/comparison.hpp"
#include "common/host/error.hpp"
#include "common/host/gemm_checks.hpp"

namespace bw {

void validate_dense_gemm(int64_t m, int64_t n, int64_t k, size_t bytes_per_d) {
  constexpr int64_t kKUnit = 16, kNUnit = 8;  // 16 bytes of e4m3, of bf16
  validate_gemm_shape(m, n, k);
  require(k % kKUnit == 0, "--k ", k,
          ": this program stores A and B without padding, and TMA needs rows that are a multiple"
          " of 16 bytes apart: give a multiple of 16.");
  require(n % kNUnit == 0, "--n ", n,
          ": this program stores C and D without padding, and rows must be a multiple of 16 bytes"
          " apart: give a multiple of 8.");
  constexpr double kBytesPerOperand = 2;                     // codes on host and device
  constexpr double kBytesPerReference = 2 * sizeof(double);  // the value and the magnitude
  const double rows = static_cast<double>(m), columns = static_cast<double>(n);
  const double depth = static_cast<double>(k);
  require_host_memory(kBytesPerOperand * (rows + columns) * depth +
                      (static_cast<double>(bytes_per_d) + kBytesPerReference) * rows * columns);
}

void DenseGemmOptions::add_to(CommandLine& command_line) {
  command_line.add("m", m, "rows of A and D");
  command_line.add("n", n, "rows of B, columns of D; a multiple of 8");
  command_line.add("k", k, "columns of A and B; a multiple of 16");
  command_line.add("seed", seed, "seed of the random inputs");
}

void DenseGemmOptions::validate() const {
  constexpr size_t kBytesPerD = 2 * sizeof(Bf16);  // on host and device
  validate_dense_gemm(m, n, k, kBytesPerD);
}

void DenseGemmOptions::print_parts(std::initializer_list<MessagePart> choices) const {
  std::printf("shape    m %lld, n %lld, k %lld, %s, seed %lld\n", static_cast<long long>(m),
              static_cast<long long>(n), static_cast<long long>(k), concatenate(choices).c_str(),
              static_cast<long long>(seed));
}

ExitStatus report_run(const BlockwiseProblem& problem, const DenseGemmRun& run) {
  print_time(run.milliseconds, gemm_flops(problem.m, problem.n, problem.k), run.wall_seconds);
  return report(compare_with_reference(run.d, problem.n, blockwise_reference(problem)), "D");
}

CUtensorMap make_fp8_operand_map(const char* name, const Fp8E4m3* data, int64_t rows, int64_t k,
                                 uint32_t tile_rows) {
  return make_tensor_map({.name = name,
                          .data = data,
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                          .element_bytes = sizeof(Fp8E4m3),
                          .inner = static_cast<uint64_t>(k),
                          .outer = static_cast<uint64_t>(rows),
                          .stride_bytes = static_cast<uint64_t>(k),
                          .box_inner = kScaleBlock,
                          .box_outer = tile_rows,
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B});
}

}  // namespace bw
