#pragma once
/// \file
/// The driver's functions by name. Free of the driver's header, whose macros rename functions.

#include <string_view>

namespace bw::sim::cudart {

/// A driver's function by the name that cuGetProcAddress takes, or nullptr.
[[nodiscard]] void* find_entry_point(std::string_view name);

}  // namespace bw::sim::cudart
