#pragma once
/// \file
/// What the labs on tile schedulers share: a kernel whose CTAs take pieces of a raster from a
/// scheduler, and are busy with each for a time of its own instead of multiplying.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/device/elect.cuh"
#include "common/device/fence.cuh"
#include "common/device/host_device.cuh"
#include "common/device/min_max.cuh"
#include "common/device/shared_mem_barrier.cuh"
#include "common/host/comparison.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"
#include "common/host/dynamic_shared_memory.hpp"
#include "common/host/event_timer.hpp"
#include "common/host/lab_cycles.hpp"
#include "common/host/program.hpp"
#include "solutions/05_blockwise_fp8_gemm/tile_raster.cuh"

namespace bw::lab {

/// Kernel arguments.
struct PieceArguments {
  TileRaster raster;  ///< the order of the pieces
  uint32_t cycles;    ///< that a piece of weight 1 takes
  uint32_t uneven;    ///< 0: every piece has weight 1
  uint32_t* visits;   ///< [raster.m · raster.n], column by column of the raster's n
  uint32_t* takers;   ///< the CTA that took the piece
  uint32_t* rounds;   ///< how many pieces it had taken before

  /// 1 to 8, spread without a pattern over the pieces.
  BW_HOST_DEVICE constexpr uint32_t weight(uint32_t piece) const {
    constexpr uint32_t kFirst = 2654435761u, kSecond = 2246822519u;  // odd, bits without a pattern
    const uint32_t mixed = (piece + 1) * kFirst;
    return uneven ? 1 + ((mixed ^ mixed >> 15) * kSecond >> 29) : 1;
  }
};

/// One warp schedules, one works.
constexpr uint32_t kWorkerThreads = ptx::kWarpThreads;
/// Workers and the scheduler's warp.
constexpr uint32_t kPieceThreads = kWorkerThreads + ptx::kWarpThreads;

/// Contents of shared memory.
template <class Scheduler>
struct PieceShared {
  typename Scheduler::Message messages[Scheduler::kNumStages];  ///< which piece comes next
  SharedMemBarrier barriers[Scheduler::kNumBarriers];           ///< of the ring of messages
};

/// Worker warp: takes pieces until there are none.
template <class Scheduler>
__device__ __forceinline__ void work(Scheduler& scheduler, const PieceArguments& args) {
  WorkTile tile;
  for (uint32_t round = 0; scheduler.next(tile); ++round) {
    scheduler.throttle_signal();
    const uint32_t piece = tile.n * args.raster.m + tile.m;
    const int64_t end = clock64() + int64_t{args.cycles} * args.weight(piece);
    while (clock64() < end) {
    }
    if (threadIdx.x == 0) {
      atomicAdd(&args.visits[piece], 1);
      args.takers[piece] = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      args.rounds[piece] = round;
    }
    __syncwarp();
  }
}

/// Counts for every piece which CTA computed it.
template <class Scheduler>
__global__ __launch_bounds__(kPieceThreads) void pieces_kernel(PieceArguments args) {
  extern __shared__ __align__(16) uint8_t dynamic_shared[];
  auto& shared = *reinterpret_cast<PieceShared<Scheduler>*>(dynamic_shared);
  Scheduler scheduler(shared.barriers, shared.messages, args.raster);
  if (threadIdx.x == 0) {
    scheduler.init_barriers();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x < kWorkerThreads) {
    work(scheduler, args);
  } else {
    scheduler.publish_all();
  }
}

/// The options of these labs.
struct PieceOptions {
  int64_t m = 48;        ///< pieces along M
  int64_t n = 48;        ///< pieces along N
  int64_t cycles = 500;  ///< of work for a piece
  int uneven = 0;        ///< 0: even
  bool show = false;     ///< print who computed what

