/// \file
/// Warp-level instructions: shfl, vote, match, redux, elect, activemask and bar.warp.sync (PTX ISA,
/// "Data Movement and Conversion Instructions: shfl.sync", "Parallel Synchronization and
/// Communication Instructions").
///
/// Operands end with the member mask. An operation executes for a complete group of lanes; how
/// lanes of different strands come together is in warp_sync.hpp.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/simulator/clock/costs.hpp"
#include "common/simulator/isa/sections.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/units/alu/float_lanes.hpp"
#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/families.hpp"
#include "common/simulator/units/synchronisation/warp_sync.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

template <WarpOperation which_operation, bool of_any_instruction = false>
Flow collective(Strand& strand, const Instruction& instruction, LaneMask active) {
  if (strand.resumed()) return Flow::next;  // executed by the strand that completed the mask
  const Operand& mask_operand = instruction.operands[instruction.operand_count - 1];
  const uint32_t* const members = strand.lanes<uint32_t>(mask_operand);
  const LaneMask mask = members[lowest_lane(active)];
  const bool covered = (mask & strand.warp->live & ~active) == 0 && (active & ~mask) == 0;
  const bool had_marks = strand.warp->undefined != nullptr;
  Flow flow = Flow::next;
  if (covered && strand.lanes_that_differ(mask_operand, active) == 0) {
    which_operation(strand, instruction, active, mask);
    notify_meeting(strand, instruction, active);
  } else {
    flow = units_of(strand).warp_sync.gather(strand, instruction, active, members, which_operation,
                                             of_any_instruction);
  }
  // From the warp's first undefined value on its instructions carry marks.
  const bool begins_marks = !had_marks && strand.warp->undefined != nullptr;
  return flow == Flow::next && begins_marks ? strand.cluster->yield_after(strand, instruction)
                                            : flow;
}

// ---- shfl
// -------------------------------------------------------------------------------------------

enum class Shuffle : uint8_t { up, down, bfly, idx };

/// The lane that `lane` reads and whether it is in range.
template <Shuffle which_mode>
int shuffle_source(int lane, uint32_t b, uint32_t c, bool& in_range) {
  constexpr uint32_t kLaneBits = 0x1f;
  const auto own = static_cast<uint32_t>(lane);
  const uint32_t offset = b & kLaneBits, clamp = c & kLaneBits, segment = c >> 8 & kLaneBits;
  const auto limit = static_cast<int>((own & segment) | (clamp & ~segment));
  int source = 0;
  if constexpr (which_mode == Shuffle::up) source = lane - static_cast<int>(offset);
  if constexpr (which_mode == Shuffle::down) source = lane + static_cast<int>(offset);
  if constexpr (which_mode == Shuffle::bfly) source = static_cast<int>(own ^ offset);
  if constexpr (which_mode == Shuffle::idx)
    source = static_cast<int>((own & segment) | (offset & ~segment));
  in_range = which_mode == Shuffle::up ? source >= limit : source <= limit;
  return in_range ? source : lane;
}

/// Says of a shuffle's results in which lanes they are undefined: where the source lane does not
/// execute it with them, or has an undefined value itself. `source_of(lane)`: the lane that it
/// reads.
template <class SourceOf>
void mark_shuffled(const Strand& strand, const Instruction& instruction, LaneMask lanes,
                   SourceOf&& source_of) {
  std::unique_ptr<UndefinedLanes>& marks = strand.warp->undefined;
  const Operand* const operands = instruction.operands;
  LaneMask of_sources = 0, marked = 0;
  UndefinedLanes::Source origin;
  if (marks) {
    // Which lane is read, and which lanes take part, decide what others get.
    for (int operand = 3; operand <= 5; ++operand)
      marks->require_defined(strand, instruction, operands[operand], lanes);
    of_sources = marks->lanes(operands[2]);
    if (of_sources != 0) origin = marks->source(operands[2]);
  }
  for (const int lane : lanes_of(lanes)) {
    const int source = source_of(lane);
    const bool takes_part = (lanes >> source & 1) != 0;
    if (takes_part && (of_sources >> source & 1) == 0) continue;
    marked |= lane_bit(lane);
    if (!takes_part) origin = {.instruction = &instruction, .lane = source};
  }
  if (!marks && marked != 0) marks = std::make_unique<UndefinedLanes>();
  if (!marks) return;
  marks->set(operands[0], lanes, marked, origin);
  marks->set(operands[1], lanes, 0, origin);
}

