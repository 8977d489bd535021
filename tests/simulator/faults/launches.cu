/// \file
/// Launches that depend on each other: griddepcontrol, programmatic events, fills, and launch
/// control that fails while clusters are pending.

#include "common/device/cluster_launch_control.cuh"
#include "common/device/fence.cuh"
#include "common/device/grid_dependency.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/host/cuda_check.hpp"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

constexpr uint32_t kThreads = 64;
constexpr uint32_t kOther = 512;  ///< word of `scratch` at which other data begins

/// The attribute of a launch that may begin before the launch in front of it has ended.
cudaLaunchAttribute begins_early() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

/// A launch of one CTA with an attribute.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), cudaLaunchAttribute attribute, cudaStream_t stream,
            uint32_t threads, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = {1, 1, 1};
  config.blockDim = {threads, 1, 1};
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...),
             "launch a kernel with an attribute");
}

__global__ void copy_slowly(const uint32_t* in, uint32_t* to) {
  ptx::grid_dependency_launch_dependents();
  __nanosleep(2000);
  to[thread()] = in[thread()];  // written slowly
}

// Lets its dependents begin at once; what comes before it is waited for by the caller's choice.
template <bool waits>
__global__ void fill_other(uint32_t* to) {
  ptx::grid_dependency_launch_dependents();
  if constexpr (waits) ptx::grid_dependency_wait();
  to[thread()] = 0;
}

__global__ void add_behind_wait(const uint32_t* first, const uint32_t* second, uint32_t* out) {
  ptx::grid_dependency_wait();
  out[thread()] = first[thread()] + second[thread()];  // added behind the wait
}

template <bool middle_waits>
void chain_of_three(const FaultArguments& args) {
  copy_slowly<<<1, kThreads>>>(args.in, args.scratch);
  launch(fill_other<middle_waits>, begins_early(), nullptr, kThreads, args.scratch + kOther);
  launch(add_behind_wait, begins_early(), nullptr, kThreads, args.scratch, args.scratch + kOther,
         args.out);
}

// fault 26: CCCL 3131, llama.cpp 22522. Three launches, and the middle one does not wait: the last
// one's griddepcontrol.wait covers the middle one alone.
// expect BW-R14 at races, "add_behind_wait", "fill_other.* has not waited"
// at "// added behind the wait" "// written slowly"
void chain_whose_middle_does_not_wait(FaultRun& run) { chain_of_three<false>(run.arguments); }

// right 26: Three launches, each of which waits for the one in front of it.
void chain_that_waits(FaultRun& run) { chain_of_three<true>(run.arguments); }

// Triggers before it waits: its dependents may run while the launch in front of it still writes.
__global__ void read_without_wait(const uint32_t* first, uint32_t* out) {
  out[thread()] = first[thread()];  // read without a wait
}

// fault 26: The middle launch lets its dependents begin before it has waited itself, and the last
// one reads what the first one writes without any wait.
// expect BW-R14 at races, "read_without_wait", "copy_slowly"
// at "// read without a wait" "// written slowly"
void chain_that_triggers_before_its_wait(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  copy_slowly<<<1, kThreads>>>(args.in, args.scratch);
  launch(fill_other<true>, begins_early(), nullptr, kThreads, args.scratch + kOther);
  launch(read_without_wait, begins_early(), nullptr, kThreads, args.scratch, args.out);
}

// Reads what its dependents write, after it has let them begin.
__global__ void copy_after_trigger(const uint32_t* from, uint32_t* out) {
  ptx::grid_dependency_launch_dependents();
  out[thread()] = from[thread()];  // read after the trigger
}

// Writes before it waits.
__global__ void fill_before_wait(uint32_t* to) {
  __nanosleep(20000);
  to[thread()] = 0;  // written before the wait
  ptx::grid_dependency_wait();
}

// fault 26: The dependent launch overwrites what the launch before it may still read; its wait
// comes too late, although the read happens to be early.
// expect BW-R14 at races, "fill_before_wait", "copy_after_trigger"
// at "// written before the wait" "// read after the trigger"
void dependent_that_writes_before_its_wait(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  copy_slowly<<<1, kThreads>>>(args.in, args.scratch);
  copy_after_trigger<<<1, kThreads>>>(args.scratch, args.out);
  launch(fill_before_wait, begins_early(), nullptr, kThreads, args.scratch);
}

