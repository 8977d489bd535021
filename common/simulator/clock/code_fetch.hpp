#pragma once
/// \file
/// The code that an SM fetches in a launch.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

/// The code that an SM has fetched since the launch. Who comes to a line has it fetched, and some
/// lines behind it, which come one after the other while what is there already is executed. A jump
/// beyond them waits; what was fetched ahead for nothing takes up the way to the SM all the same.
/// Warps that go different ways fetch side by side, as far as that way lets them. A launch brings a
/// kernel's code near, from its beginning on and while the way is idle. Of what is not near yet a
/// part of 512 bytes comes when a warp needs it, and the next one along with it.
class CodeFetch {
 public:
  static constexpr uint32_t kLineInstructions = 8;  ///< of 16 bytes, in a line of 128

  /// How the machine fetches.
  struct Rate {
    double line_cycles = 0;    ///< from one line to the next
    double way_cycles = 0;     ///< for so long a line takes up the way to the SM
    uint32_t jump_cycles = 0;  ///< more for a line behind a jump
    uint32_t ahead_lines = 1;  ///< so many are fetched behind a line to which a warp comes
    /// So many of the kernel's first lines are near when its CTAs begin; all if `far_cycles` is 0.
    uint32_t launched_lines = 0;
    double launched_cycles = 1;  ///< idle cycles of the way for each line that comes near then
    double far_cycles = 0;       ///< more for the first line of a part that is not near
  };

  /// A stretch of code that a warp waits for.
  struct Stretch {
    uint32_t begin = 0;  ///< its first instruction's number in the kernel
    uint32_t line = 0;   ///< the next one to be fetched
    uint32_t end = 0;    ///< behind its last line; 0: there is no such stretch
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
  /// A warp comes to a stretch of so many instructions, at least one, that was not fetched yet.
  /// Where its lines are there or on the way, it does not wait: Stretch::at is when all are there.
  [[nodiscard]] Stretch stretch(uint32_t begin, uint32_t instructions, Cycle from);
  /// The stretch's next line is fetched, with those ahead: Stretch::at is when it is there, and
  /// what was fetched before behind it. Warps fetch in the order of Stretch::at, a warp at most
  /// lead() before others.
  void fetch_line(Stretch& stretch);
  /// Something comes by the way that takes up as much of it as `lines` near lines, for one who asks
  /// `now`: when its turn is.
  Cycle use_way(Cycle now, double lines) {
    return static_cast<Cycle>(take_way(static_cast<double>(now), lines));
  }
  /// When the way to the SM is free for one who comes `now`.
  [[nodiscard]] Cycle way_free(Cycle now) const {
    return std::max(now, static_cast<Cycle>(way_free_));
  }
  /// So much sooner than its turn comes a warp may fetch a line.
  [[nodiscard]] double lead() const;

 private:
  static constexpr uint32_t kPartLines = 4;  ///< of what comes together from far

  /// Passes over lines that were fetched with those ahead; ends the stretch where no others follow.
  void pass_fetched(Stretch& stretch);
  /// Takes the way for so many lines' time; from when on.
  double take_way(double at, double lines);
  /// Whether the launch has not brought a line near yet.
  [[nodiscard]] bool is_far(uint32_t line, double at) const;
  /// When the part of `line` is there that somebody asks for at `at`, if nobody has done so before.
  double brought(uint32_t line, double at);

  Rate rate_;
  double way_free_ = 0;
  double way_idle_ = 0;            ///< cycles before that in which nobody has used it
  uint32_t waiting_ = 0;           ///< warps that wait for lines
  std::vector<Cycle> of_stretch_;  ///< by its first instruction; 0: nobody has had it
  std::vector<double> ready_;      ///< by line; 0: likewise
  std::vector<double> brought_;    ///< by part, when it has come from far; 0: nobody has asked
};

}  // namespace bw::sim
