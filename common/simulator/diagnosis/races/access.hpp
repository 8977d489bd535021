#pragma once
/// \file
/// The accessor and the kind of an access: what the shadows remember of it beyond its bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/simulator/diagnosis/races/clock.hpp"
#include "common/simulator/isa/memory_order.hpp"
#include "common/simulator/machine/instruction.hpp"

namespace bw::sim::races {

/// The way by which an access reaches memory (PTX ISA, "Proxies"). Accesses of different proxies
/// need a proxy fence between them, or a completion mechanism, which contains one.
enum class Proxy : uint8_t {
  generic,    ///< ld, st, atom, cp.async, mbarrier operations
  async,      ///< bulk and tensor copies, operands of MMAs in shared memory
  tensor,     ///< tcgen05 operations on Tensor Memory
  tensormap,  ///< reads of tensor maps
};

/// One instruction of one warp, or of one chain of asynchronous operations, as it accesses memory.
/// There are few of them: shadows hold their numbers (AccessorTable).
struct Accessor {
  const Instruction* instruction = nullptr;  ///< what accesses, or has issued the operation
  uint64_t cluster = 0;                      ///< index of its cluster, where clusters share a table
  uint32_t source = 0;    ///< where operations of streams share a table: which one
  uint32_t agent = 0;     ///< number of the warp in its cluster, or of the chain
  uint16_t cta_rank = 0;  ///< of the warp that accesses or has issued
  uint16_t warp = 0;      ///< number of that warp in its CTA
  bool is_async = false;  ///< whether the agent is a chain
  bool writes = false;    ///< whether it writes (an atomic does)
  /// Whether it is an atomic or another strong operation: two of them whose scopes contain each
  /// other do not race.
  bool is_strong = false;
  /// Of a strong one: whether it is .volatile, which CUDA C++ does not make an atomic.
  bool is_volatile = false;
  /// Whether that is a load which waits for a change.
  bool is_poll = false;
  /// Before its thread has waited for the grid that came before (programmatic dependent launch).
  bool is_early = false;
  /// A load through the non-coherent path: nothing orders it after a write of its grid.
  bool is_noncoherent = false;
  MemoryScope scope = MemoryScope::unspecified;  ///< of a strong one
  /// The value that it stores in all its lanes, and its size in bytes; 0: another one, or several
  /// (StoredValues).
  uint64_t value = 0;
  uint8_t value_bytes = 0;
  Proxy proxy = Proxy::generic;  ///< by which way
  /// What accesses, for reports: "store", "atomic", "tensor copy", "tcgen05.mma", ...
  const char* unit = "";

