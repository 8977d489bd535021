#pragma once
/// \file
/// What every fuzz target shares: choices that are read from the input's bytes, and the end of a
/// run that has found something.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace bw::sim::fuzz {

/// Choices, one byte each; zeros once the input is used up, so that every input has a meaning and a
/// shorter one a simpler.
class Choices {
 public:
  /// Over an input.
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  /// Whether bytes are left.
  [[nodiscard]] bool any_left() const { return !bytes_.empty(); }
  /// A number below `bound`, which is at most 65536.
  uint32_t below(uint32_t bound) {
    uint32_t value = byte();
    constexpr uint32_t kByteValues = 256;
    if (bound > kByteValues) value = value * kByteValues + byte();
    return bound == 0 ? 0 : value % bound;
  }
  /// True for `in_256` of 256 bytes; false once the input is used up.
  bool chance(uint32_t in_256) { return any_left() && byte() < in_256; }
  /// One of a list.
  template <class List>
  const auto& one_of(const List& list) {
    return list[below(static_cast<uint32_t>(std::size(list)))];
  }
  /// Eight bytes as a number.
  uint64_t word() {
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof value; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  std::span<const uint8_t> bytes_;
};

/// Ends the run as a finding: the fuzzer keeps the input.
[[noreturn]] inline void found(const std::string& what) {
  std::fprintf(stderr, "\nfound: %s\n", what.c_str());
  std::abort();
}

}  // namespace bw::sim::fuzz

/// What libFuzzer and fuzz_driver.cpp call.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
