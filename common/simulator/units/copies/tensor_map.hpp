#pragma once
/// \file
/// Tensor maps: the 128-byte opaque objects that describe a tensor in global memory to the tensor
/// copies (PTX ISA, "Tensor-map"; CUDA driver API, cuTensorMapEncodeTiled).
///
/// Free of other simulator headers: the CUDA runtime replacement encodes with it, the TMA engine
/// decodes. The layout of the opaque bytes is this simulator's own; on a GPU it is not documented.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace bw::sim {

inline constexpr size_t kTensorMapBytes = 128;          ///< of the map
inline constexpr size_t kTensorMapAlignmentBytes = 64;  ///< of the map
inline constexpr uint32_t kTensorMapMaxRank = 5;        ///< most dimensions

/// CUtensorMapDataType, same values.
enum class TensorMapType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  u4x16_align8,   ///< 16 x 4 bits packed in 8 bytes
  u4x16_align16,  ///< the same with 8 bytes of padding in shared memory
  u6x16_align16,  ///< 16 x 6 bits with 4 bytes of padding in shared memory
};
/// CUtensorMapInterleave, same values.
enum class TensorMapInterleave : uint8_t { none, bytes16, bytes32 };
/// CUtensorMapSwizzle, same values, and after them the mode that only tensormap.replace has.
enum class TensorMapSwizzle : uint8_t {
  none,
  bytes32,
  bytes64,
  bytes128,
  bytes128_atom32,
  bytes128_atom32_flip8,
  bytes128_atom64,
  bytes96,  ///< sm_103a
};

/// Which im2col instruction a map is for, if any.
enum class Im2colMode : uint8_t {
  none,  ///< a tiled map
  all,   ///< .im2col: over all spatial dimensions
  w,     ///< .im2col::w: along dimension 1 and from image to image
  w128,  ///< .im2col::w::128: the same, always 128 pixels
};

/// An im2col map's counterpart of the box (PTX ISA, "Im2col mode"). Dimension 0 is the channels,
/// the last one the batch; between them are the spatial dimensions, which the arrays count from 0.
struct Im2col {
  static constexpr uint32_t kMaxSpatial = kTensorMapMaxRank - 2;  ///< spatial dimensions at most
  static constexpr uint32_t kWidePixels = 128;  ///< of a copy with Im2colMode::w128
  Im2colMode mode = Im2colMode::none;           ///< which instructions take it
  /// Whether it is an im2col map.
  [[nodiscard]] bool is_used() const { return mode != Im2colMode::none; }
  /// Whether pixels follow each other along dimension 1 alone: the corners are those of it.
  [[nodiscard]] bool is_wide() const { return mode > Im2colMode::all; }
  /// The bounding box of the pixels' positions, before the offsets of the instruction are added:
  /// from `lower` to `extent - 1 + upper`.
  std::array<int32_t, kMaxSpatial> lower{};
  std::array<int32_t, kMaxSpatial> upper{};  ///< see `lower`
  uint32_t channels = 1;                     ///< of each pixel
  uint32_t pixels = 1;                       ///< of a copy

  friend bool operator==(const Im2col&, const Im2col&) = default;
};

/// A decoded tensor map. Dimension 0 is the contiguous one.
struct TensorMap {
  TensorMapType type = TensorMapType::u8;  ///< of an element
  uint32_t rank = 1;
  uint64_t address = 0;                                    ///< of element (0, 0, ...)
  std::array<uint64_t, kTensorMapMaxRank> extents{};       ///< in elements
  std::array<uint64_t, kTensorMapMaxRank> stride_bytes{};  ///< of dimensions 1 and up; [0] is 0
  std::array<uint32_t, kTensorMapMaxRank> box{};           ///< in elements, before the stride
  /// Every how many-th element is taken.
  std::array<uint32_t, kTensorMapMaxRank> element_strides{};
  TensorMapInterleave interleave = TensorMapInterleave::none;  ///< of the channels
  TensorMapSwizzle swizzle = TensorMapSwizzle::none;           ///< how chunks are exchanged
  uint8_t l2_promotion = 0;                                    ///< as the driver numbers it
  bool nan_fill = false;                                       ///< out of range: NaN, else zero
  Im2col im2col;                                               ///< where used, `box` means nothing

  /// Elements that a copy moves along a dimension: box over element stride, rounded up. Dimension 0
  /// has no stride unless interleaved. With an interleave, dimension rank - 2 counts channel
  /// slices, of which a copy moves one, whatever the box says (seen on Hopper).
  [[nodiscard]] uint32_t count(uint32_t dimension) const;
  /// Bits that one step along dimension 0 covers in memory: an element, or a slice of 16 or 32
  /// bytes.
  [[nodiscard]] uint32_t element_bits() const;
  /// What comes into the L2 cache together where a line of the tensor is not there; 0: that alone.
  [[nodiscard]] uint32_t promotion_bytes() const {
    return l2_promotion == 0 ? 0 : 32u << l2_promotion;
  }
  /// "a 2-D tensor of u16, extents (64, 32), strides (., 128) bytes, box (64, 8) at 0x7f...".
  [[nodiscard]] std::string describe() const;
};

