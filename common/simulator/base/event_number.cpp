#include "common/simulator/base/event_number.hpp"

#include <charconv>

namespace bw::sim {

std::string EventNumber::text() const {
  return std::to_string(launch) + "." + std::to_string(cluster) + "." + std::to_string(event);
}

std::optional<EventNumber> EventNumber::parse(std::string_view text) {
  EventNumber number;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint64_t* const part : {&number.launch, &number.cluster, &number.event}) {
    if (part != &number.launch && (at == end || *at++ != '.')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at != end || number.event == 0) return std::nullopt;
  return number;
}

}  // namespace bw::sim
