#pragma once
/// \file
/// Several blockwise-scaled FP8 GEMMs of one N and K in one launch, as the layers of a
/// mixture of experts need them: each expert has weights of its own, and as many rows as tokens
/// were sent to it.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "solutions/06_hopper_fp8_gemm/group_schedule.cuh"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

namespace bw::hopper {

/// D_g = A_g · B_gᵀ (blockwise-scaled) + beta · C_g for g = 0 … groups - 1.
struct GroupedFp8GemmArguments {
  /// The matrices of all products, below each other. `m`: rows of A, C and D; `n`, `k`: of each
  /// product. `b` is [groups · n, ldb], `b_scales` [groups · ceil(n / 128), ldb_scales]: a
  /// product's blocks of 128 rows begin with its first row.
  BlockwiseFp8GemmArguments gemm;
  int64_t groups = 0;                             ///< products
  GroupLayout layout = GroupLayout::kContiguous;  ///< how the rows are divided
  /// In device memory, read when the kernel runs. Contiguous: the product of each block of 128
  /// rows, [ceil(m / 128)]; rows of a block whose number is not in 0 … groups - 1 stay as
  /// they are. Masked: the rows that count of each product, [groups]; m is groups times the room of
  /// each, and that a multiple of 128. A count below 0 is 0, one above the room is the room. What D
  /// holds in the other rows of a product's last block of 128 is not defined.
  const int32_t* numbers = nullptr;
  /// Rows that a masked product has as a rule, for the choice of a configuration; 0: not known.
  int64_t expected_rows = 0;
};

/// Throws Error for the first condition that `arguments` breaks. Device memory isn't
/// read: the kernel copes with every number.
void validate_grouped_gemm_arguments(const GroupedFp8GemmArguments& arguments);

/// The compiled configurations; those of gemm_kernels() are for one product.
const std::vector<GemmKernel>& grouped_gemm_kernels();

/// The choices for several products: those of grouped_gemm_kernels().
const std::vector<GemmChoice>& grouped_gemm_choices();

/// The choice with the least predicted time for such products on `multiprocessors`. Only the
/// numbers of `arguments` are read, no addresses.
GemmChoice choose_grouped_gemm(const GroupedFp8GemmArguments& arguments, int multiprocessors);

/// Enqueues all products on `stream` and returns; may be captured into a graph. Throws Error for
/// what validate_grouped_gemm_arguments() refuses, for a device that isn't of compute capability
/// 9.0, and for what CUDA reports.
void grouped_fp8_gemm(const GroupedFp8GemmArguments& arguments, cudaStream_t stream);

/// The same by the caller's choice, of a configuration of grouped_gemm_kernels().
void grouped_fp8_gemm(const GroupedFp8GemmArguments& arguments, const GemmChoice& choice,
                      cudaStream_t stream);

/// Positions of products with these numbers of rows in the contiguous layout.
struct ContiguousRows {
  std::vector<int64_t> first_row;  ///< of each product
  std::vector<int32_t> numbers;    ///< the product of each block of 128 rows
  int64_t rows = 0;                ///< of A, C and D
};

/// One product after the other, each padded to a multiple of 128 rows; one without rows has no
/// block. Throws Error for a negative number of rows.
ContiguousRows contiguous_rows(const std::vector<int64_t>& rows_of_groups);

}  // namespace bw::hopper