  /// Adds the options to a command line.
  void add_to(CommandLine& command_line) {
    command_line.add("m", m, "pieces of the output along M");
    command_line.add("n", n, "pieces along N");
    command_line.add("cycles", cycles, "cycles that a piece takes");
    command_line.add("pieces", uneven, {"even", "uneven"}, "uneven: 1 to 8 times as many");
    command_line.add_flag("show", show, "print in which round each piece was taken");
  }
  /// Throws where the options don't fit together.
  void validate() const {
    constexpr int64_t kMostPieces = (1 << 16) - 1, kMostCycles = 1000000;
    require(m >= 1 && n >= 1 && m <= kMostPieces && n <= kMostPieces && m * n <= kMostPieces,
            "--m ", m, " x --n ", n, " pieces: give 1 to ", kMostPieces, " in all.");
    require(cycles >= 1 && cycles <= kMostCycles, "--cycles ", cycles, ": give 1 to ", kMostCycles,
            ".");
  }
};

/// Prints, for the first rounds or (`show`) for all and as a map, how many rows and columns of
/// pieces were at work: what the operands of the round are, each counted once.
inline void print_rounds(const PieceOptions& options, const std::vector<uint32_t>& rounds,
                         bool show) {
  const auto m = static_cast<size_t>(options.m), n = static_cast<size_t>(options.n);
  constexpr uint32_t kFirstRounds = 2;
  uint32_t all = 0;
  for (const uint32_t round : rounds) all = max_of(all, round + 1);
  for (uint32_t round = 0; round < (show ? all : min_of(all, kFirstRounds)); ++round) {
    std::vector<bool> row(m), column(n);
    int64_t pieces = 0, rows = 0, columns = 0;
    for (size_t i = 0; i < rounds.size(); ++i) {
      if (rounds[i] != round) continue;
      if (!row[i % m]) ++rows;
      if (!column[i / m]) ++columns;
      row[i % m] = column[i / m] = true;
      ++pieces;
    }
    std::printf("round    %u: %lld pieces in %lld rows and %lld columns\n", round,
                static_cast<long long>(pieces), static_cast<long long>(rows),
                static_cast<long long>(columns));
  }
  for (size_t i = 0; show && i < m; ++i) {
    std::printf("        ");
    for (size_t j = 0; j < n; ++j) std::printf(" %2u", rounds[j * m + i]);
    std::printf("\n");
  }
}

/// Runs `kernel` with a grid of one CTA per multiprocessor or one per piece, verifies that every
/// piece was taken once, prints how the pieces were spread and the cycles.
template <class Scheduler>
ExitStatus run_pieces(const PieceOptions& options, dim3 grid) {
  const uint32_t ctas = grid.x * grid.y * grid.z;
  const auto pieces = static_cast<size_t>(options.m * options.n);
  DeviceBuffer<uint32_t> visits(pieces), takers(pieces), rounds(pieces);
  visits.fill_bytes(0);
  takers.fill_bytes(0);
  rounds.fill_bytes(0);
  PieceArguments arguments{{static_cast<uint32_t>(options.m), static_cast<uint32_t>(options.n)},
                           static_cast<uint32_t>(options.cycles),
                           static_cast<uint32_t>(options.uneven),
                           visits.data(),
                           takers.data(),
                           rounds.data()};
  // More than half of a multiprocessor's shared memory: no two CTAs fit on one.
  constexpr uint32_t kSharedBytes = 128 * 1024;
  static_assert(sizeof(PieceShared<Scheduler>) <= kSharedBytes, "the ring fits");
  const void* const kernel = reinterpret_cast<const void*>(pieces_kernel<Scheduler>);
  allow_dynamic_shared_memory(kernel, kSharedBytes);
  void* parameters[] = {&arguments};
  constexpr cudaStream_t kDefaultStream = nullptr;
  EventTimer timer;
  timer.start(kDefaultStream);
  check_cuda(
      cudaLaunchKernel(kernel, grid, dim3(kPieceThreads), parameters, kSharedBytes, kDefaultStream),
      "launch the kernel");
  const float milliseconds = timer.stop(kDefaultStream);

  const std::vector<uint32_t> taker = takers.download();
  std::vector<uint64_t> load(ctas);
  uint64_t total = 0;
  for (size_t i = 0; i < pieces; ++i) {
    const uint32_t weight = arguments.weight(static_cast<uint32_t>(i));
    if (taker[i] < ctas) load[taker[i]] += weight;
    total += weight;
  }
  int64_t busy = 0;
  uint64_t most = 0;
  for (const uint64_t weights : load) {
    if (weights > 0) ++busy;
    most = max_of(most, weights);
  }
  print_rounds(options, rounds.download(), options.show);
  std::printf("work     %llu weights on %lld CTAs: %.2f on average, %llu at most\n",
              static_cast<unsigned long long>(total), static_cast<long long>(busy),
              static_cast<double>(total) / static_cast<double>(max_of<int64_t>(busy, 1)),
              static_cast<unsigned long long>(most));
  print_cycles(milliseconds);
  const std::vector<uint32_t> seen = visits.download();
  return print_verdict(compare_elements(
                           options.n, options.m, [&](int64_t i) { return seen[i]; },
                           [](int64_t) { return 1.0; }, [](int64_t) { return 0.0; }),
                       "visits");
}

}  // namespace bw::lab
