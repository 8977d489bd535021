/// \file
/// Threads that read, write and copy as teaching kernels do: by the bytes that all SMs touch, by
/// the contents of the L1 cache, and by CTAs that end soon.

#include <cstdint>
#include <string>

#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/event_time.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"

namespace bw::timing {
namespace {

enum class Way { read, write, copy };
constexpr const char* kWayNames[] = {"read", "write", "copy"};

__device__ __forceinline__ uint32_t bits_of(uint32_t word) { return word; }
__device__ __forceinline__ uint32_t bits_of(const uint4& word) {
  return word.x | word.y | word.z | word.w;
}
template <class Word>
__device__ __forceinline__ Word word_of(uint32_t value) {
  if constexpr (sizeof(Word) == sizeof(uint32_t)) {
    return value;
  } else {
    return {value, value, value, value};
  }
}

constexpr uint32_t kStreamThreads = 1024;
constexpr uint32_t kTogether = 4;  // words of a thread under way

/// Every CTA goes through its part of `words` words once.
template <class Word, Way way>
__global__ void __launch_bounds__(kStreamThreads)
    stream(Span* spans, Word* to, const Word* from, uint32_t words, uint32_t* sink) {
  to += size_t{blockIdx.x} * words;
  from += size_t{blockIdx.x} * words;
  uint32_t sum = 0;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < words; i += kTogether * kStreamThreads) {
    Word values[kTogether];
#pragma unroll
    for (uint32_t j = 0; j < kTogether; ++j) {
      values[j] = way == Way::write ? word_of<Word>(i) : from[i + j * kStreamThreads];
    }
#pragma unroll
    for (uint32_t j = 0; j < kTogether; ++j) {
      if constexpr (way == Way::read) {
        sum += bits_of(values[j]);
      } else {
        to[i + j * kStreamThreads] = values[j];
      }
    }
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
  keep(sum, sink);
}

template <class Word, Way way>
void add_stream(Results& results, uint32_t sms, uint8_t* to, const uint8_t* from) {
  for (const uint32_t kibibytes : {32u, 64u, 128u, 192u, 256u}) {
    const uint32_t bytes = kibibytes * 1024;
    if (bytes < kTogether * kStreamThreads * sizeof(Word)) continue;
    const double cycles = least_cycles(sms, kStreamThreads / 32, [&](Span* s) {
      stream<Word, way><<<sms, kStreamThreads>>>(s, reinterpret_cast<Word*>(to),
                                                 reinterpret_cast<const Word*>(from),
                                                 bytes / sizeof(Word), nullptr);
    });
    results.add(std::string("streams.") + kWayNames[static_cast<int>(way)],
                "lane_bytes=" + std::to_string(sizeof(Word)) +
                    " KiB_of_each_sm=" + std::to_string(kibibytes),
                "bytes/cycle", bytes / cycles);
  }
}

constexpr int kUnrolled = 16;  // of 32 rows of 512 bytes, which the first-level cache holds
constexpr int kWindowRounds = 16;
constexpr uint32_t kWindowWarps = 16;

/// All warps of an SM read what the first-level cache has: lane l at `shift + l * lane_bytes`.
template <class Word>
__global__ void read_near(Span* spans, const uint8_t* window, uint32_t shift, uint32_t lane_bytes,
                          uint32_t* sink) {
  const uint8_t* const first = window + shift + threadIdx.x % 32 * lane_bytes;
  uint32_t sum = 0;
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    begin = cycle();
#pragma unroll 1
    for (int i = 0; i < kWindowRounds; ++i) {
      Word values[kUnrolled];
#pragma unroll
      for (int j = 0; j < kUnrolled; ++j) {
        values[j] = *reinterpret_cast<const Word*>(first + (i * kUnrolled + j) % 32 * 512 + sum);
      }
#pragma unroll
      for (const Word& value : values) sum |= bits_of(value);  // the data are zeros
    }
    end = cycle();
  }
  write_span(spans, begin, end);
  keep(sum, sink);
}

template <class Word>
void add_near(Results& results, const uint8_t* window, uint32_t shift, uint32_t lane_bytes) {
  const double cycles = least_cycles(1, kWindowWarps, [&](Span* s) {
    read_near<Word><<<1, kWindowWarps * 32>>>(s, window, shift, lane_bytes, nullptr);
  });
  results.add("streams.first_level",
              "bytes=" + std::to_string(sizeof(Word)) + " apart=" + std::to_string(lane_bytes) +
                  " shift=" + std::to_string(shift),
              "cycles/instruction", cycles / (1.0 * kUnrolled * kWindowRounds * kWindowWarps));
}

/// Rows of a matrix of 4-byte words, each SM its own; a warp reads each word `times` times, in
/// neighbouring lanes: the first of these loads brings what the others wait for.
template <int times>
__global__ void __launch_bounds__(kStreamThreads)
    read_again(Span* spans, const uint32_t* from, uint32_t words, uint32_t* sink) {
  from += size_t{blockIdx.x} * words;
  uint32_t sum = 0;
  __syncthreads();
  const int64_t begin = cycle();
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < words; i += kStreamThreads) {
    uint32_t values[times];
#pragma unroll
    for (uint32_t j = 0; j < times; ++j) values[j] = from[i + j + sum];
#pragma unroll
    for (const uint32_t value : values) sum |= value;  // the data are zeros
  }
  const int64_t end = cycle();
  write_span(spans, begin, end);
  keep(sum, sink);
}

