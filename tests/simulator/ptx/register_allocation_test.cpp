#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/simulator/ptx/control_flow.hpp"
#include "common/simulator/ptx/register_usage.hpp"
#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::register_allocation_test {
namespace {

using RegisterSet = std::set<uint32_t>;

RegisterSet reads(const Instruction& instruction) {
  RegisterSet set;
  visit_read_registers(instruction, [&](uint32_t reg) { set.insert(reg); });
  return set;
}
RegisterSet writes(const Instruction& instruction) {
  RegisterSet set;
  visit_written_registers(instruction, [&](uint32_t reg) { set.insert(reg); });
  return set;
}

/// The instructions that may run next.
std::vector<uint32_t> next_of(const Function& function, uint32_t i) {
  const Instruction& instruction = function.instructions[i];
  const bool is_branch = instruction.opcode.starts_with("bra");
  const bool leaves = instruction.opcode == "ret" || instruction.opcode == "exit";
  std::vector<uint32_t> next;
  if (is_branch) next.push_back(static_cast<uint32_t>(instruction.operands[0].value));
  if ((!is_branch && !leaves) || instruction.has_guard) next.push_back(i + 1);
  std::erase_if(next, [&](uint32_t n) { return n >= function.instructions.size(); });
  return next;
}

/// Per instruction, by iteration over single instructions: what is live after it (it may be read
/// later), what may have been written, and what a tcgen05.ld may still write.
struct BruteForce {
  std::vector<RegisterSet> live_out, written_out, pending_out;
};

BruteForce analyse(const Function& function) {
  const size_t count = function.instructions.size();
  BruteForce result;
  result.live_out.resize(count);
  result.written_out.resize(count);
  result.pending_out.resize(count);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (uint32_t i = 0; i < count; ++i) {
      const Instruction& instruction = function.instructions[i];
      RegisterSet written = result.written_out[i], pending = result.pending_out[i];
      for (const uint32_t reg : writes(instruction)) {
        written.insert(reg);
        if (instruction.opcode.starts_with("tcgen05.ld")) pending.insert(reg);
      }
      for (const uint32_t n : next_of(function, i)) {
        const bool waits = function.instructions[n].opcode.starts_with("tcgen05.wait::ld");
        for (const uint32_t reg : written) has_changed |= result.written_out[n].insert(reg).second;
        for (const uint32_t reg : pending) {
          if (!waits) has_changed |= result.pending_out[n].insert(reg).second;
        }
        const Instruction& following = function.instructions[n];
        RegisterSet live_in = reads(following);
        for (const uint32_t reg : result.live_out[n]) {
          if (following.has_guard || !writes(following).contains(reg)) live_in.insert(reg);
        }
        for (const uint32_t reg : live_in) has_changed |= result.live_out[i].insert(reg).second;
      }
      has_changed |= written.size() != result.written_out[i].size() ||
                     pending.size() != result.pending_out[i].size();
      result.written_out[i] = std::move(written);
      result.pending_out[i] = std::move(pending);
    }
  }
  return result;
}

/// No two registers that hold a value at the same time, or that one instruction reads and writes,
/// may overlap.
void expect_sound(const Function& function, const std::string& text) {
  const RegisterLayout layout = allocate_registers(function);
  ASSERT_EQ(layout.offset_bytes.size(), function.registers.size());
  const BruteForce truth = analyse(function);
  const auto end_of = [&](uint32_t reg) {
    return layout.offset_bytes[reg] + register_storage_bytes(function.registers[reg].type);
  };
  for (uint32_t reg = 0; reg < function.registers.size(); ++reg) {
    EXPECT_LE(end_of(reg), layout.total_bytes);
    EXPECT_EQ(layout.offset_bytes[reg] % 4, 0u);
  }
  for (uint32_t i = 0; i < function.instructions.size(); ++i) {
    RegisterSet busy = writes(function.instructions[i]);
    for (const uint32_t reg : reads(function.instructions[i])) {
      // Reading what no write can have reached gives any value.
      bool may_be_written = false;
      for (uint32_t j = 0; j < function.instructions.size(); ++j) {
        const auto next = next_of(function, j);
        const bool precedes = std::find(next.begin(), next.end(), i) != next.end();
        may_be_written |= precedes && truth.written_out[j].contains(reg);
      }
      if (may_be_written) busy.insert(reg);
    }
    for (const uint32_t reg : truth.live_out[i]) {
      if (truth.written_out[i].contains(reg)) busy.insert(reg);
    }
    busy.insert(truth.pending_out[i].begin(), truth.pending_out[i].end());
    for (const uint32_t a : busy) {
      for (const uint32_t b : busy) {
        if (a >= b) continue;
        const bool overlap =
            layout.offset_bytes[a] < end_of(b) && layout.offset_bytes[b] < end_of(a);
        ASSERT_FALSE(overlap) << function.registers[a].name << " and " << function.registers[b].name
                              << " at instruction " << i << " of\n"
                              << text;
      }
    }
  }
}

