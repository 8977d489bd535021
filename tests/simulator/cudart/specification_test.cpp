/// \file
/// Arguments at their bounds, null pointers, unusual flags, and the limits of the device, as the
/// comments of cuda.h and cuda_runtime_api.h and the tables of the CUDA C++ Programming Guide
/// ("Technical Specifications per Compute Capability") state them.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

// With the explanations of refused calls kept from the output, and no error left at the end.
class Specification : public testing::Test {
 protected:
  void SetUp() override { testing::internal::CaptureStderr(); }
  void TearDown() override {
    (void)testing::internal::GetCapturedStderr();
    (void)cudaGetLastError();
  }
};

TEST_F(Specification, AnAllocationHasTheBytesThatWereAskedFor) {
  using Allocate = cudaError_t (*)(void**, size_t);
  using Free = cudaError_t (*)(void*);
  struct Allocator {
    const char* name;
    Allocate allocate;
    Free free;
  };
  const Allocator kAllocators[] = {
      {"cudaMalloc", cudaMalloc, cudaFree},
      {"cudaMallocHost", cudaMallocHost, cudaFreeHost},
      {"cudaHostAlloc", [](void** p, size_t n) { return cudaHostAlloc(p, n, 0); }, cudaFreeHost},
      {"cudaMallocManaged",
       [](void** p, size_t n) { return cudaMallocManaged(p, n, cudaMemAttachHost); }, cudaFree},
      {"cudaMallocAsync", [](void** p, size_t n) { return cudaMallocAsync(p, n, nullptr); },
       cudaFree},
  };
  for (const auto& [name, allocate, free] : kAllocators) {
    SCOPED_TRACE(name);
    EXPECT_EQ(allocate(nullptr, 8), cudaErrorInvalidValue);
    void* one = nullptr;
    ASSERT_EQ(allocate(&one, 1), cudaSuccess);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(one) % 256, 0u);
    EXPECT_EQ(cudaMemset(one, 7, 1), cudaSuccess);
    EXPECT_EQ(cudaMemset(one, 7, 2), cudaErrorInvalidValue);
    EXPECT_EQ(*static_cast<const char*>(one), 7);
    CUdeviceptr base = 0;
    size_t bytes = 0;
    const auto address = reinterpret_cast<CUdeviceptr>(one);
    EXPECT_EQ(cuMemGetAddressRange(&base, &bytes, address), CUDA_SUCCESS);
    EXPECT_EQ(base, address);
    EXPECT_EQ(bytes, 1u);
    EXPECT_EQ(cuMemGetAddressRange(&base, &bytes, address + 1), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(free(one), cudaSuccess);
  }
  void* none = &none;
  EXPECT_EQ(cudaMalloc(&none, 0), cudaSuccess);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(cudaMallocManaged(&none, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocManaged(&none, 8, 0), cudaErrorInvalidValue);
}

TEST_F(Specification, TheDriverAllocatesNoEmptyMemory) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);  // makes the context of the runtime current
  const std::pair<const char*, CUresult (*)(CUdeviceptr*, size_t)> kAllocators[] = {
      {"cuMemAlloc", cuMemAlloc},
      {"cuMemAllocManaged",
       [](CUdeviceptr* p, size_t n) { return cuMemAllocManaged(p, n, CU_MEM_ATTACH_GLOBAL); }},
  };
  for (const auto& [name, allocate] : kAllocators) {
    SCOPED_TRACE(name);
    CUdeviceptr address = 0;
    EXPECT_EQ(allocate(nullptr, 8), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(allocate(&address, 0), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(allocate(&address, 1), CUDA_SUCCESS);
    EXPECT_NE(address, 0u);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  }
  CUdeviceptr address = 0;
  size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch(&address, &pitch, 513, 2, 4), CUDA_SUCCESS);
  EXPECT_GE(pitch, 513u);
  EXPECT_EQ(pitch % 256, 0u);
  EXPECT_EQ(cuMemsetD2D8(address, pitch, 1, 513, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D8(address, pitch, 1, 513, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
}

TEST_F(Specification, PitchedMemoryHoldsItsRowsAndSlices) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMallocPitch(&pointer, nullptr, 1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc3D(nullptr, {1, 1, 1}), cudaErrorInvalidValue);
  cudaPitchedPtr box{};
  ASSERT_EQ(cudaMalloc3D(&box, {3, 2, 4}), cudaSuccess);
  EXPECT_EQ(box.xsize, 3u);
  EXPECT_EQ(box.ysize, 2u);
  EXPECT_GE(box.pitch, 3u);
  EXPECT_EQ(cudaMemset3D(box, 5, {3, 2, 4}), cudaSuccess);
  EXPECT_EQ(cudaMemset3D(box, 6, {1, 1, 4}), cudaSuccess);
  EXPECT_EQ(cudaMemset3D(box, 7, {3, 2, 5}), cudaErrorInvalidValue);
  const auto* const bytes = static_cast<const char*>(box.ptr);
  for (size_t z = 0; z < 4; ++z)
    for (size_t y = 0; y < 2; ++y)
      for (size_t x = 0; x < 3; ++x)
        EXPECT_EQ(bytes[(2 * z + y) * box.pitch + x], x == 0 && y == 0 ? 6 : 5) << z << y << x;
  ASSERT_EQ(cudaFree(box.ptr), cudaSuccess);
}

// Positions and extents of linear memory count bytes, rows and slices; no other byte is written.
TEST_F(Specification, ABoxIsCopiedFromItsPlaceToAnother) {
  constexpr size_t kPitch = 8, kRows = 3, kSlices = 2, kOtherPitch = 10, kOtherRows = 4;
  std::array<uint8_t, kPitch * kRows * kSlices> source{};
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i + 1);
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, source.size()), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(device, source.data(), source.size(), cudaMemcpyHostToDevice), cudaSuccess);
  cudaMemcpy3DParms box{};
  box.srcPtr = {device, kPitch, kPitch, kRows};
  box.srcPos = {2, 1, 0};
  box.dstPos = {1, 2, 1};
  box.extent = {5, 2, 2};
  box.kind = cudaMemcpyDeviceToHost;
  using Copy = cudaError_t (*)(const cudaMemcpy3DParms*);
  for (const Copy copy : {Copy{cudaMemcpy3D}, Copy{[](const cudaMemcpy3DParms* given) {
                            const cudaError_t error = cudaMemcpy3DAsync(given, nullptr);
                            return error != cudaSuccess ? error : cudaDeviceSynchronize();
                          }}}) {
    std::array<uint8_t, kOtherPitch * kOtherRows * 3> copied{};
    box.dstPtr = {copied.data(), kOtherPitch, kOtherPitch, kOtherRows};
    ASSERT_EQ(copy(&box), cudaSuccess);
    for (size_t z = 0; z < 3; ++z)
      for (size_t y = 0; y < kOtherRows; ++y)
        for (size_t x = 0; x < kOtherPitch; ++x) {
          const bool is_inside = z >= 1 && y >= 2 && x >= 1 && x < 6;
          const size_t from = ((z - 1) * kRows + y - 1) * kPitch + x + 1;
          EXPECT_EQ(copied[(z * kOtherRows + y) * kOtherPitch + x], is_inside ? source[from] : 0)
              << z << y << x;
        }
    EXPECT_EQ(copy(nullptr), cudaErrorInvalidValue);
  }
  box.extent.depth = 3;  // leaves the source
  EXPECT_EQ(cudaMemcpy3D(&box), cudaErrorInvalidValue);
  box.extent = {9, 2, 1};  // a row of more than the pitch
  EXPECT_EQ(cudaMemcpy3D(&box), cudaErrorInvalidPitchValue);
  ASSERT_EQ(cudaFree(device), cudaSuccess);
}

