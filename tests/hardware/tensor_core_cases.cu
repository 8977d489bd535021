/// \file
/// The fifth-generation tensor core: tcgen05.ld, .st, .cp, .shift, .mma and its variants, for one
/// CTA and for pairs. **Not measured**: no Blackwell GPU was asked yet. Every case says what the
/// PTX ISA (or, where that is marked open, this project's reading of it) expects; on a B200
/// `conformance_blackwell_gpu --check` compares.
///
/// Elements are small integers, so that the order of summation changes nothing; the cases `sum`,
/// whose outcome is open, are there to find it.
#include <cmath>
#include <cstring>
#include <functional>

#include "tests/hardware/cases.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::tensor_core {

constexpr unsigned kThreads = 128;
constexpr uint32_t kLanes = 128;
constexpr uint32_t kColumns = 128;  // of Tensor Memory that are allocated, filled and read
constexpr uint32_t kImageBytes = 32768;
constexpr uint32_t kAScales = 64, kBScales = 72, kMetadata = 80, kATensor = 88;

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// What an issuing thread knows.
struct Operands {
  uint32_t tmem;
  uint64_t a, b;
  uint32_t descriptor;
};

/// Shared memory from `image`, Tensor Memory from `in`; thread 0 of the (first) CTA issues; Tensor
/// Memory to `out`: [cta][column][lane].
template <class Form>
__global__ void __launch_bounds__(kThreads)
    issue(const uint8_t* image, const uint32_t* in, uint32_t* out, uint64_t a, uint64_t b,
          uint32_t descriptor) {
  constexpr int kGroup = Form::kGroup;
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ alignas(8) uint64_t object;
  __shared__ uint32_t slot;
  const uint32_t barrier = shared_address(&object), warp = threadIdx.x / 32;
  image += blockIdx.x * kImageBytes;
  in += blockIdx.x * kColumns * kLanes;
  out += blockIdx.x * kColumns * kLanes;
  for (unsigned i = threadIdx.x; i < kImageBytes; i += kThreads) shared[i] = image[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0)
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1;\n fence.mbarrier_init.release.cluster;" ::"r"(
            barrier)
        : "memory");
  __syncwarp();
  if (warp == 0)
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(
                     shared_address(&slot)),
                 "n"(kColumns), "n"(kGroup)
                 : "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const uint32_t tmem = slot, mine = tmem + (warp << 21);
  for (uint32_t column = 0; column < kColumns; ++column)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(mine + column),
                 "r"(in[column * kLanes + threadIdx.x])
                 : "memory");
  asm volatile("tcgen05.wait::st.sync.aligned;\n tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  if constexpr (kGroup == 2)
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    const uint64_t start = shared_address(shared) >> 4;
    Form::run(Operands{tmem, a + start, b + start, descriptor});
    if constexpr (kGroup == 2)
      asm volatile(
          "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster"
          ".b64 [%0], %1;" ::"r"(barrier),
          "h"(static_cast<uint16_t>(3))
          : "memory");
    else
      asm volatile(
          "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
              barrier)
          : "memory");
  }
  __syncwarp();
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
        " selp.b32 %0, 1, 0, p;}"
        : "=r"(done)
        : "r"(barrier)
        : "memory");
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  for (uint32_t column = 0; column < kColumns; ++column) {
    uint32_t word;
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n tcgen05.wait::ld.sync.aligned;"
        : "=r"(word)
        : "r"(mine + column)
        : "memory");
    out[column * kLanes + threadIdx.x] = word;
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  if constexpr (kGroup == 2)
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
  if (warp == 0)
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(tmem),
                 "n"(kColumns), "n"(kGroup)
                 : "memory");
}

/// A form: its CTA group and the text of its instructions, in which %0 is the Tensor Memory
/// allocation, %1 and %2 the descriptors of A and B, %3 the instruction descriptor, %4 to %7 the
/// places of A's and B's scales, of metadata and of A in Tensor Memory; p is false.
#define BW_TENSOR_CORE(NAME, GROUP, TEXT)                                                       \
  struct NAME {                                                                                 \
    static constexpr int kGroup = GROUP;                                                        \
    static __device__ void run(const Operands& o) {                                             \
      asm volatile("{.reg .pred p; setp.ne.b32 p, %3, %3; " TEXT "}" ::"r"(o.tmem), "l"(o.a),   \
                   "l"(o.b), "r"(o.descriptor), "r"(o.tmem + kAScales), "r"(o.tmem + kBScales), \
                   "r"(o.tmem + kMetadata), "r"(o.tmem + kATensor)                              \
                   : "memory");                                                                 \
    }                                                                                           \
  };
