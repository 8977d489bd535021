#pragma once
/// \file
/// What the chip itself does at most: the tensor cores' FP8 rate, memory bandwidth, the rate at
/// which TMA brings boxes from L2 into shared memory, and the bits that FP8 accumulation keeps.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/benchmarks/hopper/shapes.hpp"

namespace bw {

/// One loop of bare wgmma.
struct TensorRate {
  std::string form;             ///< "m64n256k32, A from shared memory"
  double milliseconds;          ///< of the launch that was measured
  double tflops;                ///< all multiprocessors together
  double fma_per_clock_per_sm;  ///< of 4096
  double clock_ghz;             ///< cycles over time while it ran
};

/// Dense e4m3 products a multiprocessor can do in a cycle (4 tensor cores of 1024).
constexpr double kFp8FmaPerClock = 4096;

/// Rates of every form, for a burst of 0.1 ms, for a launch of about the length of a GEMM and for
/// one of 0.3 s and more, in which the clock settles at what the power limit allows.
std::vector<TensorRate> measure_tensor_rates();

/// Bytes per second of device memory.
struct MemoryRate {
  double copy;  ///< read and written bytes together, of a copy of 1 GiB
  double read;  ///< of a sum over 1 GiB
};
MemoryRate measure_memory_rate();

/// TMA from an L2-resident matrix into shared memory.
struct TmaRate {
  int cluster;                       ///< CTAs that a box is multicast to; 1: no multicast
  int multiprocessors;               ///< that load at once
  int bytes_under_way;               ///< per multiprocessor, at most: the ring
  double bytes_per_clock_per_sm;     ///< that arrive in a multiprocessor's shared memory
  double l2_bytes_per_clock_per_sm;  ///< that are read from L2 for it
  double terabytes_per_second;       ///< arriving, all multiprocessors together
};
/// On all multiprocessors, and on so few that L2 isn't what limits them.
std::vector<TmaRate> measure_tma_rates();

/// The wgmma loop while TMA writes into the same shared memory (multicast to pairs of CTAs).
struct SharedRate {
  std::string form;
  int multiprocessors;             ///< that do so at once
  double read_bytes_per_clock;     ///< by wgmma at its full rate
  double wanted_bytes_per_clock;   ///< by TMA: the pace that was set
  double written_bytes_per_clock;  ///< by TMA: what arrived
  double pipe_share;               ///< of kFp8FmaPerClock
  double clock_ghz;                ///< while it ran
};
/// Whether shared memory's bandwidth limits the tensor cores: on few multiprocessors, where neither
/// L2 nor power does, and on all.
std::vector<SharedRate> measure_shared_rates();

/// Remaining share of a small product next to a large one, 2^distance apart, in an FP8
/// accumulation that ends with the large one's negative (1: exact, 0: lost).
struct AccumulationBits {
  int distance;
  double within;     ///< both products, 1 element apart, in one wgmma
  double across;     ///< both in one wgmma, in its first and last elements of K
  double chained;    ///< the large one in the accumulator, the small one in the next wgmma
  double negative;   ///< like chained, with a small one of the other sign
  double half_more;  ///< like chained, with 1.5 times the small one
};
std::vector<AccumulationBits> measure_accumulation();

/// All of it.
struct Floor {
  std::vector<TensorRate> tensor;
  MemoryRate memory;
  std::vector<TmaRate> tma;
  std::vector<SharedRate> shared;
  std::vector<AccumulationBits> accumulation;

  double best_tflops() const;  ///< of any form and length
  /// The shortest time that the tensor cores' rate and the memory's allow, in microseconds.
  double limit(const Shape& shape, bool residual) const;
};

inline Floor measure_floor() {
  return Floor{measure_tensor_rates(), measure_memory_rate(), measure_tma_rates(),
               measure_shared_rates(), measure_accumulation()};
}

}  // namespace bw
