#pragma once
/// \file
/// A number that represents the contents of memory: how a replayed launch is compared with the
/// recorded one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace bw::sim::session {

/// FNV-1a of 64 bits, as 16 hexadecimal digits.
[[nodiscard]] std::string contents_hash(std::span<const std::byte> bytes);

}  // namespace bw::sim::session