#define BW_DENSE(NAME, GROUP, KIND) \
  BW_TENSOR_CORE(NAME, GROUP,       \
                 "tcgen05.mma.cta_group::" #GROUP ".kind::" KIND " [%0], %1, %2, %3, p;")
BW_DENSE(DenseF16, 1, "f16")
BW_DENSE(DenseTf32, 1, "tf32")
BW_DENSE(DenseF8, 1, "f8f6f4")
BW_DENSE(DenseI8, 1, "i8")
BW_DENSE(PairF8, 2, "f8f6f4")
#define BW_SCALED(NAME, GROUP, KIND)                             \
  BW_TENSOR_CORE(NAME, GROUP,                                    \
                 "tcgen05.mma.cta_group::" #GROUP ".kind::" KIND \
                 " [%0], %1, %2, %3, [%4], [%5], p;")
BW_SCALED(ScaledF8, 1, "mxf8f6f4.block_scale.scale_vec::1X")
BW_SCALED(ScaledMxf4, 1, "mxf4.block_scale.scale_vec::2X")
BW_SCALED(ScaledNvf4, 1, "mxf4nvf4.block_scale.scale_vec::4X")
BW_SCALED(PairScaledF8, 2, "mxf8f6f4.block_scale.scale_vec::1X")
BW_TENSOR_CORE(SparseF16, 1, "tcgen05.mma.sp.cta_group::1.kind::f16 [%0], %1, %2, [%6], %3, p;")
BW_TENSOR_CORE(SparseF8, 1, "tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%0], %1, %2, [%6], %3, p;")
BW_TENSOR_CORE(StationaryF16, 1, "tcgen05.mma.ws.cta_group::1.kind::f16 [%0], %1, %2, %3, p;")
BW_TENSOR_CORE(Ashift, 1, "tcgen05.mma.cta_group::1.kind::f8f6f4.ashift [%0], [%7], %2, %3, p;")
BW_TENSOR_CORE(ShiftDown, 1, "tcgen05.shift.cta_group::1.down [%0];")
BW_TENSOR_CORE(Copy128x256, 1, "tcgen05.cp.cta_group::1.128x256b [%0], %1;")
BW_TENSOR_CORE(Copy4x256, 1, "tcgen05.cp.cta_group::1.4x256b [%0], %1;")
BW_TENSOR_CORE(Copy128x128, 1, "tcgen05.cp.cta_group::1.128x128b [%0], %1;")
BW_TENSOR_CORE(Copy64x128by02, 1, "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%0], %1;")
BW_TENSOR_CORE(Copy64x128by01, 1, "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [%0], %1;")
BW_TENSOR_CORE(Copy32x128, 1, "tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;")
BW_TENSOR_CORE(Copy6To8, 1, "tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32 [%0], %1;")
BW_TENSOR_CORE(Copy4To8, 1, "tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64 [%0], %1;")

/// Memory of both kinds, and the expected contents of Tensor Memory.
struct Memory {
  explicit Memory(unsigned cta_count)
      : ctas(cta_count), image(size_t{ctas} * kImageBytes), tensor(words()), expected(words()) {
    RandomBits random(7);
    for (auto& word : tensor) word = static_cast<uint32_t>(random.next() & 0x3fff'ffffu);
    expected = tensor;
  }
  [[nodiscard]] size_t words() const { return size_t{ctas} * kColumns * kLanes; }
  [[nodiscard]] static size_t at(uint32_t cta, uint32_t column, uint32_t lane) {
    return (size_t{cta} * kColumns + column) * kLanes + lane;
  }
  /// Before the instructions and, unless they write there, after them.
  void put(uint32_t cta, uint32_t column, uint32_t lane, uint32_t word) {
    tensor[at(cta, column, lane)] = expected[at(cta, column, lane)] = word;
  }

  unsigned ctas;
  std::vector<uint8_t> image;
  std::vector<uint32_t> tensor, expected;
};

template <class Form>
Result measure(const Memory& memory, uint64_t a, uint64_t b, uint32_t descriptor,
               bool open = false) {
  const DeviceBuffer<uint8_t> image(memory.image);
  const DeviceBuffer<uint32_t> in(memory.tensor);
  DeviceBuffer<uint32_t> out(memory.words());
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(memory.ctas);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kImageBytes;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = memory.ctas;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  config.attrs = &cluster;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, issue<Form>, image.data(), in.data(), out.data(), a, b,
                                descriptor),
             "launch the kernel");
  const std::vector<uint32_t> words = out.download();
  Result result;
  result.values.assign(words.begin(), words.end());
  result.expected.assign(memory.expected.begin(), memory.expected.end());
  result.open = open;
  result.describe = [](size_t i) {
    return "CTA " + std::to_string(i / (kColumns * kLanes)) + " column " +
           std::to_string(i / kLanes % kColumns) + " lane " + std::to_string(i % kLanes);
  };
  return result;
}

