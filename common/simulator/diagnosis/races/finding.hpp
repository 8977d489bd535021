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
  wider_scope,      ///< somebody handed it on, but with the scope of a CTA
  release_acquire,  ///< somebody handed it on, but with a relaxed operation
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
  bool hardware_accepts = false;     ///< whether only the level isa reports it
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
  void add(Missing missing, const Instruction* earlier, const Instruction* later, Make&& make) {
    const auto [found, is_new] = by_instruction_.try_emplace({missing, earlier, later}, 0);
    if (is_new)
      found->second = add(make());
    else
      ++findings_[found->second].count;
  }
  /// Adds those of a part of the launch, in the order in which they were found there.
  void merge(const Findings& other);
  /// In the order in which they were found.
  [[nodiscard]] const std::vector<Finding>& all() const { return findings_; }
  /// Whether there are none.
  [[nodiscard]] bool empty() const { return findings_.empty(); }
  /// Forgets them.
  void clear() { *this = Findings{}; }

 private:
  /// Its place.
  size_t add(Finding finding);

  std::map<std::tuple<Missing, const Instruction*, const Instruction*>, size_t> by_instruction_;
  /// An unrolled loop is one line.
  std::map<std::tuple<Missing, std::string, std::string>, size_t> by_line_;
  std::vector<Finding> findings_;
};

/// Of a Missing::warp_order between two warps: what is missing.
inline constexpr const char* kOneLaneEdge =
    "one lane has handed it on, or waited for it, for the others of its warp, and the lanes have "
    "not synchronised in between";
/// And what to do.
inline constexpr const char* kOneLaneFix =
    "put __syncwarp() (bar.warp.sync) behind {first} and before the lane that arrives for its "
    "warp, or behind the lane that waits for its warp and before {second}";

/// One side of a race, with its texts.
[[nodiscard]] RaceSide describe_side(Cluster& cluster, const Accessor& accessor, LaneMask lanes);

/// The report of a launch's races: the first one, and the others in brief. There is at least one.
[[nodiscard]] Report report_of(const Findings& findings);

}  // namespace bw::sim::races
