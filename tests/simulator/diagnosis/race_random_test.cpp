/// \file
/// The race detector against a reference that knows nothing of warps: random programs of stores,
/// loads, atomics, barriers and hand-overs, for which one vector clock a thread and a list of all
/// accesses say which pairs of them race.
#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "tests/simulator/diagnosis/races.hpp"

namespace bw::sim::test::race_random_test {
namespace {

constexpr uint32_t kWarps = 3, kLanes = 32, kThreads = kWarps * kLanes;
constexpr uint32_t kBytes = 1024;  ///< of each space that accesses may touch
constexpr uint32_t kHandOvers = 3;

using Clock = std::array<uint32_t, kThreads>;

/// What a program does in one of its lines, and by which lanes.
struct Step {
  enum class Kind { load, store, atomic, warp_barrier, barrier, hand_over } kind;
  uint32_t warp = 0;            ///< who; of a hand-over who arrives
  uint32_t other = 0;           ///< the other warp of a barrier or hand-over
  uint32_t lanes = 0xffffffff;  ///< of `warp`
  bool is_global = false, whole_cta = false;
  uint32_t bytes = 4, offset = 0, stride = 4;  ///< of lane i: offset + i * stride
  uint32_t barrier = 0;                        ///< of a hand-over: which

  [[nodiscard]] bool is_access() const { return kind <= Kind::atomic; }
};

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {
    const uint32_t count = 2 + below(5);
    // Few places, so that accesses meet; in some programs different bytes of one word.
    for (uint32_t i = 0; i < count; ++i) {
      steps_.push_back(access());
      if (below(3) != 0) steps_.push_back(synchronisation());
    }
    if (!steps_.back().is_access()) steps_.push_back(access());
  }

  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