constexpr const char* kRegisters = R"(
.reg .pred %p<6>;
.reg .b16 %h<6>;
.reg .b32 %r<10>;
.reg .b64 %d<6>;
.reg .b128 %q<3>;
)";

void expect_sound_body(const std::string& body) {
  const auto module = parse_body_text(kRegisters + body);
  expect_sound(entry(*module), body);
}

TEST(Allocation, StorageSizes) {
  EXPECT_EQ(register_storage_bytes(ScalarType::pred), 4u);
  EXPECT_EQ(register_storage_bytes(ScalarType::b8), 64u);
  EXPECT_EQ(register_storage_bytes(ScalarType::f16), 64u);
  EXPECT_EQ(register_storage_bytes(ScalarType::s32), 128u);
  EXPECT_EQ(register_storage_bytes(ScalarType::f64), 256u);
  EXPECT_EQ(register_storage_bytes(ScalarType::b128), 512u);
}

TEST(Allocation, SharesStorageAcrossTime) {
  std::string body = ".reg .b32 %x<100>;\nmov.b32 %x0, 1;\n";
  for (int i = 1; i < 100; ++i) {
    body += "add.s32 %x" + std::to_string(i) + ", %x" + std::to_string(i - 1) + ", 1;\n";
  }
  const auto module = parse_body_text(body);
  const RegisterLayout layout = allocate_registers(entry(*module));
  EXPECT_EQ(layout.total_bytes, 2 * 128u);
  EXPECT_EQ(layout.live_32bit_registers, 1u);
}

TEST(Allocation, CountsThePressure) {
  const auto module = parse_body_text(std::string(kRegisters) + R"(
mov.b32 %r0, 1;
mov.b64 %d0, 1;
mov.b64 %d1, 1;
mov.b128 %q0, {%d0, %d1};
add.s64 %d2, %d0, %d1;
st.b128 [%d2], %q0;
st.b32 [%d2], %r0;
ret;)");
  // r0 + q0 + d0 + d1 are live after the mov.b128
  EXPECT_EQ(allocate_registers(entry(*module)).live_32bit_registers, 1u + 4 + 2 + 2);
}

TEST(Allocation, LoopsKeepWhatTheNextRoundReads) {
  expect_sound_body(R"(
mov.b32 %r0, 0;
mov.b32 %r1, 5;
L:
add.s32 %r2, %r0, 1;
add.s32 %r3, %r2, %r1;
mov.b32 %r4, 7;
st.b32 [%d0], %r4;
mov.b32 %r0, %r3;
@%p0 bra L;
st.b32 [%d0], %r1;
ret;)");
}

TEST(Allocation, GuardedWritesKeepTheOldValue) {
  expect_sound_body(R"(
mov.b32 %r0, 1;
mov.b32 %r2, 9;
st.b32 [%d0], %r2;
@%p0 mov.b32 %r0, 2;
mov.b32 %r3, 4;
st.b32 [%d0], %r3;
st.b32 [%d0], %r0;
ret;)");
}

TEST(Allocation, AsynchronousLoadsKeepTheirRegistersUntilTheWait) {
  const std::string body = R"(
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%r9];
mov.b32 %r2, 1;
add.s32 %r3, %r2, 1;
st.b32 [%d0], %r3;
tcgen05.wait::ld.sync.aligned;
mov.b32 %r4, 2;
st.b32 [%d0], %r4;
st.b32 [%d0], %r0;
ret;)";
  expect_sound_body(body);
  // %r1 is never read, and yet nothing may use its storage before the wait.
  const auto module = parse_body_text(kRegisters + body);
  const Function& k = entry(*module);
  const RegisterLayout layout = allocate_registers(k);
  const auto offset_of = [&](const char* name) {
    for (uint32_t reg = 0; reg < k.registers.size(); ++reg) {
      if (k.registers[reg].name == name) return layout.offset_bytes[reg];
    }
    return ~0u;
  };
  EXPECT_NE(offset_of("%r1"), offset_of("%r2"));
  EXPECT_NE(offset_of("%r1"), offset_of("%r3"));
}

TEST(Allocation, UnwrittenRegistersTakeNoSpaceOfTheirOwn) {
  const auto module = parse_body_text(std::string(kRegisters) + "st.b128 [%d0], %q1;\nret;");
  EXPECT_EQ(allocate_registers(entry(*module)).total_bytes, 512u);
}

TEST(Allocation, AReadBeforeTheFirstWriteTakesNoSpace) {
  // %x3 has no value where it is read, so that %x1 and %x2 need two places and it needs none.
  const auto module = parse_body_text(R"(.reg .b32 %x<5>;
mov.b32 %x1, 1;
add.s32 %x2, %x1, %x3;
mov.b32 %x3, %x2;
add.s32 %x4, %x3, %x3;
ret;)");
  EXPECT_EQ(allocate_registers(entry(*module)).total_bytes, 2 * 128u);
}

