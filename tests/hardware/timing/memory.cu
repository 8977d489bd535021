/// \file
/// Threads that read and write global memory: bytes a cycle and SM, from L2 and from HBM, by
/// the number of SMs that do so and the bytes that each has in flight.

#include <string>

#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/l2_flush.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kPerThread = 4;  // words of 16 bytes in flight

/// Every CTA reads `words` words of its own part, again and again through all of `count`.
__global__ void read_words(Span* spans, const uint4* source, uint32_t words, uint32_t count,
                           uint32_t* sink) {
  uint32_t sum = 0;
  const uint32_t first = blockIdx.x * words;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < words; i += kPerThread * blockDim.x) {
    uint4 values[kPerThread];
#pragma unroll
    for (uint32_t j = 0; j < kPerThread; ++j) {
      values[j] = __ldcg(source + (first + i + j * blockDim.x) % count);
    }
#pragma unroll
    for (const uint4& value : values) sum += value.x ^ value.y ^ value.z ^ value.w;
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
  keep(sum, sink);
}

__global__ void write_words(Span* spans, uint4* destination, uint32_t words, uint32_t count) {
  const uint32_t first = blockIdx.x * words;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
    destination[(first + i) % count] = {i, i, i, i};
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
}

constexpr uint32_t kRowBytes = 512;    // a warp's: 16 of each lane
constexpr uint32_t kRowsTogether = 8;  // that are waited for together
constexpr uint32_t kRounds = 32;

/// One warp a CTA: eight rows of 512 bytes, `pitch_bytes` from one to the next, and none of the
/// next eight before these are there. CTA c begins at byte 512 c.
__global__ void read_rows(Span* spans, const uint8_t* source, uint64_t pitch_bytes, int passes,
                          uint32_t* sink) {
  uint32_t sum = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    const uint8_t* place = source + blockIdx.x * kRowBytes + threadIdx.x * sizeof(uint4);
    begin = cycle();
#pragma unroll 1
    for (uint32_t round = 0; round < kRounds; ++round) {
      uint4 values[kRowsTogether];
#pragma unroll
      for (uint4& value : values) {
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                     : "l"(place)
                     : "memory");
        place += pitch_bytes;
      }
#pragma unroll
      for (const uint4& value : values) sum |= value.x | value.y | value.z | value.w;
      place += sum;  // the data are zeros
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(sum, sink);
}

}  // namespace

void measure_memory(Results& results) {
  const uint32_t sms = sm_count();
  constexpr uint32_t kWordBytes = sizeof(uint4);
  constexpr uint32_t kWordsPerCta = 8192;  // 128 KiB
  const auto add = [&](const char* name, const std::string& parameter, double cycles) {
    results.add(std::string("memory.") + name, parameter, "bytes/cycle",
                1.0 * kWordsPerCta * kWordBytes / cycles);
  };
  const auto read = [&](const DeviceBuffer<uint4>& words, uint32_t count, uint32_t ctas,
                        uint32_t threads) {
    return least_cycles(ctas, threads / 32, [&](Span* s) {
      read_words<<<ctas, threads>>>(s, words.data(), kWordsPerCta, count, nullptr);
    });
  };
  const uint32_t all = sms * kWordsPerCta;
  {
    constexpr uint32_t kInL2 = (4u << 20) / kWordBytes;
    DeviceBuffer<uint4> words(kInL2);
    words.fill_bytes(1);
    for (const uint32_t threads : {32u, 128u, 512u, 1024u}) {
      add("read_l2_one_sm", "threads=" + std::to_string(threads), read(words, kInL2, 1, threads));
    }
    for (const uint32_t ctas : {33u, 66u, sms}) {
      add("read_l2_1024_threads", "sms=" + std::to_string(ctas), read(words, kInL2, ctas, 1024));
    }
    add("write_l2_1024_threads", "sms=" + std::to_string(sms), least_cycles(sms, 32, [&](Span* s) {
          write_words<<<sms, 1024>>>(s, words.data(), kWordsPerCta, kInL2);
        }));
  }
  {
    const L2Flush flush;
    DeviceBuffer<uint4> words(all);
    words.fill_bytes(1);
    for (const uint32_t threads : {128u, 512u, 1024u}) {
      add("read_hbm_all_sms", "threads=" + std::to_string(threads),
          least_cycles(sms, threads / 32, [&](Span* s) {
            flush.run();
            read_words<<<sms, threads>>>(s, words.data(), kWordsPerCta, all, nullptr);
          }));
    }
    words.fill_bytes(0);
    constexpr uint64_t kWidePitch = 8192;
    const auto add_rows = [&](const char* name, int passes, uint64_t pitch_bytes, uint32_t ctas) {
      const double cycles = least_cycles(ctas, 1, [&](Span* s) {
        flush.run();
        read_rows<<<ctas, 32>>>(s, reinterpret_cast<const uint8_t*>(words.data()), pitch_bytes,
                                passes, nullptr);
      });
      results.add(std::string("memory.") + name,
                  "pitch=" + std::to_string(pitch_bytes) + " sms=" + std::to_string(ctas), "cycles",
                  cycles / kRounds);
    };
    for (const uint64_t pitch_bytes : {uint64_t{kRowBytes}, kWidePitch})
      for (const uint32_t ctas : {1u, 16u}) {
        add_rows("rounds_of_8_rows_l2", 2, pitch_bytes, ctas);
        add_rows("rounds_of_8_rows_hbm", 1, pitch_bytes, ctas);
      }
  }
}

}  // namespace bw::timing
