/// \file
/// The requested observers of a static simulator.
#include "common/simulator/session/requested_observers.hpp"

namespace bw::sim::session {

decltype(&bw_add_requested_observers) find_requested_observers(const char*) {
  return &bw_add_requested_observers;
}

}  // namespace bw::sim::session