template <int times>
void add_again(Results& results, uint32_t sms, const uint32_t* from) {
  constexpr uint32_t kWords = 16 * 1024;  // 64 KiB
  const double cycles = least_cycles(sms, kStreamThreads / 32, [&](Span* s) {
    read_again<times><<<sms, kStreamThreads>>>(s, from, kWords, nullptr);
  });
  results.add("streams.read_again", "times=" + std::to_string(times), "bytes/cycle",
              1.0 * kWords * sizeof(uint32_t) / cycles);
}

enum class Task { nothing, load, store, copy };
constexpr const char* kTaskNames[] = {"nothing", "load", "store", "copy"};
constexpr uint32_t kSmallWords = 256 * 1024;  // 1 MiB: all SMs use it

/// A CTA that ends soon: each thread loads a word, or stores one, or both.
template <Task task>
__global__ void short_cta(uint32_t* to, const uint32_t* from, uint32_t* sink) {
  const uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) % kSmallWords;
  uint32_t value = i;
  if constexpr (task == Task::load || task == Task::copy) value = from[i];
  if constexpr (task == Task::store || task == Task::copy) to[i] = value;
  if constexpr (task == Task::load) {
    if (value != 0) *sink = value;  // the data are zeros
  }
}

template <Task task>
void add_short(Results& results, uint32_t* to, const uint32_t* from) {
  for (const uint32_t threads : {64u, 256u, 1024u}) {
    for (const uint32_t ctas : {4096u, 16384u}) {
      if (threads == 1024 && ctas != 4096) continue;
      results.add("streams.short_ctas",
                  std::string(kTaskNames[static_cast<int>(task)]) +
                      " threads=" + std::to_string(threads) + " ctas=" + std::to_string(ctas),
                  "us", graph_microseconds([&](cudaStream_t s) {
                    short_cta<task><<<ctas, threads, 0, s>>>(to, from, to);
                  }));
    }
  }
}

}  // namespace

void measure_streams(Results& results) {
  const uint32_t sms = sm_count();
  constexpr size_t kMostOfSm = 256 * 1024;
  DeviceBuffer<uint8_t> from((sms + 1) * kMostOfSm), to(sms * kMostOfSm);
  from.fill_bytes(0);
  to.fill_bytes(0);
  add_stream<uint32_t, Way::read>(results, sms, to.data(), from.data());
  add_stream<uint4, Way::read>(results, sms, to.data(), from.data());
  add_stream<uint32_t, Way::write>(results, sms, to.data(), from.data());
  add_stream<uint4, Way::write>(results, sms, to.data(), from.data());
  add_stream<uint32_t, Way::copy>(results, sms, to.data(), from.data());
  add_stream<uint4, Way::copy>(results, sms, to.data(), from.data());
  from.fill_bytes(0);
  to.fill_bytes(0);
  constexpr uint32_t kWord = 4, kWide = 16;
  add_near<uint32_t>(results, from.data(), 0, 0);
  add_near<uint32_t>(results, from.data(), 0, kWord);
  add_near<uint32_t>(results, from.data(), kWord, kWord);
  add_near<uint32_t>(results, from.data(), 0, 2 * kWord);
  add_near<uint32_t>(results, from.data(), 0, 8 * kWord);
  add_near<uint32_t>(results, from.data(), 0, 9 * kWord);
  add_near<uint32_t>(results, from.data(), 0, 33 * kWord);
  add_near<uint4>(results, from.data(), 0, 0);
  add_near<uint4>(results, from.data(), 0, kWide);
  const auto* const words = reinterpret_cast<const uint32_t*>(from.data());
  add_again<1>(results, sms, words);
  add_again<2>(results, sms, words);
  add_again<3>(results, sms, words);
  auto* const out = reinterpret_cast<uint32_t*>(to.data());
  add_short<Task::nothing>(results, out, words);
  add_short<Task::load>(results, out, words);
  add_short<Task::store>(results, out, words);
  add_short<Task::copy>(results, out, words);
}

}  // namespace bw::timing
