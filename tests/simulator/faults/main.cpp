/// \file
/// Runs one small kernel of the catalogue of faults:
///
///     simulator_faults NAME      0: verified, 1: a wrong result, 2: bad input
///     simulator_faults --list    the names

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/error.hpp"
#include "common/host/tensor_map.hpp"
#include "tests/simulator/faults/fault_tables.hpp"

namespace bw::faults {
namespace {

CUtensorMap map_of(const char* name, const uint32_t* words) {
  return make_tensor_map({.name = name,
                          .data = words,
                          .type = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                          .element_bytes = sizeof(uint32_t),
                          .inner = kRowWords,
                          .outer = kWords / kRowWords,
                          .stride_bytes = kRowWords * sizeof(uint32_t),
                          .box_inner = kRowWords,
                          .box_outer = kBoxRows,
                          .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
}

void launch(const FaultKernel& one, FaultArguments& arguments) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {one.cluster, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = {one.ctas, 1, 1};
  config.blockDim = {one.threads, 1, 1};
  config.dynamicSmemBytes = one.shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  void* parameters[] = {&arguments};
  const void* kernel = reinterpret_cast<const void*>(one.kernel);
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(one.shared_bytes)),
             "allow the shared memory");
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
             "allow the cluster");
  check_cuda(cudaLaunchKernelExC(&config, kernel, parameters), "launch the kernel");
}

int run(const FaultKernel& one) {
  std::vector<uint32_t> words(kWords);
  for (uint32_t i = 0; i < kWords; ++i) words[i] = 0x10000 + 3 * i;
  const DeviceBuffer<uint32_t> in(words);
  DeviceBuffer<uint32_t> out(kWords);
  const DeviceBuffer<uint32_t> scratch(std::vector<uint32_t>(kWords, 0));
  DeviceBuffer<uint32_t> fresh(kWords);
  out.fill_bytes(0xff);
  FaultRun fault{};
  FaultArguments& arguments = fault.arguments;
  arguments.in_map = map_of("in", in.data());
  arguments.out_map = map_of("out", out.data());
  arguments.in = in.data();
  arguments.out = out.data();
  arguments.scratch = const_cast<uint32_t*>(scratch.data());
  arguments.fresh = fresh.data();
  const DeviceBuffer<CUtensorMap> map(std::vector<CUtensorMap>{arguments.in_map});
  arguments.map = const_cast<CUtensorMap*>(map.data());
  if (one.host != nullptr) {
    one.host(fault);
  } else {
    launch(one, arguments);
  }
  check_cuda(cudaDeviceSynchronize(), "run the kernel");
  const std::vector<uint32_t> got = out.download();
  const uint32_t checked = one.words != 0 ? one.words : one.threads * one.ctas;
  for (uint32_t i = 0; i < checked; ++i) {
    if (got[i] == words[i]) continue;
    std::printf("WRONG    word %u of out is 0x%x, not 0x%x\n", i, got[i], words[i]);
    return 1;
  }
  std::printf("verified %u words\n", checked);
  return 0;
}

int main_of(int argc, char** argv) {
  const std::string wanted = argc == 2 ? argv[1] : "";
  for (const FaultTable table : fault_tables()) {
    for (const FaultKernel& one : table) {
      if (wanted == "--list") std::printf("%s\n", one.name);
      if (wanted == one.name) return run(one);
    }
  }
  if (wanted == "--list") return 0;
  std::fprintf(stderr, "error: '%s' is not a kernel of the catalogue; --list has their names.\n",
               wanted.c_str());
  return 2;
}

}  // namespace
}  // namespace bw::faults

int main(int argc, char** argv) {
  try {
    return bw::faults::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