  /// PTX; `line_of` gets the line of each step that is an access.
  [[nodiscard]] std::string text() const {
    std::string text = R"(
  setp.eq.u32 %p0, %t, 0;
)";
    for (uint32_t i = 0; i < kHandOvers; ++i)
      text += fmt::format("  @%p0 mbarrier.init.shared::cta.b64 [data+{}], {};\n", kBytes + 8 * i,
                          arrivals(i));
    text += fmt::format(R"(
  mov.u32 %r15, 0;
  mad.lo.u32 %r14, %t, 4, %d;
ZERO:
  st.shared.u32 [%r14], %r15;
  add.u32 %r14, %r14, {};
  add.u32 %r13, %d, {};
  setp.lt.u32 %p1, %r14, %r13;
  @%p1 bra ZERO;
  bar.sync 0;
)",
                        4 * kThreads, kBytes);
    for (size_t i = 0; i < steps_.size(); ++i) text += text_of(steps_[i], i);
    return text;
  }

  using Access = std::array<uint32_t, 3>;  ///< step, warp, lane
  /// Two accesses of a byte that nothing orders, the earlier step first.
  struct Race {
    Access first, second;
    uint32_t byte;
    auto operator<=>(const Race&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  [[nodiscard]] std::set<Race> races() const {
    struct Past {
      Access access;
      uint32_t thread, epoch;
      bool writes, is_atomic;
    };
    std::vector<Clock> known(kThreads, Clock{});
    std::map<std::pair<bool, uint32_t>, std::vector<Past>> bytes;
    std::set<Race> found;
    for (uint32_t t = 0; t < kThreads; ++t) known[t][t] = 1;
    for (uint32_t index = 0; index < steps_.size(); ++index) {
      const Step& step = steps_[index];
      if (!step.is_access()) {
        synchronise(step, known);
        continue;
      }
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if ((step.lanes >> lane & 1) == 0) continue;
        const uint32_t thread = step.warp * kLanes + lane;
        const bool writes = step.kind != Step::Kind::load;
        const bool is_atomic = step.kind == Step::Kind::atomic;
        for (uint32_t b = 0; b < step.bytes; ++b) {
          const uint32_t byte = step.offset + lane * step.stride + b;
          std::vector<Past>& pasts = bytes[{step.is_global, byte}];
          for (const Past& past : pasts)
            if (past.access[0] != index && past.thread != thread && (past.writes || writes) &&
                !(past.is_atomic && is_atomic) && known[thread][past.thread] < past.epoch)
              found.insert({past.access, {index, step.warp, lane}, byte});
          pasts.push_back(
              {{index, step.warp, lane}, thread, known[thread][thread], writes, is_atomic});
        }
      }
    }
    return found;
  }

 private:
  uint32_t below(uint32_t bound) {
    return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random_);
  }

  uint32_t some_lanes() {
    switch (below(6)) {
      case 0:
        return 1u << below(kLanes);
      case 1:
        return 0xffffu << (16 * below(2));
      case 2:
        return below(2) == 0 ? 0x55555555u : 0xaaaaaaaau;
      case 3:
        return below(0xffffffffu) | 1;
      default:
        return 0xffffffffu;
    }
  }

  Step access() {
    Step step{.kind = std::array{Step::Kind::load, Step::Kind::store, Step::Kind::store,
                                 Step::Kind::load, Step::Kind::atomic}[below(5)]};
    step.warp = below(kWarps);
    step.lanes = some_lanes();
    step.is_global = below(2) == 0;
    step.bytes = step.kind == Step::Kind::atomic ? 4 : std::array{1u, 2u, 4u, 4u, 8u}[below(5)];
    step.stride = step.bytes * std::array{1u, 1u, 1u, 0u, 2u}[below(5)];
    constexpr uint32_t kMostOffset = 128;
    static_assert((kLanes - 1) * 16 + 8 + kMostOffset <= kBytes, "the widest access fits");
    step.offset = below(3) == 0 ? below(kMostOffset / step.bytes) * step.bytes : 0;
    return step;
  }

  Step synchronisation() {
    Step step{.kind = std::array{Step::Kind::warp_barrier, Step::Kind::barrier,
                                 Step::Kind::hand_over}[below(3)]};
    step.warp = below(kWarps);
    step.other = (step.warp + 1 + below(kWarps - 1)) % kWarps;
    step.whole_cta = below(3) == 0;
    if (step.kind != Step::Kind::barrier) step.lanes = some_lanes();
    if (step.kind == Step::Kind::hand_over) {
      step.barrier = hand_overs_;
      if (hand_overs_ == kHandOvers) return {.kind = Step::Kind::barrier, .whole_cta = true};
      ++hand_overs_;
    }
    return step;
  }

  [[nodiscard]] uint32_t arrivals(uint32_t barrier) const {
    for (const Step& step : steps_)
      if (step.kind == Step::Kind::hand_over && step.barrier == barrier)
        return static_cast<uint32_t>(std::popcount(step.lanes));
    return 1;
  }

  static void join(Clock& into, const Clock& other) {
    for (uint32_t i = 0; i < kThreads; ++i) into[i] = std::max(into[i], other[i]);
  }

  /// `arriving` threads hand on what they know, `waiting` ones learn it.
  static void meet(std::vector<Clock>& known, const std::vector<uint32_t>& arriving,
                   const std::vector<uint32_t>& waiting) {
    Clock all{};
    for (const uint32_t t : arriving) {
      join(all, known[t]);
      ++known[t][t];
    }
    for (const uint32_t t : waiting) join(known[t], all);
  }

  static std::vector<uint32_t> threads_of(uint32_t warp, uint32_t lanes) {
    std::vector<uint32_t> threads;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      if ((lanes >> lane & 1) != 0) threads.push_back(warp * kLanes + lane);
    return threads;
  }

  static void synchronise(const Step& step, std::vector<Clock>& known) {
    std::vector<uint32_t> own = threads_of(step.warp, step.lanes);
    std::vector<uint32_t> others = threads_of(step.other, 0xffffffff);
    switch (step.kind) {
      case Step::Kind::warp_barrier:
        return meet(known, own, own);
      case Step::Kind::hand_over:
        return meet(known, own, others);
      default:
        break;
    }
    if (step.whole_cta) {
      own.clear();
      for (uint32_t warp = 0; warp < kWarps; ++warp)
        for (const uint32_t t : threads_of(warp, 0xffffffff)) own.push_back(t);
    } else {
      own.insert(own.end(), others.begin(), others.end());
    }
    meet(known, own, own);
  }

  /// %p3: whether the thread is one of these.
  static std::string predicate(uint32_t warp, uint32_t lanes) {
    return fmt::format(
        "  shr.u32 %r0, {:#x}, %lane;\n  and.b32 %r0, %r0, 1;\n"
        "  setp.ne.u32 %p2, %r0, 0;\n  setp.eq.and.u32 %p3, %warp, {}, %p2;\n",
        lanes, warp);
  }

  static std::string text_of(const Step& step, size_t index) {
    std::string text = predicate(step.warp, step.lanes);
    switch (step.kind) {
      case Step::Kind::load:
      case Step::Kind::store:
      case Step::Kind::atomic: {
        const char* const space = step.is_global ? "global" : "shared";
        text += fmt::format("  mad.lo.u32 %r1, %lane, {}, {};\n", step.stride, step.offset);
        text += step.is_global ? "  cvt.u64.u32 %rd1, %r1;\n  add.u64 %rd1, %rd1, %out;\n"
                               : "  add.u32 %r1, %r1, %d;\n";
        const char* const address = step.is_global ? "[%rd1]" : "[%r1]";
        const uint32_t bits = 8 * step.bytes;
        const char* const reg = step.bytes == 8 ? "%rd3" : "%r3";
        const std::string mark = fmt::format("  // step {}\n", index);
        if (step.kind == Step::Kind::load)
          return text + fmt::format("  @%p3 ld.{}.u{} {}, {};", space, bits, reg, address) + mark;
        // Each thread stores a value of its own: equal ones are a warning.
        if (step.kind == Step::Kind::store)
          return text + "  mov.u32 %r3, %t;\n  cvt.u64.u32 %rd3, %t;\n" +
                 fmt::format("  @%p3 st.{}.u{} {}, {};", space, bits, address, reg) + mark;
        return text + fmt::format("  @%p3 red.relaxed.cta.{}.add.u32 {}, 1;", space, address) +
               mark;
      }
      case Step::Kind::warp_barrier:
        return text + fmt::format("  @%p3 bar.warp.sync {:#x};\n", step.lanes);
      case Step::Kind::barrier:
        if (step.whole_cta) return "  bar.sync 0;\n";
        return fmt::format(
            "  setp.eq.u32 %p4, %warp, {};\n  setp.eq.or.u32 %p4, %warp, {}, %p4;\n"
            "  @%p4 bar.sync {}, 64;\n",
            step.warp, step.other, 1 + index);
      case Step::Kind::hand_over:
        break;
    }
    return text + fmt::format(
                      "  @%p3 mbarrier.arrive.shared::cta.b64 _, [data+{0}];\n"
                      "  setp.ne.u32 %p5, %warp, {1};\n  @%p5 bra OVER{2};\nWAIT{2}:\n"
                      "  mbarrier.try_wait.parity.shared::cta.b64 %p6, [data+{0}], 0;\n"
                      "  @!%p6 bra WAIT{2};\nOVER{2}:\n",
                      kBytes + 8 * step.barrier, step.other, index);
  }

  std::mt19937 random_;
  std::vector<Step> steps_;
  uint32_t hand_overs_ = 0;
};

