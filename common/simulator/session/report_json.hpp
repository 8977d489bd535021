#pragma once
/// \file
/// A report as JSON, for programs: the fields that common/simulator/README.md describes.

#include <cstdint>
#include <string>

#include "common/simulator/base/error.hpp"

namespace bw::sim::session {

/// A report as a JSON object. `count`: how often it occurred.
[[nodiscard]] std::string report_json(const Report& report, uint64_t count);

}  // namespace bw::sim::session
