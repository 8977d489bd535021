/// \file
/// Tensor copies between global and shared memory (PTX ISA, "cp.async.bulk.tensor",
/// "cp.reduce.async.bulk.tensor"): the bytes that a copy writes, and those that it leaves alone.
#include "tests/hardware/cases.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"
#include "tests/hardware/tensor_maps.hpp"

namespace bw::conformance::tensor_copy {

constexpr unsigned kThreads = 32;
constexpr unsigned kTileBytes = 16384;  // of shared memory; every box fits
constexpr size_t kTensorBytes = 65536;  // of global memory; every tensor fits
constexpr uint32_t kUntouched = 0xcdcdcdcd;

struct Coordinates {
  int32_t at[kMaxRank] = {};
};

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

#define BW_COORDINATES_1 "{%3}"
#define BW_COORDINATES_2 "{%3, %4}"
#define BW_COORDINATES_3 "{%3, %4, %5}"
#define BW_COORDINATES_4 "{%3, %4, %5, %6}"
#define BW_COORDINATES_5 "{%3, %4, %5, %6, %7}"
#define BW_OPERANDS(BARRIER)                                                                 \
  "r"(tile), "l"(map), "r"(BARRIER), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), \
      "r"(c.at[4])

template <unsigned map_rank>
__device__ void load(uint32_t tile, const CUtensorMap* map, uint32_t barrier,
                     const Coordinates& c) {
#define BW_LOAD(RANK)                                                            \
  if constexpr (map_rank == RANK)                                                \
  asm volatile("cp.async.bulk.tensor." #RANK                                     \
               "d.shared::cluster.global.tile"                                   \
               ".mbarrier::complete_tx::bytes [%0], [%1, " BW_COORDINATES_##RANK \
               "], [%2];" ::BW_OPERANDS(barrier)                                 \
               : "memory")
  BW_LOAD(1);
  BW_LOAD(2);
  BW_LOAD(3);
  BW_LOAD(4);
  BW_LOAD(5);
}

template <unsigned map_rank>
__device__ void store(uint32_t tile, const CUtensorMap* map, const Coordinates& c) {
#define BW_STORE(RANK)                                                    \
  if constexpr (map_rank == RANK)                                         \
  asm volatile("cp.async.bulk.tensor." #RANK                              \
               "d.global.shared::cta.tile.bulk_group"                     \
               " [%1, " BW_COORDINATES_##RANK "], [%0];" ::BW_OPERANDS(0) \
               : "memory")
  BW_STORE(1);
  BW_STORE(2);
  BW_STORE(3);
  BW_STORE(4);
  BW_STORE(5);
}

enum class Reduce { add, min, max, inc, dec, bit_and, bit_or, bit_xor };

template <Reduce reduce_operation>
__device__ void reduce(uint32_t tile, const CUtensorMap* map, const Coordinates& c) {
#define BW_REDUCE(NAME, PTX)                                            \
  if constexpr (reduce_operation == Reduce::NAME)                       \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." PTX \
               ".tile.bulk_group"                                       \
               " [%1, {%3, %4}], [%0];" ::BW_OPERANDS(0)                \
               : "memory")
  BW_REDUCE(add, "add");
  BW_REDUCE(min, "min");
  BW_REDUCE(max, "max");
  BW_REDUCE(inc, "inc");
  BW_REDUCE(dec, "dec");
  BW_REDUCE(bit_and, "and");
  BW_REDUCE(bit_or, "or");
  BW_REDUCE(bit_xor, "xor");
}

__device__ void wait_for_stores() {
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Loads one box of `bytes` bytes to `offset` of the tile and writes the whole tile to `result`.
template <unsigned map_rank>
__global__ void load_box(const __grid_constant__ CUtensorMap map, Coordinates coordinates,
                         uint32_t offset, uint32_t bytes, uint32_t* result) {
  __shared__ alignas(1024) uint32_t tile[kTileBytes / 4];
  __shared__ alignas(8) uint64_t object;
  const uint32_t barrier = shared_address(&object);
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += kThreads) tile[i] = kUntouched;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    load<map_rank>(shared_address(tile) + offset, &map, barrier, coordinates);
  }
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
        " selp.b32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += kThreads) result[i] = tile[i];
}

