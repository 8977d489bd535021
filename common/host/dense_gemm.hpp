#pragma once
/// \file
/// GEMMs over matrices in dense rows, D [M, N] = A [M, K] · B [N, K]ᵀ with e4m3 operands: the
/// options and shapes that programs take, the operands' tensor maps, and the verdict on a bf16 D.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "common/host/blockwise_problem.hpp"
#include "common/host/command_line.hpp"
#include "common/host/number_formats.hpp"
#include "common/host/program.hpp"
#include "common/host/require.hpp"
#include "common/host/tensor_map.hpp"

namespace bw {

/// Throws Error for options --m, --n, --k that TMA can't address, whose dense rows it can't take,
/// or whose matrices and reference don't fit the host. `bytes_per_d`: what the host holds for each
/// element of D, C and their copies on the device (which the simulator keeps in host memory too).
void validate_dense_gemm(int64_t m, int64_t n, int64_t k, size_t bytes_per_d);

/// The options that name a problem.
struct DenseGemmOptions {
  int64_t m = 512;   ///< rows of A, C and D
  int64_t n = 512;   ///< rows of B, columns of C and D
  int64_t k = 1024;  ///< columns of A and B
  int64_t seed = 1;  ///< seed of the random inputs

  /// Adds the options to a command line; this object must outlive its parsing.
  void add_to(CommandLine& command_line);

  /// Throws Error for what the kernel would refuse and for what won't fit.
  void validate() const;

  /// Prints the problem's line; `choices`: the program's own options, in words.
  template <class... Parts>
  void print(const Parts&... choices) const {
    print_parts({MessagePart(choices)...});
  }

 private:
  void print_parts(std::initializer_list<MessagePart> choices) const;
};

/// Floating-point operations of a problem: one product and one sum for each m, n, k.
inline double gemm_flops(int64_t m, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

/// What one run on the device gives.
struct DenseGemmRun {
  std::vector<Bf16> d;  ///< the result
  float milliseconds;   ///< of the fastest run, on the device
  double wall_seconds;  ///< of the whole
};

/// Prints the time of a run, and the verdict on its D by the float64 reference.
ExitStatus report_run(const BlockwiseProblem& problem, const DenseGemmRun& run);

/// Map of an e4m3 operand [rows, k] whose tiles are `tile_rows` rows of 128 bytes along K, with
/// the 128B swizzle.
CUtensorMap make_fp8_operand_map(const char* name, const Fp8E4m3* data, int64_t rows, int64_t k,
                                 uint32_t tile_rows);

}  // namespace bw
