#pragma once
/// \file
/// Values of special registers (PTX ISA, "Special Registers").

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

/// Gives the value for one lane, zero-extended.
using SpecialValue = uint64_t (*)(const Strand& strand, int lane);

/// The source of a special register's value by its full name ("%tid.x"), or nullptr if there is
/// none.
[[nodiscard]] SpecialValue special_value(std::string_view name);

}  // namespace bw::sim
