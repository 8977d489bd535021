#include "common/simulator/machine/shared_contents.hpp"

#include "common/simulator/base/bit_words.hpp"

namespace bw::sim {

void SharedContents::reset(size_t bytes) {
  bytes_ = bytes;
  words_.assign(words_for(bytes), 0);
  writers_.assign((bytes + kBlockBytes - 1) / kBlockBytes, {});
}

void SharedContents::write_words(uint32_t offset, size_t bytes, const Writer& writer) noexcept {
  if (bytes == 0) return;
  for_words(offset, bytes, [&](size_t word, uint64_t mask) {
    words_[word] |= mask;
    return true;
  });
  const size_t last = (offset + bytes - 1) / kBlockBytes;
  for (size_t block = offset / kBlockBytes; block <= last; ++block) writers_[block] = writer;
}

bool SharedContents::are_words_written(uint32_t offset, size_t bytes) const noexcept {
  if (bytes == 0) return true;
  // Whole words, and parts of words at both ends.
  const size_t first = words_for(offset), end = (offset + bytes) / kWordBits;
  const auto part = [&](size_t from, size_t to) {
    return from == to || is_written(static_cast<uint32_t>(from), to - from);
  };
  // Without a way out of the loop, so that the compiler makes a vector loop of it.
  uint64_t whole = ~uint64_t{0};
  for (size_t word = first; word < end; ++word) whole &= words_[word];
  return whole == ~uint64_t{0} && part(offset, first * kWordBits) &&
         part(end * kWordBits, offset + bytes);
}

SharedContents::Range SharedContents::first_unwritten(uint32_t offset,
                                                      size_t bytes) const noexcept {
  const size_t end = offset + bytes;
  size_t first = offset;
  while (first + 1 < end && has(first)) ++first;
  size_t last = first;
  while (last + 1 < end && !has(last + 1)) ++last;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
}

std::optional<SharedContents::Neighbour> SharedContents::nearest(uint32_t offset) const noexcept {
  size_t at = bytes_;
  for (size_t distance = 0; distance < bytes_ && at == bytes_; ++distance) {
    if (distance <= offset && has(offset - distance)) at = offset - distance;
    if (offset + distance < bytes_ && has(offset + distance)) at = offset + distance;
  }
  if (at == bytes_) return std::nullopt;
  size_t first = at, last = at;
  while (first > 0 && has(first - 1)) --first;
  while (last + 1 < bytes_ && has(last + 1)) ++last;
  return Neighbour{{static_cast<uint32_t>(first), static_cast<uint32_t>(last)},
                   writers_[at / kBlockBytes]};
}

}  // namespace bw::sim
