/// \file
/// The runtime's functions that need no kernel, called as a program calls them.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

// A device allocation that a test frees at its end.
struct DeviceBytes {
  explicit DeviceBytes(size_t size) { EXPECT_EQ(cudaMalloc(&pointer, size), cudaSuccess); }
  ~DeviceBytes() { cudaFree(pointer); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  [[nodiscard]] char* at(size_t offset) const { return static_cast<char*>(pointer) + offset; }
  void* pointer = nullptr;
};

// What `action` writes to stderr.
template <class Action>
std::string explanation(Action&& action) {
  testing::internal::CaptureStderr();
  action();
  return testing::internal::GetCapturedStderr();
}

TEST(RuntimeApi, DescribesAComputeCapability100Device) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.major, 10);
  EXPECT_EQ(properties.minor, 0);
  EXPECT_EQ(properties.multiProcessorCount, 148);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 227u * 1024);
  EXPECT_EQ(properties.sharedMemPerMultiprocessor, 228u * 1024);
  EXPECT_EQ(properties.clusterLaunch, 1);
  EXPECT_NE(std::strlen(properties.name), 0u);
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);

  const auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    EXPECT_EQ(cudaDeviceGetAttribute(&value, which, 0), cudaSuccess) << which;
    return value;
  };
  EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), 10);
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), 148);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), 227 * 1024);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlock), 48 * 1024);
  EXPECT_EQ(attribute(cudaDevAttrReservedSharedMemoryPerBlock), 1024);
  EXPECT_EQ(attribute(cudaDevAttrMaxRegistersPerMultiprocessor), 65536);
  EXPECT_EQ(attribute(cudaDevAttrClusterLaunch), 1);
  for (int which = 1; which < cudaDevAttrMax; ++which)
    attribute(static_cast<cudaDeviceAttr>(which));
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100000), 0),
            cudaErrorInvalidValue);
  (void)cudaGetLastError();
}

TEST(RuntimeApi, ReportsADriverThatNeedsNoPatchedTensorMaps) {
  int driver = 0;
  int runtime = 0;
  ASSERT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  ASSERT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  EXPECT_GT(driver, 13010);
  EXPECT_EQ(runtime, CUDART_VERSION);
}

TEST(RuntimeApi, CopiesInEveryDirection) {
  std::vector<int> host(100), back(100);
  for (int i = 0; i < 100; ++i) host[static_cast<size_t>(i)] = i * i;
  const DeviceBytes a(400), b(400);
  ASSERT_EQ(cudaMemcpy(a.pointer, host.data(), 400, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(b.pointer, a.pointer, 400, cudaMemcpyDeviceToDevice, nullptr),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back.data(), b.pointer, 400, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host, back);
  ASSERT_EQ(cudaMemset(b.at(4), 0xff, 8), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back.data(), b.pointer, 400, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back[1], -1);
  EXPECT_EQ(back[2], -1);
  EXPECT_EQ(back[3], 9);
}

TEST(RuntimeApi, CopiesRectangles) {
  size_t pitch = 0;
  void* device = nullptr;
  ASSERT_EQ(cudaMallocPitch(&device, &pitch, 10, 3), cudaSuccess);
  EXPECT_EQ(pitch % 256, 0u);
  const std::string source = "0123456789abcdefghijABCDEFGHIJ";
  ASSERT_EQ(cudaMemcpy2D(device, pitch, source.data(), 10, 10, 3, cudaMemcpyHostToDevice),
            cudaSuccess);
  std::string column(6, '-');
  ASSERT_EQ(cudaMemcpy2D(column.data(), 2, static_cast<char*>(device) + 4, pitch, 2, 3,
                         cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(column, "45efEF");
  ASSERT_EQ(cudaMemset2D(device, pitch, 'x', 2, 3), cudaSuccess);
  std::string row(10, '-');
  ASSERT_EQ(cudaMemcpy(row.data(), static_cast<char*>(device) + pitch, 10, cudaMemcpyDefault),
            cudaSuccess);
  EXPECT_EQ(row, "xxcdefghij");
  EXPECT_EQ(cudaMemcpy2D(device, 4, source.data(), 10, 10, 3, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  (void)cudaGetLastError();
  ASSERT_EQ(cudaFree(device), cudaSuccess);
}

TEST(RuntimeApi, ExplainsCopiesThatLeaveAnAllocation) {
  const DeviceBytes device(64);
  char host[128] = {};
  const std::string text = explanation([&] {
    EXPECT_EQ(cudaMemcpy(device.at(32), host, 33, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  });
  EXPECT_NE(text.find("33 bytes from byte 32 of the destination"), std::string::npos) << text;
  EXPECT_NE(text.find("cudaMalloc of 64 bytes"), std::string::npos) << text;
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(device.at(32), host, 32, cudaMemcpyHostToDevice), cudaSuccess);
}

TEST(RuntimeApi, ExplainsAWrongCopyDirection) {
  const DeviceBytes device(64);
  char host[64] = {};
  const std::string text = explanation([&] {
    EXPECT_EQ(cudaMemcpy(host, device.pointer, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(device.pointer, host, 64, cudaMemcpyDeviceToDevice),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(device.pointer, host, 64, static_cast<cudaMemcpyKind>(9)),
              cudaErrorInvalidMemcpyDirection);
    EXPECT_EQ(cudaMemset(host, 0, 64), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(nullptr, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  });
  EXPECT_NE(text.find("the destination is host memory"), std::string::npos) << text;
  EXPECT_NE(text.find("the source is host memory"), std::string::npos) << text;
  EXPECT_NE(text.find("null pointer"), std::string::npos) << text;
  (void)cudaGetLastError();
}

TEST(RuntimeApi, FreesOnceAndOnlyWhatWasAllocated) {
  void* device = nullptr;
  void* host = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 10), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&host, 10), cudaSuccess);
  explanation([&] {
    EXPECT_EQ(cudaFree(static_cast<char*>(device) + 1), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(host), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(device), cudaSuccess);
    EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
    EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  });
  (void)cudaGetLastError();
}

TEST(RuntimeApi, ReportsMemoryThatIsUsedUp) {
  size_t free_before = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_before, &total), cudaSuccess);
  EXPECT_LE(free_before, total);
  void* pointer = &total;
  const std::string text =
      explanation([&] { EXPECT_EQ(cudaMalloc(&pointer, total + 1), cudaErrorMemoryAllocation); });
  EXPECT_EQ(pointer, nullptr);
  EXPECT_NE(text.find("BW_SIM_MEMORY_GB"), std::string::npos) << text;
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  const DeviceBytes some(4096);
  size_t free_now = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_now, &total), cudaSuccess);
  EXPECT_EQ(free_now, free_before - 4096);
}

TEST(RuntimeApi, TellsKindsOfPointersApart) {
  const auto type_of = [](const void* pointer) {
    cudaPointerAttributes attributes;
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes.type;
  };
  const DeviceBytes device(64);
  void* host = nullptr;
  void* managed = nullptr;
  ASSERT_EQ(cudaHostAlloc(&host, 64, cudaHostAllocMapped), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 64), cudaSuccess);
  EXPECT_EQ(type_of(device.at(63)), cudaMemoryTypeDevice);
  EXPECT_EQ(type_of(host), cudaMemoryTypeHost);
  EXPECT_EQ(type_of(managed), cudaMemoryTypeManaged);
  EXPECT_EQ(type_of(&host), cudaMemoryTypeUnregistered);
  void* mapped = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&mapped, host, 0), cudaSuccess);
  EXPECT_EQ(mapped, host);
  unsigned flags = 0;
  ASSERT_EQ(cudaHostGetFlags(&flags, host), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaHostAllocMapped});
  cudaFreeHost(host);
  cudaFree(managed);
}

