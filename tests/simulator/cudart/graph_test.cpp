/// \file
/// Graphs by their explicit nodes.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulator/cudart/graphs.hpp"

namespace {

using bw::sim::test::Graphs;
using bw::sim::test::kGraphBytes;
using bw::sim::test::kGraphThreads;

TEST_F(Graphs, RunInTheOrderOfTheirDependencies) {
  // Added in the opposite order of what they depend on.
  cudaGraphNode_t read = nullptr;
  cudaGraphNode_t multiply = nullptr;
  cudaGraphNode_t fill = nullptr;
  cudaGraphNode_t call = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&read, graph_, nullptr, 0, results_.data(), data_, kGraphBytes,
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
  memset.width = kGraphThreads;
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
  EXPECT_EQ(run(exec), std::vector<int>(kGraphThreads, 15));
  EXPECT_EQ(called, 1);

  int seven = 7;
  const cudaKernelNodeParams other = kernel_params(seven);
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(exec, multiply, &other), cudaSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kGraphThreads, 21));
  ASSERT_EQ(cudaGraphNodeSetEnabled(exec, multiply, 0), cudaSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kGraphThreads, 3));
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
  const std::vector<int> ones(kGraphThreads, 1);
  cudaGraphNode_t write = nullptr;
  cudaGraphNode_t nested = nullptr;
  cudaGraphNode_t read = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&write, graph_, nullptr, 0, data_, ones.data(), kGraphBytes,
                                     cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&nested, graph_, &write, 1, child), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&read, graph_, &nested, 1, results_.data(), data_, kGraphBytes,
                                     cudaMemcpyDeviceToHost),
            cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kGraphThreads, 2));
  cudaGraphExecUpdateResultInfo info{};
  EXPECT_EQ(cudaGraphExecUpdate(exec, child, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_NE(info.result, cudaGraphExecUpdateSuccess);
  EXPECT_EQ(run(exec), std::vector<int>(kGraphThreads, 2));
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

TEST_F(Graphs, ANodeReturnsWhatItWasLastGiven) {
  testing::internal::CaptureStderr();
  cudaEvent_t events[2] = {};
  for (cudaEvent_t& event : events) ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  int factors[] = {5, 7};
  static std::array<char, kGraphBytes> host{};
  cudaGraphNode_t kernel = nullptr, copy = nullptr, fill = nullptr, call = nullptr;
  cudaGraphNode_t record = nullptr, wait = nullptr;
  for (const unsigned k : {0u, 1u}) {
    SCOPED_TRACE(k);
    cudaKernelNodeParams launch = kernel_params(factors[k]);
    launch.gridDim = dim3(1 + k, 2, 3);
    launch.sharedMemBytes = 16 * k;
    cudaMemcpy3DParms box{};
    box.srcPtr = {data_, 8 * (1 + k), 4, 2};
    box.dstPtr = {host.data(), 8, 4, 3};
    box.extent = {4, 2, 1 + k};
    box.kind = cudaMemcpyDeviceToHost;
    const cudaMemsetParams memset{data_, 16, 3 + k, 2 + 2 * k, 4 - 2 * k, 2};
    const cudaHostNodeParams function{[](void*) {}, &factors[k]};
    if (k == 0) {
      ASSERT_EQ(cudaGraphAddKernelNode(&kernel, graph_, nullptr, 0, &launch), cudaSuccess);
      ASSERT_EQ(cudaGraphAddMemcpyNode(&copy, graph_, nullptr, 0, &box), cudaSuccess);
      ASSERT_EQ(cudaGraphAddMemsetNode(&fill, graph_, nullptr, 0, &memset), cudaSuccess);
      ASSERT_EQ(cudaGraphAddHostNode(&call, graph_, nullptr, 0, &function), cudaSuccess);
      ASSERT_EQ(cudaGraphAddEventRecordNode(&record, graph_, nullptr, 0, events[0]), cudaSuccess);
      ASSERT_EQ(cudaGraphAddEventWaitNode(&wait, graph_, nullptr, 0, events[0]), cudaSuccess);
    } else {
      ASSERT_EQ(cudaGraphKernelNodeSetParams(kernel, &launch), cudaSuccess);
      ASSERT_EQ(cudaGraphMemcpyNodeSetParams(copy, &box), cudaSuccess);
      ASSERT_EQ(cudaGraphMemsetNodeSetParams(fill, &memset), cudaSuccess);
      ASSERT_EQ(cudaGraphHostNodeSetParams(call, &function), cudaSuccess);
      ASSERT_EQ(cudaGraphEventRecordNodeSetEvent(record, events[1]), cudaSuccess);
      ASSERT_EQ(cudaGraphEventWaitNodeSetEvent(wait, events[1]), cudaSuccess);
    }
    cudaKernelNodeParams launched{};
    ASSERT_EQ(cudaGraphKernelNodeGetParams(kernel, &launched), cudaSuccess);
    EXPECT_EQ(launched.func, launch.func);
    EXPECT_EQ(launched.gridDim.x, 1 + k);
    EXPECT_EQ(launched.gridDim.z, 3u);
    EXPECT_EQ(launched.blockDim.x, kGraphThreads);
    EXPECT_EQ(launched.sharedMemBytes, 16 * k);
    EXPECT_EQ(*static_cast<int*>(launched.kernelParams[1]), factors[k]);
    cudaMemcpy3DParms copied{};
    ASSERT_EQ(cudaGraphMemcpyNodeGetParams(copy, &copied), cudaSuccess);
    EXPECT_EQ(copied.srcPtr.ptr, data_);
    EXPECT_EQ(copied.srcPtr.pitch, 8 * (1 + k));
    EXPECT_EQ(copied.srcPtr.ysize, 2u);
    EXPECT_EQ(copied.dstPtr.ptr, host.data());
    EXPECT_EQ(copied.dstPtr.pitch, 8u);
    EXPECT_EQ(copied.dstPtr.ysize, 3u);
    EXPECT_EQ(copied.extent.width, 4u);
    EXPECT_EQ(copied.extent.height, 2u);
    EXPECT_EQ(copied.extent.depth, 1 + k);
    EXPECT_EQ(copied.kind, cudaMemcpyDeviceToHost);
    cudaMemsetParams filled{};
    ASSERT_EQ(cudaGraphMemsetNodeGetParams(fill, &filled), cudaSuccess);
    EXPECT_EQ(filled.dst, data_);
    EXPECT_EQ(filled.pitch, 16u);
    EXPECT_EQ(filled.value, 3 + k);
    EXPECT_EQ(filled.elementSize, 2 + 2 * k);
    EXPECT_EQ(filled.width, 4 - 2 * k);
    EXPECT_EQ(filled.height, 2u);
    cudaHostNodeParams called{};
    ASSERT_EQ(cudaGraphHostNodeGetParams(call, &called), cudaSuccess);
    EXPECT_EQ(called.fn, function.fn);
    EXPECT_EQ(called.userData, &factors[k]);
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaGraphEventRecordNodeGetEvent(record, &event), cudaSuccess);
    EXPECT_EQ(event, events[k]);
    EXPECT_EQ(cudaGraphEventWaitNodeGetEvent(wait, &event), cudaSuccess);
    EXPECT_EQ(event, events[k]);
  }
  // A copy of one row has no pitch of its own.
  ASSERT_EQ(cudaGraphMemcpyNodeSetParams1D(copy, data_, host.data(), 12, cudaMemcpyHostToDevice),
            cudaSuccess);
  cudaMemcpy3DParms row{};
  ASSERT_EQ(cudaGraphMemcpyNodeGetParams(copy, &row), cudaSuccess);
  EXPECT_EQ(row.dstPtr.ptr, data_);
  EXPECT_EQ(row.srcPtr.pitch, 12u);
  EXPECT_EQ(row.srcPtr.ysize, 1u);
  EXPECT_EQ(row.extent.width, 12u);
  EXPECT_EQ(row.extent.height, 1u);
  // Attributes stay with their node, whatever it launches.
  cudaGraphNode_t other = nullptr;
  const cudaKernelNodeParams launch = kernel_params(factors[0]);
  ASSERT_EQ(cudaGraphAddKernelNode(&other, graph_, nullptr, 0, &launch), cudaSuccess);
  cudaLaunchAttributeValue value{};
  for (const int priority : {2, 1}) {
    value.priority = priority;
    ASSERT_EQ(cudaGraphKernelNodeSetAttribute(kernel, cudaLaunchAttributePriority, &value),
              cudaSuccess);
  }
  ASSERT_EQ(cudaGraphKernelNodeSetParams(kernel, &launch), cudaSuccess);
  ASSERT_EQ(cudaGraphKernelNodeCopyAttributes(other, kernel), cudaSuccess);
  for (const cudaGraphNode_t node : {kernel, other}) {
    value = {};
    ASSERT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value),
              cudaSuccess);
    EXPECT_EQ(value.priority, 1);
    ASSERT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &value),
              cudaSuccess);
    EXPECT_EQ(value.cooperative, 0);
  }
  // Of another type, without room for the result, of no node.
  cudaMemsetParams filled{};
  EXPECT_EQ(cudaGraphMemsetNodeGetParams(kernel, &filled), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemsetNodeGetParams(fill, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphMemsetNodeGetParams(nullptr, &filled), cudaErrorInvalidValue);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_LT(text.find("the node is of another type"), text.find("the node does not exist")) << text;
  for (const cudaEvent_t event : events) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Graphs, AnExecutableGraphIsChangedNodeByNode) {
  static int calls[2] = {};
  const cudaHostFn_t count = [](void* counter) { ++*static_cast<int*>(counter); };
  int factor = 5, seven = 7;
  const cudaKernelNodeParams kernel = kernel_params(factor);
  cudaMemsetParams memset{data_, 0, 3, 4, kGraphThreads, 1};
  cudaHostNodeParams host{count, &calls[0]};
  cudaGraphNode_t fill = nullptr, multiply = nullptr, read = nullptr, call = nullptr;
  ASSERT_EQ(cudaGraphAddMemsetNode(&fill, graph_, nullptr, 0, &memset), cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&multiply, graph_, &fill, 1, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&read, graph_, &multiply, 1, results_.data(), data_,
                                     kGraphBytes, cudaMemcpyDeviceToHost),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddHostNode(&call, graph_, &read, 1, &host), cudaSuccess);
  cudaGraphExec_t exec = nullptr, unchanged = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaSuccess);
  const auto of_first = [](size_t number, int value, int rest) {
    std::vector<int> all(kGraphThreads, rest);
    std::fill_n(all.begin(), number, value);
    return all;
  };
  memset.value = 4;
  ASSERT_EQ(cudaGraphExecMemsetNodeSetParams(exec, fill, &memset), cudaSuccess);
  EXPECT_EQ(run(exec), of_first(kGraphThreads, 20, 0));
  ASSERT_EQ(cudaGraphExecMemcpyNodeSetParams1D(exec, read, results_.data(), data_, 12,
                                               cudaMemcpyDeviceToHost),
            cudaSuccess);
  results_.assign(kGraphThreads, -1);
  EXPECT_EQ(run(exec), of_first(3, 20, -1));
  host.userData = &calls[1];
  ASSERT_EQ(cudaGraphExecHostNodeSetParams(exec, call, &host), cudaSuccess);
  EXPECT_EQ(run(exec), of_first(3, 20, -1));
  EXPECT_EQ(calls[0], 2);
  EXPECT_EQ(calls[1], 1);
  // The same by the function for all types.
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeMemset;
  params.memset.dst = data_;
  params.memset.value = 2;
  params.memset.elementSize = 4;
  params.memset.width = kGraphThreads;
  params.memset.height = 1;
  ASSERT_EQ(cudaGraphExecNodeSetParams(exec, fill, &params), cudaSuccess);
  params = {};
  params.type = cudaGraphNodeTypeKernel;
  const cudaKernelNodeParams by_seven = kernel_params(seven);
  params.kernel.func = by_seven.func;
  params.kernel.gridDim = by_seven.gridDim;
  params.kernel.blockDim = by_seven.blockDim;
  params.kernel.kernelParams = by_seven.kernelParams;
  ASSERT_EQ(cudaGraphExecNodeSetParams(exec, multiply, &params), cudaSuccess);
  params = {};
  params.type = cudaGraphNodeTypeMemcpy;
  params.memcpy.copyParams.srcPtr = {data_, 8, 4, 2};
  params.memcpy.copyParams.dstPtr = {results_.data(), 4, 4, 2};
  params.memcpy.copyParams.extent = {4, 2, 1};
  params.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(cudaGraphExecNodeSetParams(exec, read, &params), cudaSuccess);
  params = {};
  params.type = cudaGraphNodeTypeHost;
  params.host.fn = count;
  params.host.userData = &calls[0];
  ASSERT_EQ(cudaGraphExecNodeSetParams(exec, call, &params), cudaSuccess);
  results_.assign(kGraphThreads, -1);
  EXPECT_EQ(run(exec), of_first(2, 14, -1));
  EXPECT_EQ(calls[0], 3);
  EXPECT_EQ(cudaGraphExecNodeSetParams(exec, fill, &params), cudaErrorInvalidValue);
  // The graph itself is unchanged.
  ASSERT_EQ(
      cudaGraphInstantiateWithFlags(&unchanged, graph_, cudaGraphInstantiateFlagUseNodePriority),
      cudaSuccess);
  EXPECT_EQ(run(unchanged), of_first(kGraphThreads, 15, 0));
  ASSERT_EQ(cudaGraphNodeSetParams(call, &params), cudaSuccess);
  unsigned long long flags = 0;
  EXPECT_EQ(cudaGraphExecGetFlags(unchanged, &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaGraphInstantiateFlagUseNodePriority);
  for (const unsigned enabled : {0u, 1u}) {
    unsigned is_enabled = 9;
    ASSERT_EQ(cudaGraphNodeSetEnabled(exec, fill, enabled), cudaSuccess);
    EXPECT_EQ(cudaGraphNodeGetEnabled(exec, fill, &is_enabled), cudaSuccess);
    EXPECT_EQ(is_enabled, enabled);
  }
  for (const cudaGraphExec_t one : {exec, unchanged})
    EXPECT_EQ(cudaGraphExecDestroy(one), cudaSuccess);
}

