/// \file
/// Tensor copies through im2col maps (PTX ISA, "Im2col mode"): which pixels of which images a copy
/// moves, and what the encoder accepts.
#include <algorithm>

#include "tests/hardware/inputs.hpp"
#include "tests/hardware/instruction_case.cuh"
#include "tests/hardware/raw_memory.hpp"
#include "tests/hardware/tensor_maps.hpp"

namespace bw::conformance::im2col {

constexpr unsigned kWarp = 32;
constexpr unsigned kTileBytes = 8192;
constexpr size_t kTensorBytes = 65536;
constexpr unsigned kCopies = 24;  ///< of a case
constexpr unsigned kMaxSpatial = kMaxRank - 2;

/// An im2col map and a copy through it.
struct Copy {
  MapArguments map;
  std::array<int, kMaxSpatial> lower{}, upper{};
  unsigned channels = 8, pixels = 16;
  std::array<int32_t, kMaxRank> start{};
  std::array<uint16_t, kMaxSpatial> offsets{};
};

using Encoder = decltype(&cuTensorMapEncodeIm2col);

Encoder encoder() {
  constexpr unsigned kCudaVersion = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &function, kCudaVersion,
                                              cudaEnableDefault, &found),
             "look up cuTensorMapEncodeIm2col in the driver");
  require(found == cudaDriverEntryPointSuccess && function != nullptr,
          "The CUDA driver has no cuTensorMapEncodeIm2col.");
  return reinterpret_cast<Encoder>(function);
}

CUresult encode(CUtensorMap& map, const Copy& copy) {
  const MapArguments& a = copy.map;
  return encoder()(&map, a.type, a.rank, reinterpret_cast<void*>(a.address), a.extents.data(),
                   a.strides.data(), copy.lower.data(), copy.upper.data(), copy.channels,
                   copy.pixels, a.element_strides.data(), a.interleave, a.swizzle, a.promotion,
                   a.fill);
}

struct Operands {
  int32_t at[kMaxRank];
  uint16_t offset[kMaxSpatial];
};

#define BW_INPUTS(BARRIER)                                                                   \
  "r"(tile), "l"(map), "r"(BARRIER), "r"(o.at[0]), "r"(o.at[1]), "r"(o.at[2]), "r"(o.at[3]), \
      "r"(o.at[4]), "h"(o.offset[0]), "h"(o.offset[1]), "h"(o.offset[2])

template <unsigned map_rank>
__device__ void load(uint32_t tile, const CUtensorMap* map, uint32_t barrier, const Operands& o) {
#define BW_IM2COL(RANK, COORDINATES, OFFSETS)                                                \
  if constexpr (map_rank == RANK)                                                            \
  asm volatile(                                                                              \
      "cp.async.bulk.tensor." #RANK                                                          \
      "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, " COORDINATES \
      "], [%2], " OFFSETS ";" ::BW_INPUTS(barrier)                                           \
      : "memory")
  BW_IM2COL(3, "{%3, %4, %5}", "{%8}");
  BW_IM2COL(4, "{%3, %4, %5, %6}", "{%8, %9}");
  BW_IM2COL(5, "{%3, %4, %5, %6, %7}", "{%8, %9, %10}");
}

template <unsigned map_rank>
__device__ void store(uint32_t tile, const CUtensorMap* map, const Operands& o) {
#define BW_IM2COL_STORE(RANK, COORDINATES)                                        \
  if constexpr (map_rank == RANK)                                                 \
  asm volatile("cp.async.bulk.tensor." #RANK                                      \
               "d.global.shared::cta.im2col_no_offs.bulk_group [%1, " COORDINATES \
               "], [%0];" ::BW_INPUTS(0)                                          \
               : "memory")
  BW_IM2COL_STORE(3, "{%3, %4, %5}");
  BW_IM2COL_STORE(4, "{%3, %4, %5, %6}");
  BW_IM2COL_STORE(5, "{%3, %4, %5, %6, %7}");
}

template <unsigned map_rank, bool stores>
__global__ void copy_kernel(const __grid_constant__ CUtensorMap map, Operands operands,
                            unsigned bytes, uint32_t* result) {
  __shared__ alignas(1024) uint32_t tile[kTileBytes / 4];
  __shared__ uint64_t barrier;
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += kWarp)
    tile[i] = stores ? 0x10000 + i : 0xcdcdcdcd;
  const auto tile_address = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  const auto barrier_address = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_address) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncwarp();
  if constexpr (stores) {
    if (threadIdx.x == 0) {
      store<map_rank>(tile_address, &map, operands);
      asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
    return;
  }
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_address),
                 "r"(bytes)
                 : "memory");
    load<map_rank>(tile_address, &map, barrier_address, operands);
  }
  asm volatile(
      "{.reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra WAIT;}" ::
          "r"(barrier_address)
      : "memory");
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += kWarp) result[i] = tile[i];
}