/// K-major without swizzle: consecutive rows of 16 bytes, followed by the next 16 bytes of all
/// rows.
uint64_t descriptor(uint32_t offset, uint32_t rows) {
  constexpr uint64_t kEightRows = 128;
  return offset >> 4 | uint64_t{rows} * 16 >> 4 << 16 | kEightRows >> 4 << 32 | uint64_t{1} << 46;
}
size_t place(uint32_t offset, uint32_t rows, uint32_t row, uint32_t byte) {
  return offset + byte / 16 * rows * 16 + row * 16 + byte % 16;
}

/// Elements: the codes of 0, 1, 2 and -1.
struct Element {
  uint32_t bits;
  uint32_t codes[4];
};
constexpr Element kF16{16, {0, 0x3c00, 0x4000, 0xbc00}},
    kTf32{32, {0, 0x3f800000, 0x40000000, 0xbf800000}}, kE4m3{8, {0, 0x38, 0x40, 0xb8}},
    kS8{8, {0, 1, 2, 0xff}}, kE2m1{4, {0, 2, 4, 10}};
constexpr int kValues[4] = {0, 1, 2, -1};

/// A matrix of such elements.
struct Matrix {
  uint32_t rows, k;
  Element element;
  std::vector<uint8_t> choice;

  Matrix(uint32_t row_count, uint32_t length, Element kind, RandomBits& random)
      : rows(row_count), k(length), element(kind), choice(size_t{rows} * k) {
    for (auto& one : choice) one = static_cast<uint8_t>(random.below(4));
  }
  [[nodiscard]] int value(uint32_t row, uint32_t i) const {
    return kValues[choice[size_t{row} * k + i]];
  }
  [[nodiscard]] uint32_t row_bytes() const { return k * element.bits / 8; }
  /// The bytes of a row.
  [[nodiscard]] std::vector<uint8_t> bytes(uint32_t row) const {
    std::vector<uint8_t> out(row_bytes());
    for (uint32_t i = 0; i < k; ++i) {
      const uint32_t code = element.codes[choice[size_t{row} * k + i]];
      if (element.bits == 4)
        out[i / 2] = static_cast<uint8_t>(out[i / 2] | code << i % 2 * 4);
      else
        std::memcpy(&out[i * element.bits / 8], &code, element.bits / 8);
    }
    return out;
  }
  void write(std::vector<uint8_t>& image, uint32_t cta, uint32_t offset) const {
    for (uint32_t row = 0; row < rows; ++row) {
      const std::vector<uint8_t> own = bytes(row);
      for (uint32_t byte = 0; byte < own.size(); ++byte)
        image[cta * size_t{kImageBytes} + place(offset, rows, row, byte)] = own[byte];
    }
  }
};

constexpr uint32_t kBOffset = 16384;

/// An MMA case: its kind's elements and shape, and the layouts of D and of A's and B's companions.
struct Product {
  Element element;
  uint32_t m, n;
  uint32_t descriptor;  ///< without M and N
  unsigned ctas = 1;
  bool integers = false;  ///< D is s32
  bool stationary = false;
  uint32_t scales = 0, scale_id = 0;
  bool e4m3_scales = false;
  bool sparse = false;
  uint32_t selector = 0;
};

uint32_t word_of(const Product& p, int value) {
  const auto real = static_cast<float>(value);
  uint32_t word;
  if (p.integers)
    std::memcpy(&word, &value, sizeof word);
  else
    std::memcpy(&word, &real, sizeof word);
  return word;
}

