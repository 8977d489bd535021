#pragma once
/// \file
/// What the tests of graphs share: a graph, a stream, and a kernel that scales what it is given.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace bw::sim::test {

inline constexpr const char* kGraphPtx = R"(
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
inline constexpr unsigned kGraphThreads = 8;
inline constexpr size_t kGraphBytes = kGraphThreads * sizeof(int);

class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaLibraryLoadData(&library_, kGraphPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&kernel_, library_, "scale"), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), kGraphBytes), cudaSuccess);
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
    params.blockDim = dim3(kGraphThreads);
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
  std::vector<int> results_ = std::vector<int>(kGraphThreads, -1);
};

}  // namespace bw::sim::test