/// Operands: d, p, a, b, c, mask; p is scratch storage when it was not written.
template <Shuffle which_mode>
void shuffle(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[0]);
  const uint32_t* const b = strand.lanes<uint32_t>(instruction.operands[3]);
  const uint32_t* const c = strand.lanes<uint32_t>(instruction.operands[4]);
  uint32_t a[kWarpLanes];
  std::memcpy(a, strand.lanes<uint32_t>(instruction.operands[2]), sizeof a);
  // b and c may share their storage with d, so the results wait until every lane has been read.
  uint32_t results[kWarpLanes] = {};
  LaneMask in_range_lanes = 0, sources = 0;
  for_lanes(lanes, [&](int lane) {
    bool in_range = false;
    const int source = shuffle_source<which_mode>(lane, b[lane], c[lane], in_range);
    results[lane] = a[source & (kWarpLanes - 1)];
    in_range_lanes |= LaneMask{in_range} << lane;
    sources |= LaneMask{1} << (source & (kWarpLanes - 1));
  });
  if ((sources & ~lanes) != 0 || strand.warp->undefined != nullptr) {
    mark_shuffled(strand, instruction, lanes, [&](int lane) {
      bool in_range = false;
      return shuffle_source<which_mode>(lane, b[lane], c[lane], in_range) & (kWarpLanes - 1);
    });
  }
  for_lanes(lanes, [&](int lane) { d[lane] = results[lane]; });
  strand.set_predicate(instruction.operands[1], lanes, in_range_lanes);
}

void bind_shfl(Binder& binder) {
  binder.expect_count(5, 5);
  const ptx::Operand& destination = binder.ptx_operand(0);
  const bool pair = destination.kind == ptx::Operand::Kind::pair;
  binder.destination(pair ? destination.elements[0] : destination, 4);
  const ptx::Operand nowhere;  // a sink
  binder.destination(pair ? destination.elements[1] : nowhere, 0);
  for (size_t i = 1; i < 5; ++i) binder.source_value(binder.ptx_operand(i), ScalarType::b32);
  binder.out.marks = Marks::own;
  const std::string_view mode = binder.modifiers.get("mode");
  binder.out.execute = mode == "up"     ? collective<shuffle<Shuffle::up>>
                       : mode == "down" ? collective<shuffle<Shuffle::down>>
                       : mode == "bfly" ? collective<shuffle<Shuffle::bfly>>
                                        : collective<shuffle<Shuffle::idx>>;
}

// ---- vote, match, elect, activemask, bar.warp.sync
// ----------------------------------------------------

enum class Vote : uint8_t { all, any, uni };

/// Operands: p, a, mask.
template <Vote which_mode>
void vote(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  const LaneMask votes = strand.predicate(instruction.operands[1]) & lanes;
  const bool result = which_mode == Vote::all   ? votes == lanes
                      : which_mode == Vote::any ? votes != 0
                                                : votes == 0 || votes == lanes;
  strand.set_predicate(instruction.operands[0], lanes, result ? kAllLanes : 0);
}

/// Operands: d, a, mask.
void ballot(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[0]);
  const LaneMask votes = strand.predicate(instruction.operands[1]) & lanes;
  for_lanes(lanes, [=](int lane) { d[lane] = votes; });
}

void bind_vote(Binder& binder) {
  binder.expect_count(3, 3);
  const std::string_view mode = binder.modifiers.get("mode");
  binder.destination(binder.ptx_operand(0), mode == "ballot" ? 4 : 0);
  binder.source_predicate(binder.ptx_operand(1));
  binder.source_value(binder.ptx_operand(2), ScalarType::b32);
  binder.out.execute = mode == "all"   ? collective<vote<Vote::all>>
                       : mode == "any" ? collective<vote<Vote::any>>
                       : mode == "uni" ? collective<vote<Vote::uni>>
                                       : collective<ballot>;
}

/// Operands: d, a, mask: the lanes that hold the same value.
template <class T>
void match_any(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  T a[kWarpLanes];
  std::memcpy(a, strand.lanes<T>(instruction.operands[1]), sizeof a);
  uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[0]);
  for_lanes(lanes, [&](int lane) {
    LaneMask same = 0;
    for (int other = 0; other < kWarpLanes; ++other) same |= LaneMask{a[other] == a[lane]} << other;
    d[lane] = same & lanes;
  });
}

/// Operands: d, p, a, mask: all lanes when they hold one value, else none.
template <class T>
void match_all(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  const T* const a = strand.lanes<T>(instruction.operands[2]);
  const T first = a[lowest_lane(lanes)];
  bool same = true;
  for_lanes(lanes, [&](int lane) { same = same && a[lane] == first; });
  uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[0]);
  for_lanes(lanes, [&](int lane) { d[lane] = same ? lanes : 0; });
  strand.set_predicate(instruction.operands[1], lanes, same ? kAllLanes : 0);
}

