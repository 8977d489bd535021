#include "common/simulator/clock/l2_cache.hpp"

#include <algorithm>
#include <utility>

#include "common/simulator/base/bits.hpp"

namespace bw::sim {
namespace {

/// Slots of the order of use; the pages are renumbered once all of them are used.
constexpr uint32_t kSlots = 8192;
/// A page counts as recent if a side has used less than 1 / kRecentParts of its size since.
constexpr uint64_t kRecentParts = 2;
constexpr uint64_t kNoPage = ~uint64_t{0};
/// Lines that are lost together, where a side exceeds its capacity. On an H100 they are two: of
/// lines that miss, a line's neighbour misses too; lines further apart in a chunk of 4 KiB do so
/// about half as much more often than at random, at any distance.
constexpr uint64_t kLostLines = 2;
constexpr uint64_t kChunkLines = 32;

/// A pseudo-random number, 0 to 1.
double chance(uint64_t x) { return static_cast<double>(scatter(x)) * 0x1p-64; }

}  // namespace

void L2Cache::add(Side& side, uint32_t slot, uint32_t lines) {
  for (uint32_t i = slot + 1; i <= kSlots; i += i & (~i + 1)) side.tree[i] += lines;
  side.lines += static_cast<int32_t>(lines);
}

void L2Cache::take_slot(uint64_t number, Page& page, uint32_t side) {
  Side& own = sides_[side];
  page.slots[side] = static_cast<uint32_t>(own.page_of.size());
  own.page_of.push_back(number);
  ++own.pages;
  add(own, page.slots[side], page.counts[side]);
}

void L2Cache::leave_slot(Page& page, uint32_t side) {
  Side& own = sides_[side];
  if (page.counts[side] == 0) return;
  add(own, page.slots[side], ~page.counts[side] + 1);
  own.page_of[page.slots[side]] = kNoPage;
  --own.pages;
  page.counts[side] = 0;
}

void L2Cache::renumber(uint32_t side) {
  while (sides_[side].pages > kSlots / 2) drop_oldest(side);
  const std::vector<uint64_t> before = std::move(sides_[side].page_of);
  Side& own = sides_[side] = {};
  own.tree.assign(kSlots + 1, 0);
  own.page_of.reserve(kSlots);
  for (const uint64_t number : before)
    if (number != kNoPage) take_slot(number, pages_.find(number)->second, side);
}

uint64_t L2Cache::newer_lines(const Page& page, uint32_t side) const {
  const Side& own = sides_[side];
  uint64_t newer = own.lines;
  for (uint32_t i = page.slots[side] + 1; i != 0; i -= i & (~i + 1)) newer -= own.tree[i];
  return newer;
}

/// The page is the one that was used last; its lines may be more than before. One that has been
/// used not long ago keeps its slot: its first lines will be the first to be used again.
void L2Cache::touch(uint64_t number, Page& page, uint32_t side) {
  if (page.counts[side] != 0 && newer_lines(page, side) < side_lines() / kRecentParts) {
    const uint32_t count = page.lines[side].count();
    add(sides_[side], page.slots[side], count - page.counts[side]);
    page.counts[side] = count;
    return;
  }
  leave_slot(page, side);
  const Side& own = sides_[side];
  if (own.tree.empty() || own.page_of.size() == kSlots) renumber(side);
  page.counts[side] = page.lines[side].count();
  take_slot(number, page, side);
}

void L2Cache::drop_oldest(uint32_t side) {
  Side& own = sides_[side];
  while (own.page_of[own.oldest] == kNoPage) ++own.oldest;
  const auto found = pages_.find(own.page_of[own.oldest]);
  Page& page = found->second;
  leave_slot(page, side);
  page.lines[side] = {};
  clean(page);
  if (std::all_of(page.counts.begin(), page.counts.end(), [](uint32_t n) { return n == 0; }))
    pages_.erase(found);
}

void L2Cache::use(uint64_t number, const L2Lines& lines, uint32_t side) {
  Page& page = pages_[number];
  // Lost lines do not return with the rest of their page.
  for (uint32_t one = 0; one < kL2Sides; ++one) page.lines[one].remove(lost(number, page, one));
  std::array<bool, kL2Sides> is_used{};
  for (size_t word = 0; word < L2Lines::kWords; ++word) {
    const uint64_t of_second = l2_home_lines(number, word);
    const std::array<uint64_t, kL2Sides> homes = {~of_second, of_second};
    for (uint32_t one = 0; one < kL2Sides; ++one) {
      const uint64_t used = lines.words[word] & (one == side ? ~uint64_t{0} : homes[one]);
      page.lines[one].words[word] |= used;
      is_used[one] = is_used[one] || used != 0;
    }
  }
  for (uint32_t one = 0; one < kL2Sides; ++one)
    if (is_used[one]) touch(number, page, one);
  const auto most = static_cast<uint64_t>(static_cast<double>(side_lines()) * (1 + lost_span_));
  for (uint32_t one = 0; one < kL2Sides; ++one)
    while (sides_[one].lines > most) drop_oldest(one);
}

void L2Cache::clean(Page& page, size_t kept_words) {
  const uint32_t before = page.dirty.count();
  std::fill(page.dirty.words.begin() + static_cast<std::ptrdiff_t>(kept_words),
            page.dirty.words.end(), 0);
  const uint64_t bytes = (before - page.dirty.count()) * kL2LineBytes;
  dirty_bytes_ -= bytes;
  written_back_bytes_ += bytes;
}

size_t L2Cache::dirty_words() const {
  return dirty_limit_bytes_ * L2Lines::kWords / std::max<uint64_t>(capacity_bytes_, 1);
}

void L2Cache::write_lines(uint64_t number, const L2Lines& lines) {
  use(number, lines);
  const auto found = pages_.find(number);
  if (found == pages_.end()) return;
  Page& page = found->second;
  const uint32_t before = page.dirty.count();
  page.dirty.add(lines);
  const uint32_t now = page.dirty.count();
  dirty_bytes_ += (now - before) * kL2LineBytes;
  if (before == 0 && now != 0) written_.push_back(number);
  // After the page being written each keeps its part of the dirty bytes. So later fills evict as
  // many of them whichever pages leave.
  while (dirty_bytes_ > dirty_limit_bytes_ && written_.size() > 1) {
    thinned_.push_back(written_.front());
    const auto oldest = pages_.find(written_.front());
    written_.pop_front();
    if (oldest != pages_.end()) clean(oldest->second, dirty_words());
  }
  while (dirty_bytes_ > dirty_limit_bytes_ && !thinned_.empty()) {
    const auto oldest = pages_.find(thinned_.front());
    thinned_.pop_front();
    if (oldest != pages_.end()) clean(oldest->second);
  }
  if (dirty_bytes_ > dirty_limit_bytes_) clean(page, dirty_words());
}

void L2Cache::write(uint64_t address, uint64_t bytes) {
  // Only the end of it stays.
  const auto most = static_cast<uint64_t>(static_cast<double>(capacity_bytes_) * (1 + lost_span_));
  if (bytes > most) {
    written_back_bytes_ += bytes - most;
    address += bytes - most;
    bytes = most;
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
    write_lines(page, lines);
    address = behind;
  }
}

uint64_t L2Cache::take_written_back() {
  const uint64_t bytes = written_back_bytes_;
  written_back_bytes_ = 0;
  return bytes;
}

double L2Cache::dirty_share() const {
  if (used_bytes() < capacity_bytes_) return 0;
  return static_cast<double>(dirty_bytes_) / static_cast<double>(capacity_bytes_);
}

uint64_t L2Cache::used_bytes() const {
  uint64_t lines = 0;
  for (const Side& side : sides_) lines += std::min(side.lines, side_lines());
  return lines * kL2LineBytes;
}

uint64_t L2Cache::room_bytes() const {
  uint64_t most = 0;
  for (const Side& side : sides_) most = std::max(most, std::min(side.lines, side_lines()));
  return (side_lines() - most) * kL2Sides * kL2LineBytes;
}

L2Lines L2Cache::lost(uint64_t number, const Page& page, uint32_t side) const {
  L2Lines lines;
  const Side& own = sides_[side];
  if (page.counts[side] == 0 || own.lines <= side_lines()) return lines;
  const uint64_t newer = newer_lines(page, side);
  if (newer <= side_lines()) return lines;
  const double part =
      static_cast<double>(newer - side_lines()) / (static_cast<double>(side_lines()) * lost_span_);
  constexpr uint64_t kBoth = (uint64_t{1} << kLostLines) - 1;
  double of_chunk = 0;
  for (uint64_t line = 0; line < kL2PageLines; line += kLostLines) {
    const uint64_t key = number * kL2PageLines + line;
    if (line % kChunkLines == 0) of_chunk = chance(key + 1);
    if (2 * part > of_chunk + chance(key)) lines.words[line / 64] |= kBoth << line % 64;
  }
  return lines;
}

L2SideLines L2Cache::find(uint64_t number) const {
  const auto found = pages_.find(number);
  if (found == pages_.end()) return {};
  L2SideLines lines = found->second.lines;
  for (uint32_t side = 0; side < kL2Sides; ++side)
    lines[side].remove(lost(number, found->second, side));
  return lines;
}

L2LineMap L2Cache::lines() const {
  L2LineMap lines;
  lines.reserve(pages_.size());
  for (const auto& [number, page] : pages_) lines.emplace(number, find(number));
  return lines;
}

}  // namespace bw::sim
