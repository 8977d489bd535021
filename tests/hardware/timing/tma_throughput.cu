/// \file
/// Copies in flight: throughput of TMA into shared memory by bytes in flight, by the width of a
/// box, by the number of SMs that load, from L2 and from HBM, and with multicast.

#include <string>

#include "common/device/cluster.cuh"
#include "common/device/fence.cuh"
#include "common/device/mbarrier.cuh"
#include "common/device/shared_address.cuh"
#include "common/device/tma_load.cuh"
#include "common/device/tma_store.cuh"
#include "tests/hardware/timing/clock.cuh"
#include "tests/hardware/timing/cluster_launch.hpp"
#include "tests/hardware/timing/l2_flush.hpp"
#include "tests/hardware/timing/measurement.hpp"
#include "tests/hardware/timing/sm_count.hpp"
#include "tests/hardware/timing/tma_boxes.hpp"

namespace bw::timing {
namespace {

constexpr uint32_t kAlignment = 1024;
constexpr uint32_t kMostSlots = 32;
constexpr uint32_t kMostBytes = 192 * 1024;
constexpr uint32_t kThreads = 64;  // one warp asks for boxes, the other waits for them

/// A CTA of a cluster of `cluster_ctas` CTAs: `boxes` boxes, at most `slots` in flight.
struct RingOptions {
  uint32_t slots;
  uint32_t boxes;
  uint32_t box_bytes;     ///< that arrive in each CTA
  uint32_t box_rows;      ///< of one request: with multicast the CTA's share
  uint32_t boxes_across;  ///< boxes of a row of the matrix
  uint32_t box_inner_bytes;
  uint32_t cta_boxes;  ///< from the first box of a CTA to the first of the next
  uint32_t all_boxes;  ///< of the matrix; the numbers wrap around
  uint32_t cluster_ctas;
};

constexpr uint32_t kBarrierBytes = sizeof(uint64_t);

/// A slot and the parity of its lap. No division: one would take longer than a small box.
struct Place {
  uint32_t slot = 0;
  uint32_t parity = 0;
  __device__ void step(uint32_t slots) {
    if (++slot == slots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

/// One thread: asks for this CTA's part of every box.
__device__ void produce(const CUtensorMap& map, const RingOptions& options, uint32_t tiles,
                        uint32_t full, uint32_t empty) {
  const uint32_t rank = ptx::cluster_cta_rank();
  const auto mask = static_cast<uint16_t>((1u << options.cluster_ctas) - 1);
  const uint32_t first = blockIdx.x / options.cluster_ctas * options.cta_boxes % options.all_boxes;
  const uint32_t rows_down = options.cluster_ctas * options.box_rows;
  const uint32_t share_bytes = options.box_bytes / options.cluster_ctas;
  uint32_t across = first % options.boxes_across;
  uint32_t down = first / options.boxes_across;
  const uint32_t all_down = options.all_boxes / options.boxes_across;
  Place place;
  for (uint32_t i = 0; i < options.boxes; ++i) {
    while (!ptx::mbarrier_try_wait_parity(empty + place.slot * kBarrierBytes, place.parity ^ 1)) {
    }
    const auto x = static_cast<int32_t>(across * options.box_inner_bytes);
    const auto y = static_cast<int32_t>(down * rows_down + rank * options.box_rows);
    const uint32_t tile = tiles + place.slot * options.box_bytes + rank * share_bytes;
    const uint32_t barrier = full + place.slot * kBarrierBytes;
    ptx::mbarrier_arrive_expect_tx(barrier, options.box_bytes);
    if (options.cluster_ctas == 1) {
      ptx::tma_load_2d(tile, &map, barrier, x, y);
    } else {
      ptx::tma_load_2d_multicast(tile, &map, barrier, x, y, mask);
    }
    place.step(options.slots);
    if (++across == options.boxes_across) {
      across = 0;
      if (++down == all_down) down = 0;
    }
  }
}

/// One thread of another warp: sees every box and frees its slot in all CTAs that fill it.
__device__ void consume(const RingOptions& options, uint32_t full, uint32_t empty) {
  Place place;
  for (uint32_t i = 0; i < options.boxes; ++i) {
    while (!ptx::mbarrier_try_wait_parity(full + place.slot * kBarrierBytes, place.parity)) {
    }
    const uint32_t barrier = empty + place.slot * kBarrierBytes;
    if (options.cluster_ctas == 1) {
      ptx::mbarrier_arrive(barrier);
    } else {
      for (uint32_t peer = 0; peer < options.cluster_ctas; ++peer) {
        ptx::mbarrier_arrive_remote(ptx::map_to_cta(barrier, peer));
      }
    }
    place.step(options.slots);
  }
}

__global__ void load_ring(Span* spans, const __grid_constant__ CUtensorMap map,
                          RingOptions options) {
  extern __shared__ uint8_t raw[];
  __shared__ uint64_t full_barriers[kMostSlots], empty_barriers[kMostSlots];
  const uint32_t tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t full = ptx::shared_address(full_barriers);
  const uint32_t empty = ptx::shared_address(empty_barriers);
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < options.slots; ++i) {
      ptx::mbarrier_init(full + i * kBarrierBytes, 1);
      ptx::mbarrier_init(empty + i * kBarrierBytes, options.cluster_ctas);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  ptx::cluster_arrive();
  ptx::cluster_wait();
  const int64_t begin = cycle();
  if (threadIdx.x == 0) {
    produce(map, options, tiles, full, empty);
  } else if (threadIdx.x == 32) {
    consume(options, full, empty);
  }
  __syncwarp();
  write_span(spans, begin, cycle());
  __syncthreads();
  ptx::cluster_arrive();  // no CTA exits while others may still arrive here
  ptx::cluster_wait();
}

struct Load {
  uint32_t slots = 4;
  uint32_t boxes = 64;
  uint32_t box_inner_bytes = 128;
  uint32_t box_rows = 64;
  uint32_t cluster_ctas = 1;
  uint32_t ctas = 1;
  bool own_boxes = false;  ///< whether no two CTAs load the same ones
};

/// Bytes a cycle that arrive in the shared memory of one SM.
template <class Prepare>
double bytes_per_cycle(const ByteMatrix& matrix, const Load& load, const Prepare& prepare) {
  const CUtensorMap map = matrix.map(load.box_inner_bytes, load.box_rows / load.cluster_ctas);
  RingOptions options{};
  options.slots = load.slots;
  options.boxes = load.boxes;
  options.box_bytes = load.box_inner_bytes * load.box_rows;
  options.box_rows = load.box_rows / load.cluster_ctas;
  options.boxes_across = matrix.row_bytes() / load.box_inner_bytes;
  options.box_inner_bytes = load.box_inner_bytes;
  options.all_boxes = options.boxes_across * (matrix.rows() / load.box_rows);
  constexpr uint32_t kSpread = 7;  // CTAs that share boxes begin in different ones
  options.cta_boxes = load.own_boxes ? load.boxes : kSpread;
  options.cluster_ctas = load.cluster_ctas;
  const double cycles = least_cycles(load.ctas, kThreads / 32, [&](Span* s) {
    prepare();
    launch_clusters(load_ring, load.ctas, load.cluster_ctas, kThreads, kMostBytes + kAlignment, s,
                    map, options);
  });
  return 1.0 * options.box_bytes * load.boxes / cycles;
}

/// The same of boxes that are where the launch before has left them.
double bytes_per_cycle(const ByteMatrix& matrix, const Load& load) {
  return bytes_per_cycle(matrix, load, [] {});
}

/// Stores of one thread, `groups` of them in flight.
template <int groups>
__global__ void store_ring(Span* spans, const __grid_constant__ CUtensorMap map, uint32_t boxes,
                           uint32_t box_bytes, int32_t box_rows, uint32_t all_boxes) {
  extern __shared__ uint8_t raw[];
  const uint32_t tiles = (ptx::shared_address(raw) + kAlignment - 1) / kAlignment * kAlignment;
  for (uint32_t i = threadIdx.x; i < (groups * box_bytes + kAlignment) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(raw)[i] = i;
  }
  ptx::fence_proxy_async_shared();
  __syncthreads();
  const int64_t begin = cycle();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < boxes; ++i) {
      const auto y = static_cast<int32_t>((blockIdx.x * boxes + i) % all_boxes) * box_rows;
      ptx::tma_store_2d(&map, 0, y, tiles + i % groups * box_bytes);
      ptx::bulk_commit_group();
      ptx::bulk_wait_group_read<groups - 1>();
    }
    ptx::bulk_wait_group<0>();
  }
  __syncwarp();
  write_span(spans, begin, cycle());
}

}  // namespace

void measure_tma_throughput(Results& results) {
  const uint32_t sms = sm_count();
  const auto add = [&](const std::string& name, const std::string& parameter, double value) {
    results.add("tma_throughput." + name, parameter, "bytes/cycle", value);
  };
  constexpr uint32_t kRowBytes = 2048;
  {
    const ByteMatrix small(kRowBytes, 2048);  // 4 MiB: L2 holds it
    for (const uint32_t slots : {1u, 2u, 4u, 8u, 16u}) {
      add("one_sm", "boxes_of_8192_bytes=" + std::to_string(slots),
          bytes_per_cycle(small, {.slots = slots}));
    }
    for (const uint32_t inner_bytes : {16u, 32u, 64u, 128u, 256u}) {
      constexpr uint32_t kBoxBytes = 4096;
      add("one_sm_16_boxes_of_4096_bytes", "inner_bytes=" + std::to_string(inner_bytes),
          bytes_per_cycle(
              small,
              {.slots = 16, .box_inner_bytes = inner_bytes, .box_rows = kBoxBytes / inner_bytes}));
    }
    for (const uint32_t slots : {1u, 2u, 4u, 8u, 16u, 24u}) {
      add("all_sms_l2", "boxes_of_8192_bytes=" + std::to_string(slots),
          bytes_per_cycle(small, {.slots = slots, .ctas = sms}));
    }
    for (const uint32_t ctas : {16u, 33u, 66u, 99u}) {
      add("some_sms_l2_16_boxes_of_8192_bytes", "sms=" + std::to_string(ctas),
          bytes_per_cycle(small, {.slots = 16, .ctas = ctas}));
    }
    for (const uint32_t cluster : {2u, 4u}) {
      for (const uint32_t ctas : {16u, sms / 4 * 4 - 12}) {
        add("multicast_8_boxes_of_16384_bytes",
            "cluster=" + std::to_string(cluster) + " sms=" + std::to_string(ctas),
            bytes_per_cycle(small,
                            {.slots = 8, .box_rows = 128, .cluster_ctas = cluster, .ctas = ctas}));
      }
    }
  }
  {
    const L2Flush flush;
    constexpr uint32_t kBoxes = 64;
    const ByteMatrix large(kRowBytes, sms * kBoxes * 64 / (kRowBytes / 128) + 64);
    for (const uint32_t slots : {1u, 2u, 4u, 8u, 16u, 24u}) {
      add("all_sms_hbm", "boxes_of_8192_bytes=" + std::to_string(slots),
          bytes_per_cycle(large, {.slots = slots, .boxes = kBoxes, .ctas = sms, .own_boxes = true},
                          [&] { flush.run(); }));
    }
  }
  {
    constexpr uint32_t kStoreBytes = 128, kStoreRows = 64, kStores = 32;
    const ByteMatrix matrix(kStoreBytes, kStoreRows * kStores * sms);
    const CUtensorMap map = matrix.map(kStoreBytes, kStoreRows);
    const uint32_t all_boxes = kStores * sms;
    constexpr uint32_t kBoxBytes = kStoreBytes * kStoreRows;
    for (const uint32_t ctas : {1u, sms}) {
      const double cycles = least_cycles(ctas, 1, [&](Span* s) {
        launch_clusters(store_ring<4>, ctas, 1, 32, 4 * kBoxBytes + 2 * kAlignment, s, map, kStores,
                        kBoxBytes, static_cast<int32_t>(kStoreRows), all_boxes);
      });
      add("store_4_boxes_of_8192_bytes", "sms=" + std::to_string(ctas),
          1.0 * kBoxBytes * kStores / cycles);
    }
  }
}

}  // namespace bw::timing
