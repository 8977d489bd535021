#pragma once
/// \file
/// Lines that fit a terminal.

#include <cstddef>
#include <string>
#include <string_view>

namespace bw::sim {

/// Breaks the lines of `text` at spaces so that none is wider than `width` columns where that is
/// possible; continued lines are indented by two more than the line they continue. A width of 0
/// leaves it unchanged.
[[nodiscard]] std::string wrap_lines(std::string_view text, size_t width);

}  // namespace bw::sim
