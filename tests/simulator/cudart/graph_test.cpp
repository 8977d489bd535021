/// \file
/// Graphs by their explicit nodes, and captures that must be refused.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "tests/simulator/cudart/fat_binaries.hpp"

namespace {

constexpr const char* kGraphPtx = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry scale(.param .u64 data, .param .u32 factor)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [factor];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  mul.lo.s32 %r4, %r3, %r1;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";
constexpr unsigned kThreads = 8;
constexpr size_t kBytes = kThreads * sizeof(int);

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaLibraryLoadData(&library_, kGraphPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&kernel_, library_, "scale"), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), kBytes), cudaSuccess);
    ASSERT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
  }
  void TearDown() override {
    (void)cudaGetLastError();
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    EXPECT_EQ(cudaFree(data_), cudaSuccess);
    EXPECT_EQ(cudaLibraryUnload(library_), cudaSuccess);
  }

  cudaKernelNodeParams kernel_params(int& factor) {
    arguments_ = {&data_, &factor};
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(kernel_);
    params.gridDim = dim3(1);
    params.blockDim = dim3(kThreads);
    params.kernelParams = arguments_.data();
    return params;
  }

  std::vector<int> run(cudaGraphExec_t exec) {
    EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return results_;
  }

  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  int* data_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::array<void*, 2> arguments_{};
  std::vector<int> results_ = std::vector<int>(kThreads, -1);
};

TEST_F(Graphs, RunInTheOrderOfTheirDependencies) {
  // Added in the opposite order of what they depend on.
  cudaGraphNode_t read = nullptr;
  cudaGraphNode_t multiply = nullptr;
  cudaGraphNode_t fill = nullptr;
  cudaGraphNode_t call = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&read, graph_, nullptr, 0, results_.data(), data_, kBytes,
                                     cudaMemcpyDeviceToHost),
            cudaSuccess);
  int factor = 5;
  const cudaKernelNodeParams kernel = kernel_params(factor);
  ASSERT_EQ(cudaGraphAddKernelNode(&multiply, graph_, nullptr, 0, &kernel), cudaSuccess);
  factor = 99;  // the node has its own copy
  cudaMemsetParams memset{};
  memset.dst = data_;
  memset.value = 3;
  memset.elementSize = 4;
  memset.width = kThreads;
  memset.height = 1;
  ASSERT_EQ(cudaGraphAddMemsetNode(&fill, graph_, nullptr, 0, &memset), cudaSuccess);
  static int called = 0;
  const cudaHostNodeParams host{[](void* count) { ++*static_cast<int*>(count); }, &called};
  ASSERT_EQ(cudaGraphAddHostNode(&call, graph_, &read, 1, &host), cudaSuccess);
  const cudaGraphNode_t from[] = {fill, multiply};
  const cudaGraphNode_t to[] = {multiply, read};
  ASSERT_EQ(cudaGraphAddDependencies(graph_, from, to, nullptr, 2), cudaSuccess);

  size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(cudaGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 3u);
  count = 1;
  cudaGraphNode_t root = nullptr;
  EXPECT_EQ(cudaGraphGetRootNodes(graph_, &root, &count), cudaSuccess);
  EXPECT_EQ(root, fill);

  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kThreads, 15));
  EXPECT_EQ(called, 1);

  int seven = 7;
  const cudaKernelNodeParams other = kernel_params(seven);
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(exec, multiply, &other), cudaSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kThreads, 21));
  ASSERT_EQ(cudaGraphNodeSetEnabled(exec, multiply, 0), cudaSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kThreads, 3));
  EXPECT_EQ(called, 3);
  cudaKernelNodeParams kept{};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(multiply, &kept), cudaSuccess);
  EXPECT_EQ(*static_cast<int*>(kept.kernelParams[1]), 5);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

TEST_F(Graphs, EdgesKeepTheirAnnotations) {
  int factor = 2;
  const cudaKernelNodeParams kernel = kernel_params(factor);
  cudaGraphNode_t first = nullptr, second = nullptr, empty = nullptr;
  ASSERT_EQ(cudaGraphAddKernelNode(&first, graph_, nullptr, 0, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&second, graph_, nullptr, 0, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&empty, graph_, nullptr, 0), cudaSuccess);
  const cudaGraphEdgeData early{
      cudaGraphKernelNodePortProgrammatic, 0, cudaGraphDependencyTypeProgrammatic, {}};
  ASSERT_EQ(cudaGraphAddDependencies(graph_, &first, &second, &early, 1), cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph_, &second, &empty, nullptr, 1), cudaSuccess);
  // A programmatic edge leads from a kernel to a kernel.
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphAddDependencies(graph_, &first, &empty, &early, 1), cudaErrorInvalidValue);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("kernel node"), std::string::npos);

  cudaGraph_t clone = nullptr;
  ASSERT_EQ(cudaGraphClone(&clone, graph_), cudaSuccess);
  for (const cudaGraph_t graph : {graph_, clone}) {
    std::array<cudaGraphNode_t, 2> from{}, to{};
    std::array<cudaGraphEdgeData, 2> data{};
    size_t count = 2;
    ASSERT_EQ(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count), cudaSuccess);
    ASSERT_EQ(count, 2u);
    EXPECT_EQ(data[0].type, cudaGraphDependencyTypeProgrammatic);
    EXPECT_EQ(data[0].from_port, cudaGraphKernelNodePortProgrammatic);
    EXPECT_EQ(data[1].type, cudaGraphDependencyTypeDefault);
  }
  cudaGraphNode_t before = nullptr;
  cudaGraphEdgeData data{};
  size_t count = 1;
  ASSERT_EQ(cudaGraphNodeGetDependencies(second, &before, &data, &count), cudaSuccess);
  EXPECT_EQ(before, first);
  EXPECT_EQ(data.type, cudaGraphDependencyTypeProgrammatic);
  ASSERT_EQ(cudaGraphRemoveDependencies(graph_, &first, &second, nullptr, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphNodeGetDependencies(second, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 0u);
  // A node may come with its edges.
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = kernel.func;
  params.kernel.gridDim = kernel.gridDim;
  params.kernel.blockDim = kernel.blockDim;
  params.kernel.kernelParams = kernel.kernelParams;
  cudaGraphNode_t third = nullptr;
  ASSERT_EQ(cudaGraphAddNode(&third, graph_, &second, &early, 1, &params), cudaSuccess);
  count = 1;
  data = {};
  ASSERT_EQ(cudaGraphNodeGetDependencies(third, &before, &data, &count), cudaSuccess);
  EXPECT_EQ(before, second);
  EXPECT_EQ(data.type, cudaGraphDependencyTypeProgrammatic);
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);
}

