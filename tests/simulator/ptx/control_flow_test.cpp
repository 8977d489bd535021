#include "common/simulator/ptx/control_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::control_flow_test {
namespace {

constexpr uint32_t kNone = kNoReconvergence;

std::vector<uint32_t> points_of(const std::string& body) {
  const auto module = parse_body_text(".reg .pred %p<8>;\n.reg .b32 %r<8>;\n" + body);
  return reconvergence_points(entry(*module));
}

TEST(Reconvergence, IfElse) {
  const auto points = points_of(R"(
@%p0 bra ELSE;       // 0
add.s32 %r0, %r0, 1; // 1
bra.uni JOIN;        // 2
ELSE:
add.s32 %r0, %r0, 2; // 3
JOIN:
add.s32 %r0, %r0, 3; // 4
ret;                 // 5
)");
  EXPECT_EQ(points, (std::vector<uint32_t>{4, kNone, 4, kNone, kNone, kNone}));
}

TEST(Reconvergence, IfWithoutElse) {
  EXPECT_EQ(points_of("@%p0 bra J; add.s32 %r0, %r0, 1; J: add.s32 %r0, %r0, 2; ret;")[0], 2u);
}

TEST(Reconvergence, Loops) {
  const auto points = points_of(R"(
OUTER:
add.s32 %r0, %r0, 1; // 0
INNER:
add.s32 %r1, %r1, 1; // 1
@%p0 bra INNER;      // 2
@%p1 bra OUTER;      // 3
add.s32 %r2, %r2, 1; // 4
ret;                 // 5
)");
  EXPECT_EQ(points[2], 3u);
  EXPECT_EQ(points[3], 4u);
}

TEST(Reconvergence, SpinOnABarrier) {
  const auto points = points_of(R"(
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2; // 0
@%p1 bra D;  // 1
bra W;       // 2
D: add.s32 %r0, %r0, 1; // 3
ret;)");
  EXPECT_EQ(points[1], 3u);
}

TEST(Reconvergence, EarlyReturnsDoNotHideTheMeeting) {
  // if (p0) { if (p1) return; r0++; } r0 += 2;
  const std::string body = R"(
@!%p0 bra Y;         // 0
@%p1 EXIT;           // 1
add.s32 %r0, %r0, 1; // 2
Y:
add.s32 %r0, %r0, 2; // 3
R: ret;              // 4
)";
  for (const char* leave : {"bra R", "ret", "exit", "trap"}) {
    std::string text = body;
    text.replace(text.find("EXIT"), 4, leave);
    const auto points = points_of(text);
    EXPECT_EQ(points[0], 3u) << leave;
    EXPECT_EQ(points[1], kNone) << leave;
  }
}

TEST(Reconvergence, TrapsDoNotHideTheMeeting) {
  const auto points = points_of(R"(
@%p0 bra E;          // 0
@%p1 bra OK;         // 1
trap;                // 2
OK:
add.s32 %r0, %r0, 1; // 3
bra J;               // 4
E:
add.s32 %r0, %r0, 2; // 5
J:
add.s32 %r0, %r0, 3; // 6
ret;)");
  EXPECT_EQ(points[0], 6u);
  EXPECT_EQ(points[1], kNone);  // all that go on take one way
}

TEST(Reconvergence, MeetingAtALoneReturnIsNone) {
  const auto points = points_of(R"(
@%p0 bra E;          // 0
add.s32 %r0, %r0, 1; // 1
bra R;               // 2
E:
add.s32 %r0, %r0, 2; // 3
R: ret;              // 4
)");
  EXPECT_EQ(points[0], kNone);
}

TEST(Reconvergence, InsideARoleThatReturns) {
  // The first role ends in the shared return; its own branches meet inside it.
  const auto points = points_of(R"(
@%p0 bra SECOND;     // 0
L:
@%p1 bra A;          // 1
add.s32 %r0, %r0, 1; // 2
A:
add.s32 %r0, %r0, 2; // 3
@%p2 bra L;          // 4
bra R;               // 5
SECOND:
add.s32 %r0, %r0, 3; // 6
R: ret;              // 7
)");
  EXPECT_EQ(points[0], kNone);
  EXPECT_EQ(points[1], 3u);
  EXPECT_EQ(points[4], 5u);
}

TEST(Reconvergence, IrreducibleLoop) {
  const auto points = points_of(R"(
@%p0 bra B;          // 0
A:
add.s32 %r0, %r0, 1; // 1
B:
add.s32 %r0, %r0, 2; // 2
@%p1 bra A;          // 3
add.s32 %r0, %r0, 3; // 4
ret;)");
  EXPECT_EQ(points[0], 2u);
  EXPECT_EQ(points[3], 4u);
}