TEST(Allocation, EmptyFunction) {
  const auto module = parse_body_text("");
  EXPECT_EQ(allocate_registers(entry(*module)).total_bytes, 0u);
}

TEST(Allocation, IsSoundForRandomPrograms) {
  std::mt19937 random(99);
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  for (int round = 0; round < 200; ++round) {
    const unsigned count = 5 + below(40);
    std::string body;
    const auto r = [&] { return "%r" + std::to_string(below(10)); };
    const auto d = [&] { return "%d" + std::to_string(below(6)); };
    const auto p = [&] { return "%p" + std::to_string(below(6)); };
    for (unsigned i = 0; i < count; ++i) {
      body += "L" + std::to_string(i) + ": ";
      const unsigned form = below(12);
      // The wait is aligned: never guarded in a real program.
      if (form != 9 && below(4) == 0) body += "@" + p() + " ";
      switch (form) {
        case 0:
          body += "bra L" + std::to_string(below(count));
          break;
        case 1:
          body += "setp.eq.s32 " + p() + "|" + p() + ", " + r() + ", " + r();
          break;
        case 2:
          body += "mov.b64 {" + r() + ", " + r() + "}, " + d();
          break;
        case 3:
          body += "mov.b64 " + d() + ", {" + r() + ", " + r() + "}";
          break;
        case 4:
          body += "ld.b32 " + r() + ", [" + d() + "]";
          break;
        case 5:
          body += "st.b32 [" + d() + "+4], " + r();
          break;
        case 6:
          body += "cvt.u16.u32 %h" + std::to_string(below(6)) + ", " + r();
          break;
        case 7:
          body += "mov.b128 %q" + std::to_string(below(3)) + ", {" + d() + ", " + d() + "}";
          break;
        case 8:
          body += "tcgen05.ld.sync.aligned.32x32b.x2.b32 {" + r() + ", " + r() + "}, [" + r() + "]";
          break;
        case 9:
          body += "tcgen05.wait::ld.sync.aligned";
          break;
        default:
          body += "add.s32 " + r() + ", " + r() + ", " + r();
          break;
      }
      body += ";\n";
    }
    expect_sound_body(body + "ret;");
    if (HasFatalFailure()) return;
  }
}

Instruction instruction_of(const std::string& text) {
  const auto module = parse_body_text(kRegisters + text);
  return entry(*module).instructions.at(0);
}

TEST(RegisterUsage, TellsDestinationsFromSources) {
  const std::pair<const char*, size_t> cases[] = {
      {"add.s32 %r0, %r1, %r2;", 1},
      {"st.global.b32 [%d0], %r1;", 0},
      {"st.v2.b32 [%d0], {%r1, %r2};", 0},
      {"bar.sync %r0, %r1;", 0},
      {"barrier.cta.sync.aligned %r0;", 0},
      {"bar.red.popc.u32 %r0, %r1, %p0;", 1},
      {"bar.warp.sync %r0;", 0},
      {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 128;", 0},
      {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 128;", 0},
      {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r1}, [%r2];", 1},
      {"tcgen05.st.sync.aligned.32x32b.x1.b32 [%r0], {%r1};", 0},
      {"tcgen05.mma.cta_group::1.kind::f16 [%r0], %d0, %d1, %r1, %p0;", 0},
      {"mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r0], %r1;", 1},
      {"mbarrier.arrive.shared::cta.b64 _, [%r0];", 1},
      {"shfl.sync.idx.b32 %r0|%p0, %r1, 0, 31, -1;", 1},
      {"atom.global.add.u32 %r0, [%d0], 1;", 1},
      {"red.global.add.u32 [%d0], %r0;", 0},
      {"nanosleep.u32 %r0;", 0},
      {"cp.async.wait_group 0;", 0},
      {"prefetch.tensormap [%d0];", 0},
      {"createpolicy.fractional.L2::evict_first.b64 %d0, 1.0;", 1},
      {"fence.proxy.async;", 0},
      {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r0], {%r1};", 0},
      {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];", 1},
  };
  for (const auto& [text, count] : cases) {
    EXPECT_EQ(destination_count(instruction_of(text)), count) << text;
  }
  const Instruction store = instruction_of("@%p1 st.v2.b32 [%d0], {%r1, %r2};");
  EXPECT_EQ(reads(store).size(), 4u);
  EXPECT_TRUE(writes(store).empty());
  EXPECT_EQ(writes(instruction_of("setp.eq.s32 %p0|%p1, %r0, 0;")).size(), 2u);
}

}  // namespace
}  // namespace bw::sim::ptx::register_allocation_test