TEST_F(Graphs, ACapturedDependentLaunchHasAProgrammaticEdge) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kThreads);
  config.stream = stream_;
  config.attrs = &attribute;
  int factor = 2;
  arguments_ = {&data_, &factor};
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data_, 0, kBytes, stream_), cudaSuccess);
  for (const unsigned attributes : {1u, 1u, 0u}) {
    config.numAttrs = attributes;
    ASSERT_EQ(cudaLaunchKernelExC(&config, kernel_, arguments_.data()), cudaSuccess);
  }
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &captured), cudaSuccess);
  std::array<cudaGraphNode_t, 3> from{}, to{};
  std::array<cudaGraphEdgeData, 3> data{};
  size_t count = 3;
  ASSERT_EQ(cudaGraphGetEdges(captured, from.data(), to.data(), data.data(), &count), cudaSuccess);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(data[0].type, cudaGraphDependencyTypeDefault) << "a fill ends first";
  EXPECT_EQ(data[1].type, cudaGraphDependencyTypeProgrammatic);
  EXPECT_EQ(data[2].type, cudaGraphDependencyTypeDefault) << "without the attribute";
  EXPECT_EQ(cudaGraphDestroy(captured), cudaSuccess);
}

TEST_F(Graphs, ACircleOfDependenciesIsRefused) {
  cudaGraphNode_t a = nullptr;
  cudaGraphNode_t b = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&a, graph_, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&b, graph_, &a, 1), cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph_, &b, &a, nullptr, 1), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaErrorInvalidValue);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("form a cycle"), std::string::npos);
}

TEST_F(Graphs, AChildRunsInItsPlaceAndAnUpdateNeedsTheSameShape) {
  cudaGraph_t child = nullptr;
  ASSERT_EQ(cudaGraphCreate(&child, 0), cudaSuccess);
  cudaGraphNode_t inner = nullptr;
  int factor = 2;
  const cudaKernelNodeParams kernel = kernel_params(factor);
  ASSERT_EQ(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &kernel), cudaSuccess);
  const std::vector<int> ones(kThreads, 1);
  cudaGraphNode_t write = nullptr;
  cudaGraphNode_t nested = nullptr;
  cudaGraphNode_t read = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&write, graph_, nullptr, 0, data_, ones.data(), kBytes,
                                     cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&nested, graph_, &write, 1, child), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&read, graph_, &nested, 1, results_.data(), data_, kBytes,
                                     cudaMemcpyDeviceToHost),
            cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kThreads, 2));
  cudaGraphExecUpdateResultInfo info{};
  EXPECT_EQ(cudaGraphExecUpdate(exec, child, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_NE(info.result, cudaGraphExecUpdateSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kThreads, 2));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(child), cudaSuccess);
}

TEST_F(Graphs, WhatIsNotSupportedIsNamed) {
  cudaGraphNode_t node = nullptr;
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeConditional;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, &params), cudaErrorNotSupported);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("cudaGraphAddNode: conditional nodes are not supported"), std::string::npos)
      << text;
}

TEST_F(Graphs, ACaptureRunsNothingAndHoldsAllocationsOff) {
  ASSERT_EQ(cudaMemset(data_, 0, kBytes), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data_, 1, kBytes, stream_), cudaSuccess);
  EXPECT_EQ(*data_, 0);
  cudaStreamCaptureStatus status{};
  EXPECT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  void* more = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaMallocAsync(&more, 4, stream_), cudaErrorNotSupported);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no allocations"), std::string::npos);
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &captured), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(captured, nullptr);
}

TEST_F(Graphs, WaitingForACapturedStreamInvalidatesTheCapture) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &captured), cudaErrorStreamCaptureInvalidated);

  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaMemset(data_, 0, kBytes), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &captured), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Graphs, AStreamThatJoinedMustBeWaitedFor) {
  cudaStream_t other = nullptr;
  cudaEvent_t fork = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&fork), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data_, 1, kBytes, other), cudaSuccess);
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &captured), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(cudaEventDestroy(fork), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

}  // namespace
