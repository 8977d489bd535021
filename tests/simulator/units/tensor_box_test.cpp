/// \file
/// Boxes of tensor copies against a byte-by-byte reference written from the PTX ISA's tables
/// ("Tensors").
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "common/simulator/units/copies/tensor_box.hpp"
#include "tests/simulator/units/tensor_map_fixture.hpp"

namespace bw::sim::test::tensor_box_test {
namespace {

constexpr uint32_t kChunk = 16, kLine = 128;
constexpr std::byte kPoison{0xee};

/// The tables of "Swizzling modes": which 16-byte element of a 128-byte line is at each place.
constexpr uint8_t kTable32[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};
constexpr uint8_t kTable64[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                    {1, 0, 3, 2, 5, 4, 7, 6},
                                    {2, 3, 0, 1, 6, 7, 4, 5},
                                    {3, 2, 1, 0, 7, 6, 5, 4}};
constexpr uint8_t kTable128[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
                                     {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
                                     {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
                                     {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
constexpr uint8_t kTableAtom32[4][8] = {{0, 1, 2, 3, 4, 5, 6, 7},
                                        {2, 3, 0, 1, 6, 7, 4, 5},
                                        {4, 5, 6, 7, 0, 1, 2, 3},
                                        {6, 7, 4, 5, 2, 3, 0, 1}};
constexpr uint8_t kTableAtom64[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};
constexpr uint8_t kTable96[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};

/// The address of the byte that an unswizzled layout has at `address`.
uint32_t swizzled(TensorMapSwizzle swizzle, uint32_t address) {
  const uint32_t line = address / kLine, chunk = address % kLine / kChunk;
  const auto place_of = [&](const auto& table) {
    const auto& row = table[line % std::size(table)];
    uint32_t place = 0;
    while (row[place] != chunk) ++place;
    return line * kLine + place * kChunk + address % kChunk;
  };
  switch (swizzle) {
    case TensorMapSwizzle::none:
      return address;
    case TensorMapSwizzle::bytes32:
      return place_of(kTable32);
    case TensorMapSwizzle::bytes64:
      return place_of(kTable64);
    case TensorMapSwizzle::bytes128:
      return place_of(kTable128);
    case TensorMapSwizzle::bytes128_atom32:
      return place_of(kTableAtom32);
    case TensorMapSwizzle::bytes128_atom64:
      return place_of(kTableAtom64);
    case TensorMapSwizzle::bytes96:
      return place_of(kTable96);
    case TensorMapSwizzle::bytes128_atom32_flip8:
      return place_of(kTableAtom32) ^ (line % 2 == 1 ? 8u : 0u);
  }
  return address;
}

/// Calls body(shared address, global offset, inside) for each byte of a box of a map without
/// interleave.
template <class Body>
void for_each_byte(const MapArguments& a, const std::vector<int32_t>& coordinates,
                   uint32_t shared_offset, Body&& body) {
  const uint32_t element = tensor_map_element_bits(a.type) / 8;
  const size_t rank = a.extents.size();
  const uint32_t inner = a.box[0] * element;
  const uint32_t pitch = std::max(inner, swizzle_span_bytes(a.swizzle));
  std::vector<uint32_t> index(rank, 0);
  uint32_t row = 0;
  for (;;) {
    for (uint32_t i = 0; i < a.box[0]; ++i) {
      index[0] = i;
      bool inside = true;
      int64_t offset = 0;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t step = d == 0 ? 1 : a.element_strides[d];
        const int64_t at = coordinates[d] + index[d] * step;
        inside = inside && at >= 0 && at < static_cast<int64_t>(a.extents[d]);
        offset += at * static_cast<int64_t>(d == 0 ? element : a.strides[d - 1]);
      }
      for (uint32_t b = 0; b < element; ++b)
        body(swizzled(a.swizzle, shared_offset + row * pitch + i * element + b), offset + b,
             inside);
    }
    ++row;
    size_t d = 1;
    while (d < rank && ++index[d] * a.element_strides[d] >= a.box[d]) index[d++] = 0;
    if (d >= rank) return;
  }
}

struct Case {
  MapArguments map;
  std::vector<int32_t> coordinates;
  uint32_t shared_offset = 0;
  std::vector<std::byte> global;
};

constexpr uint32_t kSharedBytes = 128 * 1024;

/// A random small tensor and a box that may stick out of it on any side.
Case random_case(std::mt19937& random, TensorMapType type, TensorMapSwizzle swizzle, size_t rank,
                 bool may_be_negative) {
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  Case c;
  c.map.type = type;
  c.map.swizzle = swizzle;
  const uint32_t element = tensor_map_element_bits(type) / 8;
  const uint32_t per_chunk = kChunk / element;
  const uint32_t span = swizzle_span_bytes(swizzle);
  const uint32_t most_chunks = span != 0 ? span / kChunk : std::min(12u, 256 / per_chunk);
  c.map.extents.push_back(1 + below(20 * per_chunk));
  c.map.box.push_back(per_chunk * (below(3) == 0 ? most_chunks : 1 + below(most_chunks)));
  uint64_t stride = (c.map.extents[0] * element + 15) / 16 * 16 + 16 * below(2);
  for (size_t d = 1; d < rank; ++d) {
    c.map.extents.push_back(1 + below(6));
    c.map.box.push_back(1 + below(5));
    c.map.element_strides[d] = 1 + below(4) / 3 * below(3);
    c.map.strides.push_back(stride);
    stride *= c.map.extents[d];
  }
  c.global.resize(stride);
  for (std::byte& byte : c.global) byte = static_cast<std::byte>(random());
  c.coordinates.push_back(static_cast<int32_t>(per_chunk * below(12)) -
                          static_cast<int32_t>(may_be_negative ? per_chunk * 4 : 0));
  for (size_t d = 1; d < rank; ++d)
    c.coordinates.push_back(static_cast<int32_t>(below(7)) - (may_be_negative ? 2 : 0));
  c.shared_offset = kLine * below(16);
  return c;
}

TensorBox box_of(Case& c) {
  // The tensor's address must be aligned; the test's vector is 16-byte aligned by operator new.
  c.map.address = reinterpret_cast<uint64_t>(c.global.data());
  const OpaqueMap opaque = c.map.encode();
  std::array<int32_t, kTensorMapMaxRank> coordinates{};
  std::copy(c.coordinates.begin(), c.coordinates.end(), coordinates.begin());
  return TensorBox(*decode_tensor_map(&opaque), coordinates, false);
}

constexpr TensorMapSwizzle kSwizzles[] = {TensorMapSwizzle::none,
                                          TensorMapSwizzle::bytes32,
                                          TensorMapSwizzle::bytes64,
                                          TensorMapSwizzle::bytes128,
                                          TensorMapSwizzle::bytes128_atom32,
                                          TensorMapSwizzle::bytes128_atom32_flip8,
                                          TensorMapSwizzle::bytes128_atom64};
constexpr TensorMapType kTypes[] = {TensorMapType::u8, TensorMapType::bf16, TensorMapType::f32,
                                    TensorMapType::f64};

TEST(TensorBox, LoadsLikeTheReference) {
  std::mt19937 random(1);
  for (const TensorMapSwizzle swizzle : kSwizzles)
    for (const TensorMapType type : kTypes)
      for (size_t rank = 1; rank <= 5; ++rank)
        for (int repeat = 0; repeat < 6; ++repeat) {
          Case c = random_case(random, type, swizzle, rank, true);
          c.map.nan_fill = type != TensorMapType::u8 && repeat % 2 == 1;
          const TensorBox box = box_of(c);
          std::vector<std::byte> shared(kSharedBytes, kPoison), other(kSharedBytes, kPoison);
          std::vector<std::byte> expected(kSharedBytes, kPoison);
          uint32_t bytes = 0;
          for_each_byte(
              c.map, c.coordinates, c.shared_offset, [&](uint32_t to, int64_t from, bool inside) {
                const std::byte fill{
                    static_cast<uint8_t>(c.map.nan_fill ? (bytes % 2 == 0 ? 0xf7 : 0x7f) : 0)};
                expected[to] = inside ? c.global[static_cast<size_t>(from)] : fill;
                ++bytes;
              });
          ASSERT_EQ(box.transfer_bytes(), bytes);
          box.load({shared.data(), other.data()}, c.shared_offset);
          ASSERT_EQ(shared, expected) << box.map().describe() << " swizzle " << int(swizzle);
          ASSERT_EQ(other, expected);
        }
}

/// Element `index` of packed elements of `bits` bits.
uint32_t packed_element(const std::byte* packed, uint32_t bits, size_t index) {
  uint32_t value = 0;
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const size_t at = index * bits + bit;
    value |= (std::to_integer<uint32_t>(packed[at / 8]) >> at % 8 & 1u) << bit;
  }
  return value;
}

TEST(TensorBox, PaddedTypesHaveSixteenElementsInSixteenBytes) {
  constexpr uint32_t kRows = 9, kElements = 128, kRowElements = 256;
  std::mt19937 random(3);
  for (const auto& [type, bits] :
       {std::pair{TensorMapType::u4x16_align16, 4u}, std::pair{TensorMapType::u6x16_align16, 6u}})
    for (const TensorMapSwizzle swizzle : {TensorMapSwizzle::none, TensorMapSwizzle::bytes128}) {
      constexpr size_t kAlignment = 32;
      const uint32_t row_bytes = kRowElements * bits / 8;
      std::vector<std::byte> memory(kRows * row_bytes + kAlignment);
      for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
      MapArguments map;
      map.type = type;
      map.swizzle = swizzle;
      map.address =
          (reinterpret_cast<uint64_t>(memory.data()) + kAlignment - 1) / kAlignment * kAlignment;
      map.extents = {kRowElements, kRows};
      map.strides = {row_bytes};
      map.box = {kElements, kRows + 1};  // the last row is outside
      const OpaqueMap opaque = map.encode();
      const TensorBox box(*decode_tensor_map(&opaque), {kElements, 0}, false);
      EXPECT_EQ(box.transfer_bytes(), (kRows + 1) * kElements * bits / 8) << "padding is no data";
      EXPECT_EQ(box.shared_bytes(), (kRows + 1) * kElements);
      std::vector<std::byte> shared(box.shared_bytes(), kPoison);
      box.load({shared.data()}, 0);
      const auto* const tensor = reinterpret_cast<const std::byte*>(map.address);
      for (uint32_t row = 0; row <= kRows; ++row)
        for (uint32_t i = 0; i < kElements; ++i) {
          const uint32_t chunk = swizzled(swizzle, row * kElements + i / 16 * kChunk);
          const uint32_t expected =
              row == kRows ? 0 : packed_element(tensor + row * row_bytes, bits, kElements + i);
          ASSERT_EQ(packed_element(shared.data() + chunk, bits, i % 16), expected)
              << bits << " bits, row " << row << ", element " << i;
          ASSERT_EQ(shared[chunk + kChunk - 1], std::byte{0xcd});
        }
    }
}

TEST(TensorBox, StoresLikeTheReference) {
  std::mt19937 random(2);
  for (const TensorMapSwizzle swizzle : kSwizzles)
    for (const TensorMapType type : kTypes)
      for (size_t rank = 1; rank <= 5; ++rank)
        for (int repeat = 0; repeat < 4; ++repeat) {
          Case c = random_case(random, type, swizzle, rank, false);
          const TensorBox box = box_of(c);
          std::vector<std::byte> shared(kSharedBytes);
          for (std::byte& byte : shared) byte = static_cast<std::byte>(random());
          std::vector<std::byte> expected = c.global;
          for_each_byte(c.map, c.coordinates, c.shared_offset,
                        [&](uint32_t from, int64_t to, bool inside) {
                          if (inside) expected[static_cast<size_t>(to)] = shared[from];
                        });
          std::vector<std::byte> staged;
          box.read_shared(shared.data(), c.shared_offset, staged);
          box.store(staged);
          ASSERT_EQ(c.global, expected) << box.map().describe();
        }
}

TEST(TensorBox, GlobalRangeIsTheTouchedPart) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 300; ++repeat) {
    Case c =
        random_case(random, kTypes[random() % 4], kSwizzles[random() % 7], 1 + random() % 5, true);
    const TensorBox box = box_of(c);
    int64_t lowest = INT64_MAX, highest = -1;
    for_each_byte(c.map, c.coordinates, 0, [&](uint32_t, int64_t at, bool inside) {
      if (!inside) return;
      lowest = std::min(lowest, at);
      highest = std::max(highest, at);
    });
    const auto range = box.global_range();
    ASSERT_EQ(range.has_value(), highest >= 0);
    if (!range) continue;
    EXPECT_EQ(range->address - c.map.address, static_cast<uint64_t>(lowest));
    EXPECT_EQ(range->size_bytes, static_cast<uint64_t>(highest - lowest + 1));
  }
}

/// A tensor of 16-bit words that hold their own index plus 1.
const uint16_t* counted() {
  alignas(kTensorMapAlignmentBytes) static std::array<uint16_t, 1 << 16> values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i + 1);
  return values.data();
}

/// Loads a box and gives, per 16-byte chunk of shared memory, the chunk of global memory it holds;
/// -1 where nothing was written, -2 for zeros.
std::vector<int> loaded_chunks(MapArguments a, std::array<int32_t, kTensorMapMaxRank> coordinates,
                               size_t chunks) {
  a.address = reinterpret_cast<uint64_t>(counted());
  const OpaqueMap opaque = a.encode();
  std::vector<uint16_t> shared(kSharedBytes / 2, 0xeeee);
  TensorBox(*decode_tensor_map(&opaque), coordinates, false)
      .load({reinterpret_cast<std::byte*>(shared.data())}, 0);
  std::vector<int> result;
  for (size_t i = 0; i < chunks; ++i) {
    const uint16_t first = shared[8 * i];
    result.push_back(first == 0xeeee ? -1 : first == 0 ? -2 : (first - 1) / 8);
  }
  return result;
}

// The expectations below were read off an H200 GPU: the PTX ISA leaves them to figures.

/// Runs name the same bytes as the rows, in the same order.
TEST(TensorBox, RunsAreTheRowsPutTogether) {
  std::mt19937 random(11);
  constexpr int kCases = 200;
  for (int i = 0; i < kCases; ++i) {
    Case c = random_case(random, TensorMapType::u16, TensorMapSwizzle::none, 1 + i % 4, true);
    const TensorBox box = box_of(c);
    std::vector<uint64_t> of_runs, of_rows;
    for (const TensorBox::Run& run : box.global_runs())
      for (uint64_t row = 0; row < run.rows; ++row)
        for (uint64_t byte = 0; byte < run.row_bytes; ++byte)
          of_runs.push_back(run.address + row * run.pitch_bytes + byte);
    for (const TensorBox::Range& row : box.global_rows())
      for (uint64_t byte = 0; byte < row.size_bytes; ++byte) of_rows.push_back(row.address + byte);
    ASSERT_EQ(of_runs, of_rows) << "case " << i;
  }
}

TEST(TensorBox, ShortRowsKeepTheSwizzleSpan) {
  MapArguments a;
  a.extents = {256, 64};
  a.strides = {512};
  a.box = {24, 4};  // 48 of 128 bytes
  a.swizzle = TensorMapSwizzle::bytes128;
  const std::vector<int> expected = {0,  1,  2,  -1, -1, -1, -1, -1, 33, 32, -1,
                                     34, -1, -1, -1, -1, 66, -1, 64, 65, -1, -1,
                                     -1, -1, -1, 98, 97, 96, -1, -1, -1, -1};
  EXPECT_EQ(loaded_chunks(a, {0, 0}, 32), expected);
}

TEST(TensorBox, ElementStridesStartAtTheCoordinate) {
  MapArguments a;
  a.extents = {256, 64};
  a.strides = {512};
  a.box = {8, 7};
  a.element_strides = {3, 3};  // of dimension 0: ignored
  EXPECT_EQ(loaded_chunks(a, {0, -2}, 4), (std::vector<int>{-2, 32, 128, -1}));
  EXPECT_EQ(loaded_chunks(a, {0, 60}, 4), (std::vector<int>{1920, 2016, -2, -1}));
}

TEST(TensorBox, InterleaveMovesOneSliceOfChannels) {
  MapArguments a;
  a.interleave = TensorMapInterleave::bytes16;
  a.extents = {32, 8, 4};
  a.strides = {1024, 8192};
  a.box = {8, 4, 2};
  EXPECT_EQ(loaded_chunks(a, {0, 2, 1}, 17),
            (std::vector<int>{640, 641, 642, 643, 644, 645, 646, 647, 1152, 1153, 1154, 1155, 1156,
                              1157, 1158, 1159, -1}));
  a.extents = {32, 8, 4, 2};
  a.strides = {1024, 8192, 32768};
  a.box = {8, 2, 2, 2};
  EXPECT_EQ(loaded_chunks(a, {0, 1, 1, 1}, 33)[8], 2688);
  EXPECT_EQ(loaded_chunks(a, {0, 1, 1, 1}, 33)[16], -2);
  EXPECT_EQ(loaded_chunks(a, {0, 1, 1, 1}, 33)[32], -1);
  a.extents = {32, 8, 4};
  a.strides = {1024, 4096};
  a.box = {16, 4, 2};
  a.element_strides = {2, 1, 1};
  EXPECT_EQ(loaded_chunks(a, {0, 1, 1}, 9),
            (std::vector<int>{320, 322, 324, 326, 328, 330, 332, 334, 576}));
}

/// Boxes of an interleaved map whose pixels are `step` apart: 16 bytes of every pixel of one slice
/// of channels, in two rows.
TEST(TensorBox, InterleavedBoxesTakeEveryNthPixelInsideOfTheTensor) {
  constexpr uint32_t kPixels = 32, kSlices = 8, kRows = 3, kSliceBytes = 1024, kRowBytes = 4096;
  struct Place {
    uint32_t step;
    int32_t pixel, slice, row;
  };
  for (const Place& p : {Place{2, 0, 1, 1}, Place{2, 20, 0, 0}, Place{2, 28, 1, 1},
                         Place{3, 30, 3, 2}, Place{3, 2, 2, 1}, Place{4, 31, 0, 2}}) {
    Case c;
    c.map.interleave = TensorMapInterleave::bytes16;
    c.map.type = TensorMapType::u32;
    c.map.extents = {kPixels, kSlices, kRows};
    c.map.strides = {kSliceBytes, kRowBytes};
    c.map.box = {16, 2, 2};
    c.map.element_strides = {p.step, 1, 1};
    c.coordinates = {p.pixel, p.slice, p.row};
    c.global.resize(size_t{kRows} * kRowBytes);
    std::mt19937 random(p.step);
    for (std::byte& byte : c.global) byte = static_cast<std::byte>(random());
    const TensorBox box = box_of(c);
    // The contents of shared memory, chunk by chunk, as positions in the tensor; -1: outside.
    std::vector<int64_t> places;
    const uint32_t columns = (16 + p.step - 1) / p.step;
    for (int32_t row = p.row; row < p.row + 2; ++row)
      for (uint32_t i = 0; i < columns; ++i) {
        const uint32_t x = static_cast<uint32_t>(p.pixel) + i * p.step;
        const bool inside = x < kPixels && row < int32_t{kRows};
        places.push_back(inside ? row * int64_t{kRowBytes} + p.slice * int64_t{kSliceBytes} + x * 16
                                : -1);
      }
    std::vector<std::byte> shared(places.size() * 16 + 64);
    for (std::byte& byte : shared) byte = static_cast<std::byte>(random());
    std::vector<std::byte> staged;
    box.read_shared(shared.data(), 0, staged);

    const std::vector<std::byte> before = c.global;
    std::vector<std::byte> stored = before, added = before;
    std::vector<bool> touched(before.size(), false);
    for (size_t k = 0; k < places.size(); ++k) {
      if (places[k] < 0) continue;
      const auto at = static_cast<size_t>(places[k]);
      std::copy_n(shared.begin() + static_cast<std::ptrdiff_t>(16 * k), 16,
                  stored.begin() + places[k]);
      for (size_t i = 0; i < 16; ++i) touched[at + i] = true;
      for (size_t i = 0; i < 16; i += sizeof(uint32_t)) {
        uint32_t sum = 0, term = 0;
        std::memcpy(&sum, &before[at + i], sizeof sum);
        std::memcpy(&term, &shared[16 * k + i], sizeof term);
        sum += term;
        std::memcpy(&added[at + i], &sum, sizeof sum);
      }
    }
    std::vector<bool> listed(before.size(), false);
    for (const TensorBox::Range& range : box.global_rows())
      for (uint64_t i = 0; i < range.size_bytes; ++i)
        listed.at(range.address - c.map.address + i) = true;
    EXPECT_EQ(listed, touched) << "pixel " << p.pixel << ", step " << p.step;

    std::vector<std::byte> loaded(shared.size(), std::byte{0xee});
    box.load({loaded.data()}, 0);
    for (size_t k = 0; k < places.size(); ++k)
      for (size_t i = 0; i < 16; ++i)
        ASSERT_EQ(loaded[16 * k + i],
                  places[k] < 0 ? std::byte{} : before[static_cast<size_t>(places[k]) + i])
            << "chunk " << k << ", pixel " << p.pixel << ", step " << p.step;
    for (size_t i = 16 * places.size(); i < loaded.size(); ++i)
      ASSERT_EQ(loaded[i], std::byte{0xee});

    box.store(staged);
    EXPECT_EQ(c.global, stored) << "pixel " << p.pixel << ", step " << p.step;
    c.global = before;
    ASSERT_EQ(reinterpret_cast<uint64_t>(c.global.data()), c.map.address);
    box.reduce(staged, Reduction::add);
    EXPECT_EQ(c.global, added) << "pixel " << p.pixel << ", step " << p.step;
  }
}

TEST(TensorBox, InterleaveOf32BytesWithItsSwizzle) {
  MapArguments a;
  a.interleave = TensorMapInterleave::bytes32;
  a.swizzle = TensorMapSwizzle::bytes32;
  a.extents = {32, 8, 4};
  a.strides = {1024, 4096};
  a.box = {16, 4, 1};
  EXPECT_EQ(loaded_chunks(a, {0, 1, 1}, 17),
            (std::vector<int>{320, 321, 322, 323, 324, 325, 326, 327, 329, 328, 331, 330, 333, 332,
                              335, 334, 336}));
}

TEST(TensorBox, GatherTakesFourRows) {
  MapArguments a;
  a.address = reinterpret_cast<uint64_t>(counted());
  a.extents = {64, 100};
  a.strides = {128};
  a.box = {16, 1};
  const OpaqueMap opaque = a.encode();
  const TensorBox box(*decode_tensor_map(&opaque), {8, 7, 100, 3, -1}, true);
  EXPECT_EQ(box.transfer_bytes(), 128u);
  std::vector<uint16_t> shared(64, 0xeeee);
  box.load({reinterpret_cast<std::byte*>(shared.data())}, 0);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(shared[i], 7 * 64 + 8 + i + 1);
    EXPECT_EQ(shared[16 + i], 0);
    EXPECT_EQ(shared[32 + i], 3 * 64 + 8 + i + 1);
    EXPECT_EQ(shared[48 + i], 0);
  }
}

}  // namespace
}  // namespace bw::sim::test::tensor_box_test
