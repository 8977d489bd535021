#pragma once
/// \file
/// The code that an SM fetches in a launch.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

/// The code that an SM has fetched since the launch. A warp that reaches a line fetches it and some
/// lines after it, one at a time, while it executes the lines already fetched. A jump beyond them
/// waits; useless prefetches still occupy the path to the SM. Warps on different paths fetch
/// concurrently, as far as its bandwidth allows. A launch brings a kernel's code near, from its
/// start and while the path is idle. Code that is not near yet arrives in parts of 512 bytes when a
/// warp needs it, each together with the next part.
class CodeFetch {
 public:
  static constexpr uint32_t kLineInstructions = 8;  ///< of 16 bytes, in a line of 128

  /// How the machine fetches.
  struct Rate {
    double line_cycles = 0;        ///< from one line to the next
    double fetch_link_cycles = 0;  ///< cycles for which a line occupies the path to the SM
    uint32_t jump_cycles = 0;      ///< extra, for a line after a jump
    uint32_t ahead_lines = 1;      ///< lines prefetched after one that a warp reaches
    /// The kernel's first lines that are near when its CTAs begin; all if `far_cycles` is 0.
    uint32_t launched_lines = 0;
    double launched_cycles = 1;  ///< idle cycles of the path per line that then comes near
    double far_cycles = 0;       ///< more for the first line of a part that is not near
    uint32_t instructions = 0;   ///< of the kernel: room for their times is made at once
  };

  /// A stretch of code that a warp waits for.
  struct Stretch {
    uint32_t begin = 0;  ///< its first instruction's number in the kernel
    uint32_t line = 0;   ///< the next one to be fetched
    uint32_t end = 0;    ///< one past its last line; 0 without a stretch
    double at = 0;       ///< when all lines before `line` are there
    /// Whether the warp waits for it.
    [[nodiscard]] bool waits() const { return end != 0; }
  };

  CodeFetch() = default;
  /// An SM's in a launch.
  explicit CodeFetch(const Rate& rate) : rate_(rate) {}

  /// When the stretch that begins with instruction `begin` was fetched; 0: not yet.
  [[nodiscard]] Cycle fetched(uint32_t begin) const {
    return begin < of_stretch_.size() ? of_stretch_[begin] : 0;
  }
  /// A warp reaches a stretch of at least one instruction that was not fetched yet. If its lines
  /// are present or on their way, it does not wait: Stretch::at is when the last of them arrives.
  [[nodiscard]] Stretch stretch(uint32_t begin, uint32_t instructions, Cycle from);
  /// Fetches the stretch's next line and those ahead: Stretch::at is when it and the code fetched
  /// before it have arrived. Warps fetch in the order of Stretch::at, lead() ahead at most.
  void fetch_line(Stretch& stretch);
  /// A transfer uses as much of the path as `lines` near lines, requested `now`: returns when its
  /// turn comes.
  Cycle use_link(Cycle now, double lines) {
    return static_cast<Cycle>(occupy_link(static_cast<double>(now), lines));
  }
  /// When the path to the SM is free for a request made `now`.
  [[nodiscard]] Cycle link_free(Cycle now) const {
    return std::max(now, static_cast<Cycle>(link_free_));
  }
  /// How much earlier than its turn a warp may fetch a line.
  [[nodiscard]] double lead() const;

 private:
  static constexpr uint32_t kPartLines = 4;  ///< of what comes together from far

  /// Skips lines that were already prefetched; ends the stretch if no others follow.
  void pass_fetched(Stretch& stretch);
  /// Occupies the path for that many lines' time; returns the start.
  double occupy_link(double at, double lines);
  /// Whether the launch has not brought a line near yet.
  [[nodiscard]] bool is_far(uint32_t line, double at) const;
  /// When the part with `line` arrives if it is requested at `at`, unless it was requested before.
  double brought(uint32_t line, double at);

  Rate rate_;
  double link_free_ = 0;
  double link_idle_ = 0;           ///< earlier cycles in which the path was unused
  uint32_t waiting_ = 0;           ///< warps that wait for lines
  std::vector<Cycle> of_stretch_;  ///< by its first instruction; 0: not fetched yet
  std::vector<double> ready_;      ///< by line; 0: likewise
  std::vector<double> brought_;    ///< by part, its arrival from far; 0: not requested
};

}  // namespace bw::sim
