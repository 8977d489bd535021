#pragma once
/// \file
/// What the tests of the driver's functions share: a context, and a module with a kernel.

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace bw::sim::test {

inline const std::string kPtx = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .global .align 4 .u32 bias = 4;
.visible .entry store(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [value];
  ld.global.u32 %r2, [bias];
  add.s32 %r3, %r1, %r2;
  st.global.u32 [%rd1], %r3;
  ret;
}
)";

class DriverApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUdevice device = -1;
    ASSERT_EQ(cuDeviceGet(&device, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, device), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    setenv("BW_SIM_ON_ERROR", "return", 1);
  }
  void TearDown() override {
    unsetenv("BW_SIM_ON_ERROR");
    ASSERT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }

  // Loads kPtx's module and finds its kernel.
  static void load(CUmodule& module, CUfunction& function) {
    ASSERT_EQ(cuModuleLoadData(&module, kPtx.c_str()), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
  }

  // What loading `image` says, and that it fails with `error`.
  static std::string refusal(const void* image, CUresult error) {
    CUmodule module = nullptr;
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleLoadData(&module, image), error);
    return testing::internal::GetCapturedStderr();
  }

  CUcontext context_ = nullptr;
};

}  // namespace bw::sim::test
