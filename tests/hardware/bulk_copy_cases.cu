/// \file
/// Copies without tensor maps (PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async").
#include "tests/hardware/cases.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::bulk_copy {

constexpr unsigned kThreads = 32;
constexpr unsigned kTileBytes = 4096;

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void wait_for(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
        " selp.b32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
}

/// Global to shared to global again: sizes of 16 bytes to 2 KB at uneven places.
__global__ void copy_there_and_back(const uint8_t* source, uint8_t* result) {
  __shared__ alignas(128) uint32_t tile[kTileBytes / 4];
  __shared__ alignas(8) uint64_t object;
  const uint32_t barrier = shared_address(&object);
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += kThreads) tile[i] = 0xcdcdcdcd;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned from = 16, to = 48, sum = 0;
  for (unsigned bytes = 16; bytes <= 1024; bytes *= 4) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1], %2, [%3];" ::"r"(shared_address(tile) + to),
        "l"(source + from), "r"(bytes), "r"(barrier)
        : "memory");
    from += bytes + 32;
    to += bytes + 16;
    sum += bytes;
  }
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(sum)
               : "memory");
  wait_for(barrier, 0);
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(result),
               "r"(shared_address(tile)), "r"(kTileBytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}

Result measure_there_and_back() {
  DeviceBuffer<uint8_t> source = to_device(operands(4, 0, kTileBytes / 4), 4);
  DeviceBuffer<uint8_t> result(kTileBytes);
  result.fill_bytes(0);
  launch(reinterpret_cast<const void*>(&copy_there_and_back), 1, kThreads, source.data(),
         result.data());
  return {from_device(result, 4), [](size_t i) { return "byte " + std::to_string(4 * i); }};
}

/// cp.reduce.async.bulk from shared to global memory, 2 KB.
template <class Form>
__global__ void reduce_to_global(const uint32_t* source, void* result) {
  __shared__ alignas(128) uint32_t tile[kTileBytes / 4];
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += kThreads) tile[i] = source[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  Form::run(result, shared_address(tile));
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}

Result measure_reduction(const void* kernel, unsigned bytes) {
  const size_t count = kTileBytes / bytes;
  const auto before = operands(bytes, 0, count);
  const auto source = operands(bytes, 1, count);
  DeviceBuffer<uint8_t> device_source = to_device(source, bytes);
  DeviceBuffer<uint8_t> result = to_device(before, bytes);
  launch(kernel, 1, kThreads, device_source.data(), result.data());
  return {from_device(result, bytes), [=](size_t i) {
            return hexadecimal(before[i], bytes) + ", " + hexadecimal(source[i], bytes);
          }};
}

#define BW_REDUCE_AT(LINE, BYTES, FORM)                                                            \
  struct Form##LINE {                                                                              \
    static __device__ void run(void* result, uint32_t tile) {                                      \
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." FORM                      \
                   " [%0], [%1], 4096;" ::"l"(result),                                             \
                   "r"(tile)                                                                       \
                   : "memory");                                                                    \
    }                                                                                              \
  };                                                                                               \
  const Registration registration##LINE("cp.reduce.async.bulk.global." FORM, [] {                  \
    return measure_reduction(reinterpret_cast<const void*>(&reduce_to_global<Form##LINE>), BYTES); \
  });
#define BW_REDUCE_LINE(LINE, ...) BW_REDUCE_AT(LINE, __VA_ARGS__)
#define BW_REDUCE(...) BW_REDUCE_LINE(__LINE__, __VA_ARGS__)
static_assert(kTileBytes == 4096, "BW_REDUCE writes the size into the instruction.");

BW_REDUCE(4, "add.u32")
BW_REDUCE(4, "add.s32")
BW_REDUCE(8, "add.u64")
BW_REDUCE(4, "add.f32")
BW_REDUCE(2, "add.noftz.f16")
BW_REDUCE(2, "add.noftz.bf16")
BW_REDUCE(4, "min.u32")
BW_REDUCE(4, "min.s32")
BW_REDUCE(8, "min.s64")
BW_REDUCE(2, "min.f16")
BW_REDUCE(2, "min.bf16")
BW_REDUCE(4, "max.u32")
BW_REDUCE(8, "max.u64")
BW_REDUCE(2, "max.f16")
BW_REDUCE(2, "max.bf16")
BW_REDUCE(4, "inc.u32")
BW_REDUCE(4, "dec.u32")
BW_REDUCE(4, "and.b32")
BW_REDUCE(8, "or.b64")
BW_REDUCE(4, "xor.b32")

/// cp.async of 4, 8 and 16 bytes, in full and with the rest filled by zeros.
__global__ void copy_by_threads(const uint8_t* source, uint32_t* result) {
  __shared__ alignas(16) uint32_t tile[kThreads * 16];
  for (unsigned i = threadIdx.x; i < kThreads * 16; i += kThreads) tile[i] = 0xcdcdcdcd;
  __syncwarp();
  const unsigned lane = threadIdx.x;
  const uint32_t to = shared_address(tile) + lane * 64;
  const uint8_t* from = source + 64 * (31 - lane);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to + 8), "l"(from + 8) : "memory");
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + 16), "l"(from + 16)
               : "memory");
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + 32), "l"(from + 32),
               "r"(lane % 17)
               : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + 48), "l"(from + 48),
               "r"(lane % 5)
               : "memory");
  asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
  __syncwarp();
  for (unsigned i = threadIdx.x; i < kThreads * 16; i += kThreads) result[i] = tile[i];
}

const Registration kCopies[] = {
    {"cp.async.bulk.there_and_back", measure_there_and_back},
    {"cp.async.sizes",
     [] {
       DeviceBuffer<uint8_t> source = to_device(operands(4, 0, kThreads * 16), 4);
       DeviceBuffer<uint8_t> result(kThreads * 64);
       launch(reinterpret_cast<const void*>(&copy_by_threads), 1, kThreads, source.data(),
              result.data());
       return Result{from_device(result, 4), [](size_t i) {
                       return "lane " + std::to_string(i / 16) + " word " + std::to_string(i % 16);
                     }};
     }},
};

}  // namespace bw::conformance::bulk_copy