void bind_match(Binder& binder) {
  binder.expect_count(3, 3);
  const ScalarType type = binder.modifiers.type();
  const bool wide = ptx::size_bytes(type) == 8, all = binder.modifiers.get("mode") == "all";
  const ptx::Operand& destination = binder.ptx_operand(0);
  const bool pair = destination.kind == ptx::Operand::Kind::pair;
  if (pair && !all)
    binder.refuse("has a predicate destination", "only match.all has one, as in d|p");
  binder.destination(pair ? destination.elements[0] : destination, 4);
  const ptx::Operand nowhere;  // a sink
  if (all) binder.destination(pair ? destination.elements[1] : nowhere, 0);
  binder.source_value(binder.ptx_operand(1), type);
  binder.source_value(binder.ptx_operand(2), ScalarType::b32);
  if (all) {
    binder.out.execute = wide ? collective<match_all<uint64_t>> : collective<match_all<uint32_t>>;
  } else {
    binder.out.execute = wide ? collective<match_any<uint64_t>> : collective<match_any<uint32_t>>;
  }
}

/// Operands: d, p, mask. Any lane of the mask may be elected; this is always the lowest.
void elect(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  const auto leader = static_cast<uint32_t>(lowest_lane(lanes));
  uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[0]);
  for_lanes(lanes, [=](int lane) { d[lane] = leader; });
  strand.set_predicate(instruction.operands[1], lanes, LaneMask{1} << leader);
}

void bind_elect(Binder& binder) {
  binder.expect_count(2, 2);
  const ptx::Operand& destinations = binder.ptx_operand(0);
  if (destinations.kind != ptx::Operand::Kind::pair)
    binder.refuse("needs two destinations", "write both, as in d|p or _|p");
  binder.destination(destinations.elements[0], 4);
  binder.destination(destinations.elements[1], 0);
  binder.source_value(binder.ptx_operand(1), ScalarType::b32);
  binder.out.execute = collective<elect>;
}

void activemask(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  uint32_t* const d = registers.lanes<uint32_t>(instruction.operands[0]);
  for_lanes(active, [=](int lane) { d[lane] = active; });
}

void bind_activemask(Binder& binder) {
  binder.expect_count(1, 1);
  binder.destination(binder.ptx_operand(0), 4);
  binder.out.execute = activemask;
}

void meet(const Strand&, const Instruction&, LaneMask, LaneMask) {}

void bind_bar_warp(Binder& binder) {
  binder.expect_count(1, 1);
  binder.source_value(binder.ptx_operand(0), ScalarType::b32);
  binder.out.execute = collective<meet, true>;
}

// ---- redux
// ------------------------------------------------------------------------------------------

struct Add {
  static uint32_t apply(uint32_t a, uint32_t b) { return a + b; }
};
struct And {
  static uint32_t apply(uint32_t a, uint32_t b) { return a & b; }
};
struct Or {
  static uint32_t apply(uint32_t a, uint32_t b) { return a | b; }
};
struct Xor {
  static uint32_t apply(uint32_t a, uint32_t b) { return a ^ b; }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return std::max(a, b);
  }
};

/// Operands: d, a, mask.
template <class Operation, class T>
void reduce(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  const T* const a = strand.lanes<T>(instruction.operands[1]);
  T result = a[lowest_lane(lanes)];
  for (const int lane : lanes_of(lanes & (lanes - 1))) result = Operation::apply(result, a[lane]);
  T* const d = strand.lanes<T>(instruction.operands[0]);
  for_lanes(lanes, [=](int lane) { d[lane] = result; });
}

/// f32 minimum or maximum; without .NaN a NaN is ignored unless all values are NaN; -0 is less than
/// +0.
template <bool is_maximum, bool with_abs, bool with_nan>
void reduce_float(const Strand& strand, const Instruction& instruction, LaneMask lanes, LaneMask) {
  const uint32_t* const a = strand.lanes<uint32_t>(instruction.operands[1]);
  // Two's complement order of the bits is the order of the values.
  const auto order = [](uint32_t bits) {
    const auto magnitude = static_cast<int64_t>(bits & ~floating::kSignF32);
    return bits & floating::kSignF32 ? -1 - magnitude : magnitude;
  };
  uint32_t best = floating::kCanonicalNanF32;
  bool found = false, any_nan = false;
  for (const int lane : lanes_of(lanes)) {
    const uint32_t raw = a[lane];
    const uint32_t bits = with_abs ? raw & ~floating::kSignF32 : raw;
    if ((bits & ~floating::kSignF32) > floating::kExponentF32) {
      any_nan = true;
      continue;
    }
    const bool better = is_maximum ? order(bits) > order(best) : order(bits) < order(best);
    if (!found || better) best = bits;
    found = true;
  }
  const uint32_t result = with_nan && any_nan ? floating::kCanonicalNanF32 : best;
  uint32_t* const d = strand.lanes<uint32_t>(instruction.operands[0]);
  for_lanes(lanes, [=](int lane) { d[lane] = result; });
}