TEST_F(Graphs, NodesAreFoundAndRemoved) {
  cudaGraph_t child = nullptr, clone = nullptr, within = nullptr;
  ASSERT_EQ(cudaGraphCreate(&child, 0), cudaSuccess);
  int factor = 2;
  const cudaKernelNodeParams kernel = kernel_params(factor);
  cudaGraphNode_t first = nullptr, second = nullptr, last = nullptr, found = nullptr;
  ASSERT_EQ(cudaGraphAddEmptyNode(&first, graph_, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&second, graph_, &first, 1, &kernel), cudaSuccess);
  const cudaGraphNode_t both[] = {first, second};
  ASSERT_EQ(cudaGraphAddChildGraphNode(&last, graph_, both, 2, child), cudaSuccess);
  cudaGraphNodeType type{};
  for (const auto& [node, expected] :
       {std::pair{first, cudaGraphNodeTypeEmpty}, std::pair{second, cudaGraphNodeTypeKernel},
        std::pair{last, cudaGraphNodeTypeGraph}}) {
    ASSERT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    EXPECT_EQ(type, expected);
  }
  EXPECT_EQ(cudaGraphChildGraphNodeGetGraph(last, &within), cudaSuccess);
  EXPECT_NE(within, child) << "a child is a copy";
  EXPECT_EQ(cudaGraphChildGraphNodeGetGraph(first, &within), cudaErrorInvalidValue);
  std::array<cudaGraphNode_t, 3> dependents{};
  size_t count = dependents.size();
  ASSERT_EQ(cudaGraphNodeGetDependentNodes(first, dependents.data(), nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(dependents, (std::array{second, last, cudaGraphNode_t{}}));
  ASSERT_EQ(cudaGraphClone(&clone, graph_), cudaSuccess);
  ASSERT_EQ(cudaGraphNodeFindInClone(&found, second, clone), cudaSuccess);
  EXPECT_NE(found, second);
  ASSERT_EQ(cudaGraphNodeGetType(found, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeKernel);
  EXPECT_EQ(cudaGraphNodeFindInClone(&found, second, graph_), cudaErrorInvalidValue);

  const std::string path = testing::TempDir() + "graph.dot";
  ASSERT_EQ(cudaGraphDebugDotPrint(graph_, path.c_str(), 0), cudaSuccess);
  std::ifstream file(path);
  const std::string dot{std::istreambuf_iterator<char>(file), {}};
  for (const char* const part : {"digraph", "\"empty\"", "\"kernel\"", "\"graph\"", "->"})
    EXPECT_NE(dot.find(part), std::string::npos) << dot;
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '>'), 3);
  EXPECT_EQ(cudaGraphDebugDotPrint(graph_, "/no/such/folder/graph.dot", 0),
            cudaErrorOperatingSystem);

  // The edges of a node go with it.
  ASSERT_EQ(cudaGraphDestroyNode(first), cudaSuccess);
  EXPECT_EQ(cudaGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  count = dependents.size();
  ASSERT_EQ(cudaGraphGetNodes(graph_, dependents.data(), &count), cudaSuccess);
  EXPECT_EQ(dependents, (std::array{second, last, cudaGraphNode_t{}}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(cudaGraphNodeGetType(first, &type), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddDependencies(graph_, &second, &second, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddDependencies(graph_, &second, &last, nullptr, 1), cudaErrorInvalidValue);
  const cudaGraphNode_t one_is_gone[] = {second, first};
  EXPECT_EQ(cudaGraphAddEmptyNode(&found, graph_, one_is_gone, 2), cudaErrorInvalidValue);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("dependency 1 is not a node of the graph"), std::string::npos) << text;
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(child), cudaSuccess);
}

// The result of an update names the first node that differs.
TEST_F(Graphs, AnUpdateNamesTheNodeThatDiffers) {
  testing::internal::CaptureStderr();
  int factor = 2;
  const cudaKernelNodeParams kernel = kernel_params(factor);
  const cudaGraphEdgeData early{
      cudaGraphKernelNodePortProgrammatic, 0, cudaGraphDependencyTypeProgrammatic, {}};
  // Three nodes, of which the second depends on the first.
  const auto make = [&](cudaGraph_t graph, size_t before_last, const cudaGraphEdgeData* edge,
                        bool ends_empty = false) {
    std::array<cudaGraphNode_t, 3> nodes{};
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(cudaGraphAddKernelNode(&nodes[i], graph, nodes.data(), i, &kernel), cudaSuccess);
    EXPECT_EQ(ends_empty ? cudaGraphAddEmptyNode(&nodes[2], graph, nullptr, 0)
                         : cudaGraphAddKernelNode(&nodes[2], graph, nullptr, 0, &kernel),
              cudaSuccess);
    const size_t edges = before_last < 2 ? 1 : 0;
    EXPECT_EQ(cudaGraphAddDependencies(graph, &nodes[before_last], &nodes[2], edge, edges),
              cudaSuccess);
    return nodes;
  };
  make(graph_, 0, nullptr);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph_, 0), cudaSuccess);
  const auto update = [&](size_t before_last, const cudaGraphEdgeData* edge, bool ends_empty,
                          bool is_longer) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    const auto nodes = make(graph, before_last, edge, ends_empty);
    cudaGraphNode_t more = nullptr;
    if (is_longer) {
      EXPECT_EQ(cudaGraphAddEmptyNode(&more, graph, nullptr, 0), cudaSuccess);
    }
    cudaGraphExecUpdateResultInfo info{};
    const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    EXPECT_EQ(error, info.result == cudaGraphExecUpdateSuccess ? cudaSuccess
                                                               : cudaErrorGraphExecUpdateFailure);
    const auto place = std::find(nodes.begin(), nodes.end(), info.errorNode) - nodes.begin();
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return std::pair(info.result, place);
  };
  const auto changed = cudaGraphExecUpdateErrorTopologyChanged;
  EXPECT_EQ(update(0, nullptr, false, false), std::pair(cudaGraphExecUpdateSuccess, 3l));
  EXPECT_EQ(update(0, nullptr, true, false),
            std::pair(cudaGraphExecUpdateErrorNodeTypeChanged, 2l));
  EXPECT_EQ(update(1, nullptr, false, false), std::pair(changed, 2l));
  EXPECT_EQ(update(2, nullptr, false, false), std::pair(changed, 2l));
  EXPECT_EQ(update(0, &early, false, false), std::pair(changed, 2l));
  EXPECT_EQ(update(0, nullptr, false, true), std::pair(changed, 3l));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  (void)testing::internal::GetCapturedStderr();
}

}  // namespace