// A middle launch that waits before it triggers.
__global__ void fill_then_trigger(uint32_t* to) {
  ptx::grid_dependency_wait();
  __syncthreads();
  ptx::grid_dependency_launch_dependents();
  to[thread()] = 0;
}

// right 26: The middle launch triggers after its wait, so the first one has ended when the last one
// begins; that one reads nothing of the middle one.
void chain_that_triggers_after_its_wait(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  copy_slowly<<<1, kThreads>>>(args.in, args.scratch);
  launch(fill_then_trigger, begins_early(), nullptr, kThreads, args.scratch + kOther);
  launch(read_without_wait, begins_early(), nullptr, kThreads, args.scratch, args.out);
}

// Of three warps only the third waits for the grid in front. `told`: it tells the others.
template <bool told>
__global__ void one_warp_waits(const uint32_t* data, uint32_t* out) {
  __shared__ SharedMemBarrier ready;
  if (thread() == 0) ready.init(32), ptx::fence_mbarrier_init();
  __syncthreads();
  if (warp() == 2) {
    ptx::grid_dependency_wait();
    ready.arrive();
  } else {
    if constexpr (told) ready.wait(0);
    out[thread()] = data[thread()];  // read by the others
  }
}

// right 26: FlashAttention 3, CUTLASS. Only the load warp executes griddepcontrol.wait, and the
// others come after it by an mbarrier.
void wait_handed_on_by_an_mbarrier(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  copy_slowly<<<1, kThreads>>>(args.in, args.scratch);
  launch(one_warp_waits<true>, begins_early(), nullptr, 96, args.scratch, args.out);
}

// fault 26: One warp waits for the grid in front, and nothing orders the others after it.
// expect BW-R14 at races, "one_warp_waits"
// at "// read by the others" "// written slowly"
void wait_of_another_warp(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  copy_slowly<<<1, kThreads>>>(args.in, args.scratch);
  launch(one_warp_waits<false>, begins_early(), nullptr, 96, args.scratch, args.out);
}

__global__ void add_to(const uint32_t* in, uint32_t* sum, uint32_t* out) {
  sum[thread()] += in[thread()];
  out[thread()] = sum[thread()];
}

// right 26: A fill ends before a launch after it begins, whatever the launch's attribute: it is no
// launch that asks for an overlap (driver_types.h, programmatic stream serialization).
void dependent_launch_behind_a_fill(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  check_cuda(cudaMemsetAsync(args.scratch, 0, kThreads * sizeof(uint32_t), nullptr), "fill");
  launch(add_to, begins_early(), nullptr, kThreads, args.in, args.scratch, args.out);
}

__global__ void copy_behind_wait(const uint32_t* from, uint32_t* out) {
  ptx::grid_dependency_wait();
  out[thread()] = from[thread()];
}

/// A launch that records an event when its CTAs have triggered, and one of another stream behind
/// it.
template <class Kernel>
void behind_a_programmatic_event(const FaultArguments& args, Kernel second) {
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams)
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
  cudaLaunchAttribute records{};
  records.id = cudaLaunchAttributeProgrammaticEvent;
  check_cuda(cudaEventCreateWithFlags(&records.val.programmaticEvent.event, cudaEventDisableTiming),
             "make an event");
  const cudaEvent_t triggered = records.val.programmaticEvent.event;
  launch(copy_slowly, records, streams[0], kThreads, args.in, args.scratch);
  check_cuda(cudaStreamWaitEvent(streams[1], triggered, 0), "wait for the event");
  launch(second, begins_early(), streams[1], kThreads, args.scratch, args.out);
  check_cuda(cudaDeviceSynchronize(), "run both");
}

// right 26: A launch after a programmatic event waits for the launch that has recorded it.
void programmatic_event_and_a_wait(FaultRun& run) {
  behind_a_programmatic_event(run.arguments, copy_behind_wait);
}