/// Bits of one element in global memory.
[[nodiscard]] uint32_t tensor_map_element_bits(TensorMapType type) noexcept;
/// "u8", "bf16", "16U4_ALIGN8B".
[[nodiscard]] const char* tensor_map_type_name(TensorMapType type) noexcept;
/// Whether it is a floating-point type.
[[nodiscard]] bool tensor_map_type_is_float(TensorMapType type) noexcept;
/// Whether 16 elements have 16 bytes in shared memory, where they would need fewer.
[[nodiscard]] bool tensor_map_type_is_padded(TensorMapType type) noexcept;
/// Bytes of the span in which a swizzle permutes (32, 64, 96, 128), 0 without.
[[nodiscard]] uint32_t swizzle_span_bytes(TensorMapSwizzle swizzle) noexcept;

/// The arguments of cuTensorMapEncodeTiled, enumerations as their integers.
struct TensorMapArguments {
  int data_type = 0;  ///< as the driver numbers it
  uint32_t rank = 0;
  uint64_t global_address = 0;                ///< of the tensor
  const uint64_t* global_dim = nullptr;       ///< rank elements
  const uint64_t* global_strides = nullptr;   ///< rank - 1 elements, bytes; may be null for rank 1
  const uint32_t* box_dim = nullptr;          ///< rank elements
  const uint32_t* element_strides = nullptr;  ///< rank elements
  int interleave = 0;                         ///< of the channels
  int swizzle = 0;                            ///< how chunks are exchanged
  int l2_promotion = 0;                       ///< as the driver numbers it
  int oob_fill = 0;                           ///< fills elements outside of the tensor
};

/// Further arguments of cuTensorMapEncodeIm2col; box_dim is not used.
struct Im2colArguments {
  const int* lower = nullptr;  ///< rank - 2 elements
  const int* upper = nullptr;  ///< rank - 2 elements
  uint32_t channels = 0;       ///< of each pixel
  uint32_t pixels = 0;         ///< of a copy
};

/// Arguments of cuTensorMapEncodeIm2colWide beyond a tiled map's; box_dim is not used.
struct Im2colWideArguments {
  int lower = 0;          ///< of the bounding box in dimension 1
  int upper = 0;          ///< see Im2col
  uint32_t channels = 0;  ///< of each pixel
  uint32_t pixels = 0;    ///< of a copy; ignored where it is always 128
  int mode = 0;           ///< CU_TENSOR_MAP_IM2COL_WIDE_MODE_*
};

/// What an encoding function returns; the error code is a CUresult.
struct TensorMapStatus {
  static constexpr int kSuccess = 0;         ///< CUDA_SUCCESS
  static constexpr int kInvalidValue = 1;    ///< CUDA_ERROR_INVALID_VALUE
  static constexpr int kNotSupported = 801;  ///< CUDA_ERROR_NOT_SUPPORTED
  int code = kSuccess;                       ///< a CUresult
  std::string message;  ///< empty, or one sentence: the argument, its value and what is allowed
  /// Whether nothing went wrong.
  [[nodiscard]] bool ok() const { return code == kSuccess; }
};

/// Checks all conditions of cuTensorMapEncodeTiled (CUDA driver API 13.0, compute capability 10.0)
/// and writes 128 opaque bytes to `map`, which must be aligned to 64 bytes. Where the document is
/// stricter than CUDA's own library, the library's behaviour decides (a stride may be 0 or shorter
/// than a row).
TensorMapStatus encode_tensor_map(void* map, const TensorMapArguments& arguments);

/// The same for cuTensorMapEncodeIm2col. An interleaved layout is CUDA_ERROR_NOT_SUPPORTED.
TensorMapStatus encode_im2col_tensor_map(void* map, const TensorMapArguments& arguments,
                                         const Im2colArguments& im2col);

/// The same for cuTensorMapEncodeIm2colWide, whose layout is never interleaved.
TensorMapStatus encode_im2col_wide_tensor_map(void* map, const TensorMapArguments& arguments,
                                              const Im2colWideArguments& wide);

/// cuTensorMapReplaceAddress: another start address for the same layout.
TensorMapStatus replace_tensor_map_address(void* map, uint64_t global_address);

/// A field that tensormap.replace changes (PTX ISA, "tensormap.replace"). `rank`, like the
/// instruction's operand, is one less than the rank.
enum class TensorMapField : uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  element_type,
  interleave_layout,
  swizzle_mode,
  swizzle_atomicity,
  fill_mode,
};

/// Writes a field of a map. `ordinal` is the dimension; of a stride, the dimension above less one.
/// A value that no map can have is refused; whether the fields fit together is asked where the map
/// is used (`tensor_map_problem`), because they are replaced one after the other. The enumerations
/// are those of the instruction, which counts the element types in another order than CUDA does.
TensorMapStatus replace_tensor_map_field(void* map, TensorMapField field, uint32_t ordinal,
                                         uint64_t value);

/// What is wrong with a map whose fields have been replaced, by the conditions of
/// `encode_tensor_map`; empty where nothing is, and for a map as it was encoded.
[[nodiscard]] std::string tensor_map_problem(const void* map);

/// Decodes 128 bytes; nullopt when they were not written by `encode_tensor_map` or have been
/// changed.
[[nodiscard]] std::optional<TensorMap> decode_tensor_map(const void* map);

}  // namespace bw::sim
