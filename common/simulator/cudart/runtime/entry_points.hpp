#pragma once
/// \file
/// The driver's functions by name. Free of the driver's header, whose macros rename functions.

#include <string_view>

namespace bw::sim::cudart {

/// A driver's function by the name that cuGetProcAddress takes, or nullptr.
[[nodiscard]] void* find_entry_point(std::string_view name);
/// The function of this name that only says that it is not supported; nullptr for a name that is no
/// driver's function.
[[nodiscard]] void* find_missing_entry_point(std::string_view name);

}  // namespace bw::sim::cudart
