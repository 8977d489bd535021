#pragma once
/// \file
/// A race that was found: a pair of accesses, what is missing between them, and the report of it.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/diagnosis/races/access.hpp"
#include "common/simulator/machine/execution.hpp"

namespace bw::sim::races {

/// What is missing between two accesses.
enum class Missing : uint8_t {
  order,            ///< two threads of a CTA, nothing between them
  warp_order,       ///< two lanes of a warp that have not met
  cluster_order,    ///< two CTAs of a cluster, nothing between them
  proxy_fence,      ///< ordered, but the async proxy may not see it: fence.proxy.async
  completion,       ///< what an asynchronous operation writes: its completion was not waited for
  source_free,      ///< what an asynchronous operation reads: it was not waited for
  wider_scope,      ///< a thread handed it on, but with the scope of a CTA
  release_acquire,  ///< a thread handed it on, but with a relaxed operation
  init_order,       ///< mbarrier.init and a use, nothing between them
  init_fence,       ///< ordered, but other CTAs or units may not see it: fence.mbarrier_init
  address_word,     ///< the address that tcgen05.alloc writes
  tcgen05_fence,    ///< ordered, but for tcgen05 operations: tcgen05.fence
  tensor_order,     ///< Tensor Memory: nothing between them, or the operation was not waited for
  global_order,     ///< global memory, nothing between them
  launch_order,     ///< two launches, or a launch and a copy, without order
  previous_grid,    ///< griddepcontrol.wait
  barrier_phase,    ///< a named barrier: the phase before may not be complete
  tensor_map,       ///< fence.proxy.tensormap
  cta_end,          ///< an access to a CTA's shared memory and the end of the CTA
  barrier_end,      ///< an arrival on an mbarrier, and the end of the object
  coherence,        ///< a .nc load of what the grid writes
  one_proxy,        ///< both are strong, but by different proxies
};

/// How much a race weighs, at each level of BW_SIM_STRICTNESS.
enum class Weight : uint8_t {
  fault,       ///< it ends the launch at both
  isa_only,    ///< it ends the launch at `isa`; at `hardware` nothing is said
  letter,      ///< the same, but at `hardware` it is said once, and the launch goes on
  same_value,  ///< both store the same value: said once at `isa`, and nothing at `hardware`
};

/// One side of a race.
struct RaceSide {
  Accessor accessor;   ///< who, and how
  LaneMask lanes = 0;  ///< of a thread's access
  std::string unit;    ///< what accesses, as the report says it: "the store", "the tensor copy"
  std::string place;   ///< file:line and instruction
  std::string line;    ///< file:line alone
  ReportPlace source;  ///< the same as fields
};

/// A race.
struct Finding {
  Missing missing = Missing::order;  ///< what is missing
  RaceSide earlier;                  ///< the access that came first in this run
  RaceSide later;                    ///< the one that came second
  std::string memory;                ///< the bytes, in words
  uint64_t count = 1;                ///< of such pairs of lines
  Weight weight = Weight::fault;     ///< what it means for the launch
  std::string edge;                  ///< what is missing, where the kind does not say it
  std::string fix;                   ///< what to do, where the kind does not say it
  std::optional<EventNumber> event;  ///< of the later access, where its cluster knows it
  std::optional<uint64_t> seed;      ///< of the schedule, where it was chosen
};

/// The races of a cluster, or of a launch: the first of each pair of lines, and how many there
/// were.
class Findings {
 public:
  /// Adds a race, or counts it where its pair of lines and kind are known. `make` builds the
  /// finding, if it is one of instructions that were not seen before.
  template <class Make>
  void add(Missing missing, Weight weight, const Instruction* earlier, const Instruction* later,
           Make&& make) {
    const auto [found, is_new] = by_instruction_.try_emplace({missing, weight, earlier, later}, 0);
    if (is_new)
      found->second = add(make());
    else
      ++findings_[found->second].count;
  }
  /// Adds one, or its count to one of the same kind and lines; returns its place.
  size_t add(Finding finding);
  /// Adds those of a part of the launch, in the order in which they were found there.
  void merge(const Findings& other);
  /// In the order in which they were found.
  [[nodiscard]] const std::vector<Finding>& all() const { return findings_; }
  /// Whether there are none.
  [[nodiscard]] bool empty() const { return findings_.empty(); }
  /// Forgets them.
  void clear() { *this = Findings{}; }

 private:
  std::map<std::tuple<Missing, Weight, const Instruction*, const Instruction*>, size_t>
      by_instruction_;
  /// An unrolled loop is one line.
  std::map<std::tuple<Missing, Weight, std::string, std::string>, size_t> by_line_;
  std::vector<Finding> findings_;
};

/// Of a Missing::warp_order between two warps: what is missing.
inline constexpr const char* kOneLaneEdge =
    "one lane has handed it on, or waited for it, for the others of its warp, and the lanes have "
    "not synchronised in between";
/// And what to do.
inline constexpr const char* kOneLaneFix =
    "put __syncwarp() (bar.warp.sync) after {first} and before the lane that arrives for its "
    "warp, or after the lane that waits for its warp and before {second}";

/// Of two operations of one instruction that different lanes of a warp have issued: what to do.
inline constexpr const char* kElectFix =
    "let one lane issue {first}, for instance the one that elect.sync chooses: each lane that "
    "executes a copy into shared memory or a reduction issues one of its own";
/// Whether an operation and an earlier one are those of two lanes of one instruction.
[[nodiscard]] inline bool are_of_two_lanes(const Accessor& earlier, LaneMask earlier_lanes,
                                           const Accessor& later, LaneMask later_lanes) {
  return earlier.is_async && later.is_async && earlier.instruction == later.instruction &&
         earlier.cluster == later.cluster && earlier.cta_rank == later.cta_rank &&
         earlier.warp == later.warp && (earlier_lanes & later_lanes) == 0;
}

/// One side of a race, with its texts.
[[nodiscard]] RaceSide describe_side(Cluster& cluster, const Accessor& accessor, LaneMask lanes);

/// The code of a race's report.
[[nodiscard]] FaultCode code_of(const Finding& finding);

/// The report of a launch's races: the first one, and the others in brief. There is at least one.
[[nodiscard]] Report report_of(const Findings& findings);

}  // namespace bw::sim::races