TEST(Reconvergence, EndlessLoop) {
  const auto points = points_of(R"(
L:
@%p0 bra A;          // 0
add.s32 %r0, %r0, 1; // 1
A:
add.s32 %r0, %r0, 2; // 2
bra L;               // 3
)");
  EXPECT_EQ(points[0], 2u);
}

TEST(Reconvergence, IndexedBranch) {
  const auto points = points_of(R"(
T: .branchtargets A, B, C;
brx.idx %r0, T;      // 0
A: add.s32 %r0, %r0, 1; bra J; // 1, 2
B: add.s32 %r0, %r0, 2; bra J; // 3, 4
C: add.s32 %r0, %r0, 3;        // 5
J: add.s32 %r0, %r0, 4;        // 6
ret;)");
  EXPECT_EQ(points[0], 6u);
}

TEST(Reconvergence, BranchToTheNextInstruction) {
  EXPECT_EQ(points_of("@%p0 bra N; N: add.s32 %r0, %r0, 1; ret;")[0], 1u);
}

TEST(Reconvergence, EmptyFunctionAndLabelAtTheEnd) {
  EXPECT_TRUE(points_of("").empty());
  EXPECT_EQ(points_of("@%p0 bra E; add.s32 %r0, %r0, 1; E:")[0], kNone);
}

/// All nodes that every path from `from` to the end runs through, by removing each in turn.
std::set<uint32_t> post_dominators_by_removal(const std::vector<std::vector<uint32_t>>& next,
                                              uint32_t from) {
  const auto end = static_cast<uint32_t>(next.size());
  const auto reaches_end = [&](uint32_t without) {
    std::vector<bool> seen(next.size() + 1, false);
    std::vector<uint32_t> work{from};
    while (!work.empty()) {
      const uint32_t node = work.back();
      work.pop_back();
      if (node == end) return true;
      for (const uint32_t successor : next[node]) {
        if (successor == without || seen[successor]) continue;
        seen[successor] = true;
        work.push_back(successor);
      }
    }
    return false;
  };
  std::set<uint32_t> result;
  for (uint32_t node = 0; node < end; ++node) {
    if (!reaches_end(node)) result.insert(node);
  }
  return result;
}

// Random branches with one exit, at the end and after another instruction: then the rules about
// early exits don't apply, and the meeting is the nearest instruction that all paths run through.
TEST(Reconvergence, AgreesWithRemovalOnRandomGraphs) {
  std::mt19937 random(7);
  size_t checked = 0;
  for (int round = 0; round < 300; ++round) {
    const uint32_t count = 4 + random() % 14;
    std::string body;
    std::vector<std::vector<uint32_t>> next(count);
    for (uint32_t i = 0; i < count; ++i) {
      body += "L" + std::to_string(i) + ": ";
      next[i].push_back(i + 1);
      if (i + 2 < count && random() % 2 == 0) {
        const uint32_t target = random() % (count - 1);
        const bool is_guarded = random() % 4 != 0;
        if (!is_guarded) next[i].clear();
        next[i].push_back(target);
        body += (is_guarded ? "@%p0 bra L" : "bra L") + std::to_string(target) + ";\n";
      } else {
        body += i + 1 == count ? "ret;\n" : "add.s32 %r0, %r0, 1;\n";
      }
    }
    // Only graphs in which everything can reach the end.
    bool all_end = true;
    for (uint32_t i = 0; i < count; ++i) {
      std::set<uint32_t> seen{i};
      std::vector<uint32_t> work{i};
      while (!work.empty()) {
        const uint32_t node = work.back();
        work.pop_back();
        if (node == count) continue;
        for (const uint32_t s : next[node]) {
          if (seen.insert(s).second) work.push_back(s);
        }
      }
      all_end = all_end && seen.contains(count);
    }
    if (!all_end) continue;
    const auto points = points_of(body);
    for (uint32_t i = 0; i < count; ++i) {
      if (next[i].size() < 2 || next[i][0] == next[i][1]) continue;
      std::set<uint32_t> candidates = post_dominators_by_removal(next, i);
      candidates.erase(i);
      // The nearest one is post-dominated by all others.
      uint32_t nearest = kNone;
      for (const uint32_t c : candidates) {
        std::set<uint32_t> behind = post_dominators_by_removal(next, c);
        behind.insert(c);
        if (std::includes(behind.begin(), behind.end(), candidates.begin(), candidates.end())) {
          nearest = c;
        }
      }
      ASSERT_NE(nearest, kNone) << body;
      if (nearest == count - 1) nearest = kNone;  // the lone return
      EXPECT_EQ(points[i], nearest) << "instruction " << i << " of\n" << body;
      ++checked;
    }
  }
  EXPECT_GT(checked, 100u);
}

}  // namespace
}  // namespace bw::sim::ptx::control_flow_test