/// Scales are 1 or 2: bytes of ue8m0 and of ue4m3.
uint32_t scale_code(const Product& p, int value) {
  return p.e4m3_scales ? (value == 1 ? 0x38u : 0x40u) : (value == 1 ? 127u : 128u);
}
void put_byte(Memory& memory, uint32_t cta, uint32_t column, uint32_t lane, uint32_t byte,
              uint32_t value) {
  uint32_t word = memory.tensor[Memory::at(cta, column, lane)];
  word = (word & ~(0xffu << byte * 8)) | value << byte * 8;
  memory.put(cta, column, lane, word);
}

template <class Form>
Result measure_product(const Product& p) {
  RandomBits random(p.m + p.n);
  Memory memory(p.ctas);
  const uint32_t a_k = 256 / p.element.bits, k = p.sparse ? 2 * a_k : a_k;
  const uint32_t rows = p.m / p.ctas, b_rows = p.n / p.ctas;
  // The data path cuts N where fewer than 128 rows use all lanes.
  const bool cut = p.stationary || (p.ctas == 2 && p.m == 128);
  const uint32_t groups = cut ? kLanes / rows : 1, width = p.n / groups;
  const auto lane_of = [&](uint32_t row, uint32_t group) {
    if (cut) return row + group * rows;
    return rows == 64 ? row / 16 * 32 + row % 16 : row;
  };
  std::vector<Matrix> a, b;
  for (uint32_t cta = 0; cta < p.ctas; ++cta) {
    a.emplace_back(rows, a_k, p.element, random);
    b.emplace_back(b_rows, k, p.element, random);
    a[cta].write(memory.image, cta, 0);
    b[cta].write(memory.image, cta, kBOffset);
  }
  const auto random_scales = [&](uint32_t count) {
    std::vector<int> values(size_t{count} * p.scales);
    for (auto& value : values) value = 1 + static_cast<int>(random.below(2));
    return values;
  };
  const std::vector<int> a_scales = random_scales(p.m), b_scales = random_scales(p.n);
  for (uint32_t cta = 0; cta < p.ctas; ++cta)
    for (uint32_t quarter = 0; quarter < 4; ++quarter)
      for (uint32_t i = 0; i < p.scales; ++i) {
        for (uint32_t row = 0; row < rows; ++row)
          put_byte(memory, cta, kAScales + row / 32, quarter * 32 + row % 32, p.scale_id + i,
                   scale_code(p, a_scales[(cta * rows + row) * p.scales + i]));
        const uint32_t first = cut ? quarter / 2 * width : 0;
        for (uint32_t column = 0; column < width; ++column)
          put_byte(memory, cta, kBScales + column / 32, quarter * 32 + column % 32, p.scale_id + i,
                   scale_code(p, b_scales[(first + column) * p.scales + i]));
      }
  // Sparse: of each four elements the positions 1 and 3 (index 0b1101) are stored in odd chunks,
  // 0 and 2 (0b1000) in even ones.
  const auto position = [](uint32_t stored) {
    const uint32_t chunk = stored / 2;
    return chunk * 4 + stored % 2 * 2 + chunk % 2;
  };
  for (uint32_t row = 0; p.sparse && row < rows; ++row)
    for (uint32_t chunk = 0; chunk < k / 4; ++chunk) {
      const uint32_t index = chunk % 2 == 1 ? 0b1101 : 0b1000;
      uint32_t column = kMetadata, lane = row, bit = 0;
      if (p.element.bits == 16) {
        column += p.selector;
        lane = row / 16 * 16 + row % 8 + chunk / 4 * 8;
        bit = row % 16 / 8 * 16 + chunk % 4 * 4;
      } else {
        column += chunk / 8;
        bit = chunk % 8 * 4;
      }
      const uint32_t word = memory.tensor[Memory::at(0, column, lane)];
      memory.put(0, column, lane, (word & ~(0xfu << bit)) | index << bit);
    }
  for (uint32_t row = 0; row < p.m; ++row)
    for (uint32_t column = 0; column < p.n; ++column) {
      int sum = 0;
      for (uint32_t i = 0; i < a_k; ++i) {
        const uint32_t of_b = p.sparse ? position(i) : i;
        int product =
            a[row / rows].value(row % rows, i) * b[column / b_rows].value(column % b_rows, of_b);
        if (p.scales != 0) {
          const uint32_t block = i * p.scales / k;
          product *= a_scales[row * p.scales + block] * b_scales[column * p.scales + block];
        }
        sum += product;
      }
      memory.expected[Memory::at(row / rows, column % width, lane_of(row % rows, column / width))] =
          word_of(p, sum);
    }
  const uint32_t shape = p.n / 8 << 17 | p.m / 16 << 24;
  return measure<Form>(memory, descriptor(0, rows), descriptor(kBOffset, b_rows),
                       p.descriptor | shape | (p.sparse ? 4u | p.selector : 0) |
                           (p.scales != 0 ? p.scale_id << 4 | p.scale_id << 29 : 0));
}

