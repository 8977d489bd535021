#pragma once
/// \file
/// The shadow of byte-addressed memory: for every byte the latest accesses that a later one could
/// race with.
///
/// Memory is cut into blocks of 32 bytes. A block has entries: the accessor (AccessorTable), the
/// time (the agent's clock), the bytes, the lanes. A write that is ordered after an entry replaces
/// it, and so does a read that is ordered after a read; the rest are accesses that are concurrent
/// with each other. An entry takes 16 bytes, and a block keeps at most kMostEntries of them, so the
/// shadow takes at most 12 bytes for each byte in use. Data that many threads read at once needs
/// more: a block's older entries then go to a list of its own, which writes are checked against.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/simulator/diagnosis/races/access.hpp"

namespace bw::sim::races {

/// Which lane touches which byte.
struct LanePattern {
  /// For lanes with contiguous data: the lane of byte b of the block is (b + base) >> shift. If it
  /// is negative, the lanes have no pattern: all Touch::lanes touch all bytes.
  int8_t shift = -1;
  int16_t base = 0;  ///< see shift

  /// Whether there is one.
  [[nodiscard]] bool is_linear() const { return shift >= 0; }
  /// The lane of a byte of the block.
  [[nodiscard]] int lane_of(int byte) const { return (byte + base) >> shift; }
};

/// What the shadow remembers of one access to a block.
struct ShadowEntry {
  Clock clock = 0;        ///< of the agent
  uint32_t accessor = 0;  ///< number; the highest bit: the lanes follow a LanePattern
  uint32_t bytes = 0;     ///< of the block, a bit each
  uint32_t lanes = 0;     ///< a mask, or the pattern (base in the low, shift in the high half)

  static constexpr uint32_t kPatternBit = 1u << 31;  ///< in `accessor`
  /// The accessor's number.
  [[nodiscard]] uint32_t number() const { return accessor & ~kPatternBit; }
  /// Which lane touches which byte.
  [[nodiscard]] LanePattern pattern() const {
    if ((accessor & kPatternBit) == 0) return {};
    return {static_cast<int8_t>(lanes >> 16), static_cast<int16_t>(lanes & 0xffffu)};
  }
};

/// An earlier access that conflicts with the one that is checked, and is not ordered before it.
struct Conflict {
  ShadowEntry earlier;    ///< what was remembered
  uint64_t address = 0;   ///< of the first byte in common
  uint32_t bytes = 0;     ///< how many bytes from there on are in common
  int earlier_lane = -1;  ///< of a thread's access: a lane that touched the first byte
  int lane = -1;          ///< of the access that is checked, likewise
};

/// What a shadow costs.
struct ShadowUse {
  size_t shadow_bytes = 0;  ///< of host memory
  size_t bytes = 0;         ///< of the memory that it shadows, as far as it was used
};

/// The shared memory of one CTA, or global memory: its pages appear where they are touched.
class ByteShadow {
 public:
  static constexpr uint32_t kBlockBytes = 32;   ///< granularity of entries
  static constexpr uint32_t kMostEntries = 20;  ///< of a block: 12 bytes a byte with all overhead

  /// Accessors are numbered by a table that outlives the shadow.
  explicit ByteShadow(const AccessorTable& accessors) : accessors_(accessors) {}

  /// Checks an access to the bytes [address, address + size) against all earlier ones: calls
  /// found(Conflict) for each that conflicts with it and is not ordered before it.
  template <class Found>
  void check(uint64_t address, uint64_t size, const Touch& touch, Found&& found) {
    for_blocks(address, size, [&](uint64_t index, uint32_t bytes) {
      if (Block* const block = find(index))
        visit<true, false>(*block, index, bytes, touch, {}, found);
    });
  }
  /// Remembers it.
  void add(uint64_t address, uint64_t size, const Touch& touch) {
    for_blocks(address, size, [&](uint64_t index, uint32_t bytes) {
      visit<false, true>(require(index), index, bytes, touch, {}, [](const Conflict&) {});
    });
  }
  /// Both in one pass.
  template <class Found>
  void check_and_add(uint64_t address, uint64_t size, const Touch& touch, Found&& found) {
    for_blocks(address, size, [&](uint64_t index, uint32_t bytes) {
      visit<true, true>(require(index), index, bytes, touch, {}, found);
    });
  }
  /// As check(), add() or both, for lanes with contiguous data: `count` lanes from `first_lane` on,
  /// the first of which touches the `lane_bytes` (a power of two) bytes at `address`, the next one
  /// those after them, and so on.
  template <bool checks, bool adds, class Found>
  void run(uint64_t address, uint32_t lane_bytes, int first_lane, int count, const Touch& touch,
           Found&& found) {
    const auto shift = static_cast<int8_t>(std::countr_zero(lane_bytes));
    const uint64_t size = uint64_t{lane_bytes} * static_cast<uint32_t>(count);
    for_blocks(address, size, [&](uint64_t index, uint32_t bytes) {
      const int64_t base =
          static_cast<int64_t>(index * kBlockBytes - address) + int64_t{lane_bytes} * first_lane;
      const LanePattern pattern{shift, static_cast<int16_t>(base)};
      Block* const block = adds ? &require(index) : find(index);
      if (block != nullptr) visit<checks, adds>(*block, index, bytes, touch, pattern, found);
    });
  }

