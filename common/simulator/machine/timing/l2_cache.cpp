#include "common/simulator/machine/timing/l2_cache.hpp"

namespace bw::sim {

uint32_t L2Lines::count() const {
  uint32_t sum = 0;
  for (const uint64_t word : words) sum += static_cast<uint32_t>(std::popcount(word));
  return sum;
}

void L2Cache::use(uint64_t page, const L2Lines& lines, uint32_t side) {
  const auto [found, is_new] = pages_.try_emplace(page);
  if (is_new) {
    order_.push_front(page);
    found->second.place = order_.begin();
  } else {
    order_.splice(order_.begin(), order_, found->second.place);
  }
  used_bytes_ -= bytes_of(found->second);
  found->second.lines.add(lines);
  if (side != kNoSide) found->second.sides |= 1u << side;
  used_bytes_ += bytes_of(found->second);
  while (used_bytes_ > capacity_bytes_) {
    const auto oldest = pages_.find(order_.back());
    used_bytes_ -= bytes_of(oldest->second);
    pages_.erase(oldest);
    order_.pop_back();
  }
}

void L2Cache::write(uint64_t address, uint64_t bytes) {
  change_dirty(bytes, 0);
  if (bytes > capacity_bytes_) {  // only the end of it stays
    address += bytes - capacity_bytes_;
    bytes = capacity_bytes_;
  }
  const uint64_t end = address + bytes;
  while (address < end) {
    const uint64_t page = address / kL2PageBytes;
    const uint64_t first = page * kL2PageBytes;
    const uint64_t behind = std::min(end, first + kL2PageBytes);
    L2Lines lines;
    for (uint64_t line = (address - first) / kL2LineBytes;
         line <= (behind - 1 - first) / kL2LineBytes; ++line)
      lines.words[line / 64] |= uint64_t{1} << (line % 64);
    use(page, lines);
    address = behind;
  }
}

uint64_t L2Cache::change_dirty(uint64_t written_bytes, uint64_t brought_bytes) {
  const auto share = static_cast<double>(brought_bytes) / static_cast<double>(capacity_bytes_);
  const auto kept = static_cast<double>(dirty_bytes_) * std::max(0.0, 1 - share);
  const uint64_t wanted = static_cast<uint64_t>(kept) + written_bytes;
  dirty_bytes_ = std::min(dirty_limit_bytes_, wanted);
  return wanted - dirty_bytes_;
}

L2LineMap L2Cache::lines() const {
  L2LineMap lines;
  lines.reserve(pages_.size());
  for (const auto& [number, page] : pages_) lines.emplace(number, page.lines);
  return lines;
}

const L2Lines* L2Cache::find(uint64_t page) const {
  const auto found = pages_.find(page);
  return found == pages_.end() ? nullptr : &found->second.lines;
}

}  // namespace bw::sim
