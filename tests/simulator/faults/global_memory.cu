/// \file
/// Global memory: CTAs that hand over, launches, streams, dependent launches.

#include "common/device/device_flag.cuh"
#include "common/device/grid_dependency.cuh"
#include "common/host/cuda_check.hpp"
#include "tests/simulator/faults/fault_instructions.cuh"
#include "tests/simulator/faults/fault_kernel.cuh"

namespace bw::faults {

constexpr uint32_t kFlag = 1024;  ///< word of `scratch` that is a flag

// fault: A CTA reads what another one writes, and nothing orders them.
// expect BW-R12 at races, "CTA"
__global__ void ctas_without_order(const __grid_constant__ FaultArguments args) {
  args.scratch[word()] = args.in[word()];        // (1)
  args.out[word()] = args.scratch[word() ^ 32];  // (2)
}

// fault: Two threads of one CTA exchange words through global memory without a barrier.
// expect BW-R12 at races, "warp 0", "warp 1"
__global__ void threads_without_order(const __grid_constant__ FaultArguments args) {
  args.scratch[thread()] = args.in[thread()];        // (1)
  args.out[thread()] = args.scratch[thread() ^ 32];  // (2)
}

// right: __syncthreads orders global memory as well, for the threads of the CTA.
__global__ void threads_after_a_barrier(const __grid_constant__ FaultArguments args) {
  args.scratch[thread()] = args.in[thread()];
  __syncthreads();
  args.out[thread() ^ 32] = args.scratch[thread() ^ 32];
}

// fault: A flag by relaxed accesses: it is seen, and what was written before it needn't be.
// expect BW-R07 at races, "CTA"
__global__ void relaxed_flag(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  if (blockIdx.x == 0) {
    args.scratch[0] = args.in[0];  // (1)
    store_relaxed_gpu(&args.scratch[kFlag], 1);
  } else {
    while (load_relaxed_gpu(&args.scratch[kFlag]) == 0) {
    }
    args.out[0] = args.scratch[0];  // (2)
  }
}

// right: A flag by release and acquire at GPU scope.
__global__ void released_flag(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  if (blockIdx.x == 0) {
    args.scratch[0] = args.in[0];
    ptx::store_release_gpu(&args.scratch[kFlag], 1);
  } else {
    while (ptx::load_acquire_gpu(&args.scratch[kFlag]) == 0) {
    }
    args.out[0] = args.scratch[0];
  }
}

// fault 29: A release of CTA scope for a reader in another CTA.
// expect BW-R06 at races, "CTA"
__global__ void flag_of_cta_scope(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  if (blockIdx.x == 0) {
    args.scratch[0] = args.in[0];  // (1)
    store_release_cta(&args.scratch[kFlag], 1);
  } else {
    while (ptx::load_acquire_gpu(&args.scratch[kFlag]) == 0) {
    }
    args.out[0] = args.scratch[0];  // (2)
  }
}

// fault 29: __threadfence_block where the reader is in another CTA.
// expect BW-R06 at races, "CTA"
__global__ void fence_of_block_scope(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  if (blockIdx.x == 0) {
    args.scratch[0] = args.in[0];  // (1)
    __threadfence_block();
    store_relaxed_gpu(&args.scratch[kFlag], 1);
  } else {
    while (load_relaxed_gpu(&args.scratch[kFlag]) == 0) {
    }
    __threadfence_block();
    args.out[0] = args.scratch[0];  // (2)
  }
}

// right: Relaxed flags between two __threadfence.
__global__ void fenced_flag(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  if (blockIdx.x == 0) {
    args.scratch[0] = args.in[0];
    __threadfence();
    store_relaxed_gpu(&args.scratch[kFlag], 1);
  } else {
    while (load_relaxed_gpu(&args.scratch[kFlag]) == 0) {
    }
    __threadfence();
    args.out[0] = args.scratch[0];
  }
}

// fault: The fence is on the writer's side alone.
// expect BW-R07 at races, "CTA"
__global__ void fence_of_the_writer_alone(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  if (blockIdx.x == 0) {
    args.scratch[0] = args.in[0];  // (1)
    __threadfence();
    store_relaxed_gpu(&args.scratch[kFlag], 1);
  } else {
    while (load_relaxed_gpu(&args.scratch[kFlag]) == 0) {
    }
    args.out[0] = args.scratch[0];  // (2)
  }
}

// right: The last CTA of a grid adds up what all have left: fence, atomic counter, fence.
__global__ void last_cta_takes_all(const __grid_constant__ FaultArguments args) {
  __shared__ bool is_last;
  args.scratch[word()] = args.in[word()];
  __threadfence();
  __syncthreads();
  if (thread() == 0) is_last = atomicAdd(&args.scratch[kFlag], 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (uint32_t i = thread(); i < gridDim.x * blockDim.x; i += blockDim.x) {
    args.out[i] = args.scratch[i];
  }
}

// fault: The same of one thread a CTA, without the fence between its word and the counter.
// expect BW-R07 at races, "CTA"
__global__ void last_cta_without_fences(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  args.scratch[blockIdx.x] = args.in[blockIdx.x];  // (1)
  if (atomicAdd(&args.scratch[kFlag], 1) != gridDim.x - 1) return;
  for (uint32_t i = 0; i < gridDim.x; ++i) {
    args.out[i] = args.scratch[i];  // (2)
  }
}

// right: Two CTAs add to one word by atomics; it is not read until the kernel has ended.
__global__ void atomics_of_all_ctas(const __grid_constant__ FaultArguments args) {
  atomicAdd(&args.scratch[0], 1);
  args.out[word()] = args.in[word()];
}

// fault: A CTA reads the counter by an ordinary load, while others add to it.
// expect BW-R12 at races, "CTA"
__global__ void counter_read_plainly(const __grid_constant__ FaultArguments args) {
  if (thread() != 0) return;
  if (blockIdx.x == 0) {
    atomicAdd(&args.scratch[0], 1);  // (1)
  } else {
    args.out[0] = args.scratch[0];  // (2)
  }
}

// fault: The atomic of block scope counts the CTAs of the whole grid.
// expect BW-R06 at races, "CTA"
__global__ void atomic_of_block_scope(const __grid_constant__ FaultArguments args) {
  atomicAdd_block(&args.scratch[0], 1);  // (1)
  args.out[word()] = args.in[word()];
}

// fault: A word that cudaMalloc has given and nothing has written.
// expect BW-M14 at contract, "word_of_new_memory"
// setting BW_SIM_MEMORY_CHECKS=unwritten
__global__ void word_of_new_memory(const __grid_constant__ FaultArguments args) {
  args.out[word()] = args.fresh[word()];  // (1)
}

// fault: A word past the end of the allocation.
// expect BW-M02 at contract, "16384 bytes"
__global__ void word_behind_the_end(const __grid_constant__ FaultArguments args) {
  args.out[word()] = args.in[word() + kWords - 32];  // (1)
}

__global__ void put(const uint32_t* in, uint32_t* out, uint32_t delay) {
  __nanosleep(delay);
  const uint32_t value = in[word()];  // read by put
  out[word()] = value;                // written by put
}

__global__ void put_after_wait(const uint32_t* in, uint32_t* out) {
  ptx::grid_dependency_wait();
  out[word()] = in[word()];
}

__global__ void put_before_wait(const uint32_t* in, uint32_t* out) {
  const uint32_t value = in[word()];  // read too early
  ptx::grid_dependency_wait();
  out[word()] = value;
}

/// A launch of one CTA of 64 threads that may begin before the one before it in the stream has
/// ended.
template <class Kernel, class... Arguments>
void launch_dependent(Kernel kernel, Arguments... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = {1, 1, 1};
  config.blockDim = {64, 1, 1};
  config.attrs = &early;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), "launch the dependent kernel");
}

