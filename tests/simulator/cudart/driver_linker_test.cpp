/// \file
/// The driver's linker.
#include <cuda.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/simulator/cudart/driver_api.hpp"
#include "tests/simulator/cudart/fat_binaries.hpp"

namespace {

using bw::sim::test::DriverApi;
using bw::sim::test::FatBinaryBuilder;
using bw::sim::test::kPtx;

// A kernel that calls a function and uses a variable of another module.
const std::string kCallerPtx = R"(.version 9.0
.target sm_100a
.address_size 64
.extern .global .align 4 .u32 shared_bias;
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry store_twice(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [value];
  {
    .param .b32 x;
    .param .b32 r;
    st.param.b32 [x], %r1;
    call (r), twice, (x);
    ld.param.b32 %r2, [r];
  }
  ld.global.u32 %r3, [shared_bias];
  add.s32 %r4, %r2, %r3;
  st.global.u32 [%rd1], %r4;
  ret;
}
)";
const std::string kCalleePtx = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .global .align 4 .u32 shared_bias = 7;
.visible .func (.param .b32 r) twice(.param .b32 x)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  add.s32 %r2, %r1, %r1;
  st.param.b32 [r], %r2;
  ret;
}
)";

CUresult add(CUlinkState state, CUjitInputType type, const std::string& data, const char* name) {
  return cuLinkAddData(state, type, const_cast<char*>(data.data()), data.size() + 1, name, 0,
                       nullptr, nullptr);
}

TEST_F(DriverApi, LinksModules) {
  char log[16] = "not cleared";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUlinkState state = nullptr;
  ASSERT_EQ(cuLinkCreate(2, options, values, &state), CUDA_SUCCESS);
  EXPECT_STREQ(log, "");
  ASSERT_EQ(add(state, CU_JIT_INPUT_PTX, kCallerPtx, "caller.ptx"), CUDA_SUCCESS);
  // The second one from a file.
  const std::string path = testing::TempDir() + "callee.ptx";
  std::ofstream(path) << kCalleePtx;
  ASSERT_EQ(cuLinkAddFile(state, CU_JIT_INPUT_PTX, path.c_str(), 0, nullptr, nullptr),
            CUDA_SUCCESS);
  void* linked = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cuLinkComplete(state, &linked, &bytes), CUDA_SUCCESS);
  // What is loaded lives on without the state.
  const std::string copy(static_cast<const char*>(linked), bytes);
  ASSERT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, copy.data()), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "store_twice"), CUDA_SUCCESS);
  CUdeviceptr out = 0;
  ASSERT_EQ(cuMemAlloc(&out, 4), CUDA_SUCCESS);
  int value = 10, result = 0;
  void* parameters[] = {&out, &value};
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(&result, out, 4), CUDA_SUCCESS);
  EXPECT_EQ(result, 27);
  EXPECT_EQ(cuMemFree(out), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(DriverApi, LinksThePtxOfFatBinaries) {
  FatBinaryBuilder fat;
  fat.ptx(kPtx, 100, 'a');
  const std::vector<std::byte> image = fat.bytes();
  CUlinkState state = nullptr;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  ASSERT_EQ(cuLinkAddData(state, CU_JIT_INPUT_FATBINARY, const_cast<std::byte*>(image.data()),
                          image.size(), nullptr, 0, nullptr, nullptr),
            CUDA_SUCCESS);
  void* linked = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(cuLinkComplete(state, &linked, &bytes), CUDA_SUCCESS);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, linked), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  ASSERT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
}

TEST_F(DriverApi, SaysWhatCannotBeLinked) {
  CUlinkState state = nullptr;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  const auto says = [](CUresult error, CUresult expected, const std::string& part) {
    EXPECT_EQ(error, expected);
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  void* linked = nullptr;
  size_t bytes = 0;
  testing::internal::CaptureStderr();
  says(cuLinkComplete(state, &linked, &bytes), CUDA_ERROR_INVALID_VALUE, "nothing has been added");
  // A name is made for an input without one.
  const std::tuple<CUjitInputType, const char*, const char*> kInputs[] = {
      {CU_JIT_INPUT_CUBIN, "a.cubin", "a.cubin is CU_JIT_INPUT_CUBIN, machine code"},
      {CU_JIT_INPUT_OBJECT, "a.o", "a.o is CU_JIT_INPUT_OBJECT, a host's object file"},
      {CU_JIT_INPUT_LIBRARY, "a.a", "a.a is CU_JIT_INPUT_LIBRARY, an archive"},
      {CU_JIT_INPUT_NVVM, nullptr, "the input 1 is CU_JIT_INPUT_NVVM"},
      {CU_JIT_NUM_INPUT_TYPES, nullptr, "the input 1 is unknown"},
  };
  for (const auto& [type, name, part] : kInputs) {
    testing::internal::CaptureStderr();
    says(add(state, type, "ELF", name), CUDA_ERROR_NO_BINARY_FOR_GPU, part);
  }
  testing::internal::CaptureStderr();
  says(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "/no/such.ptx", 0, nullptr, nullptr),
       CUDA_ERROR_FILE_NOT_FOUND, "/no/such.ptx can't be read");
  testing::internal::CaptureStderr();
  says(add(state, CU_JIT_INPUT_FATBINARY, "not a fat binary", "b.fatbin"), CUDA_ERROR_INVALID_PTX,
       "b.fatbin is not a fat binary");
  testing::internal::CaptureStderr();
  says(add(state, CU_JIT_INPUT_PTX, ".version 9.0\n.target sm_100a\nnonsense", "c.ptx"),
       CUDA_ERROR_INVALID_PTX, "c.ptx");
  ASSERT_EQ(add(state, CU_JIT_INPUT_PTX, kCallerPtx, "caller.ptx"), CUDA_SUCCESS);
  testing::internal::CaptureStderr();
  says(cuLinkComplete(state, &linked, &bytes), CUDA_ERROR_INVALID_PTX, "shared_bias");
  ASSERT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
  testing::internal::CaptureStderr();
  says(cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE, "was destroyed or never created");
}

}  // namespace
