#pragma once
/// \file
/// Values that arrive after their load was issued, and what counts them.

#include <cstdint>

namespace bw::sim {

/// The source of a value that arrives after its load was issued.
enum class LoadSource : uint8_t {
  nothing,        ///< it is not a load
  shared_memory,  ///< of a CTA of the cluster
  device_memory,  ///< or a cache of it
};

/// A warp waits for its loads by counters, as many as the machine has. Each load is counted
/// by one; an instruction that awaits one waits for all loads that it counts.
inline constexpr uint32_t kScoreboards = 6;

}  // namespace bw::sim
