#pragma once
/// \file
/// Cluster launch control (PTX ISA, "clusterlaunchcontrol.try_cancel",
/// "clusterlaunchcontrol.query_cancel").

#include <array>
#include <cstdint>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

/// The 16-byte response that try_cancel writes to shared memory. Opaque to programs: ours holds the
/// first CTA's coordinates in words 0 to 2 and a marker with the outcome in word 3.
struct CancelResponse {
  static constexpr uint32_t kMarker = 0x434c4300;  ///< "CLC" and the outcome in the last byte
  std::array<uint32_t, 4> words{};                 ///< 16 bytes, as in memory

  /// Another cluster's work is handed over.
  [[nodiscard]] static CancelResponse canceled(Dim3 first_cta);
  /// No work is left.
  [[nodiscard]] static CancelResponse failed();
  /// Whether it has been written.
  [[nodiscard]] bool is_response() const { return (words[3] & ~1u) == kMarker; }
  /// Whether it hands over work.
  [[nodiscard]] bool is_canceled() const { return (words[3] & 1u) != 0; }
};
static_assert(sizeof(CancelResponse) == 16, "try_cancel writes and completes 16 bytes");

}  // namespace bw::sim
