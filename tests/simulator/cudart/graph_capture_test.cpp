/// \file
/// Graphs by captures, and captures that must be refused.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/simulator/cudart/graphs.hpp"

namespace {

using bw::sim::test::Graphs;
using bw::sim::test::kGraphBytes;
using bw::sim::test::kGraphThreads;

TEST_F(Graphs, ACapturedDependentLaunchHasAProgrammaticEdge) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kGraphThreads);
  config.stream = stream_;
  config.attrs = &attribute;
  int factor = 2;
  arguments_ = {&data_, &factor};
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data_, 0, kGraphBytes, stream_), cudaSuccess);
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

TEST_F(Graphs, ACaptureRunsNothingAndHoldsAllocationsOff) {
  ASSERT_EQ(cudaMemset(data_, 0, kGraphBytes), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data_, 1, kGraphBytes, stream_), cudaSuccess);
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
  EXPECT_EQ(cudaMemset(data_, 0, kGraphBytes), cudaErrorStreamCaptureImplicit);
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
  ASSERT_EQ(cudaMemsetAsync(data_, 1, kGraphBytes, other), cudaSuccess);
  cudaGraph_t captured = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &captured), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(cudaEventDestroy(fork), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

TEST_F(Graphs, ACaptureGoesOnAfterTheNodesThatItIsGiven) {
  std::array<cudaGraphNode_t, 2> before{};
  for (cudaGraphNode_t& node : before)
    ASSERT_EQ(cudaGraphAddEmptyNode(&node, graph_, nullptr, 0), cudaSuccess);
  cudaStreamCaptureStatus status{};
  unsigned long long id = 9, next_id = 0;
  cudaGraph_t graph = graph_;
  const cudaGraphNode_t* tail = before.data();
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 9;
  const auto info = [&](unsigned long long* number) {
    ASSERT_EQ(cudaStreamGetCaptureInfo(stream_, &status, number, &graph, &tail, &edges, &count),
              cudaSuccess);
  };
  info(&id);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(tail, nullptr);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(stream_, graph_, before.data(), nullptr, 2,
                                          cudaStreamCaptureModeGlobal),
            cudaSuccess);
  info(&id);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(graph, graph_);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(tail[0], before[0]);
  EXPECT_EQ(tail[1], before[1]);
  EXPECT_EQ(edges[1].type, cudaGraphDependencyTypeDefault);
  ASSERT_EQ(cudaMemsetAsync(data_, 0, kGraphBytes, stream_), cudaSuccess);
  info(&id);
  ASSERT_EQ(count, 1u);
  const cudaGraphNode_t fill = tail[0];
  // More nodes, each once; then others in their place.
  ASSERT_EQ(cudaStreamUpdateCaptureDependencies(stream_, before.data(), nullptr, 1,
                                                cudaStreamAddCaptureDependencies),
            cudaSuccess);
  ASSERT_EQ(cudaStreamUpdateCaptureDependencies(stream_, before.data(), nullptr, 1,
                                                cudaStreamAddCaptureDependencies),
            cudaSuccess);
  info(&id);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(tail[0], fill);
  EXPECT_EQ(tail[1], before[0]);
  ASSERT_EQ(cudaStreamUpdateCaptureDependencies(stream_, &before[1], nullptr, 1,
                                                cudaStreamSetCaptureDependencies),
            cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data_, 1, kGraphBytes, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(graph, graph_);
  std::array<cudaGraphNode_t, 3> from{}, to{};
  count = 3;
  ASSERT_EQ(cudaGraphGetEdges(graph_, from.data(), to.data(), nullptr, &count), cudaSuccess);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(from, (std::array{before[0], before[1], before[1]}));
  EXPECT_EQ(to[0], fill);
  EXPECT_EQ(to[1], fill);
  EXPECT_NE(to[2], fill);
  // Every capture has a number of its own.
  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
  info(&next_id);
  EXPECT_NE(next_id, id);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(Graphs, WhatACaptureDoesNotAllowIsRefused) {
  testing::internal::CaptureStderr();
  cudaStream_t other = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  const auto begin = [](cudaStream_t stream) {
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  };
  EXPECT_EQ(begin(nullptr), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamUpdateCaptureDependencies(stream_, nullptr, nullptr, 0, 0),
            cudaErrorIllegalState);
  ASSERT_EQ(begin(stream_), cudaSuccess);
  EXPECT_EQ(begin(stream_), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamEndCapture(stream_, nullptr), cudaErrorInvalidValue);
  // An event of the capture is never reached; a stream that waits for it takes part.
  ASSERT_EQ(cudaMemsetAsync(data_, 0, kGraphBytes, stream_), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorCapturedEvent);
  ASSERT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(cudaMemsetAsync(data_, 0, kGraphBytes, stream_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  // The capture of the event has ended.
  EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaErrorCapturedEvent);
  ASSERT_EQ(cudaEventRecord(event, other), cudaSuccess);
  ASSERT_EQ(begin(stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, event, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  const std::string text = testing::internal::GetCapturedStderr();
  for (const char* const part :
       {"the legacy default stream cannot be captured", "the stream is not being captured",
        "the stream is being captured already", "the capture began on another stream",
        "so it is never reached", "is invalid because of an earlier call",
        "in a capture that has ended", "outside the capture of this stream"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

}  // namespace
