/// \file
/// Registration and launches as nvcc's generated code does them, with PTX text in place of nvcc.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/simulator/cudart/fat_binaries.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host_function, char* device_function,
                            const char* device_name, int thread_limit, uint3* tid, uint3* bid,
                            dim3* block, dim3* grid, int* warp_size);
void __cudaRegisterVar(void** handle, char* host_variable, char* device_address,
                       const char* device_name, int is_extern, size_t size, int is_constant,
                       int is_global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream);
}

namespace {

using bw::sim::test::FatBinaryBuilder;

constexpr const char* kHead = ".version 9.0\n.target sm_100a\n.address_size 64\n";
constexpr const char* kAddPtx = R"(
.global .align 4 .u32 addend = 5;
.visible .entry add_numbers(.param .u64 out, .param .u32 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [value];
  ld.global.u32 %r2, [addend];
  add.s32 %r3, %r1, %r2;
  st.global.u32 [%rd1], %r3;
  ret;
}
)";
constexpr const char* kTrapPtx = R"(
.visible .entry fail()
{
  trap;
  ret;
}
)";

// A registered program image with one kernel; its address represents the host function.
class Program {
 public:
  Program(const std::string& ptx, const char* kernel, FatBinaryBuilder::Store store)
      : bytes_(FatBinaryBuilder().ptx(kHead + ptx, 100, 'a', store).bytes()),
        wrapper_{0x466243b1, 1, bytes_.data(), nullptr} {
    handle_ = __cudaRegisterFatBinary(&wrapper_);
    __cudaRegisterFunction(handle_, host_function(), nullptr, kernel, -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
    __cudaRegisterFatBinaryEnd(handle_);
  }
  ~Program() { __cudaUnregisterFatBinary(handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const char* host_function() const { return &function_; }
  [[nodiscard]] void** handle() const { return handle_; }

 private:
  struct Wrapper {
    int magic;
    int version;
    const void* data;
    void* more;
  };
  std::vector<std::byte> bytes_;
  Wrapper wrapper_;
  char function_ = 0;
  void** handle_ = nullptr;
};

TEST(Launch, GoesTheWayOfTripleChevrons) {
  static Program program(kAddPtx, "add_numbers", FatBinaryBuilder::Store::zstandard);
  static char host_variable;
  __cudaRegisterVar(program.handle(), &host_variable, nullptr, "addend", 0, 4, 0, 0);
  int* out = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&out), 4, cudaMemAttachGlobal), cudaSuccess);
  const auto launch = [&](int value) {
    __cudaPushCallConfiguration(1, 1, 0, nullptr);
    cudaKernel_t kernel = nullptr;
    EXPECT_EQ(__cudaGetKernel(&kernel, program.host_function()), cudaSuccess);
    dim3 grid, block;
    size_t shared_bytes = 1;
    cudaStream_t stream = nullptr;
    EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream), cudaSuccess);
    void* arguments[] = {&out, &value};
    return __cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
  };
  ASSERT_EQ(launch(10), cudaSuccess);
  EXPECT_EQ(*out, 15);
  const int seven = 7;
  ASSERT_EQ(cudaMemcpyToSymbol(&host_variable, &seven, 4, 0, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(launch(10), cudaSuccess);
  EXPECT_EQ(*out, 17);
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream),
            cudaErrorMissingConfiguration);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMissingConfiguration);
  cudaFree(out);
}

TEST(Launch, RefusesWhatIsNotAKernel) {
  const char unknown = 0;
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(__cudaGetKernel(&kernel, &unknown), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaLaunchKernel(&unknown, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaMemcpyToSymbol(&unknown, &unknown, 1, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
  (void)cudaGetLastError();
}

TEST(Launch, ReturnsConfigurationErrorsAndGoesOn) {
  static Program program(kAddPtx, "add_numbers", FatBinaryBuilder::Store::lz4);
  int* out = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&out), 4, cudaMemAttachGlobal), cudaSuccess);
  int value = 1;
  void* arguments[] = {&out, &value};
  const auto launch = [&](dim3 grid, dim3 block, size_t shared_bytes) {
    return cudaLaunchKernel(program.host_function(), grid, block, arguments, shared_bytes, nullptr);
  };
  EXPECT_EQ(launch(0, 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1, 70000), 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 1, 48 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel(program.host_function(), 1, 1, nullptr, 0, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(launch(1, 1, 48 * 1024), cudaSuccess);
  EXPECT_EQ(*out, 6);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaFree(out);
}

TEST(Launch, AFaultEndsTheProcessByDefault) {
  static Program program(kTrapPtx, "fail", FatBinaryBuilder::Store::plain);
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        unsetenv("BW_SIM_ON_ERROR");
        cudaLaunchKernel(program.host_function(), 1, 32, nullptr, 0, nullptr);
        std::exit(0);
      },
      testing::ExitedWithCode(70), "trap");
}

TEST(Launch, AFaultIsStickyWhenErrorsAreReturned) {
  static Program program(kTrapPtx, "fail", FatBinaryBuilder::Store::plain);
  setenv("BW_SIM_ON_ERROR", "return", 1);
  EXPECT_EQ(cudaLaunchKernel(program.host_function(), 1, 32, nullptr, 0, nullptr),
            cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  unsetenv("BW_SIM_ON_ERROR");
}

TEST(Launch, FaultsAreCudasErrors) {
  const auto error_of = [](const std::string& instruction) {
    const std::string ptx =
        ".visible .entry fault() {\n  .reg .b32 %r<2>; .reg .b64 %rd<4>;\n"
        "  .shared .align 8 .b8 tile[64];\n  mov.u64 %rd1, 64; cvta.shared.u64 %rd2, %rd1;\n"
        "  mov.u64 %rd3, 0x700000000004;\n  st.shared.u32 [tile], 1;\n" +
        instruction + "\n  ret;\n}\n";
    const Program program(ptx, "fault", FatBinaryBuilder::Store::plain);
    const cudaError_t error = cudaLaunchKernel(program.host_function(), 1, 1, nullptr, 0, nullptr);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    return error;
  };
  setenv("BW_SIM_ON_ERROR", "return", 1);
  EXPECT_EQ(error_of("ld.u32 %r1, [%rd1];"), cudaErrorIllegalAddress);
  EXPECT_EQ(error_of("ld.global.u64 %rd1, [%rd3];"), cudaErrorMisalignedAddress);
  EXPECT_EQ(error_of("ld.shared.u32 %r1, [tile+64];"), cudaErrorLaunchFailure);
  EXPECT_EQ(error_of("mbarrier.inval.b64 [%rd3];"), cudaErrorInvalidAddressSpace);
  unsetenv("BW_SIM_ON_ERROR");
}

TEST(Launch, ReturnsAnErrorForPtxThatIsCutOff) {
  const std::string whole = kAddPtx;
  static Program program(whole.substr(0, whole.size() / 2), "add_numbers",
                         FatBinaryBuilder::Store::plain);
  setenv("BW_SIM_ON_ERROR", "return", 1);
  int value = 0;
  void* arguments[] = {&value, &value};
  EXPECT_EQ(cudaLaunchKernel(program.host_function(), 1, 1, arguments, 0, nullptr),
            cudaErrorInvalidPtx);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPtx);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  unsetenv("BW_SIM_ON_ERROR");
}

}  // namespace
