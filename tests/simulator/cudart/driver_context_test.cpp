/// \file
/// The driver's contexts, devices and errors, and what it refuses.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "tests/simulator/cudart/driver_api.hpp"

namespace {

using bw::sim::test::DriverApi;

TEST_F(DriverApi, AThreadNeedsAContext) {
  CUresult error = CUDA_SUCCESS;
  std::thread([&] {
    CUdeviceptr memory = 0;
    error = cuMemAlloc(&memory, 16);
  }).join();
  EXPECT_EQ(error, CUDA_ERROR_INVALID_CONTEXT);
  std::thread([&] {
    CUdeviceptr memory = 0;
    CUcontext own = nullptr;
    error = cuCtxCreate(&own, nullptr, 0, 0);
    if (error == CUDA_SUCCESS) error = cuMemAlloc(&memory, 16);
    if (error == CUDA_SUCCESS) error = cuMemFree(memory);
    if (error == CUDA_SUCCESS) error = cuCtxDestroy(own);
  }).join();
  EXPECT_EQ(error, CUDA_SUCCESS);
}

// The contexts of a thread are a stack, of which the top is current.
TEST_F(DriverApi, ContextsAreAStackOfTheThread) {
  std::thread([] {
    CUcontext first = nullptr, second = nullptr, found = nullptr;
    CUdevice device = 99;
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPopCurrent(&found), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxCreate(nullptr, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuCtxCreate(&first, nullptr, 0, 1), CUDA_ERROR_INVALID_DEVICE);
    ASSERT_EQ(cuCtxCreate(&first, nullptr, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxCreate(&second, nullptr, 0, 0), CUDA_SUCCESS);
    const auto expect_current = [](CUcontext context) {
      CUcontext current = nullptr;
      EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
      EXPECT_EQ(current, context);
    };
    expect_current(second);
    unsigned long long first_id = 0, second_id = 0, current_id = 0;
    EXPECT_EQ(cuCtxGetId(first, &first_id), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxGetId(second, &second_id), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxGetId(nullptr, &current_id), CUDA_SUCCESS);
    EXPECT_EQ(current_id, second_id);
    EXPECT_NE(current_id, first_id);
    EXPECT_EQ(cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
    unsigned version = 0;
    EXPECT_EQ(cuCtxGetApiVersion(first, &version), CUDA_SUCCESS);
    EXPECT_EQ(version, unsigned{CUDA_VERSION});
    EXPECT_EQ(cuCtxPopCurrent(&found), CUDA_SUCCESS);
    EXPECT_EQ(found, second);
    expect_current(first);
    EXPECT_EQ(cuCtxPushCurrent(nullptr), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuCtxPushCurrent(second), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);  // in the place of the top
    expect_current(first);
    EXPECT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
    expect_current(first);
    EXPECT_EQ(cuCtxDestroy(first), CUDA_SUCCESS);
    expect_current(nullptr);
    for (const CUcontext gone : {first, CUcontext{}}) {
      EXPECT_EQ(cuCtxDestroy(gone), CUDA_ERROR_INVALID_CONTEXT);
      EXPECT_EQ(cuCtxPushCurrent(gone), CUDA_ERROR_INVALID_CONTEXT);
    }
    EXPECT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxDestroy(second), CUDA_SUCCESS);
  }).join();
  EXPECT_EQ(cuCtxDestroy(context_), CUDA_ERROR_INVALID_CONTEXT) << "the primary one is not made";
}

TEST_F(DriverApi, DeviceZeroIsTheOnlyOne) {
  using Ask = CUresult (*)(CUdevice);
  const std::pair<const char*, Ask> kFunctions[] = {
      {"cuDeviceGet",
       [](CUdevice d) {
         CUdevice device = 99;
         return cuDeviceGet(&device, d);
       }},
      {"cuDeviceGetName",
       [](CUdevice d) {
         char name[8];
         return cuDeviceGetName(name, 8, d);
       }},
      {"cuDeviceGetUuid",
       [](CUdevice d) {
         CUuuid uuid;
         return cuDeviceGetUuid(&uuid, d);
       }},
      {"cuDeviceTotalMem",
       [](CUdevice d) {
         size_t bytes = 0;
         return cuDeviceTotalMem(&bytes, d);
       }},
      {"cuDeviceGetAttribute",
       [](CUdevice d) {
         int value = 0;
         return cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d);
       }},
      {"cuDevicePrimaryCtxRetain",
       [](CUdevice d) {
         CUcontext context = nullptr;
         return cuDevicePrimaryCtxRetain(&context, d);
       }},
      {"cuDevicePrimaryCtxRelease", [](CUdevice d) { return cuDevicePrimaryCtxRelease(d); }},
      {"cuDevicePrimaryCtxSetFlags", [](CUdevice d) { return cuDevicePrimaryCtxSetFlags(d, 0); }},
      {"cuDevicePrimaryCtxGetState",
       [](CUdevice d) { return cuDevicePrimaryCtxGetState(d, nullptr, nullptr); }},
  };
  testing::internal::CaptureStderr();
  for (const auto& [name, ask] : kFunctions)
    for (const CUdevice device : {0, 1, -1})
      EXPECT_EQ(ask(device), device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE) << name;
  EXPECT_EQ(cuDevicePrimaryCtxReset(1), CUDA_ERROR_INVALID_DEVICE);
  (void)testing::internal::GetCapturedStderr();
  CUdevice device = 99;
  int count = 0, active = 0, version = 0;
  unsigned flags = 9;
  EXPECT_EQ(cuDeviceGet(&device, 0), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_GE(version, CUDA_VERSION);  // a driver runs what older toolkits have built
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  // A name is cut off where it does not fit.
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  const std::string all = properties.name;
  for (const size_t room : {size_t{1}, size_t{5}, all.size() + 1}) {
    std::string name(room, '#');
    EXPECT_EQ(cuDeviceGetName(name.data(), static_cast<int>(room), 0), CUDA_SUCCESS);
    EXPECT_EQ(name, all.substr(0, room - 1) + '\0');
  }
  char name = '#';
  EXPECT_EQ(cuDeviceGetName(&name, 0, 0), CUDA_ERROR_INVALID_VALUE);
  size_t bytes = 0;
  CUuuid uuid{};
  EXPECT_EQ(cuDeviceTotalMem(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(bytes, properties.totalGlobalMem);
  EXPECT_EQ(cuDeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(uuid.bytes, properties.uuid.bytes, sizeof uuid.bytes), 0);
}

TEST_F(DriverApi, ErrorsHaveNamesAndTexts) {
  const char *name = nullptr, *text = nullptr;
  for (const auto& [error, expected] : {std::pair{CUDA_SUCCESS, "CUDA_SUCCESS"},
                                        std::pair{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                                        std::pair{CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"}}) {
    EXPECT_EQ(cuGetErrorName(error, &name), CUDA_SUCCESS);
    EXPECT_STREQ(name, expected);
    EXPECT_EQ(cuGetErrorString(error, &text), CUDA_SUCCESS);
    EXPECT_NE(text, nullptr);
  }
  const auto unknown = static_cast<CUresult>(123456);
  EXPECT_EQ(cuGetErrorName(unknown, &name), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(name, nullptr);
  EXPECT_EQ(cuGetErrorString(unknown, &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

TEST_F(DriverApi, ANullPointerForAResultIsRefused) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_NO_FATAL_FAILURE(load(module, function));
  for (const CUresult result :
       {cuDeviceGet(nullptr, 0),
        cuDeviceGetCount(nullptr),
        cuDeviceGetName(nullptr, 4, 0),
        cuDeviceGetUuid(nullptr, 0),
        cuDeviceTotalMem(nullptr, 0),
        cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
        cuDevicePrimaryCtxRetain(nullptr, 0),
        cuDriverGetVersion(nullptr),
        cuGetErrorName(CUDA_SUCCESS, nullptr),
        cuGetErrorString(CUDA_SUCCESS, nullptr),
        cuCtxGetCurrent(nullptr),
        cuCtxGetDevice(nullptr),
        cuCtxGetId(context_, nullptr),
        cuCtxGetApiVersion(context_, nullptr),
        cuCtxGetFlags(nullptr),
        cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE),
        cuCtxGetCacheConfig(nullptr),
        cuModuleGetLoadingMode(nullptr),
        cuModuleLoad(nullptr, "x"),
        cuModuleLoadData(&module, nullptr),
        cuLibraryGetModule(nullptr, nullptr),
        cuKernelGetFunction(nullptr, nullptr),
        cuFuncGetModule(nullptr, function),
        cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
        cuOccupancyMaxPotentialBlockSize(nullptr, nullptr, function, nullptr, 0, 0)})
    EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

}  // namespace
