/// \file
/// Every executed form that came with PTX 9.1 to 9.5, from the table newer_forms.inc: at both
/// levels of strictness it does the same, and the race detector knows its accesses for what they
/// are. What the forms compute is tested with their families.
#include <functional>
#include <set>

#include "tests/simulator/diagnosis/races.hpp"

namespace bw::sim::test::newer_forms_test {
namespace {

/// What a form does to memory.
enum class Kind : uint8_t {
  registers,   ///< nothing that another thread sees
  load,        ///< copies `in` to `data`, completes `bar`
  send,        ///< copies to another CTA
  store,       ///< copies or reduces `data` into `out`, in a bulk group
  group_wait,  ///< waits for bulk groups
  read_fence,  ///< makes reads precede the async proxy
  init,        ///< initialises an mbarrier
  layout,      ///< asks for an mbarrier's layout
  wait,        ///< waits by parity
  state_wait,  ///< waits by state
};

struct Row {
  Kind kind;
  const char* opcode;  ///< with alternatives: "{a|b}"
  const char* operands;
};

const Row kRows[] = {
#include "tests/simulator/diagnosis/newer_forms.inc"
};

/// All choices of the alternatives.
std::vector<std::string> choices(const std::string& pattern) {
  const size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  const size_t close = pattern.find('}', open);
  std::vector<std::string> out;
  for (size_t begin = open + 1; begin <= close;) {
    const size_t end = std::min(pattern.find('|', begin), close);
    for (const std::string& rest : choices(pattern.substr(close + 1)))
      out.push_back(pattern.substr(0, open) + pattern.substr(begin, end - begin) + rest);
    begin = end + 1;
  }
  return out;
}

bool has(const std::string& opcode, const char* word) {
  return opcode.find(word) != std::string::npos;
}

const Strictness kLevels[] = {Strictness::isa, Strictness::hardware};

/// Registers that the operands of the table name.
std::string with_registers(const std::string& body) {
  return ".reg .b16 %h<4>;\n.reg .b8 %b<4>;\n.local .align 8 .b8 own[8];\n"
         "setp.eq.u32 %p0, %t, 0;\nsetp.eq.u32 %p1, %warp, 1;\nmad.lo.u32 %r0, %lane, 4, %d;\n"
         "mov.u64 %rd2, 0;\n" +
         body;
}

void run_at(Strictness level, const std::string& body, uint32_t threads, uint32_t ctas) {
  Settings settings = race_settings();
  settings.strictness = level;
  run_races(with_registers(body), threads, ctas, settings);
}

/// Nothing is reported at any level.
void expect_order(const std::string& body, uint32_t threads = 64, uint32_t ctas = 1) {
  for (const Strictness level : kLevels) {
    try {
      run_at(level, body, threads, ctas);
    } catch (const SimulationError& error) {
      ADD_FAILURE() << (level == Strictness::isa ? "isa:\n" : "hardware:\n") << error.what();
    }
  }
}

/// The same race is reported at both levels.
void expect_conflict(const std::vector<std::string>& parts, const std::string& body,
                     uint32_t threads = 64, uint32_t ctas = 1) {
  for (const Strictness level : kLevels)
    expect_fault(FaultKind::contract, parts, [&] { run_at(level, body, threads, ctas); });
}

/// A race of the ISA's letter alone, which proven kernels have.
void expect_conflict_at_isa(const std::vector<std::string>& parts, const std::string& body) {
  expect_fault(FaultKind::contract, parts, [&] { run_at(Strictness::isa, body, 64, 1); });
  EXPECT_NO_THROW(run_at(Strictness::hardware, body, 64, 1));
}

std::string init(const std::string& instruction = "mbarrier.init.shared::cta.b64 [bar], 1;") {
  return "@%p0 " + instruction +
         "\n@%p0 mbarrier.init.shared::cta.b64 [bar2], 1;\n"
         "fence.mbarrier_init.release.cluster;\nbar.sync 0;\n";
}
const std::string kExpect = "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n";
const std::string kLoad =
    kExpect +
    "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%in], 128, "
    "[bar];\n";
const std::string kRead = "@%p1 ld.shared.u32 %r1, [%r0];\n";
/// Warp 1 writes 128 bytes, which the async proxy then sees.
const std::string kWrite =
    "@%p1 st.shared.u32 [%r0], %t;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n";
const std::string kCommit = "@%p0 cp.async.bulk.commit_group;\n";
const std::string kEnd = "@%p0 cp.async.bulk.wait_group 0;\n";

std::string loop(const std::string& label, const std::string& wait) {
  return label + ":\n" + wait + "\n@!%p7 bra " + label + ";\n";
}
std::string wait_for(const std::string& label, const std::string& barrier, int parity) {
  return loop(label, "mbarrier.try_wait.parity.shared::cta.b64 %p7, [" + barrier + "], " +
                         std::to_string(parity) + ";");
}

void check_registers(const std::string& form) {
  expect_order(
      "mov.u32 %r8, 0x3f803f80;\nmov.u32 %r9, 0x40003fc0;\nmov.b16 %h1, 0x3830;\n"
      "mov.b16 %h2, 0x7f80;\ncvt.u8.u32 %b1, 0x25;\nmov.u64 %rd3, 3;\nmov.u64 %rd4, 5;\n"
      "mov.u64 %rd5, 7;\nmov.u64 %rd7, own;\nst.local.u64 [own], %rd3;\n" +
      form);
}

void check_load(const std::string& form) {
  const std::string issue = init() + kExpect + "@%p0 " + form + "\n";
  const std::string wait = wait_for("FULL", "bar", 0);
  expect_order(issue + wait + kRead);
  expect_conflict({"bulk copy", "load"}, issue + "bar.sync 0;\n" + kRead + wait);
}

void check_send(const std::string& form) {
  const auto kernel = [&](const std::string& early, const std::string& late) {
    return "st.shared.u32 [%r0+512], %t;\nfence.proxy.async.shared::cta;\n" + init() + kExpect +
           "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
           "mapa.shared::cluster.u32 %r8, %d, 1;\nmov.u32 %r10, bar;\n"
           "mapa.shared::cluster.u32 %r9, %r10, 1;\nsetp.eq.and.u32 %p2, %rank, 0, %p0;\n"
           "setp.eq.u32 %p3, %rank, 1;\n@%p2 " +
           form + "\n" + early + "@!%p3 bra SENT;\n" + wait_for("FULL", "bar", 0) + late +
           "SENT:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  };
  const std::string read = "@%p3 ld.shared.u32 %r1, [%r0];\n";
  expect_order(kernel("", read), 32, 2);
  expect_conflict({"bulk copy", "load"}, kernel(read, ""), 32, 2);
}

void check_store(const std::string& opcode, const std::string& form) {
  const std::string issue = kWrite + "@%p0 " + form + "\n" + kCommit;
  const std::string overwrite = "bar.sync 0;\n@%p1 st.shared.u32 [%r0], %t;\n" + kEnd;
  expect_order(issue + "@%p0 cp.async.bulk.wait_group.read 0;\n" + overwrite);
  expect_conflict({"was not known to have read it"}, issue + overwrite);
  // Two CTAs, one place: strong operations whose scopes contain both CTAs do not race.
  if (has(opcode, ".weak") || has(opcode, ".relaxed.cta."))
    expect_conflict({"bulk copy"}, issue + kEnd, 64, 2);
  else
    expect_order(issue + kEnd, 64, 2);
}

void check_group_wait(const std::string& form) {
  const auto kernel = [&](const std::string& wait, const std::string& after) {
    return init() + kWrite +
           "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], [data], 128;\n" + kCommit +
           wait + after + kEnd;
  };
  const std::string wait = "@%p0 " + form + "\n";
  const std::string load_again =
      kExpect +
      "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data+1024], [%out], "
      "128, [bar];\n" +
      wait_for("FULL", "bar", 0);
  // The async proxy sees what was stored, threads do not, and the source is free.
  expect_order(kernel(wait, load_again));
  expect_conflict({"bulk copy"}, kernel("", load_again));
  const std::string read = "@%p0 ld.global.u32 %r1, [%out];\n";
  expect_conflict({"bulk copy", "load"}, kernel(wait, read));
  expect_order(kernel(kEnd, read));
  const std::string overwrite = "@%p0 st.shared.u32 [%d], %t;\n";
  expect_order(kernel(wait, overwrite));
  expect_conflict({"was not known to have read it"}, kernel("", overwrite));
}

void check_read_fence(const std::string& form) {
  const auto kernel = [&](const std::string& access, const std::string& before_release,
                          const std::string& after_acquire) {
    return init() + kLoad + wait_for("FULL", "bar", 0) + access + before_release +
           "\nbar.warp.sync 0xffffffff;\nsetp.eq.u32 %p3, %t, 32;\n"
           "@%p3 mbarrier.arrive.shared::cta.b64 _, [bar2];\n@!%p0 bra LAST;\n" +
           wait_for("EMPTY", "bar2", 0) + after_acquire + "\n" + kLoad + "LAST:\n" +
           wait_for("AGAIN", "bar", 1);
  };
  const std::string write = "@%p1 st.shared.u32 [%r0], %t;\n";
  expect_order(kernel(kRead, form, ""));
  expect_conflict_at_isa({"without a proxy fence"}, kernel(kRead, "", ""));
  expect_conflict({"without a proxy fence"}, kernel(write, form, ""));
  // It is not cumulative: what another thread has read does not count.
  expect_conflict_at_isa({"without a proxy fence"}, kernel(kRead, "", form));
  expect_order(kernel(kRead, "", "fence.proxy.async.shared::cta;"));
}

void check_init(const std::string& form) {
  const std::string use =
      "setp.eq.u32 %p3, %t, 32;\n@%p3 mbarrier.arrive.shared::cta.b64 _, [bar];\n";
  expect_order("mov.u32 %r8, bar;\n" + init(form) + use);
  expect_conflict({"mbarrier"}, "mov.u32 %r8, bar;\n@%p0 " + form + "\n" + use);
}

void check_wait(const std::string& opcode, const std::string& form) {
  const std::string kernel = "mov.u32 %r8, bar;\n" + init() + kLoad + loop("FULL", form) + kRead;
  if (has(opcode, ".relaxed"))
    expect_conflict({"bulk copy", "load"}, kernel);
  else
    expect_order(kernel);
}

void check_state_wait(const std::string& opcode, const std::string& form) {
  const std::string kernel =
      "mov.u32 %r8, bar;\n" + init() +
      "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %rd6, [bar], 128;\n"
      "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%in], 128, "
      "[bar];\n@!%p0 bra LAST;\n" +
      loop("FULL", form) + "ld.shared.u32 %r1, [%d];\nLAST:\n";
  if (has(opcode, ".relaxed"))
    expect_conflict({"bulk copy", "load"}, kernel);
  else
    expect_order(kernel);
}

void check(Kind kind, const std::string& opcode, const std::string& form) {
  switch (kind) {
    case Kind::registers:
      return check_registers(form);
    case Kind::load:
      return check_load(form);
    case Kind::send:
      return check_send(form);
    case Kind::store:
      return check_store(opcode, form);
    case Kind::group_wait:
      return check_group_wait(form);
    case Kind::read_fence:
      return check_read_fence(form);
    case Kind::init:
      return check_init(form);
    case Kind::layout:
      return expect_order("mov.u32 %r8, bar;\n" + init() + form);
    case Kind::wait:
      return check_wait(opcode, form);
    case Kind::state_wait:
      return check_state_wait(opcode, form);
  }
}

TEST(NewerForms, EachAtBothLevelsAndByItsAccesses) {
  std::set<std::string> seen;
  for (const Row& row : kRows)
    for (const std::string& opcode : choices(row.opcode)) {
      SCOPED_TRACE(opcode);
      EXPECT_TRUE(seen.insert(opcode).second) << "twice";
      check(row.kind, opcode, opcode + " " + row.operands + ";");
    }
  EXPECT_GT(seen.size(), 200u);
}

}  // namespace
}  // namespace bw::sim::test::newer_forms_test
