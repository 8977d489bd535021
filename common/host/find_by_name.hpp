#pragma once
/// \file
/// The search for a configuration by its name.

#include <string>
#include <string_view>

#include "common/host/error.hpp"

namespace bw {

/// The element of `configurations` (a range of something with a `name`) called `name`. Throws
/// Error, with all names, if none has it.
template <class Configurations>
const auto& find_by_name(const Configurations& configurations, std::string_view name) {
  std::string names;
  for (const auto& configuration : configurations) {
    if (configuration.name == name) return configuration;
    names += (names.empty() ? "" : ", ") + std::string(configuration.name);
  }
  throw Error("There is no configuration called " + std::string(name) + "; give one of " + names +
              ".");
}

}  // namespace bw
