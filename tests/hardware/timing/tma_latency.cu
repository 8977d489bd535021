/// \file
/// One copy at a time: from its issue until the thread that waits for it goes on.

#include <string>

#include "common/device/bulk_copy.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr int kRounds = 16;
constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kMostBytes = 64 * 1024;

__device__ uint32_t aligned_tile() {
  extern __shared__ uint8_t raw[];
  return (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
}

/// Writes what copies will store; by the one thread that issues them.
__device__ void fill_shared_memory() {
  extern __shared__ uint8_t raw[];
  for (uint32_t i = 0; i < (kMostBytes + kAlignment) / sizeof(uint32_t); ++i)
    reinterpret_cast<uint32_t*>(raw)[i] = i;
  ptx::fence_proxy_async_shared();
}

/// A ring of one stage, one thread. The same boxes every pass: the second finds them in L2.
template <class Copy>
__device__ void time_loads(Span* spans, uint32_t bytes, Copy copy) {
  __shared__ uint64_t barrier;
  const uint32_t full = ptx::shared_address(&barrier);
  ptx::mbarrier_init(full, 1);
  ptx::fence_mbarrier_init();
  int64_t begin = 0, end = 0;
  uint32_t parity = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    begin = cycle();
#pragma unroll 1
    for (int i = 0; i < kRounds; ++i) {
      ptx::mbarrier_arrive_expect_tx(full, bytes);
      copy(full, i);
      while (!ptx::mbarrier_try_wait_parity(full, parity)) {
      }
      parity ^= 1;
    }
    end = cycle();
  }
  write_span(spans, begin, end);
}

__global__ void tensor_loads(Span* spans, const __grid_constant__ CUtensorMap map, uint32_t bytes,
                             int32_t rows_per_box) {
  const uint32_t tile = aligned_tile();
  time_loads(spans, bytes, [&](uint32_t full, int i) {
    ptx::tma_load_2d(tile, &map, full, 0, i * rows_per_box);
  });
}

__global__ void bulk_loads(Span* spans, const uint8_t* source, uint32_t bytes) {
  const uint32_t tile = aligned_tile();
  time_loads(spans, bytes, [&](uint32_t full, int i) {
    ptx::bulk_load(tile, source + size_t{bytes} * i, bytes, full);
  });
}

enum class Until { read, written };

template <Until until>
__global__ void tensor_stores(Span* spans, const __grid_constant__ CUtensorMap map,
                              int32_t rows_per_box) {
  const uint32_t tile = aligned_tile();
  fill_shared_memory();
  int64_t begin = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    ptx::bulk_wait_group<0>();
    begin = cycle();
#pragma unroll 1
    for (int i = 0; i < kRounds; ++i) {
      ptx::tma_store_2d(&map, 0, i * rows_per_box, tile);
      ptx::bulk_commit_group();
      if constexpr (until == Until::read) {
        ptx::bulk_wait_group_read<0>();
      } else {
        ptx::bulk_wait_group<0>();
      }
    }
    end = cycle();
  }
  ptx::bulk_wait_group<0>();
  write_span(spans, begin, end);
}

/// Loads of a box of floats.
double load_cycles_of_floats(uint32_t row_floats, uint32_t rows) {
  const uint32_t bytes = row_floats * rows * static_cast<uint32_t>(sizeof(float));
  DeviceBuffer<float> memory(size_t{row_floats} * rows * kRounds);
  memory.fill_bytes(0);
  const CUtensorMap map = make_tensor_map({.name = "floats",
                                           .data = memory.data(),
                                           .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                           .element_bytes = sizeof(float),
                                           .inner = row_floats,
                                           .outer = rows * kRounds,
                                           .stride_bytes = row_floats * sizeof(float),
                                           .box_inner = row_floats,
                                           .box_outer = rows,
                                           .swizzle = CU_TENSOR_MAP_SWIZZLE_NONE});
  return least_cycles(1, 1, [&](Span* s) {
    launch_clusters(tensor_loads, 1, 1, 1, kMostBytes + kAlignment, s, map, bytes,
                    static_cast<int32_t>(rows));
  });
}

}  // namespace

void measure_wide_tma_loads(Results& results) {
  constexpr uint32_t kBoxBytes = 16 * 1024;
  const auto add = [&](uint32_t row_floats, uint32_t bytes) {
    const auto row_bytes = static_cast<uint32_t>(row_floats * sizeof(float));
    results.add("tma_latency.tensor_load_of_floats",
                "bytes=" + std::to_string(bytes) + " inner_bytes=" + std::to_string(row_bytes),
                "cycles", load_cycles_of_floats(row_floats, bytes / row_bytes) / kRounds);
  };
  for (const uint32_t row_floats : {64u, 128u, 256u}) add(row_floats, kBoxBytes);
  add(64, kMostBytes);
}

void measure_tma_latency(Results& results) {
  constexpr uint32_t kRowBytes = 128;
  constexpr uint32_t kMostRows = 256;
  const auto add = [&](const std::string& name, const std::string& parameter, double cycles) {
    results.add("tma_latency." + name, parameter, "cycles", cycles / kRounds);
  };
  const ByteMatrix narrow(kRowBytes, kMostRows * kRounds);
  for (uint32_t rows = 8; rows <= kMostRows; rows *= 2) {
    const CUtensorMap map = narrow.map(kRowBytes, rows);
    add("tensor_load", "bytes=" + std::to_string(rows * kRowBytes),
        least_cycles(1, 1, [&](Span* s) {
          launch_clusters(tensor_loads, 1, 1, 1, kMostBytes + kAlignment, s, map, rows * kRowBytes,
                          static_cast<int32_t>(rows));
        }));
  }
  for (const uint32_t inner_bytes : {16u, 32u, 64u, 128u, 256u}) {
    constexpr uint32_t kBoxBytes = 4096;
    const uint32_t rows = kBoxBytes / inner_bytes;
    const ByteMatrix matrix(inner_bytes, rows * kRounds);
    const CUtensorMap map = matrix.map(inner_bytes, rows);
    add("tensor_load_4096_bytes", "inner_bytes=" + std::to_string(inner_bytes),
        least_cycles(1, 1, [&](Span* s) {
          launch_clusters(tensor_loads, 1, 1, 1, kMostBytes + kAlignment, s, map, kBoxBytes,
                          static_cast<int32_t>(rows));
        }));
  }
  const ByteMatrix linear(kMostBytes, kRounds);
  for (uint32_t bytes = 1024; bytes <= kMostBytes; bytes *= 4) {
    add("bulk_load", "bytes=" + std::to_string(bytes), least_cycles(1, 1, [&](Span* s) {
          launch_clusters(bulk_loads, 1, 1, 1, kMostBytes + kAlignment, s, linear.data(), bytes);
        }));
  }
  for (uint32_t rows = 8; rows <= kMostRows; rows *= 4) {
    const CUtensorMap map = narrow.map(kRowBytes, rows);
    const std::string parameter = "bytes=" + std::to_string(rows * kRowBytes);
    const auto stores = [&](auto kernel) {
      return least_cycles(1, 1, [&](Span* s) {
        launch_clusters(kernel, 1, 1, 1, kMostBytes + kAlignment, s, map,
                        static_cast<int32_t>(rows));
      });
    };
    add("tensor_store_read", parameter, stores(tensor_stores<Until::read>));
    add("tensor_store_written", parameter, stores(tensor_stores<Until::written>));
  }
}

}  // namespace bw::timing