__device__ void fill_tile(uint32_t* tile, const uint32_t* source) {
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += kThreads) tile[i] = source[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

template <unsigned map_rank>
__global__ void store_box(const __grid_constant__ CUtensorMap map, Coordinates coordinates,
                          uint32_t offset, const uint32_t* source) {
  __shared__ alignas(1024) uint32_t tile[kTileBytes / 4];
  fill_tile(tile, source);
  if (threadIdx.x != 0) return;
  store<map_rank>(shared_address(tile) + offset, &map, coordinates);
  wait_for_stores();
}

template <Reduce reduce_operation>
__global__ void reduce_box(const __grid_constant__ CUtensorMap map, Coordinates coordinates,
                           uint32_t offset, const uint32_t* source) {
  __shared__ alignas(1024) uint32_t tile[kTileBytes / 4];
  fill_tile(tile, source);
  if (threadIdx.x != 0) return;
  reduce<reduce_operation>(shared_address(tile) + offset, &map, coordinates);
  wait_for_stores();
}

/// A copy: the map's arguments, the first coordinates, and the box's offset in the tile.
struct Copy {
  MapArguments map;
  Coordinates coordinates;
  uint32_t tile_offset = 0;
};

const void* const kLoads[] = {
    reinterpret_cast<const void*>(&load_box<1>), reinterpret_cast<const void*>(&load_box<2>),
    reinterpret_cast<const void*>(&load_box<3>), reinterpret_cast<const void*>(&load_box<4>),
    reinterpret_cast<const void*>(&load_box<5>)};
const void* const kStores[] = {
    reinterpret_cast<const void*>(&store_box<1>), reinterpret_cast<const void*>(&store_box<2>),
    reinterpret_cast<const void*>(&store_box<3>), reinterpret_cast<const void*>(&store_box<4>),
    reinterpret_cast<const void*>(&store_box<5>)};

/// Any bits, edge values of the formats among them.
std::vector<uint64_t> contents(size_t bytes, unsigned position, unsigned element) {
  return operands(element == 1 ? 4 : element, position, bytes / (element == 1 ? 4 : element));
}

CUtensorMap encoded(MapArguments arguments, const void* tensor) {
  arguments.address = reinterpret_cast<uintptr_t>(tensor);
  CUtensorMap map;
  const CUresult result = encode(map, arguments);
  require(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled returned ", static_cast<int>(result));
  return map;
}

/// Bytes that a load writes to shared memory. In an interleaved layout the elements are slices of
/// 16 or 32 bytes, and the last dimension but one is walked within the slices.
uint32_t box_bytes(const MapArguments& map) {
  constexpr uint32_t kSliceBytes[] = {0, 16, 32};
  const bool interleaved = map.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
  uint32_t bytes = interleaved ? kSliceBytes[map.interleave] : element_bytes(map.type);
  for (unsigned d = 0; d < map.rank; ++d) {
    if (interleaved && d + 2 == map.rank) continue;
    const uint32_t step = d > 0 ? map.element_strides[d] : 1;
    bytes *= (map.box[d] + step - 1) / step;
  }
  return bytes;
}

Result measure_load(const Copy& copy) {
  const unsigned element = element_bytes(copy.map.type);
  DeviceBuffer<uint8_t> tensor =
      to_device(contents(kTensorBytes, 0, element), element == 1 ? 4 : element);
  DeviceBuffer<uint8_t> result(kTileBytes);
  launch(kLoads[copy.map.rank - 1], 1, kThreads, encoded(copy.map, tensor.data()), copy.coordinates,
         copy.tile_offset, box_bytes(copy.map), result.data());
  return {from_device(result, 4), [](size_t i) {
            return "byte " + std::to_string(i * 4) + " of the tile in shared memory";
          }};
}

Result measure_store(const Copy& copy, const void* kernel) {
  const unsigned element = element_bytes(copy.map.type);
  const unsigned width = element == 1 ? 4 : element;
  auto before = contents(kTensorBytes, 0, element);
  auto source = contents(kTileBytes, 1, element);
  DeviceBuffer<uint8_t> tensor = to_device(before, width);
  DeviceBuffer<uint8_t> tile = to_device(source, width);
  launch(kernel, 1, kThreads, encoded(copy.map, tensor.data()), copy.coordinates, copy.tile_offset,
         tile.data());
  return {from_device(tensor, width), [width, before](size_t i) {
            return "byte " + std::to_string(i * width) + " of the tensor, before " +
                   hexadecimal(before[i], width);
          }};
}

void add_load(const std::string& name, const Copy& copy) {
  Registration("tensor.load." + name, [copy] { return measure_load(copy); });
}

void add_store(const std::string& name, const Copy& copy) {
  Registration("tensor.store." + name,
               [copy] { return measure_store(copy, kStores[copy.map.rank - 1]); });
}

template <Reduce reduce_operation>
void add_reduce(const std::string& name, int type) {
  Copy copy;
  copy.map.type = static_cast<CUtensorMapDataType>(type);
  copy.map.box = {16, 16, 1, 1, 1};
  copy.map.extents = {24, 14, 1, 1, 1};  // the box reaches past both ends
  copy.coordinates = {{16, 3}};
  Registration("tensor.reduce." + name, [copy] {
    return measure_store(copy, reinterpret_cast<const void*>(&reduce_box<reduce_operation>));
  });
}

#include "tests/hardware/tensor_copy_table.inc"

}  // namespace bw::conformance::tensor_copy