TEST(RuntimeApi, KeepsStreamsAndEvents) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100), cudaSuccess);
  int priority = 0;
  unsigned flags = 0;
  ASSERT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  ASSERT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  int least = 1;
  int greatest = 1;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  ASSERT_EQ(cudaStreamIsCapturing(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);

  cudaEvent_t first = nullptr;
  cudaEvent_t untimed = nullptr;
  ASSERT_EQ(cudaEventCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, first), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventRecord(first, stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(stream, first, 0), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, first), cudaSuccess);
  EXPECT_EQ(milliseconds, 0.0f);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, first, untimed), cudaErrorInvalidResourceHandle);

  int calls = 0;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream, [](void* count) { ++*static_cast<int*>(count); }, &calls),
            cudaSuccess);
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(first, stream), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventDestroy(first), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(first), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventDestroy(untimed), cudaSuccess);
  (void)cudaGetLastError();
}

TEST(RuntimeApi, NamesErrors) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
  EXPECT_STREQ(cudaGetErrorName(cudaErrorTensorMemoryLeak), "cudaErrorTensorMemoryLeak");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(RuntimeApi, GivesDriverEntryPoints) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status{};
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuGetErrorName", &function, 12000, cudaEnableDefault,
                                             &status),
            cudaSuccess);
  ASSERT_EQ(status, cudaDriverEntryPointSuccess);
  const char* name = nullptr;
  const auto get_name = reinterpret_cast<CUresult (*)(CUresult, const char**)>(function);
  ASSERT_EQ(get_name(CUDA_ERROR_TENSOR_MEMORY_LEAK, &name), CUDA_SUCCESS);
  EXPECT_STREQ(name, "CUDA_ERROR_TENSOR_MEMORY_LEAK");
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                             cudaEnableDefault, &status),
            cudaSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(cuTensorMapEncodeTiled));
  const std::string text = explanation([&] {
    EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 12000,
                                               cudaEnableDefault, &status),
              cudaSuccess);
  });
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(function, nullptr);
  EXPECT_NE(text.find("cuNoSuchFunction"), std::string::npos);
}

TEST(RuntimeApi, EncodesTensorMapsAndExplainsBadOnes) {
  const DeviceBytes device(4096);
  CUtensorMap map;
  const cuuint64_t extents[2] = {64, 32};
  cuuint64_t strides[1] = {64};
  const cuuint32_t box[2] = {64, 8};
  const cuuint32_t steps[2] = {1, 1};
  const auto encode = [&] {
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, device.pointer, extents,
                                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encode(), CUDA_SUCCESS);
  EXPECT_EQ(cuTensorMapReplaceAddress(&map, device.at(1024)), CUDA_SUCCESS);
  strides[0] = 65;
  const std::string text = explanation([&] { EXPECT_EQ(encode(), CUDA_ERROR_INVALID_VALUE); });
  EXPECT_NE(text.find("cuTensorMapEncodeTiled"), std::string::npos);
  EXPECT_NE(text.find("65"), std::string::npos) << text;
}

TEST(RuntimeApi, AFunctionThatIsMissingSaysItsNameOnce) {
  const auto call = [] {
    unsigned long long object = 0;
    EXPECT_EQ(cudaCreateTextureObject(&object, nullptr, nullptr, nullptr), cudaErrorNotSupported);
  };
  const std::string text = explanation([&] { call(); });
  EXPECT_NE(text.find("cudaCreateTextureObject: this function is not supported"), std::string::npos)
      << text;
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  EXPECT_EQ(explanation([&] { call(); }), "");
  (void)cudaGetLastError();
}

}  // namespace