// The last row of a rectangle ends where its bytes end, not at the pitch.
TEST_F(Specification, ARectangleMayEndWithItsAllocation) {
  constexpr size_t kPitch = 16, kWidth = 10, kRows = 3, kLast = 2 * kPitch + kWidth;
  std::array<char, kRows * kWidth> host{};
  for (const size_t bytes : {kLast, kLast - 1}) {
    const cudaError_t expected = bytes == kLast ? cudaSuccess : cudaErrorInvalidValue;
    void* device = nullptr;
    ASSERT_EQ(cudaMalloc(&device, bytes), cudaSuccess);
    EXPECT_EQ(cudaMemset2D(device, kPitch, 1, kWidth, kRows), expected);
    EXPECT_EQ(
        cudaMemcpy2D(device, kPitch, host.data(), kWidth, kWidth, kRows, cudaMemcpyHostToDevice),
        expected);
    EXPECT_EQ(
        cudaMemcpy2D(host.data(), kWidth, device, kPitch, kWidth, kRows, cudaMemcpyDeviceToHost),
        expected);
    // A pitch of exactly a row, and one that is smaller; of a single row it does not matter.
    EXPECT_EQ(cudaMemset2D(device, kWidth, 1, kWidth, kRows), cudaSuccess);
    EXPECT_EQ(cudaMemset2D(device, kWidth - 1, 1, kWidth, kRows), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaMemset2D(device, kWidth - 1, 1, kWidth, 1), cudaSuccess);
    EXPECT_EQ(cudaMemset2D(device, kPitch, 1, 0, 1000), cudaSuccess);
    EXPECT_EQ(cudaMemset2D(device, kPitch, 1, 1000, 0), cudaSuccess);
    EXPECT_EQ(cudaFree(device), cudaSuccess);
  }
}

