#include "common/simulator/units/copies/tensor_map.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/base/text.hpp"
#include "common/simulator/units/copies/tensor_map_check.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kMaxPixels = 1024;
constexpr uint32_t kCornerBits = 16;  // of all corners of a box together

/// The opaque bytes.
struct Encoded {
  uint64_t magic;
  uint64_t checksum;  // of all bytes that follow
  uint64_t address;
  uint64_t strides[kTensorMapMaxRank - 1];
  uint32_t extents_minus_one[kTensorMapMaxRank];
  uint8_t box_minus_one[kTensorMapMaxRank];
  uint8_t element_strides[kTensorMapMaxRank];
  uint8_t type, rank, interleave, swizzle, l2_promotion, nan_fill;
  uint8_t replaced;  // a field has been replaced since the map was encoded
  uint8_t im2col;    // an Im2colMode
  int16_t lower[Im2col::kMaxSpatial], upper[Im2col::kMaxSpatial];
  uint16_t channels, pixels;
  uint8_t unused[kTensorMapBytes - 110];
};
static_assert(sizeof(Encoded) == kTensorMapBytes, "A tensor map is 128 bytes (CUtensorMap).");
constexpr uint64_t kMagic = 0x31'50'41'4d'54'57'42'00ull;  // "BWTMAP1": name and version

uint64_t checksum_of(const Encoded& encoded) {
  constexpr uint64_t kOffset = 0xcbf29ce484222325ull, kPrime = 0x100000001b3ull;  // FNV-1a
  uint64_t words[(sizeof(Encoded) - offsetof(Encoded, address)) / 8];
  std::memcpy(words, &encoded.address, sizeof(words));
  uint64_t hash = kOffset;
  for (const uint64_t word : words) hash = (hash ^ word) * kPrime;
  return hash;
}

std::optional<Encoded> read(const void* map) {
  Encoded encoded;
  std::memcpy(&encoded, map, sizeof(encoded));
  if (encoded.magic != kMagic || encoded.checksum != checksum_of(encoded)) return std::nullopt;
  return encoded;
}

void write(void* map, Encoded& encoded) {
  encoded.magic = kMagic;
  encoded.checksum = checksum_of(encoded);
  std::memcpy(map, &encoded, sizeof(encoded));
}

TensorMapStatus invalid_call(std::string_view function, std::string message) {
  return {TensorMapStatus::kInvalidValue, std::string(function) + ": " + std::move(message)};
}

Encoded encoded_from(const TensorMapArguments& a) {
  Encoded encoded{};
  encoded.address = a.global_address;
  encoded.type = static_cast<uint8_t>(a.data_type);
  encoded.rank = static_cast<uint8_t>(a.rank);
  encoded.interleave = static_cast<uint8_t>(a.interleave);
  encoded.swizzle = static_cast<uint8_t>(a.swizzle);
  encoded.l2_promotion = static_cast<uint8_t>(a.l2_promotion);
  encoded.nan_fill = a.oob_fill == 1;
  for (uint32_t d = 0; d < a.rank; ++d) {
    encoded.extents_minus_one[d] = static_cast<uint32_t>(a.global_dim[d] - 1);
    encoded.box_minus_one[d] = static_cast<uint8_t>(a.box_dim[d] - 1);
    encoded.element_strides[d] = static_cast<uint8_t>(a.element_strides[d]);
    if (d > 0) encoded.strides[d - 1] = a.global_strides[d - 1];
  }
  return encoded;
}

}  // namespace

uint32_t tensor_map_element_bits(TensorMapType type) noexcept {
  switch (type) {
    case TensorMapType::u8:
      return 8;
    case TensorMapType::u16:
    case TensorMapType::f16:
    case TensorMapType::bf16:
      return 16;
    case TensorMapType::u64:
    case TensorMapType::s64:
    case TensorMapType::f64:
      return 64;
    case TensorMapType::u4x16_align8:
    case TensorMapType::u4x16_align16:
      return 4;
    case TensorMapType::u6x16_align16:
      return 6;
    default:
      return 32;
  }
}

