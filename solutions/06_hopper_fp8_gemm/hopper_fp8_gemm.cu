#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/hopper_device.hpp"
#include "common/host/stream_buffer.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"
#include "solutions/06_hopper_fp8_gemm/summation_order.hpp"

namespace bw::hopper {
namespace {

void check_call(const BlockwiseFp8GemmArguments& gemm) {
  validate_gemm_arguments(gemm);
  require(gemm.output == OutputType::kBf16,
          "The arguments ask for fp32 output; the Hopper kernel writes bf16.");
  require_hopper();
}

const GemmKernel& choose_for(const BlockwiseFp8GemmArguments& gemm, Workspace workspace) {
  return choose_gemm_kernel(gemm.m, gemm.n, gemm.k, gemm.beta != 0,
                            device_attribute(cudaDevAttrMultiProcessorCount), workspace);
}

void enqueue(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel, cudaStream_t stream) {
  PreparedGemm prepared = prepare_gemm(gemm, kernel);
  const StreamBuffer workspace(workspace_bytes(prepared), stream);
  if (workspace.data() != nullptr) attach_workspace(prepared, workspace.data(), stream);
  launch_gemm(prepared, stream);
}

}  // namespace

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream) {
  check_call(gemm);
  enqueue(gemm, choose_for(gemm, Workspace::kNone), stream);
}

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel,
                        cudaStream_t stream) {
  check_call(gemm);
  enqueue(gemm, kernel, stream);
}

struct GemmPlan::Prepared {
  PreparedGemm launch;
  DeviceBuffer<uint8_t> workspace;

  explicit Prepared(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel)
      : launch(prepare_gemm(gemm, kernel)), workspace(workspace_bytes(launch)) {
    if (workspace.size() == 0) return;
    attach_workspace(launch, workspace.data(), kDefaultStream);
    check_cuda(cudaStreamSynchronize(kDefaultStream), "wait for the cleared flags");
  }

 private:
  static constexpr cudaStream_t kDefaultStream = nullptr;
};

GemmPlan::GemmPlan(const BlockwiseFp8GemmArguments& gemm) {
  check_call(gemm);
  prepared_ = std::make_unique<Prepared>(gemm, choose_for(gemm, Workspace::kOfPlan));
}

GemmPlan::GemmPlan(const BlockwiseFp8GemmArguments& gemm, const GemmKernel& kernel) {
  check_call(gemm);
  prepared_ = std::make_unique<Prepared>(gemm, kernel);
}

GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
GemmPlan::~GemmPlan() = default;

const GemmKernel& GemmPlan::kernel() const { return *prepared_->launch.kernel; }

SummationOrder GemmPlan::summation_order() const {
  return hopper::summation_order(prepared_->launch);
}

void GemmPlan::launch(cudaStream_t stream) const { launch_gemm(prepared_->launch, stream); }

}  // namespace bw::hopper