TEST_F(Specification, TheDriversCopiesBeginAtTheirOffsets) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  // Slices of 3 rows of 8 bytes; each byte holds its place.
  std::vector<unsigned char> source(3 * 3 * 8), target(100, 0xff);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i);
  CUdeviceptr device = 0;
  ASSERT_EQ(cuMemAlloc(&device, source.size()), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoD(device, source.data(), source.size()), CUDA_SUCCESS);
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = device;
  box.srcPitch = 8;
  box.srcHeight = 3;
  box.srcXInBytes = 2;
  box.srcY = 1;
  box.srcZ = 1;
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = target.data();
  box.WidthInBytes = 3;
  box.Height = 2;
  box.Depth = 2;
  ASSERT_EQ(cuMemcpy3D(&box), CUDA_SUCCESS);
  const std::vector<unsigned char> kBox = {34, 35, 36, 42, 43, 44, 58, 59, 60, 66, 67, 68};
  for (size_t i = 0; i < kBox.size(); ++i) EXPECT_EQ(target[i], kBox[i]) << i;
  EXPECT_EQ(target[kBox.size()], 0xff);
  box.Depth = 3;
  EXPECT_EQ(cuMemcpy3D(&box), CUDA_ERROR_INVALID_VALUE) << "leaves the source";

  CUDA_MEMCPY2D rectangle{};
  rectangle.srcMemoryType = CU_MEMORYTYPE_HOST;
  rectangle.srcHost = source.data();
  rectangle.srcPitch = 8;
  rectangle.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rectangle.dstDevice = device;
  rectangle.dstPitch = 8;
  rectangle.dstXInBytes = 4;
  rectangle.dstY = 7;
  rectangle.WidthInBytes = 4;
  rectangle.Height = 2;
  ASSERT_EQ(cuMemcpy2D(&rectangle), CUDA_SUCCESS);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(device);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(bytes[7 * 8 + i], 56 + i);
    EXPECT_EQ(bytes[7 * 8 + 4 + i], i);
    EXPECT_EQ(bytes[8 * 8 + 4 + i], 8 + i);
  }
  rectangle.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuMemcpy2D(&rectangle), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3D(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(device), CUDA_SUCCESS);
}