/// tcgen05.cp: rows of 16 or 32 bytes, and the lanes that hold row r.
template <class Form>
Result measure_copy(uint32_t rows, uint32_t bytes, uint32_t element_bits,
                    const std::function<std::vector<uint32_t>(uint32_t)>& lanes_of_row) {
  Memory memory(1);
  RandomBits random(rows + bytes);
  for (auto& byte : memory.image) byte = static_cast<uint8_t>(random.next());
  const uint32_t stride = std::max(rows, 8u);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t byte = 0; byte < bytes; ++byte) {
      const uint8_t* const chunk = &memory.image[place(0, stride, row, byte / 16 * 16)];
      uint32_t code = 0;
      for (uint32_t bit = 0; bit < element_bits; ++bit) {
        const uint32_t at = byte % 16 * element_bits + bit;
        code |= (chunk[at / 8] >> at % 8 & 1u) << bit;
      }
      if (element_bits == 4) code <<= 2;
      for (const uint32_t lane : lanes_of_row(row)) {
        uint32_t& word = memory.expected[Memory::at(0, byte / 4, lane)];
        word = (word & ~(0xffu << byte % 4 * 8)) | code << byte % 4 * 8;
      }
    }
  return measure<Form>(memory, descriptor(0, stride), 0, 0);
}

/// The ISA: "shifts 32-byte elements downwards across all the rows, except the last, by one row".
/// Open: that down is towards lane 0, here row r takes what row r + 1 held.
Result measure_shift() {
  Memory memory(1);
  for (uint32_t column = 0; column < 8; ++column)
    for (uint32_t row = 0; row < 31; ++row)
      memory.expected[Memory::at(0, column, row)] = memory.tensor[Memory::at(0, column, row + 1)];
  return measure<ShiftDown>(memory, 0, 0, 0, true);
}

/// Open: whether the product takes A unshifted and shifts A's rows afterwards.
Result measure_ashift() {
  RandomBits random(3);
  Memory memory(1);
  constexpr uint32_t kN = 16, kK = 32;
  const Matrix a(kLanes, kK, kE4m3, random), b(kN, kK, kE4m3, random);
  b.write(memory.image, 0, kBOffset);
  for (uint32_t row = 0; row < kLanes; ++row) {
    const std::vector<uint8_t> bytes = a.bytes(row);
    for (uint32_t word = 0; word < kK / 4; ++word) {
      uint32_t value;
      std::memcpy(&value, &bytes[word * 4], sizeof value);
      memory.put(0, kATensor + word, row, value);
    }
  }
  for (uint32_t row = 0; row < kLanes; ++row) {
    for (uint32_t column = 0; column < kN; ++column) {
      int sum = 0;
      for (uint32_t i = 0; i < kK; ++i) sum += a.value(row, i) * b.value(column, i);
      memory.expected[Memory::at(0, column, row)] = word_of({kE4m3, kLanes, kN, 0}, sum);
    }
    if (row % 32 == 31) continue;
    for (uint32_t word = 0; word < kK / 4; ++word)
      memory.expected[Memory::at(0, kATensor + word, row)] =
          memory.tensor[Memory::at(0, kATensor + word, row + 1)];
  }
  return measure<Ashift>(memory, 0, descriptor(kBOffset, kN),
                         1u << 4 | kN / 8 << 17 | kLanes / 16 << 24, true);
}