  /// Remembers an access that represents the earlier ones of the same accessor and lanes to these
  /// bytes: order after it implies order after those.
  void add_latest(uint64_t address, uint64_t size, const Touch& touch) {
    for_blocks(address, size, [&](uint64_t index, uint32_t bytes) {
      Block& block = require(index);
      ShadowEntry* const entries = entries_of(block);
      for (uint32_t i = 0; i < block.count;) {
        ShadowEntry& entry = entries[i];
        if (entry.accessor == touch.number && (entry.lanes & ~touch.lanes) == 0)
          entry.bytes &= ~bytes;
        if (entry.bytes == 0)
          entry = entries[--block.count];
        else
          ++i;
      }
    });
    add(address, size, touch);
  }

  /// check_and_add() for some bytes (a mask) of the block at `address`.
  template <class Found>
  void check_and_add_block(uint64_t address, uint32_t bytes, const Touch& touch, Found&& found) {
    const uint64_t index = address / kBlockBytes;
    visit<true, true>(require(index), index, bytes, touch, {}, found);
  }
  /// Whether nothing has written these bytes (a mask) of the block at `address`, and two agents
  /// have read all of them: a third that reads them adds nothing, if no two agents are ever
  /// ordered.
  [[nodiscard]] bool are_read_by_two(uint64_t address, uint32_t bytes);
  /// Calls use(address of the block, bytes as a mask, entry) for all that is remembered, ascending
  /// by address.
  template <class Use>
  void for_each(Use&& use) const;
  /// Whether is_wanted(entry, bytes in common as a mask) holds for an entry of these bytes.
  template <class IsWanted>
  [[nodiscard]] bool any(uint64_t address, uint64_t size, IsWanted&& is_wanted);

  /// Forgets what is known of these bytes: they begin a new life.
  void forget(uint64_t address, uint64_t size);

  /// Bytes of host memory that the shadow takes.
  [[nodiscard]] size_t footprint_bytes() const;
  /// Bytes of the blocks that anything has been remembered of.
  [[nodiscard]] size_t bytes_in_use() const { return blocks_in_use_ * kBlockBytes; }

 private:
  struct Block {
    std::array<ShadowEntry, 2> few;  ///< its entries as long as they fit
    uint32_t first = 0;              ///< else: of its entries in the pool of their size
    uint8_t count = 0;               ///< of its entries
    uint8_t size_class = 0;          ///< of its room; 0: the few
    bool is_used = false;            ///< whether it has ever had an entry
    bool has_older = false;          ///< whether more are in older_
    bool wrote_older = false;        ///< whether some of these are writes
    /// Whether strong accesses meet these as well: some are not strong, or they are very many.
    bool must_meet_older = false;
  };
  static constexpr uint32_t kPageBlocks = 16;
  using Page = std::array<Block, kPageBlocks>;
  /// A page in the table of pages.
  struct Numbered {
    uint64_t number = 0;
    Page* page = nullptr;  ///< null: the slot is free
  };
  /// Room for how many entries a block of each size has.
  static constexpr std::array<uint32_t, 5> kRoom = {2, 4, 8, 16, kMostEntries};

