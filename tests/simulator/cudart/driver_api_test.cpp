/// \file
/// The driver's functions, as a launcher without the runtime calls them.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulator/cudart/driver_api.hpp"
#include "tests/simulator/cudart/fat_binaries.hpp"

namespace {

using bw::sim::test::DriverApi;
using bw::sim::test::FatBinaryBuilder;
using bw::sim::test::kPtx;

TEST_F(DriverApi, LoadsAModuleAndLaunchesItsKernel) {
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadDataEx(&module, kPtx.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS);
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
  CUdeviceptr out = 0;
  ASSERT_EQ(cuMemAlloc(&out, 4), CUDA_SUCCESS);
  int value = 10;
  void* parameters[] = {&out, &value};
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  int result = 0;
  ASSERT_EQ(cuMemcpyDtoH(&result, out, 4), CUDA_SUCCESS);
  EXPECT_EQ(result, 14);

  CUdeviceptr bias = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuModuleGetGlobal(&bias, &bytes, module, "bias"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  ASSERT_EQ(cuMemsetD32(bias, 100, 1), CUDA_SUCCESS);
  // The same arguments in one buffer.
  struct {
    CUdeviceptr out;
    int value;
  } buffer{out, 20};
  size_t size = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(&result, out, 4), CUDA_SUCCESS);
  EXPECT_EQ(result, 120);

  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  ASSERT_EQ(cuLaunchKernelEx(&config, function, parameters, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(&result, out, 4), CUDA_SUCCESS);
  EXPECT_EQ(result, 110);
  EXPECT_EQ(cuMemFree(out), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(DriverApi, AKernelReachesMemoryOfTheHostWhileItIsRegistered) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_NO_FATAL_FAILURE(load(module, function));
  std::vector<int> words(100, 0);
  ASSERT_EQ(cuMemHostRegister(words.data(), words.size() * sizeof(int), 0), CUDA_SUCCESS);
  CUdeviceptr out = 0;
  ASSERT_EQ(cuMemHostGetDevicePointer(&out, &words[7], 0), CUDA_SUCCESS);
  int value = 10;
  void* parameters[] = {&out, &value};
  const auto launch = [&] {
    const CUresult launched =
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
    return launched != CUDA_SUCCESS ? launched : cuCtxSynchronize();
  };
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(words[7], 14);
  EXPECT_EQ(words[6], 0);
  // What overlaps, what is not there, and who may free it.
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuMemHostRegister(&words[99], 1000, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemFreeHost(words.data()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(&words[1]), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("are registered already"),
            std::string::npos);
  ASSERT_EQ(cuMemHostUnregister(words.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(words.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("is not device memory"), std::string::npos);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);  // the error stays until then
}

TEST_F(DriverApi, AGraphOfAllKindsOfNodes) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_NO_FATAL_FAILURE(load(module, function));
  CUdeviceptr words = 0;
  ASSERT_EQ(cuMemAlloc(&words, 16), CUDA_SUCCESS);

  CUgraph graph = nullptr;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUgraphNode begin = nullptr, filled = nullptr, stored = nullptr, copied = nullptr, told = nullptr;
  ASSERT_EQ(cuGraphAddEmptyNode(&begin, graph, nullptr, 0), CUDA_SUCCESS);
  CUDA_MEMSET_NODE_PARAMS filling{};
  filling.dst = words;
  filling.elementSize = 4;
  filling.value = 5;
  filling.width = 4;
  filling.height = 1;
  ASSERT_EQ(cuGraphAddMemsetNode(&filled, graph, nullptr, 0, &filling, context_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddDependencies(graph, &begin, &filled, nullptr, 1), CUDA_SUCCESS);
  CUdeviceptr out = words + 8;
  int value = 30;
  void* parameters[] = {&out, &value};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = function;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  ASSERT_EQ(cuGraphAddKernelNode(&stored, graph, &filled, 1, &kernel), CUDA_SUCCESS);
  int result[3] = {};
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = words;
  copy.srcXInBytes = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = result;
  copy.WidthInBytes = sizeof result;
  copy.Height = copy.Depth = 1;
  ASSERT_EQ(cuGraphAddMemcpyNode(&copied, graph, &stored, 1, &copy, context_), CUDA_SUCCESS);
  struct Seen {
    const int* result;
    int stored = 0;
  } seen{result};
  const auto look = [](void* data) {
    auto& given = *static_cast<Seen*>(data);
    given.stored = given.result[1];
  };
  const CUDA_HOST_NODE_PARAMS host{look, &seen};
  ASSERT_EQ(cuGraphAddHostNode(&told, graph, &copied, 1, &host), CUDA_SUCCESS);

  CUgraph outer = nullptr;
  ASSERT_EQ(cuGraphCreate(&outer, 0), CUDA_SUCCESS);
  CUgraphNode inner = nullptr;
  ASSERT_EQ(cuGraphAddChildGraphNode(&inner, outer, nullptr, 0, graph), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuGraphInstantiate(&exec, outer, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(result[0], 5);
  EXPECT_EQ(result[1], 34);
  EXPECT_EQ(result[2], 5);
  EXPECT_EQ(seen.stored, 34);

  testing::internal::CaptureStderr();
  EXPECT_EQ(cuGraphAddEmptyNode(&inner, outer, &begin, 1), CUDA_ERROR_INVALID_VALUE);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuGraphAddMemcpyNode(&copied, graph, &stored, 1, &copy, context_),
            CUDA_ERROR_NOT_SUPPORTED);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("dependency 0 is not a node of the graph"), std::string::npos);
  EXPECT_NE(said.find("CUDA arrays are not supported"), std::string::npos);
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(outer), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(words), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(DriverApi, AModuleLoadedTwiceIsTwoModules) {
  CUmodule modules[2] = {};
  CUdeviceptr bias[2] = {};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cuModuleLoadData(&modules[i], kPtx.c_str()), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetGlobal(&bias[i], nullptr, modules[i], "bias"), CUDA_SUCCESS);
  }
  EXPECT_NE(bias[0], bias[1]);
  EXPECT_EQ(cuModuleUnload(modules[0]), CUDA_SUCCESS);
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, modules[1], "store"), CUDA_SUCCESS);
  // But it is unloaded once.
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleUnload(modules[0]), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("unloaded before"), std::string::npos);
  EXPECT_EQ(cuModuleGetFunction(&function, modules[0], "store"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(modules[1]), CUDA_SUCCESS);
}

TEST_F(DriverApi, AFatBinaryIsLoadedAndADamagedOneRefused) {
  const std::vector<std::byte> whole =
      FatBinaryBuilder().elf(100).ptx(kPtx, 100, 'a', FatBinaryBuilder::Store::zstandard).bytes();
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadFatBinary(&module, whole.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);

  std::vector<std::byte> damaged = whole;
  // The second entry states more bytes than are there.
  FatBinaryBuilder::put(damaged, 16 + 64 + 8 + 8, uint64_t{1} << 40);
  EXPECT_NE(refusal(damaged.data(), CUDA_ERROR_INVALID_PTX).find("malformed or cut off"),
            std::string::npos);
  const auto sass = FatBinaryBuilder().elf(100).bytes();
  EXPECT_NE(refusal(sass.data(), CUDA_ERROR_UNSUPPORTED_PTX_VERSION).find("no PTX"),
            std::string::npos);
}

TEST_F(DriverApi, WhatIsNoPtxIsRefusedWithASentence) {
  EXPECT_NE(refusal("\x7f"
                    "ELF and so on",
                    CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
                .find("machine code (a cubin)"),
            std::string::npos);
  EXPECT_NE(refusal("hello, world, this is no module", CUDA_ERROR_INVALID_PTX)
                .find("neither PTX text nor a fat binary"),
            std::string::npos);
  std::string newer = kPtx;
  newer.replace(newer.find("9.0"), 3, "10.2");
  EXPECT_NE(refusal(newer.c_str(), CUDA_ERROR_UNSUPPORTED_PTX_VERSION).find("PTX 10.2"),
            std::string::npos);
}

TEST_F(DriverApi, FillsElementsOfEveryWidth) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 64), CUDA_SUCCESS);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(memory);
  ASSERT_EQ(cuMemsetD8(memory, 0x11, 64), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD16Async(memory + 16, 0x2233, 4, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD2D32(memory + 32, 16, 0x44556677, 1, 2), CUDA_SUCCESS);
  EXPECT_EQ(bytes[15], 0x11);
  EXPECT_EQ(bytes[16], 0x33);
  EXPECT_EQ(bytes[23], 0x22);
  EXPECT_EQ(bytes[24], 0x11);
  EXPECT_EQ(bytes[35], 0x44);
  EXPECT_EQ(bytes[36], 0x11);
  EXPECT_EQ(bytes[48], 0x77);
  EXPECT_EQ(cuMemsetD32(memory + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);  // not aligned
  EXPECT_EQ(cuMemsetD8(memory, 0, 65), CUDA_ERROR_INVALID_VALUE);      // leaves the allocation
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(DriverApi, AModuleListsItsKernels) {
  CUmodule module = nullptr, owner = nullptr;
  CUfunction function = nullptr, listed[2] = {};
  unsigned count = 0;
  const char* name = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kPtx.c_str()), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunctionCount(&count, module), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(cuModuleEnumerateFunctions(listed, 1, module), CUDA_SUCCESS);
  ASSERT_EQ(cuFuncGetName(&name, listed[0]), CUDA_SUCCESS);
  EXPECT_STREQ(name, "store");
  ASSERT_EQ(cuFuncGetModule(&owner, function), CUDA_SUCCESS);
  EXPECT_EQ(owner, module);
  size_t offset = 0, size = 0;
  ASSERT_EQ(cuFuncGetParamInfo(function, 1, &offset, &size), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(DriverApi, StreamsAndEventsAreTheRuntimes) {
  CUstream stream = nullptr;
  CUevent first = nullptr, last = nullptr;
  CUcontext of_stream = nullptr;
  int priority = 99, least = 99, greatest = 99, called = 0;
  unsigned flags = 99;
  unsigned long long id = 0, same = 1;
  float milliseconds = -1;
  ASSERT_EQ(cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
  EXPECT_LT(greatest, least);
  ASSERT_EQ(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetPriority(stream, &priority), CUDA_SUCCESS);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cuStreamGetFlags(stream, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(cuStreamGetId(stream, &id), CUDA_SUCCESS);
  EXPECT_EQ(cudaStreamGetId(stream, &same), cudaSuccess);
  EXPECT_EQ(id, same);
  EXPECT_EQ(cuStreamGetCtx(stream, &of_stream), CUDA_SUCCESS);
  EXPECT_EQ(of_stream, context_);
  ASSERT_EQ(cuEventCreate(&first, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&last, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(first, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuLaunchHostFunc(
                stream, [](void* count) { ++*static_cast<int*>(count); }, &called),
            CUDA_SUCCESS);
  ASSERT_EQ(
      cuStreamAddCallback(
          stream, [](CUstream, CUresult, void* count) { ++*static_cast<int*>(count); }, &called, 0),
      CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(stream, first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecordWithFlags(last, stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(last), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(last), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, first, last), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cuEventDestroy(first), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(last), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverApi, FunctionsAreFoundByName) {
  for (const char* const name : {"cuTensorMapEncodeTiled", "cuMemsetD8Async", "cuLaunchKernelEx",
                                 "cuGetErrorString", "cuMemAlloc", "cuStreamDestroy"}) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status{};
    EXPECT_EQ(cuGetProcAddress(name, &function, CUDA_VERSION, 0, &status), CUDA_SUCCESS) << name;
    EXPECT_NE(function, nullptr) << name;
  }
  void* found = nullptr;
  ASSERT_EQ(cuGetProcAddress("cuMemAlloc", &found, CUDA_VERSION, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(found, reinterpret_cast<void*>(cuMemAlloc));
  // What is missing exists, and says so when it is called.
  ASSERT_EQ(cuGetProcAddress("cuTexObjectDestroy", &found, CUDA_VERSION, 0, nullptr), CUDA_SUCCESS);
  testing::internal::CaptureStderr();
  EXPECT_EQ(reinterpret_cast<CUresult (*)(CUtexObject)>(found)(0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cuTexObjectDestroy: this function is not"),
            std::string::npos);
  (void)cudaGetLastError();
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(cuGetProcAddress("cuNoSuchFunction", &found, CUDA_VERSION, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST_F(DriverApi, KernelsHaveAttributesAndOccupancy) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_NO_FATAL_FAILURE(load(module, function));
  constexpr int kBytes = 100 * 1024;
  ASSERT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kBytes),
            CUDA_SUCCESS);
  ASSERT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50),
            CUDA_SUCCESS);
  cudaFuncAttributes expected{};
  ASSERT_EQ(cudaFuncGetAttributes(&expected, function), cudaSuccess);
  const std::pair<CUfunction_attribute, int> kAttributes[] = {
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0},
      {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, static_cast<int>(expected.constSizeBytes)},
      {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, expected.numRegs},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, 100},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, 100},
      {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 0},
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kBytes},
      {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50},
      {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 0},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 0},
      {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 0},
      {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0},
      {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 0},
  };
  int value = -1;
  for (const auto& [attribute, known] : kAttributes) {
    EXPECT_EQ(cuFuncGetAttribute(&value, attribute, function), CUDA_SUCCESS) << attribute;
    EXPECT_EQ(value, known) << attribute;
  }
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, function), CUDA_ERROR_INVALID_VALUE);
  int blocks = 0;
  ASSERT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 128, kBytes),
            CUDA_SUCCESS);
  EXPECT_EQ(blocks, 2);
  // An SM has 228 KiB, of which each block reserves 1 KiB in addition to its own 227 KiB at most.
  size_t left = 0;
  for (const auto& [count, kib] : std::map<int, size_t>{{1, 227}, {2, 113}, {3, 75}}) {
    ASSERT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&left, function, count, 128), CUDA_SUCCESS);
    EXPECT_EQ(left, kib * 1024) << count;
  }
  EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(&left, function, 0, 128),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuOccupancyAvailableDynamicSMemPerBlock(nullptr, function, 1, 128),
            CUDA_ERROR_INVALID_VALUE);
  // The largest block with which most of the 2048 threads of an SM are used.
  int grid = 0, block = 0, sms = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), CUDA_SUCCESS);
  const auto potential = [&](size_t bytes, int most, CUoccupancyB2DSize bytes_of = nullptr) {
    EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, bytes_of, bytes, most),
              CUDA_SUCCESS);
    EXPECT_EQ(grid % sms, 0);
    return std::pair(block, grid / sms);
  };
  EXPECT_EQ(potential(0, 0), std::pair(1024, 2));
  EXPECT_EQ(potential(0, 500), std::pair(256, 8));
  EXPECT_EQ(potential(0, 1), std::pair(32, 32));
  EXPECT_EQ(potential(kBytes, 512), std::pair(512, 2));
  EXPECT_EQ(potential(0, 0, [](int threads) { return size_t{threads > 128 ? kBytes + 1u : 0u}; }),
            std::pair(128, 16));
  CUlaunchConfig config{};
  config.gridDimX = 4;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128;
  config.blockDimY = config.blockDimZ = 1;
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = 2;
  cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  ASSERT_EQ(cuOccupancyMaxActiveClusters(&clusters, function, &config), CUDA_SUCCESS);
  EXPECT_GT(clusters, 0);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(DriverApi, EncodesMapsForIm2colAlongARow) {
  CUtensorMap map{};
  const cuuint64_t extents[] = {64, 9, 7, 4}, strides[] = {128, 1152, 8064};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  const auto encode = [&](CUtensorMapSwizzle swizzle) {
    return cuTensorMapEncodeIm2colWide(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, reinterpret_cast<void*>(0x1000), extents, strides,
        -1, -1, 64, 128, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,
        swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encode(CU_TENSOR_MAP_SWIZZLE_128B), CUDA_SUCCESS);
  testing::internal::CaptureStderr();
  EXPECT_EQ(encode(CU_TENSOR_MAP_SWIZZLE_32B), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("swizzle is 1"), std::string::npos);
}

}  // namespace