template <bool is_maximum>
Handler float_reduction(const Modifiers& modifiers) {
  const bool abs = modifiers.has("abs"), nan = modifiers.has("NaN");
  if (abs)
    return nan ? collective<reduce_float<is_maximum, true, true>>
               : collective<reduce_float<is_maximum, true, false>>;
  return nan ? collective<reduce_float<is_maximum, false, true>>
             : collective<reduce_float<is_maximum, false, false>>;
}

Handler reduction(std::string_view operation, ScalarType type, const Modifiers& modifiers) {
  using U32 = uint32_t;
  using S32 = int32_t;
  const bool maximum = operation == "max";
  if (operation == "add") return collective<reduce<Add, U32>>;
  if (operation == "and") return collective<reduce<And, U32>>;
  if (operation == "or") return collective<reduce<Or, U32>>;
  if (operation == "xor") return collective<reduce<Xor, U32>>;
  if (type == ScalarType::f32)
    return maximum ? float_reduction<true>(modifiers) : float_reduction<false>(modifiers);
  if (type == ScalarType::s32)
    return maximum ? collective<reduce<Max, S32>> : collective<reduce<Min, S32>>;
  return maximum ? collective<reduce<Max, U32>> : collective<reduce<Min, U32>>;
}

void bind_redux(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  binder.expect_count(3, 3);
  binder.destination(binder.ptx_operand(0), 4);
  binder.source_value(binder.ptx_operand(1), type);
  binder.source_value(binder.ptx_operand(2), ScalarType::b32);
  binder.out.execute = reduction(binder.modifiers.get("op"), type, binder.modifiers);
}

// ---- The forms
// --------------------------------------------------------------------------------------

constexpr uint16_t kExchange = costs::kSharedAccess;  // shuffles use the shared-memory crossbar
constexpr uint16_t kWarpWide = 2 * costs::kAlu;
// Shuffles and reductions cross lanes where loads do; a vote is a comparison of all lanes.
constexpr Cost kCrossing = Cost::one(Pipe::exchange), kMatching = Cost::two(Pipe::exchange);
constexpr Cost kVote = {.pipe = Pipe::alu, .extra_cycles = 8};

constexpr InstructionForm row(std::string_view base, std::string_view modifiers, BindFunction bind,
                              uint16_t cycles, Cost cost, std::string_view section,
                              Ordering ordering = Ordering::meeting) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = bind,
          .effect = Effect::warp,
          .cycles = cycles,
          .cost = cost,
          .section = section,
          .ordering = ordering};
}

constexpr InstructionForm kWarpRows[] = {
    row("shfl", "sync mode=up|down|bfly|idx type=b32", bind_shfl, kExchange, kCrossing,
        "shfl.sync"),
    row("shfl", "mode=up|down|bfly|idx type=b32", nullptr, kExchange, kCrossing, "shfl"),
    row("vote", "sync mode=all|any|uni pred", bind_vote, kWarpWide, kVote, "vote.sync"),
    row("vote", "sync mode=ballot b32", bind_vote, kWarpWide, kVote, "vote.sync"),
    row("vote", "mode=all|any|uni pred", nullptr, kWarpWide, kVote, "vote"),
    row("vote", "mode=ballot b32", nullptr, kWarpWide, kVote, "vote"),
    row("match", "mode=any|all sync type=b32|b64", bind_match, kExchange, kMatching, "match.sync"),
    row("redux", "sync op=add|min|max type=u32|s32", bind_redux, kWarpWide, kCrossing,
        "redux.sync"),
    row("redux", "sync op=and|or|xor type=b32", bind_redux, kWarpWide, kCrossing, "redux.sync"),
    row("redux", "sync op=min|max [abs] [NaN] type=f32", bind_redux, kWarpWide, kCrossing,
        "redux.sync"),
    {.base = "elect",
     .modifiers = "sync",
     .bind = bind_elect,
     .effect = Effect::warp,
     .cycles = kWarpWide,
     .cost = kVote,
     .section = "elect.sync",
     .ordering = Ordering::election,
     .operation = Operation::elect},
    {.base = "activemask",
     .modifiers = "b32",
     .bind = bind_activemask,
     .effect = Effect::lane,
     .cycles = kWarpWide,
     .cost = kVote,
     .section = "activemask",
     .ordering = Ordering::election},
    {.base = "bar.warp",
     .modifiers = "sync",
     .bind = bind_bar_warp,
     .effect = Effect::warp,
     .cycles = kWarpWide,
     .cost = kVote,
     .section = kWarpBarrierSection,
     .destinations = 0,
     .ordering = Ordering::meeting,
     .crossing = Crossing::arithmetic},
};

}  // namespace

Rows warp_rows() { return kWarpRows; }

}  // namespace bw::sim