/// The step that a line of the kernel's text holds.
std::map<uint32_t, uint32_t> steps_by_line(const std::string& text) {
  std::map<uint32_t, uint32_t> steps;
  uint32_t line = 1;
  for (size_t begin = 0; begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t mark = text.substr(begin, end - begin).find("// step ");
    if (mark != std::string::npos)
      steps[line] = static_cast<uint32_t>(std::stoul(text.substr(begin + mark + 8)));
    begin = end + 1;
  }
  return steps;
}

/// Whether a place of a report is one of these accesses.
bool is_one_of(const ReportPlace& place, const std::map<uint32_t, uint32_t>& steps,
               const Program::Access& access) {
  const auto step = steps.find(place.line);
  return step != steps.end() && step->second == access[0] && place.warp == access[1] &&
         (place.lanes >> access[2] & 1) != 0;
}

/// The bytes that a report is about: from the first one up to, not including, the second number.
std::pair<uint32_t, uint32_t> bytes_of(const std::string& what) {
  static const std::regex shared("(\\d+) bytes? of shared memory at data(?:\\+(\\d+))?,"),
      global("global memory, (\\d+) bytes? at 0x[0-9a-f]+ \\(byte (\\d+) of test buffer\\)");
  std::smatch match;
  if (!std::regex_search(what, match, shared) && !std::regex_search(what, match, global)) return {};
  const auto first = match[2].matched ? static_cast<uint32_t>(std::stoul(match[2].str())) : 0;
  return {first, first + static_cast<uint32_t>(std::stoul(match[1].str()))};
}

TEST(RaceRandom, VerdictsAndCulpritsAreThoseOfTheReference) {
  constexpr uint32_t kPrograms = 400;
  uint32_t racing = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    const Program program(seed);
    const auto races = program.races();
    const std::string body = program.text();
    const auto steps = steps_by_line(race_kernel(body));
    racing += races.empty() ? 0 : 1;
    try {
      run_races(body, kThreads, 1, race_settings(seed % 3));
      EXPECT_TRUE(races.empty()) << "program " << seed << ": " << races.size()
                                 << " races are not found\n"
                                 << body;
    } catch (const SimulationError& error) {
      const Report& report = error.report();
      ASSERT_GE(report.places.size(), 2u) << error.what();
      const auto [begin, end] = bytes_of(report.what);
      EXPECT_LT(begin, end) << report.what;
      const auto is_reported = [&, begin = begin](const Program::Race& race) {
        return race.byte == begin && ((is_one_of(report.places[0], steps, race.second) &&
                                       is_one_of(report.places[1], steps, race.first)) ||
                                      (is_one_of(report.places[0], steps, race.first) &&
                                       is_one_of(report.places[1], steps, race.second)));
      };
      EXPECT_TRUE(std::any_of(races.begin(), races.end(), is_reported))
          << "program " << seed << ", " << races.size() << " races\n"
          << error.what() << "\n"
          << body;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(racing, kPrograms / 4);
  EXPECT_LT(racing, kPrograms - kPrograms / 8);
}

}  // namespace
}  // namespace bw::sim::test::race_random_test
