#pragma once
/// \file
/// The number of an event: what a schedule is replayed to.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bw::sim {

/// An event of a run. Each cluster counts its own, from 1: a turn of a warp, which lasts until
/// another event may come first, and later unit actions. With the same program, settings and
/// seed a number always identifies the same event, whatever the number of host threads.
struct EventNumber {
  uint64_t launch = 0;   ///< of the process, from 0
  uint64_t cluster = 0;  ///< of the launch, from 0
  uint64_t event = 0;    ///< of the cluster, from 1

  /// "0.3.1250".
  [[nodiscard]] std::string text() const;
  /// The reverse; nullopt for any other text.
  [[nodiscard]] static std::optional<EventNumber> parse(std::string_view text);

  friend bool operator==(const EventNumber&, const EventNumber&) = default;
};

}  // namespace bw::sim
