/// \file
/// Programmatic dependent launch by streams and graphs: which launches overlap in simulated time.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace {

// Stores %globaltimer at its begin, after griddepcontrol.wait and at its end; triggers at once.
constexpr const char* kDependentPtx = R"(
.version 9.0
.target sm_100a
.address_size 64
.visible .entry stamp(.param .u64 stamps)
{
  .reg .b64 %rd<5>;
  mov.u64 %rd1, %globaltimer;
  griddepcontrol.launch_dependents;
  ld.param.u64 %rd0, [stamps];
  nanosleep.u32 2000;
  griddepcontrol.wait;
  mov.u64 %rd2, %globaltimer;
  nanosleep.u32 20000;
  mov.u64 %rd3, %globaltimer;
  st.global.u64 [%rd0], %rd1;
  st.global.u64 [%rd0+8], %rd2;
  st.global.u64 [%rd0+16], %rd3;
  ret;
}
)";

/// Of a launch, in nanoseconds.
struct Stamps {
  uint64_t begin = 0, waited = 0, end = 0;
};

class DependentLaunches : public testing::Test {
 protected:
  static constexpr size_t kLaunches = 4;

  void SetUp() override {
    ASSERT_EQ(
        cudaLibraryLoadData(&library_, kDependentPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
        cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&kernel_, library_, "stamp"), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&stamps_), kLaunches * sizeof(Stamps)),
              cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
  }
  void TearDown() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaFree(stamps_), cudaSuccess);
    EXPECT_EQ(cudaLibraryUnload(library_), cudaSuccess);
  }

  void launch(size_t number, bool dependent, cudaStream_t stream) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = dependent ? 1 : 0;
    Stamps* const place = stamps_ + number;
    void* arguments[] = {const_cast<Stamps**>(&place)};
    ASSERT_EQ(cudaLaunchKernelExC(&config, kernel_, arguments), cudaSuccess);
  }
  void launch(size_t number, bool dependent) { launch(number, dependent, stream_); }

  cudaGraphNode_t add_node(cudaGraph_t graph, size_t number) {
    Stamps* const place = stamps_ + number;
    void* arguments[] = {const_cast<Stamps**>(&place)};
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(kernel_);
    params.gridDim = dim3(1);
    params.blockDim = dim3(32);
    params.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params), cudaSuccess);
    return node;
  }
  void run_graph(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }

  std::vector<Stamps> stamps() {
    std::vector<Stamps> read(kLaunches);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(read.data(), stamps_, kLaunches * sizeof(Stamps), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return read;
  }
  /// Whether launch `second` began while `first` ran; it never passes its wait before that ends.
  bool overlap(size_t first, size_t second) {
    const std::vector<Stamps> all = stamps();
    EXPECT_LE(all[first].end, all[second].waited);
    return all[second].begin < all[first].end;
  }

  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  Stamps* stamps_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

TEST_F(DependentLaunches, OverlapWithTheLaunchBeforeThem) {
  launch(0, true);
  launch(1, true);
  launch(2, false);
  EXPECT_TRUE(overlap(0, 1));
  EXPECT_FALSE(overlap(1, 2)) << "without the attribute";
}

TEST_F(DependentLaunches, TakeLessTimeBetweenEvents) {
  cudaEvent_t start = nullptr, stop = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&stop), cudaSuccess);
  std::array<float, 2> milliseconds{};
  for (const bool dependent : {false, true}) {
    ASSERT_EQ(cudaEventRecord(start, stream_), cudaSuccess);
    launch(0, dependent);
    launch(1, dependent);
    ASSERT_EQ(cudaEventRecord(stop, stream_), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(stop), cudaSuccess);
    ASSERT_EQ(cudaEventElapsedTime(&milliseconds[dependent], start, stop), cudaSuccess);
  }
  // The prologue, 2 µs, runs during the first launch.
  EXPECT_LT(milliseconds[true], milliseconds[false] - 0.002);
  EXPECT_GT(milliseconds[true], 0.040) << "the parts after the wait follow each other";
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(stop), cudaSuccess);
}

TEST_F(DependentLaunches, DoNotOverlapWithWhatIsNoLaunchOrInAnotherStream) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  launch(0, true);
  ASSERT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  launch(1, true);
  EXPECT_FALSE(overlap(0, 1)) << "a timestamp in between";
  launch(0, true);
  ASSERT_EQ(cudaMemsetAsync(stamps_ + 3, 0, sizeof(Stamps), stream_), cudaSuccess);
  launch(1, true);
  EXPECT_FALSE(overlap(0, 1)) << "a fill in between";
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  launch(0, true);
  launch(1, true, other);
  EXPECT_FALSE(overlap(0, 1)) << "another stream";
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(DependentLaunches, OfAGraphOverlapAlongProgrammaticEdges) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  const cudaGraphNode_t a = add_node(graph, 0), b = add_node(graph, 1), c = add_node(graph, 2),
                        d = add_node(graph, 3);
  const cudaGraphEdgeData early{
      cudaGraphKernelNodePortProgrammatic, 0, cudaGraphDependencyTypeProgrammatic, {}};
  // d also needs the end of b, by an ordinary edge.
  const cudaGraphNode_t from[] = {a, b, c, b}, to[] = {b, c, d, d};
  const cudaGraphEdgeData edges[] = {early, early, early, {}};
  ASSERT_EQ(cudaGraphAddDependencies(graph, from, to, edges, 4), cudaSuccess);
  run_graph(graph);
  EXPECT_TRUE(overlap(0, 1));
  EXPECT_TRUE(overlap(1, 2));
  EXPECT_FALSE(overlap(2, 3));
}

TEST_F(DependentLaunches, OfAGraphWithOrdinaryEdgesFollowEachOther) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  const cudaGraphNode_t a = add_node(graph, 0), b = add_node(graph, 1);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &a, &b, nullptr, 1), cudaSuccess);
  run_graph(graph);
  EXPECT_FALSE(overlap(0, 1));
}

}  // namespace