  friend bool operator==(const Accessor&, const Accessor&) = default;
};

/// Whether two accesses are strong, with scopes that contain each other's threads. A volatile
/// access counts as strong where it waits for a change, or reads what atomics write; two that
/// write, or exchange data, do not.
[[nodiscard]] inline bool are_strong_in_scope(const Accessor& a, const Accessor& b) {
  if (!a.is_strong || !b.is_strong) return false;
  if ((a.is_volatile || b.is_volatile) && !a.is_poll && !b.is_poll) {
    const bool reads_atomic = (a.is_volatile && !a.writes && !b.is_volatile) ||
                              (b.is_volatile && !b.writes && !a.is_volatile);
    if (!reads_atomic) return false;
  }
  if (a.cluster == b.cluster && a.cta_rank == b.cta_rank) return true;
  const MemoryScope needed = a.cluster == b.cluster ? MemoryScope::cluster : MemoryScope::gpu;
  return a.scope >= needed && b.scope >= needed;
}

/// Whether two accesses are strong towards each other (PTX ISA, "Morally strong operations"): then
/// they do not race. Their proxy has to be the same. Accesses that overlap in part count as well,
/// for which the ISA promises atomicity of atom and red alone: the detector compares bytes.
[[nodiscard]] inline bool are_morally_strong(const Accessor& a, const Accessor& b) {
  return a.proxy == b.proxy && are_strong_in_scope(a, b);
}

/// Whether one of two strong accesses by different proxies reads, and sees in the end what the
/// other one writes (PTX ISA, "Strong Proxy Accesses").
[[nodiscard]] inline bool are_seen_across_proxies(const Accessor& a, const Accessor& b) {
  return !(a.writes && b.writes) && a.scope >= MemoryScope::gpu && b.scope >= MemoryScope::gpu &&
         are_strong_in_scope(a, b);
}

/// Whether two writes lack only a common proxy to be strong towards each other: nothing orders
/// them, and an atomic of one proxy is not atomic for the other.
[[nodiscard]] inline bool lack_one_proxy(const Accessor& a, const Accessor& b) {
  return a.proxy != b.proxy && a.writes && b.writes && are_strong_in_scope(a, b);
}

/// Whether an access is strong towards every other one of which the same holds, whichever threads
/// of the GPU execute them.
[[nodiscard]] inline bool is_strong_for_all(const Accessor& accessor) {
  return accessor.is_strong && accessor.proxy == Proxy::generic &&
         accessor.scope >= MemoryScope::gpu && (!accessor.is_volatile || accessor.is_poll);
}

/// Whether two accesses store the same value.
[[nodiscard]] inline bool store_same_value(const Accessor& a, const Accessor& b) {
  return a.value_bytes != 0 && a.value_bytes == b.value_bytes && a.value == b.value;
}

/// Whether any access that races with `earlier` races with `later` as well, which is ordered after
/// it: then only `later` need be remembered.
[[nodiscard]] inline bool replaces(const Accessor& later, const Accessor& earlier) {
  if (earlier.writes && !later.writes) return false;
  if (earlier.is_early && !later.is_early) return false;
  return !later.is_strong || (earlier.is_strong && earlier.proxy == later.proxy);
}

/// Accessors by number.
class AccessorTable {
 public:
  /// The number of an accessor; the same for the same one.
  [[nodiscard]] uint32_t number(const Accessor& accessor) {
    Cached& cached = cache_[static_cast<size_t>(mixed(accessor) >> kCacheShift)];
    if (cached.number != kNone && (*this)[cached.number] == accessor) return cached.number;
    const auto [found, is_new] = numbers_.try_emplace(accessor, count_);
    if (is_new) {
      if (count_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
      (*chunks_.back())[count_++ % kChunk] = accessor;
    }
    return cached.number = found->second;
  }
  /// The accessor of a number; it stays where it is.
  [[nodiscard]] const Accessor& operator[](uint32_t number) const {
    return (*chunks_[number / kChunk])[number % kChunk];
  }

 private:
  static uint64_t mixed(const Accessor& accessor) {
    constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
    const uint64_t place = reinterpret_cast<uintptr_t>(accessor.instruction);
    const uint64_t bits = uint64_t{accessor.agent} << 8 | uint64_t{accessor.is_async} << 4 |
                          uint64_t{accessor.writes} << 3 | static_cast<uint64_t>(accessor.proxy);
    return ((place * kFactor ^ bits) * kFactor ^ accessor.cluster) * kFactor;
  }
  struct Hash {
    size_t operator()(const Accessor& accessor) const {
      return static_cast<size_t>(mixed(accessor));
    }
  };
  /// Most accesses are those of a moment ago.
  static constexpr uint32_t kNone = ~0u;
  struct Cached {
    uint32_t number = kNone;
  };
  static constexpr int kCacheBits = 8, kCacheShift = 64 - kCacheBits;
  std::array<Cached, size_t{1} << kCacheBits> cache_;
  static constexpr uint32_t kChunk = 64;
  using Chunk = std::array<Accessor, kChunk>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  uint32_t count_ = 0;
  std::unordered_map<Accessor, uint32_t, Hash> numbers_;
};

/// An access that is about to be checked and remembered: an accessor, when, and what it knows.
struct Touch {
  uint32_t number = 0;                 ///< of `accessor`
  const Accessor* accessor = nullptr;  ///< who
  Clock clock = 0;                     ///< of the agent
  const View* view = nullptr;  ///< what the agent knows; of an operation, what its issuer knew
  /// What it must know of earlier accesses through the generic proxy, where it is of another one.
  const VectorClock View::*fenced = &View::async;
  /// The lanes, each of which touches all the bytes that are given with it (unless a pattern says
  /// otherwise). Of an operation: the lanes that have issued it, whose own accesses through the
  /// same proxy it need not be told of.
  LaneMask lanes = 0;
  uint32_t warp = 0;  ///< of these lanes: its number in the cluster
  /// What the view knows of an agent of another cluster: neighbouring blocks ask for the same.
  struct Known {
    const VectorClock* clock = nullptr;  ///< of the view
    uint64_t cluster = 0;
    uint32_t agent = 0;
    bool is_chain = false;
    Clock until = 0;
    LaneMask lanes = 0;
  };
  mutable Known known;  ///< the latest answer
};

/// The lanes of an earlier accessor that `clock`, of the touch's view, knows up to `until`.
[[nodiscard]] inline LaneMask lanes_known(const VectorClock& clock, const Touch& touch,
                                          const Accessor& earlier, Clock until) {
  const bool is_foreign = earlier.cluster != touch.accessor->cluster;
  if (!is_foreign)
    return clock.known(is_foreign, earlier.cluster, earlier.is_async, earlier.agent, until);
  Touch::Known& known = touch.known;
  if (known.clock != &clock || known.cluster != earlier.cluster || known.agent != earlier.agent ||
      known.is_chain != earlier.is_async || known.until != until)
    known = {&clock,
             earlier.cluster,
             earlier.agent,
             earlier.is_async,
             until,
             clock.known(is_foreign, earlier.cluster, earlier.is_async, earlier.agent, until)};
  return known.lanes;
}

/// The clock that must cover an earlier access for this one to be ordered after it.
[[nodiscard]] inline const VectorClock& clock_for(const Touch& touch, const Accessor& earlier) {
  const bool crosses = earlier.proxy == Proxy::generic && touch.accessor->proxy != Proxy::generic;
  return crosses ? touch.view->*touch.fenced : touch.view->generic;
}

}  // namespace bw::sim::races