TEST_F(Specification, MemoryOfTheHostIsRegisteredByWholeBytes) {
  std::array<char, 8> host{};
  EXPECT_EQ(cudaHostRegister(nullptr, 8, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostRegister(host.data(), 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(nullptr), cudaErrorInvalidValue);
  ASSERT_EQ(cudaHostRegister(host.data(), 1, cudaHostRegisterMapped), cudaSuccess);
  ASSERT_EQ(cudaHostRegister(host.data() + 1, 1, 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(host.data() + 1, 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  unsigned flags = 0;
  EXPECT_EQ(cudaHostGetFlags(&flags, host.data()), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaHostRegisterMapped});
  EXPECT_EQ(cudaHostGetFlags(&flags, host.data() + 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostUnregister(host.data() + 1), cudaSuccess);
}

TEST_F(Specification, APoolCountsItsMemory) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, {0}};
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(cudaMemPoolCreate(nullptr, &properties), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolCreate(&pool, nullptr), cudaErrorInvalidValue);
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  const auto counted = [&](cudaMemPoolAttr attribute) {
    uint64_t bytes = ~uint64_t{0};
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, attribute, &bytes), cudaSuccess);
    return bytes;
  };
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&first, 100, pool, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMallocFromPoolAsync(&second, 20, pool, nullptr), cudaSuccess);
  EXPECT_EQ(counted(cudaMemPoolAttrUsedMemCurrent), 120u);
  ASSERT_EQ(cudaFreeAsync(first, nullptr), cudaSuccess);
  EXPECT_EQ(counted(cudaMemPoolAttrUsedMemCurrent), 20u);
  EXPECT_EQ(counted(cudaMemPoolAttrUsedMemHigh), 120u);
  uint64_t zero = 0;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero), cudaSuccess);
  EXPECT_EQ(counted(cudaMemPoolAttrUsedMemHigh), 20u);
  // Memory of a pool may be freed by cudaFree as well.
  ASSERT_EQ(cudaFree(second), cudaSuccess);
  EXPECT_EQ(counted(cudaMemPoolAttrUsedMemCurrent), 0u);

  uint64_t threshold = 12345;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(counted(cudaMemPoolAttrReleaseThreshold), 12345u);
  int reuse = 0;
  for (const cudaMemPoolAttr which :
       {cudaMemPoolReuseFollowEventDependencies, cudaMemPoolReuseAllowOpportunistic,
        cudaMemPoolReuseAllowInternalDependencies}) {
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, which, &reuse), cudaSuccess);
    EXPECT_EQ(reuse, 1) << "enabled by default";
    reuse = 0;
    EXPECT_EQ(cudaMemPoolSetAttribute(pool, which, &reuse), cudaSuccess);
    reuse = 1;
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, which, &reuse), cudaSuccess);
    EXPECT_EQ(reuse, 0);
  }
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(99), &zero),
            cudaErrorInvalidValue);

  // The current pool of the device falls back to the default one when it is destroyed.
  cudaMemPool_t by_default = nullptr, current = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&by_default, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceSetMemPool(0, pool), cudaSuccess);
  EXPECT_EQ(cudaDeviceSetMemPool(1, pool), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, pool);
  EXPECT_EQ(cudaDeviceGetMemPool(&current, 1), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaErrorInvalidValue);
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, by_default);
}

