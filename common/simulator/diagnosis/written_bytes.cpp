#include "common/simulator/diagnosis/written_bytes.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "common/simulator/base/bit_words.hpp"

namespace bw::sim {

std::map<uint64_t, WrittenBytes::Bits>::const_iterator WrittenBytes::find(uint64_t address) const {
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return allocations_.end();
  const auto candidate = std::prev(after);
  return address - candidate->first < candidate->second.size_bytes ? candidate : allocations_.end();
}

void WrittenBytes::add(uint64_t address, size_t size_bytes) {
  allocations_[address] = {size_bytes, std::vector<uint64_t>(words_for(size_bytes), 0)};
}

void WrittenBytes::write(uint64_t address, size_t size_bytes) {
  const auto found = find(address);
  if (found == allocations_.end()) return;
  Bits& bits = allocations_[found->first];
  const size_t first = address - found->first;
  for_words(first, std::min(size_bytes, bits.size_bytes - first), [&](size_t word, uint64_t in) {
    bits.words[word] |= in;
    return true;
  });
}

void WrittenBytes::copy(uint64_t destination, uint64_t source, size_t size_bytes) {
  const auto from = find(source), to = find(destination);
  if (to == allocations_.end()) return;
  if (from == allocations_.end()) {
    write(destination, size_bytes);
    return;
  }
  const size_t first_source = source - from->first, first = destination - to->first;
  const size_t count =
      std::min({size_bytes, from->second.size_bytes - first_source, to->second.size_bytes - first});
  std::vector<bool> written(count);  // the two may overlap
  for (size_t i = 0; i < count; ++i) written[i] = from->second.is_set(first_source + i);
  std::vector<uint64_t>& words = allocations_[to->first].words;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bit = uint64_t{1} << (first + i) % kWordBits;
    uint64_t& word = words[(first + i) / kWordBits];
    word = written[i] ? word | bit : word & ~bit;
  }
}

ByteRange WrittenBytes::first_unwritten(uint64_t address, size_t size_bytes) const {
  const auto found = find(address);
  if (found == allocations_.end()) return {};
  const Bits& bits = found->second;
  const size_t first = address - found->first;
  const size_t end = std::min(first + size_bytes, bits.size_bytes);
  size_t hole = end;
  for_words(first, end - first, [&](size_t word, uint64_t in) {
    const uint64_t unset = ~bits.words[word] & in;
    if (unset == 0) return true;
    hole = word * kWordBits + static_cast<size_t>(std::countr_zero(unset));
    return false;
  });
  size_t stop = hole;
  while (stop < end && !bits.is_set(stop)) ++stop;
  return {found->first + hole, stop - hole};
}

}  // namespace bw::sim