// fault 26: A programmatic event says that all CTAs have triggered, not that they have written.
// expect BW-R14 at races, "read_without_wait", "copy_slowly"
// at "// read without a wait" "// written slowly"
void programmatic_event_without_a_wait(FaultRun& run) {
  behind_a_programmatic_event(run.arguments, read_without_wait);
}

// fault: DeepEP. Data that the grid writes is read by ld.global.nc, after release and acquire.
// expect BW-R19 at races, "CTA"
__global__ void written_data_through_nc(const __grid_constant__ FaultArguments args) {
  constexpr uint32_t kFlag = 1024;
  if (blockIdx.x == 0) {
    args.scratch[lane()] = args.in[lane()];  // (1)
    __threadfence();
    __syncwarp();
    if (lane() == 0) atomicExch(&args.scratch[kFlag], 1);
  } else {
    while (atomicAdd(&args.scratch[kFlag], 0) == 0) {
    }
    __threadfence();
    const uint32_t* const from = args.scratch + lane();
    uint32_t value;
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");  // (2)
    args.out[lane()] = value;
  }
}

// right: The same by an ordinary load; what the grid never writes may come through .nc.
__global__ void written_data_by_a_plain_load(const __grid_constant__ FaultArguments args) {
  constexpr uint32_t kFlag = 1024;
  if (blockIdx.x == 0) {
    args.scratch[lane()] = __ldg(args.in + lane());
    __threadfence();
    __syncwarp();
    if (lane() == 0) atomicExch(&args.scratch[kFlag], 1);
  } else {
    while (atomicAdd(&args.scratch[kFlag], 0) == 0) {
    }
    __threadfence();
    uint32_t value;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(args.scratch + lane()) : "memory");
    args.out[lane()] = value;
  }
}

// right 25: Launch control that fails although clusters are pending (seen when a GPU is shared in
// time slices): the CTA ends, and the pending ones are launched as if nothing had been asked.
// setting BW_SIM_SMS=1
// setting BW_SIM_CANCEL_FAILS=2
__global__ void launch_control_fails_early(const __grid_constant__ FaultArguments args) {
  __shared__ ptx::LaunchControlResponse message;
  __shared__ SharedMemBarrier full;
  if (thread() == 0) full.init(1), ptx::fence_mbarrier_init();
  __syncthreads();
  uint32_t tile = blockIdx.x;
  for (uint32_t lap = 0;; ++lap) {
    if (thread() == 0) {
      full.arrive_and_expect_bytes(sizeof message);
      ptx::launch_control_try_cancel<false>(ptx::shared_address(&message), full.address());
    }
    const uint32_t index = tile * blockDim.x + thread();
    args.out[index] = args.in[index];
    full.wait(lap % 2);
    const auto answer = ptx::launch_control_query(ptx::shared_address(&message));
    // No tile for this CTA; what that says of the tiles that are left is nothing.
    if (!answer.is_canceled) return;
    tile = answer.first_cta_x;
    ptx::fence_proxy_async_shared();
    __syncthreads();
  }
}

FaultTable launch_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT_HOST(chain_whose_middle_does_not_wait),
      BW_FAULT_HOST(chain_that_waits),
      BW_FAULT_HOST(chain_that_triggers_before_its_wait),
      BW_FAULT_HOST(chain_that_triggers_after_its_wait),
      BW_FAULT_HOST(dependent_that_writes_before_its_wait),
      BW_FAULT_HOST(wait_handed_on_by_an_mbarrier),
      BW_FAULT_HOST(wait_of_another_warp),
      BW_FAULT_HOST(dependent_launch_behind_a_fill),
      BW_FAULT_HOST(programmatic_event_and_a_wait),
      BW_FAULT_HOST(programmatic_event_without_a_wait),
      BW_FAULT(written_data_through_nc, .threads = 32, .ctas = 2),
      BW_FAULT(written_data_by_a_plain_load, .threads = 32, .ctas = 2, .words = 32),
      BW_FAULT(launch_control_fails_early, .ctas = 60),
  };
  return kKernels;
}

}  // namespace bw::faults