/// A random map of the rank, whose copy begins inside of its bounding box.
Copy random_copy(RandomBits& random, unsigned rank, uint64_t address, bool stores) {
  Copy copy;
  MapArguments& map = copy.map;
  map.rank = rank;
  map.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  map.address = address;
  copy.channels = 8u << random.below(3);  // 16 to 64 bytes
  map.swizzle = copy.channels == 16 && random.below(2) == 0 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                            : CU_TENSOR_MAP_SWIZZLE_NONE;
  copy.pixels = static_cast<unsigned>(1 + random.below(60));
  map.extents[0] = 16 + 8 * random.below(4);
  uint64_t stride = map.extents[0] * 2 + 16 * random.below(2);
  for (unsigned d = 1; d < rank; ++d) {
    map.extents[d] = 2 + random.below(d + 1 == rank ? 2 : 5);
    map.strides[d - 1] = stride;
    stride = stride * map.extents[d];
  }
  for (unsigned d = 1; d + 1 < rank; ++d) {
    map.element_strides[d] = static_cast<uint32_t>(1 + random.below(2));
    copy.lower[d - 1] = static_cast<int>(random.below(3)) - (stores ? 0 : 2);
    copy.upper[d - 1] = static_cast<int>(random.below(3)) - 2;
    const int last = static_cast<int>(map.extents[d]) - 1 + copy.upper[d - 1];
    if (last < copy.lower[d - 1]) copy.lower[d - 1] = last;
    const auto positions =
        static_cast<uint64_t>(last - copy.lower[d - 1]) / map.element_strides[d] + 1;
    copy.start[d] =
        copy.lower[d - 1] + static_cast<int>(random.below(positions) * map.element_strides[d]);
    copy.offsets[d - 1] = static_cast<uint16_t>(random.below(4));
  }
  // Through a map with other corners an im2col store is an illegal instruction to a Hopper GPU.
  for (unsigned d = 1; stores && d + 1 < rank; ++d) {
    copy.lower[d - 1] = copy.upper[d - 1] = 0;
    copy.start[d] = static_cast<int32_t>(random.below(map.extents[d]));
  }
  copy.start[0] = static_cast<int32_t>(8 * random.below(map.extents[0] / 8));
  copy.start[rank - 1] = static_cast<int32_t>(random.below(map.extents[rank - 1]));
  return copy;
}

template <unsigned map_rank, bool stores>
Result measure() {
  RandomBits random(map_rank + (stores ? 10 : 0));
  std::vector<uint64_t> values;
  for (unsigned i = 0; i < kCopies; ++i) {
    std::vector<uint64_t> words(kTensorBytes / 4);
    for (size_t w = 0; w < words.size(); ++w) words[w] = (2 * w + 1) << 16 | 2 * w;
    DeviceBuffer<uint8_t> tensor = to_device(words, 4);
    const Copy copy =
        random_copy(random, map_rank, reinterpret_cast<uint64_t>(tensor.data()), stores);
    CUtensorMap map;
    require(encode(map, copy) == CUDA_SUCCESS, "Could not encode im2col map ", i, ".");
    Operands operands{};
    std::copy(copy.start.begin(), copy.start.end(), operands.at);
    std::copy(copy.offsets.begin(), copy.offsets.end(), operands.offset);
    DeviceBuffer<uint8_t> result(kTileBytes);
    result.fill_bytes(0);
    launch(reinterpret_cast<const void*>(copy_kernel<map_rank, stores>), 1, kWarp, map, operands,
           copy.channels * copy.pixels * 2, result.data());
    const std::vector<uint64_t> moved = from_device(stores ? tensor : result, 4);
    values.insert(values.end(), moved.begin(), moved.end());
  }
  const size_t each = values.size() / kCopies;
  return {std::move(values), [=](size_t i) {
            return "copy " + std::to_string(i / each) + ", word " + std::to_string(i % each);
          }};
}

/// What the encoder answers to corners at their limits and beyond.
Result measure_encoder() {
  check_cuda(cudaFree(nullptr), "make a context");  // without one the driver refuses all calls
  std::vector<uint64_t> values;
  for (unsigned rank = 2; rank <= kMaxRank; ++rank)
    for (const int corner :
         {-32769, -32768, -129, -128, -17, -16, 15, 16, 127, 128, 32767, 32768}) {
      for (const bool lower : {false, true}) {
        Copy copy;
        copy.map.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
        copy.map.rank = rank;
        copy.map.extents = {64, 40000, 1000, 1000, 2};
        copy.map.strides = {128, 1 << 23, uint64_t{1} << 33, uint64_t{1} << 38};
        (lower ? copy.lower : copy.upper)[0] = corner;
        CUtensorMap map;
        values.push_back(encode(map, copy));
      }
    }
  for (const auto& [channels, pixels] :
       {std::pair{0u, 1u}, {8u, 0u}, {256u, 1u}, {264u, 1u}, {8u, 1024u}, {8u, 1025u}, {4u, 16u}}) {
    Copy copy;
    copy.map.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
    copy.map.rank = 4;
    copy.map.extents = {512, 64, 64, 4, 1};
    copy.map.strides = {1024, 65536, 1 << 22, 0};
    copy.channels = channels;
    copy.pixels = pixels;
    CUtensorMap map;
    values.push_back(encode(map, copy));
  }
  return {std::move(values), [](size_t i) { return "call " + std::to_string(i); }};
}

const Registration kCases[] = {
    {"im2col.load.3d", measure<3, false>}, {"im2col.load.4d", measure<4, false>},
    {"im2col.load.5d", measure<5, false>}, {"im2col.store.3d", measure<3, true>},
    {"im2col.store.4d", measure<4, true>}, {"im2col.store.5d", measure<5, true>},
    {"im2col.encode", measure_encoder},
};

}  // namespace bw::conformance::im2col