const char* tensor_map_type_name(TensorMapType type) noexcept {
  constexpr const char* kNames[] = {"u8",       "u16",          "u32",           "s32",
                                    "u64",      "s64",          "f16",           "f32",
                                    "f64",      "bf16",         "f32.ftz",       "tf32",
                                    "tf32.ftz", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B"};
  return kNames[static_cast<size_t>(type)];
}

bool tensor_map_type_is_padded(TensorMapType type) noexcept {
  return type == TensorMapType::u4x16_align16 || type == TensorMapType::u6x16_align16;
}

bool tensor_map_type_is_float(TensorMapType type) noexcept {
  return type >= TensorMapType::f16 && type <= TensorMapType::tf32_ftz;
}

uint32_t swizzle_span_bytes(TensorMapSwizzle swizzle) noexcept {
  switch (swizzle) {
    case TensorMapSwizzle::none:
      return 0;
    case TensorMapSwizzle::bytes32:
      return 32;
    case TensorMapSwizzle::bytes64:
      return 64;
    case TensorMapSwizzle::bytes96:
      return 96;
    default:
      return 128;
  }
}

uint32_t TensorMap::count(uint32_t dimension) const {
  const bool interleaved = interleave != TensorMapInterleave::none;
  if (dimension == 0 && !interleaved) return box[0];
  if (interleaved && dimension + 2 == rank) return 1;
  const uint32_t stride = element_strides[dimension];
  return ceil_div(box[dimension], stride);
}

uint32_t TensorMap::element_bits() const {
  constexpr uint32_t kSliceBits[] = {0, 128, 256};
  if (interleave != TensorMapInterleave::none) return kSliceBits[static_cast<size_t>(interleave)];
  return tensor_map_element_bits(type);
}

std::string TensorMap::describe() const {
  const auto list = [this](const auto& values, uint32_t first) {
    std::string text = first == 0 ? "(" : "(.";
    for (uint32_t d = first; d < rank; ++d)
      text += fmt::format("{}{}", d == 0 ? "" : ", ", values[d]);
    return text + ")";
  };
  constexpr const char* kModes[] = {"", "im2col", "im2col::w", "im2col::w::128"};
  const std::string part =
      im2col.is_used() ? fmt::format("{} pixels of {} channels ({})", im2col.pixels,
                                     im2col.channels, kModes[static_cast<size_t>(im2col.mode)])
                       : "box " + list(box, 0);
  return fmt::format("a {}-D tensor of {} at {}, extents {}, strides {} bytes, {}", rank,
                     tensor_map_type_name(type), hex(address), list(extents, 0),
                     list(stride_bytes, 1), part);
}

TensorMapStatus encode_tensor_map(void* map, const TensorMapArguments& arguments) {
  const TensorMapArguments& a = arguments;
  if (map == nullptr || reinterpret_cast<uintptr_t>(map) % kTensorMapAlignmentBytes != 0)
    return invalid_tiled("tensorMap at " + hex(reinterpret_cast<uintptr_t>(map)) +
                         " must be aligned to 64 bytes (CUtensorMap is; keep it in its own type)");
  if (TensorMapStatus status = check_tiled_arguments(a); !status.ok()) return status;

  Encoded encoded = encoded_from(a);
  write(map, encoded);
  return {};
}

namespace {

/// Common part of the im2col encoding functions: the conditions of a tiled map whose box is one
/// pixel, and the fields of `encoded` other than the corners.
TensorMapStatus encode_pixels(std::string_view function, void* map,
                              const TensorMapArguments& arguments, uint32_t channels,
                              uint32_t pixels, Encoded& encoded) {
  if (map == nullptr || reinterpret_cast<uintptr_t>(map) % kTensorMapAlignmentBytes != 0)
    return invalid_call(function, "tensorMap must be aligned to 64 bytes");
  if (arguments.rank < 3 || arguments.rank > kTensorMapMaxRank)
    return invalid_call(function,
                        fmt::format("tensorRank is {}; it must be 3 to 5", arguments.rank));
  if (channels == 0 || channels > kMaxBox)
    return invalid_call(function,
                        fmt::format("channelsPerPixel is {}; it must be 1 to 256", channels));
  if (pixels == 0 || pixels > kMaxPixels)
    return invalid_call(function,
                        fmt::format("pixelsPerColumn is {}; it must be 1 to 1024", pixels));
  const uint32_t one_pixel[kTensorMapMaxRank] = {channels, 1, 1, 1, 1};
  TensorMapArguments tiled = arguments;
  tiled.box_dim = one_pixel;
  TensorMapStatus status = check_tiled_arguments(tiled);
  if (!status.ok()) {
    const size_t name_end = status.message.find(':');
    if (name_end == std::string::npos) return status;
    std::string what = status.message.substr(name_end + 2);
    constexpr std::string_view kBox = "boxDim[0]";  // what the conditions call it
    if (what.starts_with(kBox)) what.replace(0, kBox.size(), "channelsPerPixel");
    return invalid_call(function, std::move(what));
  }
  encoded = encoded_from(tiled);
  encoded.channels = static_cast<uint16_t>(channels);
  encoded.pixels = static_cast<uint16_t>(pixels);
  return {};
}

/// The corners of the bounding box in spatial dimension `d`, which must not be empty.
TensorMapStatus encode_corners(std::string_view function, const TensorMapArguments& arguments,
                               uint32_t d, int lower, int upper, Encoded& encoded) {
  const int64_t last = static_cast<int64_t>(arguments.global_dim[d + 1]) - 1 + upper;
  if (last < lower)
    return invalid_call(function, fmt::format("the box of dimension {} is empty: from {} to {}",
                                              d + 1, lower, last));
  encoded.lower[d] = static_cast<int16_t>(lower);
  encoded.upper[d] = static_cast<int16_t>(upper);
  return {};
}

}  // namespace

TensorMapStatus encode_im2col_tensor_map(void* map, const TensorMapArguments& arguments,
                                         const Im2colArguments& im2col) {
  constexpr std::string_view kFunction = "cuTensorMapEncodeIm2col";
  if (im2col.lower == nullptr || im2col.upper == nullptr)
    return invalid_call(kFunction, "pixelBoxLowerCorner and pixelBoxUpperCorner must not be null");
  Encoded encoded{};
  TensorMapStatus status =
      encode_pixels(kFunction, map, arguments, im2col.channels, im2col.pixels, encoded);
  if (!status.ok()) return status;
  if (arguments.interleave != 0)
    return {TensorMapStatus::kNotSupported,
            "cuTensorMapEncodeIm2col: the simulator has no interleaved im2col maps"};
  encoded.im2col = static_cast<uint8_t>(Im2colMode::all);
  const uint32_t spatial = arguments.rank - 2;
  const int limit = 1 << (kCornerBits / spatial - 1);
  for (uint32_t d = 0; d < spatial; ++d) {
    for (const auto& [name, corner] : {std::pair{"pixelBoxLowerCorner", im2col.lower[d]},
                                       {"pixelBoxUpperCorner", im2col.upper[d]}})
      if (corner < -limit || corner >= limit)
        return invalid_call(kFunction,
                            fmt::format("{}[{}] is {}; with rank {} it must be {} to {}", name, d,
                                        corner, arguments.rank, -limit, limit - 1));
    status = encode_corners(kFunction, arguments, d, im2col.lower[d], im2col.upper[d], encoded);
    if (!status.ok()) return status;
  }
  write(map, encoded);
  return {};
}

TensorMapStatus encode_im2col_wide_tensor_map(void* map, const TensorMapArguments& arguments,
                                              const Im2colWideArguments& wide) {
  constexpr std::string_view kFunction = "cuTensorMapEncodeIm2colWide";
  constexpr int kModeW = 0, kModeW128 = 1;  // CUtensorMapIm2ColWideMode
  if (wide.mode != kModeW && wide.mode != kModeW128)
    return invalid_call(kFunction, fmt::format("mode is {}; it must be "
                                               "CU_TENSOR_MAP_IM2COL_WIDE_MODE_W (0) or _W128 (1)",
                                               wide.mode));
  if (arguments.interleave != 0)
    return invalid_call(kFunction,
                        fmt::format("interleave is {}; it must be CU_TENSOR_MAP_INTERLEAVE_NONE",
                                    arguments.interleave));
  const auto swizzle = static_cast<TensorMapSwizzle>(arguments.swizzle);
  if (swizzle != TensorMapSwizzle::bytes64 && swizzle != TensorMapSwizzle::bytes128 &&
      swizzle != TensorMapSwizzle::bytes128_atom32)
    return invalid_call(kFunction,
                        fmt::format("swizzle is {}; it must be CU_TENSOR_MAP_SWIZZLE_64B,"
                                    " _128B or _128B_ATOM_32B",
                                    arguments.swizzle));
  for (const auto& [name, corner] : {std::pair{"pixelBoxLowerCornerWidth", wide.lower},
                                     {"pixelBoxUpperCornerWidth", wide.upper}})
    if (corner != static_cast<int16_t>(corner))
      return invalid_call(kFunction,
                          fmt::format("{} is {}; it must be -32768 to 32767", name, corner));
  const uint32_t pixels = wide.mode == kModeW128 ? Im2col::kWidePixels : wide.pixels;
  Encoded encoded{};
  TensorMapStatus status = encode_pixels(kFunction, map, arguments, wide.channels, pixels, encoded);
  if (!status.ok()) return status;
  encoded.im2col = static_cast<uint8_t>(wide.mode == kModeW128 ? Im2colMode::w128 : Im2colMode::w);
  status = encode_corners(kFunction, arguments, 0, wide.lower, wide.upper, encoded);
  if (!status.ok()) return status;
  write(map, encoded);
  return {};
}

TensorMapStatus replace_tensor_map_address(void* map, uint64_t global_address) {
  const std::string name = "cuTensorMapReplaceAddress: ";
  if (map == nullptr || reinterpret_cast<uintptr_t>(map) % kTensorMapAlignmentBytes != 0)
    return {TensorMapStatus::kInvalidValue, name + "tensorMap must be aligned to 64 bytes"};
  std::optional<Encoded> encoded = read(map);
  if (!encoded)
    return {
        TensorMapStatus::kInvalidValue,
        name + "tensorMap does not hold a tensor map; encode it with cuTensorMapEncodeTiled first"};
  TensorMapStatus status = check_address(global_address, static_cast<TensorMapType>(encoded->type),
                                         static_cast<TensorMapInterleave>(encoded->interleave));
  if (!status.ok()) return status;
  encoded->address = global_address;
  write(map, *encoded);
  return {};
}

namespace {

/// Element types in the order of tensormap.replace.
constexpr TensorMapType kReplacedTypes[] = {
    TensorMapType::u8,           TensorMapType::u16,          TensorMapType::u32,
    TensorMapType::s32,          TensorMapType::u64,          TensorMapType::s64,
    TensorMapType::f16,          TensorMapType::f32,          TensorMapType::f32_ftz,
    TensorMapType::f64,          TensorMapType::bf16,         TensorMapType::tf32,
    TensorMapType::tf32_ftz,     TensorMapType::u4x16_align8, TensorMapType::u4x16_align16,
    TensorMapType::u6x16_align16};

/// Swizzles of 128 bytes in the order of .swizzle_atomicity.
constexpr TensorMapSwizzle kAtomicities[] = {
    TensorMapSwizzle::bytes128, TensorMapSwizzle::bytes128_atom32,
    TensorMapSwizzle::bytes128_atom32_flip8, TensorMapSwizzle::bytes128_atom64};

/// Swizzles in the order of .swizzle_mode.
constexpr TensorMapSwizzle kModes[] = {TensorMapSwizzle::none, TensorMapSwizzle::bytes32,
                                       TensorMapSwizzle::bytes64, TensorMapSwizzle::bytes128,
                                       TensorMapSwizzle::bytes96};

struct FieldName {
  const char* name;
  uint64_t first, last;  ///< values that a map can have
  bool per_dimension = false;
};

FieldName name_of(TensorMapField field) {
  constexpr uint64_t kLastType = std::size(kReplacedTypes) - 1, kLastInterleave = 2;
  constexpr uint64_t kLastMode = std::size(kModes) - 1,
                     kLastAtomicity = std::size(kAtomicities) - 1;
  switch (field) {
    case TensorMapField::global_address:
      return {"global_address", 0, ~uint64_t{0}};
    case TensorMapField::rank:
      return {"rank", 0, kTensorMapMaxRank - 1};
    case TensorMapField::box_dim:
      return {"box_dim", 1, kMaxBox, true};
    case TensorMapField::global_dim:
      return {"global_dim", 1, kMaxExtent, true};
    case TensorMapField::global_stride:
      return {"global_stride", 0, kMaxStride - 1, true};
    case TensorMapField::element_stride:
      return {"element_stride", 1, kMaxElementStride, true};
    case TensorMapField::element_type:
      return {"elemtype", 0, kLastType};
    case TensorMapField::interleave_layout:
      return {"interleave_layout", 0, kLastInterleave};
    case TensorMapField::swizzle_mode:
      return {"swizzle_mode", 0, kLastMode};
    case TensorMapField::swizzle_atomicity:
      return {"swizzle_atomicity", 0, kLastAtomicity};
    case TensorMapField::fill_mode:
      return {"fill_mode", 0, 1};
  }
  return {};
}

void replace(Encoded& map, TensorMapField field, uint32_t ordinal, uint64_t value) {
  switch (field) {
    case TensorMapField::global_address:
      map.address = value;
      return;
    case TensorMapField::rank:
      map.rank = static_cast<uint8_t>(value + 1);
      return;
    case TensorMapField::box_dim:
      map.box_minus_one[ordinal] = static_cast<uint8_t>(value - 1);
      return;
    case TensorMapField::global_dim:
      map.extents_minus_one[ordinal] = static_cast<uint32_t>(value - 1);
      return;
    case TensorMapField::global_stride:
      map.strides[ordinal] = value;
      return;
    case TensorMapField::element_stride:
      map.element_strides[ordinal] = static_cast<uint8_t>(value);
      return;
    case TensorMapField::element_type:
      map.type = static_cast<uint8_t>(kReplacedTypes[value]);
      return;
    case TensorMapField::interleave_layout:
      map.interleave = static_cast<uint8_t>(value);
      return;
    case TensorMapField::swizzle_mode:
      map.swizzle = static_cast<uint8_t>(kModes[value]);
      return;
    case TensorMapField::swizzle_atomicity:  // says something of 128 bytes only
      if (swizzle_span_bytes(static_cast<TensorMapSwizzle>(map.swizzle)) ==
          swizzle_span_bytes(TensorMapSwizzle::bytes128))
        map.swizzle = static_cast<uint8_t>(kAtomicities[value]);
      return;
    case TensorMapField::fill_mode:
      map.nan_fill = static_cast<uint8_t>(value);
      return;
  }
}

}  // namespace

TensorMapStatus replace_tensor_map_field(void* map, TensorMapField field, uint32_t ordinal,
                                         uint64_t value) {
  std::optional<Encoded> encoded = read(map);
  const auto invalid_field = [](std::string what) {
    return TensorMapStatus{TensorMapStatus::kInvalidValue, std::move(what)};
  };
  if (!encoded) return invalid_field("the 128 bytes aren't a tensor map");
  const FieldName known = name_of(field);
  const uint32_t dimensions =
      field == TensorMapField::global_stride ? kTensorMapMaxRank - 1 : kTensorMapMaxRank;
  if (known.per_dimension && ordinal >= dimensions)
    return invalid_field(fmt::format("the ordinal of .{} is {}; it must be 0 to {}", known.name,
                                     ordinal, dimensions - 1));
  if (value < known.first || value > known.last)
    return invalid_field(fmt::format("the value of .{} is {}; it must be {} to {}", known.name,
                                     value, known.first, known.last));
  if (field == TensorMapField::swizzle_atomicity && value != 0 &&
      encoded->swizzle == static_cast<uint8_t>(TensorMapSwizzle::bytes96))
    return invalid_field(
        fmt::format("the value of .swizzle_atomicity is {}; with the 96-byte "
                    "swizzle it must be 0 (16 bytes)",
                    value));
  replace(*encoded, field, ordinal, value);
  encoded->replaced = 1;
  write(map, *encoded);
  return {};
}

namespace {

/// What is wrong with a map of the 96-byte swizzle, by the restrictions that the ISA lists for it.
std::string swizzle_96_problem(const TensorMap& map) {
  constexpr uint32_t kBitsPerByte = 8;
  const uint32_t span = swizzle_span_bytes(map.swizzle);
  const uint32_t inner_bytes = map.box[0] * tensor_map_element_bits(map.type) / kBitsPerByte;
  if (map.interleave != TensorMapInterleave::none)
    return "the 96-byte swizzle allows no interleave";
  if (tensor_map_type_is_padded(map.type))
    return std::string("the 96-byte swizzle does not allow ") + tensor_map_type_name(map.type);
  if (inner_bytes > span)
    return fmt::format(
        "boxDim[0] is {} elements of {}, which are {} bytes; with the 96-byte "
        "swizzle the inner dimension must not exceed {} bytes",
        map.box[0], tensor_map_type_name(map.type), inner_bytes, span);
  if (map.im2col.mode == Im2colMode::w128)
    return "the 96-byte swizzle does not go with .im2col::w::128";
  return {};
}

}  // namespace

std::string tensor_map_problem(const void* map) {
  const std::optional<Encoded> encoded = read(map);
  if (!encoded || encoded->replaced == 0) return {};
  const std::optional<TensorMap> decoded = decode_tensor_map(map);
  const TensorMap& m = *decoded;
  TensorMapArguments a;
  a.data_type = static_cast<int>(m.type);
  a.rank = m.rank;
  a.global_address = m.address;
  a.global_dim = m.extents.data();
  a.global_strides = m.stride_bytes.data() + 1;
  a.box_dim = m.box.data();
  a.element_strides = m.element_strides.data();
  a.interleave = static_cast<int>(m.interleave);
  const bool is_96 = m.swizzle == TensorMapSwizzle::bytes96;
  if (is_96) {
    const std::string problem = swizzle_96_problem(m);
    if (!problem.empty()) return problem;
  }
  a.swizzle = is_96 ? 0 : static_cast<int>(m.swizzle);  // the host's function does not have it
  a.oob_fill = m.nan_fill ? 1 : 0;
  return check_tiled_arguments(a).message;
}

std::optional<TensorMap> decode_tensor_map(const void* map) {
  const std::optional<Encoded> encoded = read(map);
  if (!encoded) return std::nullopt;
  TensorMap result;
  result.type = static_cast<TensorMapType>(encoded->type);
  result.rank = encoded->rank;
  result.address = encoded->address;
  for (uint32_t d = 0; d < result.rank; ++d) {
    result.extents[d] = uint64_t{encoded->extents_minus_one[d]} + 1;
    result.box[d] = uint32_t{encoded->box_minus_one[d]} + 1;
    result.element_strides[d] = encoded->element_strides[d];
    if (d > 0) result.stride_bytes[d] = encoded->strides[d - 1];
  }
  result.interleave = static_cast<TensorMapInterleave>(encoded->interleave);
  result.swizzle = static_cast<TensorMapSwizzle>(encoded->swizzle);
  result.l2_promotion = encoded->l2_promotion;
  result.nan_fill = encoded->nan_fill != 0;
  result.im2col.mode = static_cast<Im2colMode>(encoded->im2col);
  if (result.im2col.is_used()) {
    result.im2col.channels = encoded->channels;
    result.im2col.pixels = encoded->pixels;
    for (uint32_t d = 0; d < Im2col::kMaxSpatial; ++d) {
      result.im2col.lower[d] = encoded->lower[d];
      result.im2col.upper[d] = encoded->upper[d];
    }
  }
  return result;
}

}  // namespace bw::sim