/// Open: the order of summation and its bits, on products of every magnitude. Expected is one chain
/// of fp32 fused multiply-adds in ascending order of k.
template <class Form>
Result measure_sum(bool half) {
  RandomBits random(11);
  Memory memory(1);
  constexpr uint32_t kM = 128, kN = 32;
  const uint32_t k = half ? 16 : 32, bytes = half ? 2 : 1;
  std::vector<float> a(kM * k), b(kN * k);
  const auto fill = [&](std::vector<float>& values, uint32_t rows, uint32_t offset) {
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t i = 0; i < k; ++i) {
        // A sign, an exponent near 1, any mantissa: normal numbers of the format.
        const auto bits = static_cast<uint32_t>(random.next());
        const uint32_t mantissa_bits = half ? 10 : 3, bias = half ? 15 : 7, spread = half ? 16 : 8;
        const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
        const uint32_t exponent = bias - spread / 2 + (bits >> 16) % spread;
        const uint32_t sign = bits >> 31;
        const uint32_t code = sign << (half ? 15 : 7) | exponent << mantissa_bits | mantissa;
        std::memcpy(&memory.image[place(offset, rows, row, i * bytes)], &code, bytes);
        const double magnitude =
            std::ldexp(1.0 + std::ldexp(mantissa, -static_cast<int>(mantissa_bits)),
                       static_cast<int>(exponent) - static_cast<int>(bias));
        values[row * k + i] = static_cast<float>(sign != 0 ? -magnitude : magnitude);
      }
  };
  fill(a, kM, 0);
  fill(b, kN, kBOffset);
  for (uint32_t row = 0; row < kM; ++row)
    for (uint32_t column = 0; column < kN; ++column) {
      float sum = 0;
      for (uint32_t i = 0; i < k; ++i) sum = std::fma(a[row * k + i], b[column * k + i], sum);
      std::memcpy(&memory.expected[Memory::at(0, column, row)], &sum, sizeof sum);
    }
  return measure<Form>(memory, descriptor(0, kM), descriptor(kBOffset, kN),
                       1u << 4 | kN / 8 << 17 | kM / 16 << 24, true);
}

/// A load of every shape: Tensor Memory holds lane << 16 | column; register r of thread t.
template <class Form>
__global__ void load(uint32_t* out) {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(
                     shared_address(&slot))
                 : "memory");
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  const uint32_t mine = slot + (threadIdx.x / 32 << 21);
  for (uint32_t column = 0; column < 32; ++column)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(mine + column),
                 "r"(threadIdx.x << 16 | column)
                 : "memory");
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
  uint32_t registers[4];
  Form::run(registers, mine);
  for (unsigned i = 0; i < 4; ++i) out[i * kThreads + threadIdx.x] = registers[i];
  __syncthreads();
  if (threadIdx.x < 32)
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(slot) : "memory");
}
#define BW_LOAD(NAME, TEXT)                                                             \
  struct NAME {                                                                         \
    static __device__ void run(uint32_t (&r)[4], uint32_t tmem) {                       \
      asm volatile("tcgen05.ld.sync.aligned." TEXT ";\n tcgen05.wait::ld.sync.aligned;" \
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                     \
                   : "r"(tmem)                                                          \
                   : "memory");                                                         \
    }                                                                                   \
  };
BW_LOAD(Load32x32, "32x32b.x4.b32 {%0, %1, %2, %3}, [%4]")
BW_LOAD(Load16x64, "16x64b.x4.b32 {%0, %1, %2, %3}, [%4]")
BW_LOAD(Load16x128, "16x128b.x2.b32 {%0, %1, %2, %3}, [%4]")
BW_LOAD(Load16x256, "16x256b.x1.b32 {%0, %1, %2, %3}, [%4]")
BW_LOAD(Load16x32x2, "16x32bx2.x4.b32 {%0, %1, %2, %3}, [%4], 16")
BW_LOAD(LoadPacked, "32x32b.x4.pack::16b.b32 {%0, %1, %2, %3}, [%4]")

/// `place_of(r, t)`: lane and column in the warp's quarter.
template <class Form>
Result measure_load(std::pair<uint32_t, uint32_t> (*place_of)(uint32_t, uint32_t),
                    bool packed = false) {
  DeviceBuffer<uint32_t> out(4 * kThreads);
  load<Form><<<1, kThreads>>>(out.data());
  const std::vector<uint32_t> words = out.download();
  Result result;
  result.values.assign(words.begin(), words.end());
  for (uint32_t r = 0; r < 4; ++r)
    for (uint32_t t = 0; t < kThreads; ++t) {
      const auto [lane, column] = place_of(r, t % 32);
      const uint32_t word = (t / 32 * 32 + lane) << 16 | column;
      // Packed: the low halves of two neighbouring columns.
      result.expected.push_back(packed ? (2 * column) | (2 * column + 1) << 16 : word);
    }
  result.describe = [](size_t i) {
    return "register " + std::to_string(i / kThreads) + " thread " + std::to_string(i % kThreads);
  };
  return result;
}