TEST_F(Specification, StreamsAndEventsTakeTheFlagsThatExist) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 2), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
  int least = 0, greatest = 0, priority = 99;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  ASSERT_LT(greatest, least) << "lower numbers are greater priorities";
  std::set<unsigned long long> ids;
  for (const auto& [wanted, given] : {std::pair{greatest - 1, greatest},
                                      {greatest + 1, greatest + 1},
                                      {least, least},
                                      {least + 1, least}}) {
    ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, wanted), cudaSuccess);
    ASSERT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
    EXPECT_EQ(priority, given);
    unsigned long long id = 0;
    ASSERT_EQ(cudaStreamGetId(stream, &id), cudaSuccess);
    EXPECT_TRUE(ids.insert(id).second) << "an id is unique for the life of the program";
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamAddCallback(nullptr, nullptr, nullptr, 0), cudaErrorInvalidValue);

  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreate(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&event, 8), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue)
      << "only together with cudaEventDisableTiming";
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess) << "of an event that was never recorded";
  float milliseconds = 0;
  ASSERT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(nullptr, event, event), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event, event), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Specification, ANullPointerForAResultIsRefused) {
  void* host = nullptr;
  ASSERT_EQ(cudaMallocHost(&host, 8), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDevice(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaChooseDevice(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceFlags(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDeviceProperties(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetLimit(nullptr, cudaLimitStackSize), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetCacheConfig(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceCanAccessPeer(nullptr, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostGetDevicePointer(nullptr, host, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostGetFlags(nullptr, host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaPointerGetAttributes(nullptr, host), cudaErrorInvalidValue);
  EXPECT_EQ(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  reinterpret_cast<CUdeviceptr>(host)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cudaStreamGetPriority(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamGetFlags(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamGetId(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamGetDevice(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamIsCapturing(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
  int word = 0;
  EXPECT_EQ(cudaMemRangeGetAttribute(nullptr, 4, cudaMemRangeAttributeReadMostly, host, 8),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemRangeGetAttribute(&word, 3, cudaMemRangeAttributeReadMostly, host, 8),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
}

TEST_F(Specification, PointersHaveTheAttributesOfTheirMemory) {
  void *device = nullptr, *managed = nullptr, *host = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 8), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 8, cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&host, 8), cudaSuccess);
  for (void* const pointer : {device, managed, host}) {
    const auto address = reinterpret_cast<CUdeviceptr>(pointer);
    unsigned kind = 99, is_managed = 99;
    int ordinal = 99;
    CUdeviceptr same = 0;
    void* on_host = nullptr;
    EXPECT_EQ(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
              CUDA_SUCCESS);
    EXPECT_EQ(kind, unsigned{pointer == host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE});
    EXPECT_EQ(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address),
              CUDA_SUCCESS);
    EXPECT_EQ(is_managed, pointer == managed ? 1u : 0u);
    EXPECT_EQ(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
              CUDA_SUCCESS);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(cuPointerGetAttribute(&same, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address),
              CUDA_SUCCESS);
    EXPECT_EQ(same, address);
    EXPECT_EQ(cuPointerGetAttribute(&on_host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address),
              pointer == device ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
    EXPECT_EQ(on_host, pointer == device ? nullptr : pointer);
  }
  unsigned kind = 0;
  EXPECT_EQ(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  reinterpret_cast<CUdeviceptr>(&kind)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
}

TEST_F(Specification, TheDeviceIsNumberZero) {
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  int devices[] = {0, 1};
  EXPECT_EQ(cudaSetValidDevices(devices, 1), cudaSuccess);
  EXPECT_EQ(cudaSetValidDevices(devices, 2), cudaErrorInvalidDevice);
  // "0000:00:00.0" and its end have 13 characters.
  char id[13] = {};
  EXPECT_EQ(cudaDeviceGetPCIBusId(id, 12, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetPCIBusId(nullptr, 13, 0), cudaErrorInvalidValue);
  ASSERT_EQ(cudaDeviceGetPCIBusId(id, 13, 0), cudaSuccess);
  EXPECT_EQ(std::strlen(id), 12u);
  int device = 99;
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, "0000:ff:00.0"), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(nullptr, id), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, id), cudaSuccess);
  EXPECT_EQ(device, 0);
  size_t before = 0, bytes = 0;
  const std::pair<cudaLimit, size_t> kDefaults[] = {
      {cudaLimitStackSize, 1024},
      {cudaLimitPrintfFifoSize, 1 << 20},
      {cudaLimitMallocHeapSize, 8 << 20},
      {cudaLimitDevRuntimeSyncDepth, 2},
      {cudaLimitDevRuntimePendingLaunchCount, 2048},
  };
  for (const auto& [limit, value] : kDefaults) {
    ASSERT_EQ(cudaDeviceGetLimit(&bytes, limit), cudaSuccess);
    EXPECT_EQ(bytes, value) << limit;
  }
  ASSERT_EQ(cudaDeviceGetLimit(&before, cudaLimitStackSize), cudaSuccess);
  ASSERT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, before + 512), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetLimit(&bytes, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(bytes, before + 512);
  ASSERT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, before), cudaSuccess);
  EXPECT_EQ(cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1), cudaErrorUnsupportedLimit);
  EXPECT_EQ(cudaDeviceGetLimit(&bytes, static_cast<cudaLimit>(99)), cudaErrorUnsupportedLimit);
}

}  // namespace