// right: Kernels of one stream come one after the other.
void two_launches_of_one_stream(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  put<<<1, 64>>>(args.in, args.scratch, 2000);
  put<<<1, 64>>>(args.scratch, args.out, 0);
}

// fault: Two streams, and no event tells the second that the first has written.
// expect BW-R13 at races, "put"
// at "// read by put" "// written by put"
void two_streams_without_an_event(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
  }
  put<<<1, 64, 0, streams[0]>>>(args.in, args.scratch, 0);
  put<<<1, 64, 0, streams[1]>>>(args.scratch, args.out, 0);
  check_cuda(cudaDeviceSynchronize(), "run both");
}

// right: Two streams with an event between them.
void two_streams_with_an_event(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  cudaStream_t streams[2];
  cudaEvent_t written;
  check_cuda(cudaEventCreate(&written), "make an event");
  for (cudaStream_t& stream : streams) {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
  }
  put<<<1, 64, 0, streams[0]>>>(args.in, args.scratch, 0);
  check_cuda(cudaEventRecord(written, streams[0]), "record the event");
  check_cuda(cudaStreamWaitEvent(streams[1], written, 0), "wait for the event");
  put<<<1, 64, 0, streams[1]>>>(args.scratch, args.out, 0);
  check_cuda(cudaDeviceSynchronize(), "run both");
}

