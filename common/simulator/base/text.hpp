#pragma once
/// \file
/// How reports write numbers.

#include <cstdint>
#include <string>
#include <string_view>

namespace bw::sim {

/// "0x1f".
[[nodiscard]] std::string hex(uint64_t value);
/// Eight digits, one for four lanes: "0x0000ffff".
[[nodiscard]] std::string hex_mask(uint32_t mask);
/// Sixteen digits: "0x4000404000010040".
[[nodiscard]] std::string hex_word(uint64_t value);
/// "1 arrival", "3 arrivals".
[[nodiscard]] std::string counted(uint64_t count, std::string_view noun);

}  // namespace bw::sim