  [[nodiscard]] Page* find_page(uint64_t number) {
    if (number == last_page_) return last_;
    if (pages_ == 0) return nullptr;
    const Numbered& found = table_[slot_of(number)];
    if (found.page == nullptr) return nullptr;
    last_page_ = number;
    return last_ = found.page;
  }
  /// The slot of a page, or the free one where it belongs.
  [[nodiscard]] size_t slot_of(uint64_t number) const {
    constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
    const size_t mask = table_.size() - 1;
    size_t slot = static_cast<size_t>(number * kFactor >> 32) & mask;
    while (table_[slot].page != nullptr && table_[slot].number != number) slot = (slot + 1) & mask;
    return slot;
  }
  [[nodiscard]] Block* find(uint64_t index) {
    Page* const page = find_page(index / kPageBlocks);
    return page == nullptr ? nullptr : &(*page)[index % kPageBlocks];
  }
  [[nodiscard]] Block& require(uint64_t index) {
    Block* const block = find(index);
    return block != nullptr ? *block : new_page(index / kPageBlocks)[index % kPageBlocks];
  }
  Page& new_page(uint64_t number);
  /// Makes a larger table of pages.
  void grow_table();
  [[nodiscard]] const ShadowEntry* entries_of(const Block& block) const {
    return block.size_class == 0 ? block.few.data() : pools_[block.size_class].data() + block.first;
  }
  [[nodiscard]] ShadowEntry* entries_of(Block& block) {
    return block.size_class == 0 ? block.few.data() : pools_[block.size_class].data() + block.first;
  }
  void push(Block& block, uint64_t index, const ShadowEntry& entry) {
    if (block.count == kRoom[block.size_class]) make_room(block, index);
    if (!block.is_used) ++blocks_in_use_;
    block.is_used = true;
    entries_of(block)[block.count++] = entry;
  }
  /// Room for one more entry.
  void make_room(Block& block, uint64_t index);
  /// Moves the oldest entry of a full block to older_.
  void set_aside(Block& block, uint64_t index);
  /// Checks an access against the entries in older_, and forgets those that it replaces.
  template <bool checks, bool adds, class Found>
  void visit_older(Block& block, uint64_t index, uint32_t bytes, const Touch& touch,
                   LanePattern pattern, Found&& found);
  /// Whether the earlier access to the bytes in common is ordered before, for all lanes that touch
  /// them; else sets the conflict's lanes and bytes.
  [[nodiscard]] static bool is_ordered(const ShadowEntry& entry, const Accessor& earlier,
                                       const Touch& touch, LanePattern pattern, uint32_t common,
                                       Conflict& conflict);

  /// Checks an access against an earlier one to the bytes in common. Returns whether it replaces
  /// it.
  template <bool checks, bool adds, class Found>
  static bool meet(const ShadowEntry& entry, const Accessor& earlier, uint64_t index,
                   const Touch& touch, LanePattern pattern, uint32_t common, Found&& found) {
    const Accessor& later = *touch.accessor;
    const bool may_conflict = (later.writes || earlier.writes) &&
                              !are_morally_strong(earlier, later) &&
                              !are_seen_across_proxies(earlier, later);
    const bool may_replace = adds && replaces(later, earlier);
    if (!may_conflict && !may_replace) return false;
    Conflict conflict;
    if (is_ordered(entry, earlier, touch, pattern, common, conflict)) return may_replace;
    if (!may_conflict) return false;
    if constexpr (checks) {
      conflict.earlier = entry;
      conflict.address += index * kBlockBytes;
      found(conflict);
    }
    return may_replace;  // one report is enough
  }

  template <bool checks, bool adds, class Found>
  void visit(Block& block, uint64_t index, uint32_t bytes, const Touch& touch, LanePattern pattern,
             Found&& found) {
    const bool writes = touch.accessor->writes;
    // Strong accesses of all CTAs, as at a barrier of the whole grid, don't race, and comparing
    // their order costs more than keeping them.
    const bool is_for_all = is_strong_for_all(*touch.accessor);
    if (block.has_older && (writes || block.wrote_older) && (!is_for_all || block.must_meet_older))
      visit_older<checks, adds>(block, index, bytes, touch, pattern, found);
    ShadowEntry* const entries = block.count != 0 ? entries_of(block) : nullptr;
    for (uint32_t i = 0; i < block.count;) {
      ShadowEntry& entry = entries[i];
      const uint32_t common = entry.bytes & bytes;
      if (common == 0) {
        ++i;
        continue;
      }
      const Accessor& earlier = accessors_[entry.number()];
      if (is_for_all && earlier.cluster != touch.accessor->cluster && is_strong_for_all(earlier)) {
        ++i;
        continue;
      }
      if (meet<checks, adds>(entry, earlier, index, touch, pattern, common, found))
        entry.bytes &= ~bytes;
      if constexpr (adds) {
        if (entry.bytes == 0) {
          entry = entries[--block.count];
          continue;
        }
      }
      ++i;
    }
    if constexpr (adds) {
      ShadowEntry added{touch.clock, touch.number, bytes, touch.lanes};
      if (pattern.is_linear()) {
        added.accessor |= ShadowEntry::kPatternBit;
        added.lanes =
            static_cast<uint32_t>(pattern.shift) << 16 | static_cast<uint16_t>(pattern.base);
      }
      for (uint32_t i = 0; i < block.count; ++i) {
        ShadowEntry& entry = entries[i];
        if (entry.accessor != added.accessor || entry.clock != added.clock) continue;
        if (entry.lanes == added.lanes) {
          entry.bytes |= added.bytes;
          return;
        }
        if (!pattern.is_linear() && entry.bytes == added.bytes) {
          entry.lanes |= added.lanes;
          return;
        }
      }
      push(block, index, added);
    }
  }

