/// \file
/// The SM's clock from the first MMA of a launch until after the last one, relative to the clock
/// before: each SM reads its clock and the time at the same points. A GPU's clock at rest varies
/// by some per cent from minute to minute.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/device/bulk_copy.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/wgmma.cuh"
#include "common/device/wgmma_descriptor.cuh"
#include "common/host/dynamic_shared_memory.hpp"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/clock_profile.hpp"
#include "tests/hardware/timing/global_time.cuh"
#include "tests/hardware/timing/mma_block.cuh"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kMathThreads = 256;
constexpr uint32_t kThreads = kMathThreads + 32;  // the last warp asks for copies
constexpr uint32_t kMostN = 256;
constexpr uint32_t kOperandBytes = (2 * kMmaRows + kMostN) * kMmaRowBytes;
constexpr uint32_t kAllShared = 200 * 1024;  // one CTA an SM
constexpr uint32_t kRandom = 0xf7f7f7f7;     // e4m3 without NaN
/// Cycles that the tensor core is busy with a block of both warpgroups' MMAs.
constexpr uint32_t kBlockCycles = 512;
/// Cycles of a launch before its first MMA; how high the clock is otherwise, its second half says.
constexpr int64_t kBeforeFirst = 6000;

/// What each CTA does.
struct Course {
  uint32_t sms;                     ///< CTAs
  uint32_t rounds = 1;              ///< of `blocks` and `rest`
  uint32_t blocks = 64;             ///< of MMAs
  uint32_t rest = 0;                ///< cycles after the blocks of a round
  uint32_t pause = 0;               ///< cycles after each block
  uint32_t data = kRandom;          ///< random bits in the operands
  uint32_t launches = 1;            ///< in a row; the last one counts
  uint32_t copies = 0;              ///< of kCopyBytes each, from L2 during the MMAs
  const uint8_t* source = nullptr;  ///< of copies: kSourceBytes for each CTA
};

/// An SM's clock and the time, read together.
struct Moment {
  uint64_t nanoseconds;
  int64_t cycle;
};

constexpr uint32_t kMostMoments = 40;  // of a CTA
constexpr uint32_t kCopyBytes = 16 * 1024;
constexpr uint32_t kSlots = 4;  // of copies in flight
constexpr uint32_t kSourceBytes = kSlots * kCopyBytes;

/// Whether the clock is read after this block: after block 2, 4, 8 ...
__host__ __device__ constexpr bool is_read_behind(uint32_t block) {
  return block >= 2 && (block & (block - 1)) == 0;
}
/// Cycles from the begin of a rest until the clock is read: 1024, 2048, 4096 ...
constexpr uint32_t kFirstOfRest = 1024;

