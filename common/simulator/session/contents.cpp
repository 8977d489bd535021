#include "common/simulator/session/contents.hpp"

#include <fmt/core.h>

namespace bw::sim::session {

std::string contents_hash(std::span<const std::byte> bytes) {
  constexpr uint64_t kOffset = 0xcbf29ce484222325ull, kPrime = 0x100000001b3ull;
  uint64_t hash = kOffset;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint64_t>(byte)) * kPrime;
  return fmt::format("{:016x}", hash);
}

}  // namespace bw::sim::session
