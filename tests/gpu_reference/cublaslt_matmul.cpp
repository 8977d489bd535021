#include "tests/gpu_reference/cublaslt_matmul.hpp"

#include "common/host/blockwise_problem.hpp"
#include "common/host/ceil_div.hpp"
#include "common/host/cuda_check.hpp"

namespace bw {
namespace {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;

void check_cublas(cublasStatus_t status, const std::string& action) {
  require(status == CUBLAS_STATUS_SUCCESS, "cuBLASLt could not ", action, ": ",
          cublasLtGetStatusString(status), " (", cublasLtGetStatusName(status), ").");
}

template <class T>
void set_attribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                   const T& value) {
  check_cublas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)),
               "set an attribute of the operation");
}

cublasLtMatrixLayout_t make_layout(cudaDataType type, int64_t rows, int64_t columns,
                                   int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&layout, type, rows, columns, stride),
               "describe a matrix");
  return layout;
}

}  // namespace

std::string cublaslt_version() {
  const size_t version = cublasLtGetVersion();  // 130100: 13.1.0
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

CublasLtMatmul::CublasLtMatmul(const BlockwiseFp8GemmArguments& gemm, Bf16* d, int most_algorithms)
    : workspace_(kWorkspaceBytes),
      a_(gemm.a),
      b_(gemm.b),
      c_(gemm.beta == 0 ? d : gemm.c),
      d_(d),
      beta_(gemm.beta) {
  check_cublas(cublasLtCreate(&handle_), "start");
  constexpr int64_t kVectorUnit = 4;  // A-scales of one K block are 16-byte vectors
  if (gemm.lda_scales != gemm.m || gemm.m % kVectorUnit != 0) return;
  describe_problem(gemm);
  find_algorithms(most_algorithms);
}

CublasLtMatmul::~CublasLtMatmul() {
  for (cublasLtMatrixLayout_t layout : {first_, second_, residual_, result_}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
  if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

void CublasLtMatmul::describe_problem(const BlockwiseFp8GemmArguments& gemm) {
  // B's scales with rows of a multiple of 4.
  constexpr int64_t kRowUnit = 4;
  const int64_t k_blocks = ceil_div(gemm.k, kScaleBlock), n_blocks = ceil_div(gemm.n, kScaleBlock);
  const int64_t padded = round_up(k_blocks, kRowUnit);
  padded_scales_ = DeviceBuffer<float>(padded * n_blocks);
  padded_scales_.fill_bytes(0);
  check_cuda(cudaMemcpy2D(padded_scales_.data(), padded * sizeof(float), gemm.b_scales,
                          gemm.ldb_scales * sizeof(float), k_blocks * sizeof(float), n_blocks,
                          cudaMemcpyDeviceToDevice),
             "pad the scales of B");

  check_cublas(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "describe the operation");
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                static_cast<const void*>(padded_scales_.data()));
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                static_cast<const void*>(gemm.a_scales));
  first_ = make_layout(CUDA_R_8F_E4M3, gemm.k, gemm.n, gemm.ldb);
  second_ = make_layout(CUDA_R_8F_E4M3, gemm.k, gemm.m, gemm.lda);
  residual_ = make_layout(CUDA_R_16BF, gemm.n, gemm.m, gemm.beta == 0 ? gemm.ldd : gemm.ldc);
  result_ = make_layout(CUDA_R_16BF, gemm.n, gemm.m, gemm.ldd);
}

void CublasLtMatmul::find_algorithms(int most) {
  cublasLtMatmulPreference_t preference = nullptr;
  check_cublas(cublasLtMatmulPreferenceCreate(&preference), "make a preference");
  check_cublas(
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &kWorkspaceBytes, sizeof(kWorkspaceBytes)),
      "take the workspace's size");
  std::vector<cublasLtMatmulHeuristicResult_t> results(most);
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation_, first_, second_, residual_, result_,
                                     preference, most, results.data(), &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return;
  check_cublas(status, "look for algorithms");
  for (int i = 0; i < count; ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back(results[i].algo);
  }
}

void CublasLtMatmul::run(int algorithm, cudaStream_t stream) const {
  constexpr float kAlpha = 1;
  check_cublas(cublasLtMatmul(handle_, operation_, &kAlpha, b_, first_, a_, second_, &beta_, c_,
                              residual_, d_, result_, &algorithms_.at(algorithm),
                              const_cast<uint8_t*>(workspace_.data()), kWorkspaceBytes, stream),
               "run the matmul");
}

}  // namespace bw