__device__ uint32_t hash(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

__device__ void wait_until(int64_t end) {
  while (cycle() < end) {
  }
}

/// One thread: keeps copies in flight until it has issued `copies` of them.
__device__ void copy(uint32_t place, const uint8_t* source, uint32_t copies,
                     uint64_t (&barriers)[kSlots]) {
  const auto load = [&](uint32_t slot) {
    const uint32_t barrier = ptx::shared_address(&barriers[slot]);
    ptx::mbarrier_arrive_expect_tx(barrier, kCopyBytes);
    ptx::bulk_load(place + slot * kCopyBytes, source + slot * kCopyBytes, kCopyBytes, barrier);
  };
  for (uint32_t i = 0; i < copies + kSlots; ++i) {
    const uint32_t slot = i % kSlots, round = i / kSlots;
    if (i >= kSlots)
      while (
          !ptx::mbarrier_try_wait_parity(ptx::shared_address(&barriers[slot]), (round - 1) % 2)) {
      }
    if (i < copies) load(slot);
  }
}

/// Two warpgroups multiply 64 x `n` each. `adds`: what was multiplied is scaled and added to other
/// sums, as blockwise scales ask for. The first thread reads the clock.
template <int n, bool adds>
__global__ void __launch_bounds__(kThreads)
    multiply(Moment* moments, Course course, float one, float* sink) {
  extern __shared__ uint8_t raw[];
  const uint32_t base =
      (ptx::shared_address(raw) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  const int64_t start = cycle();
  for (uint32_t i = threadIdx.x; i < (kOperandBytes + kTileAlignment) / 4; i += blockDim.x)
    reinterpret_cast<uint32_t*>(raw)[i] = hash(i) & course.data;
  __shared__ uint64_t barriers[kSlots];
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : barriers) ptx::mbarrier_init(ptx::shared_address(&barrier), 1);
    ptx::fence_mbarrier_init();
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  uint32_t count = 0;
  Moment* const own = moments + size_t{blockIdx.x} * kMostMoments;
  const auto read_clock = [&] {
    if (threadIdx.x == 0) own[count] = {nanoseconds(), cycle()};
    ++count;
  };
  wait_until(start + kBeforeFirst / 2);
  read_clock();
  wait_until(start + kBeforeFirst);
  read_clock();
  __syncthreads();
  if (threadIdx.x >= kMathThreads) {
    if (threadIdx.x == kMathThreads && course.copies != 0)
      copy(base + kOperandBytes, course.source + size_t{blockIdx.x} * kSourceBytes, course.copies,
           barriers);
    return;
  }
  constexpr int kMmas = kBlockCycles / n;  // of each warpgroup, n cycles each
  float d[n / 2], sums[adds ? n / 2 : 1];
#pragma unroll
  for (int i = 0; i < n / 2; ++i) d[i] = static_cast<float>(i) * one;
  if constexpr (adds) {
#pragma unroll
    for (int i = 0; i < n / 2; ++i) sums[i] = d[i];
  }
  const uint64_t b = wgmma_descriptor(wgmma_descriptor_low(base));
  const uint64_t a = wgmma_descriptor(wgmma_descriptor_low(
      base + kMostN * kMmaRowBytes + threadIdx.x / 128 * kMmaRows * kMmaRowBytes));
#pragma unroll 1
  for (uint32_t round = 0; round < course.rounds; ++round) {
    read_clock();
#pragma unroll 1
    for (uint32_t block = 1; block <= course.blocks; ++block) {
      ptx::wgmma_hold(d);
      multiply_and_wait<kMmas>(d, a, b, /*chained=*/false);
      if constexpr (adds) {
#pragma unroll
        for (int i = 0; i < n / 2; ++i) sums[i] = fmaf(d[i], one, sums[i]);
      }
      if (course.pause != 0) wait_until(cycle() + course.pause);
      if (course.rounds == 1 && is_read_behind(block)) read_clock();
    }
    if (course.rest == 0) continue;
    const int64_t rest = cycle();
    read_clock();
#pragma unroll 1
    for (uint32_t at = kFirstOfRest; at <= course.rest; at *= 2) {
      wait_until(rest + at);
      if (course.rounds == 1) read_clock();
    }
  }
  read_clock();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < n / 2; ++i) sum += d[i];
  if constexpr (adds) {
#pragma unroll
    for (int i = 0; i < n / 2; ++i) sum += sums[i];
  }
  if (sink != nullptr) *sink = sum;
}

__global__ void fill(uint32_t* words) {
  words[blockIdx.x * blockDim.x + threadIdx.x] = hash(blockIdx.x * blockDim.x + threadIdx.x);
}

/// Keeps SMs from resting, and the queue full, for `length` nanoseconds.
__global__ void keep_busy(uint64_t length) {
  const uint64_t begin = nanoseconds();
  while (nanoseconds() - begin < length) {
  }
}

/// Sums over all SMs of the interval from moment i to i + 1. The first is before the MMAs; in
/// the second CTAs wait for all their warps.
struct Part {
  double cycles = 0, nanoseconds = 0;
  [[nodiscard]] double gigahertz() const { return cycles / nanoseconds; }
};

template <int n, bool adds>
std::vector<Part> parts_of(Course course) {
  const uint32_t sms = sm_count();
  const auto kernel = multiply<n, adds>;
  allow_dynamic_shared_memory(reinterpret_cast<const void*>(kernel), kAllShared);
  const int repeats = is_simulated() ? 1 : 30;
  DeviceBuffer<Moment> moments(size_t{sms} * kMostMoments);
  std::vector<Part> parts(kMostMoments - 1);
  DeviceBuffer<uint8_t> source(course.copies == 0 ? 1 : size_t{course.sms} * kSourceBytes);
  if (course.copies != 0) {
    course.source = source.data();
    fill<<<course.sms * kSourceBytes / 4 / 256, 256>>>(reinterpret_cast<uint32_t*>(source.data()));
  }
  for (int i = 0; i < repeats; ++i) {
    moments.fill_bytes(0);
    constexpr uint64_t kQueued = 60'000;
    if (!is_simulated()) keep_busy<<<sms, 64>>>(kQueued);
    for (uint32_t j = 0; j < course.launches; ++j)
      kernel<<<course.sms, kThreads, kAllShared>>>(moments.data(), course, 1.0f, nullptr);
    check_cuda(cudaGetLastError(), "launch a measurement");
    check_cuda(cudaDeviceSynchronize(), "finish a measurement");
    const std::vector<Moment> all = moments.download();
    for (uint32_t cta = 0; cta < course.sms; ++cta) {
      const Moment* const own = all.data() + size_t{cta} * kMostMoments;
      for (uint32_t j = 0; j + 1 < kMostMoments && own[j + 1].cycle != 0; ++j) {
        parts[j].cycles += static_cast<double>(own[j + 1].cycle - own[j].cycle);
        parts[j].nanoseconds += static_cast<double>(own[j + 1].nanoseconds - own[j].nanoseconds);
      }
    }
  }
  return parts;
}