// right 26: A dependent launch that waits for the grid before it.
void dependent_launch_waits(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  put<<<1, 64>>>(args.in, args.scratch, 2000);
  launch_dependent(put_after_wait, static_cast<const uint32_t*>(args.scratch), args.out);
}

// fault 26: A dependent launch reads what the grid before it writes, without griddepcontrol.wait.
// expect BW-R14 at races, "put"
// at "// read by put" "// written by put"
void dependent_launch_without_wait(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  put<<<1, 64>>>(args.in, args.scratch, 2000);
  launch_dependent(put, static_cast<const uint32_t*>(args.scratch), args.out, uint32_t{0});
}

// fault 42: flashinfer 3361. griddepcontrol.wait comes after the first read.
// expect BW-R14 at races, "put_before_wait"
// at "// read too early" "// written by put"
void dependent_launch_waits_too_late(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  put<<<1, 64>>>(args.in, args.scratch, 2000);
  launch_dependent(put_before_wait, static_cast<const uint32_t*>(args.scratch), args.out);
}

// right 26: A dependent launch that reads nothing of the grid before it needn't wait for it.
void dependent_launch_of_its_own_data(FaultRun& run) {
  const FaultArguments& args = run.arguments;
  put<<<1, 64>>>(args.in, args.scratch, 2000);
  launch_dependent(put, args.in, args.out, uint32_t{0});
}

FaultTable global_memory_kernels() {
  static const FaultKernel kKernels[] = {
      BW_FAULT(ctas_without_order, .threads = 32, .ctas = 2),
      BW_FAULT(threads_without_order),
      BW_FAULT(threads_after_a_barrier),
      BW_FAULT(relaxed_flag, .threads = 32, .ctas = 2),
      BW_FAULT(released_flag, .threads = 32, .ctas = 2, .words = 1),
      BW_FAULT(flag_of_cta_scope, .threads = 32, .ctas = 2),
      BW_FAULT(fence_of_block_scope, .threads = 32, .ctas = 2),
      BW_FAULT(fenced_flag, .threads = 32, .ctas = 2, .words = 1),
      BW_FAULT(fence_of_the_writer_alone, .threads = 32, .ctas = 2),
      BW_FAULT(last_cta_takes_all, .ctas = 4),
      BW_FAULT(last_cta_without_fences, .ctas = 2),
      BW_FAULT(atomics_of_all_ctas, .ctas = 4),
      BW_FAULT(counter_read_plainly, .threads = 32, .ctas = 2),
      BW_FAULT(atomic_of_block_scope, .ctas = 2),
      BW_FAULT(word_of_new_memory),
      BW_FAULT(word_behind_the_end),
      BW_FAULT_HOST(two_launches_of_one_stream),
      BW_FAULT_HOST(two_streams_without_an_event),
      BW_FAULT_HOST(two_streams_with_an_event),
      BW_FAULT_HOST(dependent_launch_waits),
      BW_FAULT_HOST(dependent_launch_without_wait),
      BW_FAULT_HOST(dependent_launch_waits_too_late),
      BW_FAULT_HOST(dependent_launch_of_its_own_data),
  };
  return kKernels;
}

}  // namespace bw::faults
