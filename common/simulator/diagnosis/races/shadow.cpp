#include "common/simulator/diagnosis/races/shadow.hpp"

namespace bw::sim::races {

ByteShadow::Page& ByteShadow::new_page(uint64_t number) {
  constexpr size_t kMostPagesOfPiece = 32;
  if (pages_ == room_) {
    const size_t added = std::clamp<size_t>(room_, 1, kMostPagesOfPiece);
    pieces_.push_back(std::make_unique<Page[]>(added));
    free_page_ = pieces_.back().get();
    room_ += added;
  }
  if (2 * pages_ >= table_.size()) grow_table();
  ++pages_;
  last_page_ = number;
  last_ = free_page_++;
  table_[slot_of(number)] = {number, last_};
  return *last_;
}

void ByteShadow::grow_table() {
  constexpr size_t kFirstSlots = 8;
  std::vector<Numbered> before(std::max(kFirstSlots, 2 * table_.size()));
  before.swap(table_);
  for (const Numbered& one : before)
    if (one.page != nullptr) table_[slot_of(one.number)] = one;
}

void ByteShadow::set_aside(Block& block, uint64_t index) {
  ShadowEntry* const entries = entries_of(block);
  const ShadowEntry oldest = entries[0];
  std::move(entries + 1, entries + block.count, entries);
  --block.count;
  const Accessor& accessor = accessors_[oldest.number()];
  std::vector<ShadowEntry>& older = older_[index];
  block.has_older = true;
  block.wrote_older = block.wrote_older || accessor.writes;
  constexpr size_t kManyOlder = 1024;
  block.must_meet_older =
      block.must_meet_older || !is_strong_for_all(accessor) || older.size() >= kManyOlder;
  // A thread that reads again and again is known by its latest read, which has the earlier ones
  // before it.
  for (ShadowEntry& known : older)
    if (known.accessor == oldest.accessor && known.lanes == oldest.lanes &&
        known.bytes == oldest.bytes) {
      known.clock = std::max(known.clock, oldest.clock);
      return;
    }
  older.push_back(oldest);
}

void ByteShadow::make_room(Block& block, uint64_t index) {
  if (block.count == kMostEntries) return set_aside(block, index);
  const auto size_class = static_cast<uint8_t>(block.size_class + 1);
  std::vector<ShadowEntry>& pool = pools_[size_class];
  std::vector<uint32_t>& unused = free_[size_class];
  uint32_t first = 0;
  if (unused.empty()) {
    first = static_cast<uint32_t>(pool.size());
    pool.resize(pool.size() + kRoom[size_class]);
  } else {
    first = unused.back();
    unused.pop_back();
  }
  std::copy_n(entries_of(block), block.count, pool.data() + first);
  if (block.size_class != 0) free_[block.size_class].push_back(block.first);
  block.first = first;
  block.size_class = size_class;
}

void ByteShadow::forget(uint64_t address, uint64_t size) {
  for_blocks(address, size, [&](uint64_t index, uint32_t bytes) {
    Block* const block = find(index);
    if (block == nullptr) return;
    if (block->has_older)
      for (ShadowEntry& entry : older_.at(index)) entry.bytes &= ~bytes;
    if (block->count == 0) return;
    ShadowEntry* const entries = entries_of(*block);
    for (uint32_t i = 0; i < block->count;) {
      if ((entries[i].bytes &= ~bytes) == 0)
        entries[i] = entries[--block->count];
      else
        ++i;
    }
  });
}

bool ByteShadow::is_ordered(const ShadowEntry& entry, const Accessor& earlier, const Touch& touch,
                            LanePattern pattern, uint32_t common, Conflict& conflict) {
  const VectorClock& clock = clock_for(touch, earlier);
  const Accessor& later = *touch.accessor;
  const auto lanes_at = [&](int byte) {
    return pattern.is_linear() ? lane_bit(pattern.lane_of(byte)) : touch.lanes;
  };
  const auto note = [&](int byte, LaneMask earlier_lanes, LaneMask lanes) {
    // The pair of lanes, different ones where they belong to one warp.
    conflict.address = static_cast<uint64_t>(byte);
    conflict.bytes = static_cast<uint32_t>(std::countr_one(common >> byte));
    conflict.earlier_lane = earlier_lanes == 0 ? -1 : lowest_lane(earlier_lanes);
    const bool shared = !later.is_async && !earlier.is_async && later.agent == earlier.agent &&
                        later.cluster == earlier.cluster;
    const LaneMask others = shared ? lanes & ~lane_bit(conflict.earlier_lane) : lanes;
    conflict.lane = lanes == 0 ? -1 : lowest_lane(others != 0 ? others : lanes);
    if (shared && others == 0 && earlier_lanes != lanes)
      conflict.earlier_lane = lowest_lane(earlier_lanes & ~lanes);
  };
  const bool is_foreign = earlier.cluster != later.cluster;
  if (later.is_noncoherent && earlier.writes) {
    const int byte = std::countr_zero(common);
    const LanePattern before = entry.pattern();
    note(byte,
         earlier.is_async     ? 0
         : before.is_linear() ? lane_bit(before.lane_of(byte))
                              : entry.lanes,
         lanes_at(byte));
    return false;
  }
  if (earlier.is_async) {
    if (lanes_known(clock, touch, earlier, entry.clock) != 0) return true;
    const bool is_over =
        !is_foreign && touch.view->performed.knows_chain(earlier.agent, entry.clock);
    if (is_over && !earlier.writes) return true;
    if (!is_foreign && earlier.proxy == Proxy::async && later.proxy == Proxy::async &&
        touch.view->copied.knows_chain(earlier.agent, entry.clock))
      return true;
    const int byte = std::countr_zero(common);
    note(byte, 0, lanes_at(byte));
    return false;
  }
  LaneMask known = lanes_known(clock, touch, earlier, entry.clock);
  if (&clock == &touch.view->async && !earlier.writes)
    known |= touch.view->async_reads.known(is_foreign, earlier.cluster, false, earlier.agent,
                                           entry.clock);
  if (known == kAllLanes) return true;
  const LanePattern before = entry.pattern();
  if (!before.is_linear() && (entry.lanes & ~known) == 0) return true;
  // What a lane did itself it need not be told, unless the proxies differ.
  const bool is_own_warp = touch.lanes != 0 && !is_foreign && touch.warp == earlier.agent &&
                           later.proxy == earlier.proxy;
  for (uint32_t rest = common; rest != 0; rest &= rest - 1) {
    const int byte = std::countr_zero(rest);
    const LaneMask unknown =
        (before.is_linear() ? lane_bit(before.lane_of(byte)) : entry.lanes) & ~known;
    if (unknown == 0) continue;
    const LaneMask lanes = lanes_at(byte);
    const bool is_own = is_own_warp && (lanes & (lanes - 1)) == 0 && unknown == lanes;
    if (is_own) continue;
    note(byte, unknown, lanes);
    return false;
  }
  return true;
}

bool ByteShadow::are_read_by_two(uint64_t address, uint32_t bytes) {
  const Block* const block = find(address / kBlockBytes);
  if (block == nullptr) return false;
  const ShadowEntry* const entries = entries_of(*block);
  const Accessor* first = nullptr;
  bool are_two = false;
  for (uint32_t i = 0; i < block->count; ++i) {
    if ((entries[i].bytes & bytes) == 0) continue;
    const Accessor& reader = accessors_[entries[i].number()];
    if (reader.writes) return false;
    if ((bytes & ~entries[i].bytes) != 0) continue;
    are_two = are_two || (first != nullptr && first->agent != reader.agent);
    first = &reader;
  }
  return are_two;
}

size_t ByteShadow::footprint_bytes() const {
  size_t bytes = room_ * sizeof(Page) + table_.capacity() * sizeof(Numbered);
  for (const auto& pool : pools_) bytes += pool.capacity() * sizeof(ShadowEntry);
  for (const auto& unused : free_) bytes += unused.capacity() * sizeof(uint32_t);
  for (const auto& [index, older] : older_)
    bytes += older.capacity() * sizeof(ShadowEntry) + 8 * sizeof(void*);
  return bytes;
}

}  // namespace bw::sim::races
