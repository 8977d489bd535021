#pragma once
/// \file
/// One form of wgmma.mma_async as a kernel in PTX text, and its launch.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bw::conformance::wgmma {

/// The formats of A, B and D, by their names in PTX.
enum class Element : uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, b1, f32, s32 };
[[nodiscard]] const char* name_of(Element element);
[[nodiscard]] unsigned bits_of(Element element);

/// Layout of an operand in shared memory; `swizzle` is the value of the descriptor's field.
struct Layout {
  unsigned swizzle = 1;  ///< 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes
  bool mn_major = false;
};

struct Form {
  Element a = Element::f16, b = Element::f16, d = Element::f32;
  unsigned n = 64;
  bool a_in_registers = false;
  bool sparse = false;
  bool saturate = false;
  bool accumulate = true;  ///< scale-d
  bool negate_a = false, negate_b = false;
  Layout a_layout, b_layout;
  unsigned selector = 0;  ///< which threads hold the metadata of a sparse A
  unsigned steps = 1;     ///< MMAs in a row, each 32 bytes further along K, in one group

  /// A name for PTX and for results: letters, digits and underscores.
  [[nodiscard]] std::string name() const;
  /// Elements of K of one MMA.
  [[nodiscard]] unsigned k() const;
  /// 32-bit registers of D that a thread holds.
  [[nodiscard]] unsigned registers() const;
};

inline constexpr unsigned kThreads = 128;
inline constexpr unsigned kRows = 64;
inline constexpr unsigned kFragmentRegisters = 4;  ///< of A, for each thread
inline constexpr unsigned kTileRowBytes = 128;
inline constexpr unsigned kABytes = kRows * kTileRowBytes;
inline constexpr unsigned kMostColumns = 256;
inline constexpr unsigned kBBytes = kMostColumns * kTileRowBytes;

/// What a block of 128 threads works on.
struct Inputs {
  std::vector<uint32_t> a;         ///< kABytes of shared memory
  std::vector<uint32_t> b;         ///< kBBytes of shared memory
  std::vector<uint32_t> fragment;  ///< A in registers: [kFragmentRegisters, kThreads]
  std::vector<uint32_t> metadata;  ///< of a sparse A: [kThreads]
  std::vector<uint32_t> c;         ///< [registers, kThreads]: D before
};

/// The kernels of all `forms` as one PTX module.
[[nodiscard]] std::string module_text(const std::vector<Form>& forms);

/// Runs the form's kernel of a loaded module; returns D, [registers, kThreads].
[[nodiscard]] std::vector<uint32_t> run(cudaLibrary_t library, const Form& form,
                                        const Inputs& inputs);

}  // namespace bw::conformance::wgmma
