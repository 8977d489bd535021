/// \file
/// Lab: programmatic dependent launch. A chain of grids, each of which needs what the one before
/// has written; a grid may start while its predecessor still runs, does what needs none of its
/// data, and waits before it touches memory.
///
/// New compared with launch_control: the kernel itself orders the grids of a stream. When it lets
/// the next one start decides what is gained, and nothing else: the wait covers all writes.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/fence.cuh"
#include "common/device/grid_dependency.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/host/comparison.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"

namespace bw::lab {

constexpr uint32_t kThreads = 256;
constexpr int64_t kElements = 1 << 16;

enum Launch : int { kEarly, kLate, kSerial };

/// values[i] = 3 · values[i] + 1, modulo 2^32.
__global__ void step_kernel(uint32_t* values, bool triggers_early) {
  __shared__ SharedMemBarrier barrier;
  if (threadIdx.x == 0) {  // needs nothing from other grids: may overlap the predecessor
    barrier.init(kThreads);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (triggers_early) ptx::grid_dependency_launch_dependents();
  ptx::grid_dependency_wait();  // the predecessor has ended, its writes are visible
  uint32_t& value = values[blockIdx.x * kThreads + threadIdx.x];
  value = 3 * value + 1;
  barrier.arrive();
  barrier.wait(0);  // every value of this CTA is read and written
  if (!triggers_early) ptx::grid_dependency_launch_dependents();
}

void launch(uint32_t* values, Launch how) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(kElements / kThreads, 1, 1);
  configuration.blockDim = dim3(kThreads, 1, 1);
  configuration.attrs = &attribute;
  configuration.numAttrs = how == kSerial ? 0 : 1;
  bool triggers_early = how == kEarly;
  void* parameters[] = {&values, &triggers_early};
  check_cuda(
      cudaLaunchKernelExC(&configuration, reinterpret_cast<const void*>(step_kernel), parameters),
      "launch the kernel");
}

ExitStatus run(int64_t launches, Launch how) {
  constexpr int64_t kMostLaunches = 10000;
  require(launches >= 1 && launches <= kMostLaunches, "--launches ", launches, ": give 1 to ",
          kMostLaunches, ".");
  print_machine();
  std::vector<uint32_t> start(kElements);
  for (int64_t i = 0; i < kElements; ++i) start[i] = static_cast<uint32_t>(i);
  DeviceBuffer<uint32_t> values(start);
  EventTimer timer;
  timer.start(nullptr);
  for (int64_t i = 0; i < launches; ++i) launch(values.data(), how);
  print_cycles(timer.stop(nullptr));

  // 3^n · i + (3^n - 1) / 2, from powers instead of steps.
  uint64_t power = 1, half = 0;  // modulo 2^32
  for (int64_t i = 0; i < launches; ++i) {
    half = (half + power) & 0xffffffffu;
    power = power * 3 & 0xffffffffu;
  }
  const std::vector<uint32_t> found = values.download();
  return print_verdict(
      compare_elements(
          kElements, 1, [&](int64_t i) { return found[i]; },
          [&](int64_t i) {
            return static_cast<double>((power * static_cast<uint64_t>(i) + half) & 0xffffffffu);
          },
          [](int64_t) { return 0.0; }),
      "values");
}

}  // namespace bw::lab

int main(int argc, char** argv) {
  int64_t launches = 5;
  int how = bw::lab::kEarly;
  bw::CommandLine command_line("A chain of grids, each on the results of the one before.");
  command_line.add("launches", launches, "grids of the chain");
  command_line.add("launch", how, {"early", "late", "serial"},
                   "early, late: a grid lets the next one start at its beginning or its end; "
                   "serial: the next one starts after its end");
  return bw::run_main(command_line, "lab_05_dependent_launch", argc, argv,
                      [&] { return bw::lab::run(launches, static_cast<bw::lab::Launch>(how)); });
}