  static uint32_t byte_mask(uint64_t first, uint64_t end) {
    const uint64_t below_end = (uint64_t{1} << end) - 1;
    return static_cast<uint32_t>(below_end & ~((uint64_t{1} << first) - 1));
  }
  /// Calls body(block index, byte mask) for the blocks of a range.
  template <class Body>
  static void for_blocks(uint64_t address, uint64_t size, Body&& body) {
    const uint64_t end = address + size;
    for (uint64_t at = address; at < end;) {
      const uint64_t index = at / kBlockBytes, begin = index * kBlockBytes;
      const uint64_t stop = std::min(end, begin + kBlockBytes);
      body(index, byte_mask(at - begin, stop - begin));
      at = stop;
    }
  }

  const AccessorTable& accessors_;
  std::vector<Numbered> table_;  ///< of pages: a power of two of slots, at most half of them used
  /// Where the pages are: each piece has room for as many as all pieces before it, up to a bound.
  std::vector<std::unique_ptr<Page[]>> pieces_;
  size_t pages_ = 0;           ///< how many there are
  size_t room_ = 0;            ///< for how many the pieces have room
  Page* free_page_ = nullptr;  ///< the next one of the last piece
  uint64_t last_page_ = ~uint64_t{0};
  Page* last_ = nullptr;
  std::array<std::vector<ShadowEntry>, kRoom.size()> pools_;
  std::array<std::vector<uint32_t>, kRoom.size()> free_;
  std::unordered_map<uint64_t, std::vector<ShadowEntry>> older_;  ///< by index of the block
  size_t blocks_in_use_ = 0;
};

template <bool checks, bool adds, class Found>
void ByteShadow::visit_older(Block& block, uint64_t index, uint32_t bytes, const Touch& touch,
                             LanePattern pattern, Found&& found) {
  std::vector<ShadowEntry>& entries = older_[index];
  for (ShadowEntry& entry : entries) {
    const uint32_t common = entry.bytes & bytes;
    const Accessor& earlier = accessors_[entry.number()];
    if (common == 0 || !(touch.accessor->writes || earlier.writes)) continue;
    if (meet<checks, adds>(entry, earlier, index, touch, pattern, common, found))
      entry.bytes &= ~bytes;
  }
  std::erase_if(entries, [](const ShadowEntry& entry) { return entry.bytes == 0; });
  block.has_older = !entries.empty();
  block.wrote_older = block.wrote_older && block.has_older;
  block.must_meet_older = block.must_meet_older && block.has_older;
  if (!block.has_older) older_.erase(index);
}

template <class Use>
void ByteShadow::for_each(Use&& use) const {
  std::vector<Numbered> ascending;
  ascending.reserve(pages_);
  for (const Numbered& one : table_)
    if (one.page != nullptr) ascending.push_back(one);
  std::sort(ascending.begin(), ascending.end(),
            [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
  for (const auto& [number, numbered] : ascending) {
    const Page& page = *numbered;
    for (uint32_t i = 0; i < kPageBlocks; ++i) {
      const uint64_t index = number * kPageBlocks + i;
      if (page[i].has_older)
        for (const ShadowEntry& one : older_.at(index)) use(index * kBlockBytes, one.bytes, one);
      for (uint32_t entry = 0; entry < page[i].count; ++entry) {
        const ShadowEntry& one = entries_of(page[i])[entry];
        use(index * kBlockBytes, one.bytes, one);
      }
    }
  }
}

template <class IsWanted>
bool ByteShadow::any(uint64_t address, uint64_t size, IsWanted&& is_wanted) {
  bool found = false;
  for_blocks(address, size, [&](uint64_t index, uint32_t bytes) {
    const Block* const block = find(index);
    if (block == nullptr) return;
    for (uint32_t i = 0; i < block->count; ++i) {
      const ShadowEntry& entry = entries_of(*block)[i];
      if (const uint32_t common = entry.bytes & bytes; common != 0)
        found = found || is_wanted(entry, common);
    }
  });
  return found;
}

}  // namespace bw::sim::races