using Place = std::pair<uint32_t, uint32_t>;
using Lanes = std::vector<uint32_t>;
constexpr uint32_t kF32 = 1u << 4, kS32 = 2u << 4, kBothS8 = 1u << 7 | 1u << 10,
                   kBothTf32 = 2u << 7 | 2u << 10, kBothE2m1 = 1u << 7 | 1u << 10,
                   kUe8m0 = 1u << 23;

const Registration kCases[] = {
    {"tensor_core.ld.32x32b",
     [] { return measure_load<Load32x32>([](uint32_t r, uint32_t t) {
            return Place{t, r};
          }); }},
    {"tensor_core.ld.16x64b",
     [] {
       return measure_load<Load16x64>([](uint32_t r, uint32_t t) {
         return Place{t / 4 + t % 2 * 8, 2 * r + t % 4 / 2};
       });
     }},
    {"tensor_core.ld.16x128b",
     [] {
       return measure_load<Load16x128>([](uint32_t r, uint32_t t) {
         return Place{t / 4 + r % 2 * 8, r / 2 * 4 + t % 4};
       });
     }},
    {"tensor_core.ld.16x256b",
     [] {
       return measure_load<Load16x256>([](uint32_t r, uint32_t t) {
         return Place{t / 4 + r / 2 * 8, t % 4 * 2 + r % 2};
       });
     }},
    {"tensor_core.ld.16x32bx2",
     [] {
       return measure_load<Load16x32x2>([](uint32_t r, uint32_t t) {
         return Place{t % 16, r + t / 16 * 16};
       });
     }},
    {"tensor_core.ld.pack::16b",
     [] {
       return measure_load<LoadPacked>([](uint32_t r, uint32_t t) { return Place{t, r}; }, true);
     }},
    {"tensor_core.cp.128x256b",
     [] { return measure_copy<Copy128x256>(128, 32, 8, [](uint32_t r) { return Lanes{r}; }); }},
    {"tensor_core.cp.4x256b",
     [] { return measure_copy<Copy4x256>(4, 32, 8, [](uint32_t r) { return Lanes{r * 32}; }); }},
    {"tensor_core.cp.128x128b",
     [] { return measure_copy<Copy128x128>(128, 16, 8, [](uint32_t r) { return Lanes{r}; }); }},
    {"tensor_core.cp.64x128b.warpx2::02_13",
     [] {
       return measure_copy<Copy64x128by02>(64, 16, 8, [](uint32_t r) { return Lanes{r, r + 64}; });
     }},
    {"tensor_core.cp.64x128b.warpx2::01_23",
     [] {
       return measure_copy<Copy64x128by01>(64, 16, 8, [](uint32_t r) {
         const uint32_t first = r % 32 + r / 32 * 64;
         return Lanes{first, first + 32};
       });
     }},
    {"tensor_core.cp.32x128b.warpx4",
     [] {
       return measure_copy<Copy32x128>(32, 16, 8, [](uint32_t r) {
         return Lanes{r, r + 32, r + 64, r + 96};
       });
     }},
    {"tensor_core.cp.b6x16_p32",
     [] { return measure_copy<Copy6To8>(128, 16, 6, [](uint32_t r) { return Lanes{r}; }); }},
    {"tensor_core.cp.b4x16_p64",
     [] { return measure_copy<Copy4To8>(128, 16, 4, [](uint32_t r) { return Lanes{r}; }); }},
    {"tensor_core.shift.down", measure_shift},
    {"tensor_core.mma.ashift", measure_ashift},
    {"tensor_core.mma.f16.m64",
     [] {
       return measure_product<DenseF16>({kF16, 64, 24, kF32});
     }},
    {"tensor_core.mma.f16.m128",
     [] {
       return measure_product<DenseF16>({kF16, 128, 48, kF32});
     }},
    {"tensor_core.mma.tf32.m128",
     [] {
       return measure_product<DenseTf32>({kTf32, 128, 32, kF32 | kBothTf32});
     }},
    {"tensor_core.mma.f8f6f4.m64",
     [] {
       return measure_product<DenseF8>({kE4m3, 64, 64, kF32});
     }},
    {"tensor_core.mma.f8f6f4.m128",
     [] {
       return measure_product<DenseF8>({kE4m3, 128, 64, kF32});
     }},
    {"tensor_core.mma.i8.m128",
     [] {
       return measure_product<DenseI8>(
           {.element = kS8, .m = 128, .n = 32, .descriptor = kS32 | kBothS8, .integers = true});
     }},
    {"tensor_core.mma.cta_group::2.m128",
     [] {
       return measure_product<PairF8>(
           {.element = kE4m3, .m = 128, .n = 64, .descriptor = kF32, .ctas = 2});
     }},
    {"tensor_core.mma.cta_group::2.m256",
     [] {
       return measure_product<PairF8>(
           {.element = kE4m3, .m = 256, .n = 64, .descriptor = kF32, .ctas = 2});
     }},
    {"tensor_core.mma.mxf8f6f4",
     [] {
       return measure_product<ScaledF8>(
           {.element = kE4m3, .m = 128, .n = 56, .descriptor = kUe8m0, .scales = 1});
     }},
    {"tensor_core.mma.mxf8f6f4.scale_id",
     [] {
       return measure_product<ScaledF8>(
           {.element = kE4m3, .m = 128, .n = 64, .descriptor = kUe8m0, .scales = 1, .scale_id = 2});
     }},
    {"tensor_core.mma.mxf4",
     [] {
       return measure_product<ScaledMxf4>({.element = kE2m1,
                                           .m = 128,
                                           .n = 64,
                                           .descriptor = kUe8m0 | kBothE2m1,
                                           .scales = 2,
                                           .scale_id = 2});
     }},
    {"tensor_core.mma.mxf4nvf4",
     [] {
       return measure_product<ScaledNvf4>({.element = kE2m1,
                                           .m = 128,
                                           .n = 64,
                                           .descriptor = kBothE2m1,
                                           .scales = 4,
                                           .e4m3_scales = true});
     }},
    {"tensor_core.mma.mxf8f6f4.cta_group::2.m128",
     [] {
       return measure_product<PairScaledF8>(
           {.element = kE4m3, .m = 128, .n = 64, .descriptor = kUe8m0, .ctas = 2, .scales = 1});
     }},
    {"tensor_core.mma.mxf8f6f4.cta_group::2.m256",
     [] {
       return measure_product<PairScaledF8>(
           {.element = kE4m3, .m = 256, .n = 64, .descriptor = kUe8m0, .ctas = 2, .scales = 1});
     }},
    {"tensor_core.mma.sp.f16",
     [] {
       return measure_product<SparseF16>(
           {.element = kF16, .m = 128, .n = 32, .descriptor = kF32, .sparse = true});
     }},
    {"tensor_core.mma.sp.f16.selector",
     [] {
       return measure_product<SparseF16>(
           {.element = kF16, .m = 128, .n = 32, .descriptor = kF32, .sparse = true, .selector = 1});
     }},
    {"tensor_core.mma.sp.f8f6f4",
     [] {
       return measure_product<SparseF8>(
           {.element = kE4m3, .m = 128, .n = 32, .descriptor = kF32, .sparse = true});
     }},
    {"tensor_core.mma.ws.m32",
     [] {
       return measure_product<StationaryF16>(
           {.element = kF16, .m = 32, .n = 64, .descriptor = kF32, .stationary = true});
     }},
    {"tensor_core.mma.ws.m64",
     [] {
       return measure_product<StationaryF16>(
           {.element = kF16, .m = 64, .n = 64, .descriptor = kF32, .stationary = true});
     }},
    {"tensor_core.mma.ws.m128",
     [] {
       return measure_product<StationaryF16>(
           {.element = kF16, .m = 128, .n = 64, .descriptor = kF32, .stationary = true});
     }},
    {"tensor_core.sum.f16", [] { return measure_sum<DenseF16>(true); }},
    {"tensor_core.sum.e4m3", [] { return measure_sum<DenseF8>(false); }},
};

}  // namespace bw::conformance::tensor_core
