#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

#include <mutex>

#include "common/host/cuda_check.hpp"
#include "common/host/device_attribute.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/executable_graph.hpp"
#include "common/host/hopper_device.hpp"
#include "common/host/stream.hpp"
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

GemmChoice choose_for(const BlockwiseFp8GemmArguments& gemm, Workspace workspace) {
  return choose_gemm(gemm.m, gemm.n, gemm.k, device_attribute(cudaDevAttrMultiProcessorCount),
                     workspace);
}

void enqueue(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice, cudaStream_t stream) {
  PreparedGemm prepared = prepare_gemm(gemm, choice);
  const StreamBuffer workspace(workspace_bytes(prepared), stream);
  if (workspace.data() != nullptr) attach_workspace(prepared, workspace.data(), stream);
  launch_gemm(prepared, stream);
}

/// What a plan launches, with `workspace` allocated for it.
PreparedGemm prepare_with_workspace(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice,
                                    DeviceBuffer<uint8_t>& workspace) {
  PreparedGemm prepared = prepare_gemm(gemm, choice);
  workspace = DeviceBuffer<uint8_t>(workspace_bytes(prepared));
  if (workspace.size() > 0) {
    constexpr cudaStream_t kDefaultStream = nullptr;
    attach_workspace(prepared, workspace.data(), kDefaultStream);
    check_cuda(cudaStreamSynchronize(kDefaultStream), "wait for the cleared flags");
  }
  return prepared;
}

}  // namespace

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream) {
  check_call(gemm);
  enqueue(gemm, choose_for(gemm, Workspace::kNone), stream);
}

void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice,
                        cudaStream_t stream) {
  check_call(gemm);
  enqueue(gemm, choice, stream);
}

struct GemmPlan::Prepared {
  Prepared(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice)
      : gemm_(prepare_with_workspace(gemm, choice, workspace_)),
        graph_([&](cudaStream_t stream) { launch_gemm(gemm_, stream); }) {}

  const PreparedGemm& gemm() const { return gemm_; }

  void launch(cudaStream_t stream) {
    if (is_being_captured(stream)) {
      launch_gemm(gemm_, stream);  // becomes a part of the caller's graph
    } else {
      const std::scoped_lock lock(mutex_);  // a graph is for one thread at a time
      graph_.launch(stream);
    }
  }

 private:
  DeviceBuffer<uint8_t> workspace_;
  PreparedGemm gemm_;
  std::mutex mutex_;
  ExecutableGraph graph_;
};

GemmPlan::GemmPlan(const BlockwiseFp8GemmArguments& gemm) {
  check_call(gemm);
  prepared_ = std::make_unique<Prepared>(gemm, choose_for(gemm, Workspace::kOfPlan));
}

GemmPlan::GemmPlan(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice) {
  check_call(gemm);
  prepared_ = std::make_unique<Prepared>(gemm, choice);
}

GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
GemmPlan::~GemmPlan() = default;

const GemmKernel& GemmPlan::kernel() const { return prepared_->gemm().kernel(); }
GemmChoice GemmPlan::choice() const { return prepared_->gemm().choice; }

SummationOrder GemmPlan::summation_order() const {
  return hopper::summation_order(prepared_->gemm());
}

void GemmPlan::launch(cudaStream_t stream) const { prepared_->launch(stream); }

}  // namespace bw::hopper