/// One row for each part of the first round: its blocks, then its rest.
template <int n, bool adds>
void add_profile(Results& results, const std::string& name, const std::string& parameter,
                 const Course& course) {
  const std::vector<Part> parts = parts_of<n, adds>(course);
  const double before = parts[0].gigahertz();
  size_t part = 2;
  const auto add = [&](const char* what, uint32_t from, uint32_t to) {
    results.add("clock." + name,
                parameter + " " + what + "=" + std::to_string(from) + ".." + std::to_string(to),
                "part", parts[part++].gigahertz() / before);
  };
  uint32_t from = 0;
  for (uint32_t block = 1; block <= course.blocks; ++block) {
    if (!is_read_behind(block)) continue;
    add("blocks", from, block);
    from = block;
  }
  if (course.rest == 0) return;
  ++part;  // all before the first row of the rest
  from = 0;
  for (uint32_t at = kFirstOfRest; at <= course.rest; at *= 2) {
    add("rest", from, at);
    from = at;
  }
}

/// One row: the mean of all rounds but the first.
template <int n, bool adds>
void add_mean(Results& results, const std::string& name, const std::string& parameter,
              const Course& course) {
  Part all;
  const std::vector<Part> parts = parts_of<n, adds>(course);
  const size_t of_round = course.rest == 0 ? 1 : 2;
  for (size_t i = of_round; i < of_round * course.rounds; ++i) {
    all.cycles += parts[2 + i].cycles;
    all.nanoseconds += parts[2 + i].nanoseconds;
  }
  results.add("clock." + name, parameter, "part", all.gigahertz() / parts[0].gigahertz());
}

}  // namespace

void measure_clock_profile(Results& results) {
  const uint32_t sms = sm_count();
  const uint32_t longest = is_simulated() ? 32 : 512;
  const Course plain{.sms = sms, .blocks = longest};
  add_profile<128, false>(results, "since_mma", "n=128", plain);
  add_profile<128, true>(results, "since_mma", "n=128 adds", plain);
  Course some = plain;
  some.blocks = is_simulated() ? 32 : 64;
  add_profile<8, false>(results, "since_mma", "n=8", some);
  add_profile<64, false>(results, "since_mma", "n=64", some);
  add_profile<256, false>(results, "since_mma", "n=256", some);
  add_profile<64, true>(results, "since_mma", "n=64 adds", some);
  for (const uint32_t busy : {8u, 33u, 66u, 99u}) {
    Course few = some;
    few.sms = busy;
    add_profile<128, false>(results, "since_mma", "n=128 sms=" + std::to_string(busy), few);
  }
  Course zeros = some;
  zeros.data = 0;
  add_profile<128, false>(results, "since_mma", "n=128 zeros", zeros);
  for (const uint32_t copies : {1u, 2u}) {
    Course copying = some;
    copying.copies = copies * copying.blocks;
    const std::string parameter = " copies=" + std::to_string(copies);
    add_profile<128, false>(results, "since_mma", "n=128" + parameter, copying);
    add_profile<128, true>(results, "since_mma", "n=128 adds" + parameter, copying);
  }
  Course copying{.sms = sms, .blocks = 0, .rest = 16384, .copies = 40};
  add_profile<128, false>(results, "beside_copies", "", copying);
  for (const uint32_t pause : {256u, 512u, 1024u, 2048u, 4096u}) {
    Course pauses = some;
    pauses.pause = pause;
    pauses.blocks = is_simulated() ? 16 : 32;
    add_profile<128, false>(results, "since_mma", "n=128 pause=" + std::to_string(pause), pauses);
  }
  for (const uint32_t blocks : {1u, 4u, 32u}) {
    Course rests = plain;
    rests.blocks = blocks;
    rests.rest = 16384;
    add_profile<128, false>(results, "behind_mma", "n=128 of=" + std::to_string(blocks), rests);
  }
  for (const uint32_t blocks : {1u, 2u, 4u, 8u}) {
    for (const uint32_t rest : {2048u, 4096u, 8192u, 16384u}) {
      Course rounds = plain;
      rounds.blocks = blocks;
      rounds.rest = rest;
      rounds.rounds = 8;
      add_mean<128, false>(results, "mma_and_rest",
                           "blocks=" + std::to_string(blocks) + " rest=" + std::to_string(rest),
                           rounds);
    }
  }
  for (const uint32_t blocks : {4u, 16u}) {
    Course after = plain;
    after.blocks = blocks;
    after.launches = 8;
    add_profile<128, false>(results, "since_mma", "n=128 launches=8 of=" + std::to_string(blocks),
                            after);
  }
}

}  // namespace bw::timing
