#include "common/simulator/base/text.hpp"

#include <fmt/core.h>

namespace bw::sim {

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

std::string hex_mask(uint32_t mask) { return fmt::format("{:#010x}", mask); }

std::string hex_word(uint64_t value) { return fmt::format("{:#018x}", value); }

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace bw::sim
