#pragma once
/// \file
/// Versions of the PTX ISA: the newest that is known, and the one that a form came with.

#include <cstdint>
#include <string>
#include <string_view>

namespace bw::sim {

/// The major and minor number of a version.
struct PtxVersion {
  uint32_t major = 0;  ///< 9 of 9.5
  uint32_t minor = 0;  ///< 5 of 9.5

  friend constexpr auto operator<=>(const PtxVersion&, const PtxVersion&) = default;
};

/// The version of the newest supported CUDA Toolkit; common/toolkits.json says the same.
inline constexpr PtxVersion kNewestPtxVersion = {9, 5};

/// The version that introduced a form after PTX 9.0, as "9.4", by the words of its opcode. Empty
/// for older forms and for words that are not known.
[[nodiscard]] std::string_view introduced_in(std::string_view opcode);

/// The end of a sentence about a form that is not executed: the version that introduced it, or that
/// its module is written in a version newer than the newest known one. Empty for neither.
[[nodiscard]] std::string version_note(std::string_view opcode, const PtxVersion& of_module);

}  // namespace bw::sim
