/// \file
/// Every malformed module ends in a SimulationError that says where and what was expected.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "common/simulator/ptx/control_flow.hpp"
#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::parse_error_test {
namespace {

struct Malformed {
  const char* text;  ///< after the header of three lines
  unsigned line;     ///< of the fault
  const char* what;  ///< part of the message
};

// Bodies are wrapped into an entry, so that their first line is line 6.
const Malformed kBodies[] = {
    {"add.s32 %r1, 1, 2;", 6, "`%r1` is not declared"},
    {".reg .b32 %r<2>;\nadd.s32 %r2, 1, 2;", 7, "`%r2` is not declared"},
    {".reg .b32 %r<2>;\nadd.s32 %r01, 1, 2;", 7, "`%r01` is not declared"},
    {".reg .b32 %r<2>, %r<3>;", 6, "declared twice"},
    {".reg .b32 a; .reg .b64 a;", 6, "declared twice"},
    {".reg .b32 %r<5000000>;", 6, "declares more than"},
    {".reg .b99 a;", 6, "`.b99` is not allowed here"},
    {".regs .b32 a;", 6, "`.regs` is unknown"},
    {".reg .b32 a;\nmov.b32 a 1;", 7, "`1` is not allowed here"},
    {".reg .b32 a;\nmov.b32 a, ;", 7, "`;` is not allowed here"},
    {".reg .b32 a;\nmov.b32 a, [b;", 7, "`b` is not declared"},
    {".reg .b32 a;\nld.b32 a, [a;", 7, "`;` is not allowed here"},
    {".reg .b32 a;\nld.b32 a, [a+];", 7, "`]` is not allowed here"},
    {".reg .b32 a;\nld.b32 a, [%tid.x];", 7, "can't be the base of an address"},
    {".reg .b32 a;\nmov.b32 {a, a, 1;", 7, "`;` is not allowed here"},
    {".reg .b32 a;\nmov.b32 a|1, 1;", 7, "second destination"},
    {".reg .b32 a;\n@a ret;", 7, "not a predicate"},
    {".reg .b32 a;\n@!%q ret;", 7, "`%q` is not declared as a register"},
    {".reg .b32 a;\nmov.b32 a, 1/0;", 7, "divided by zero"},
    {".reg .b32 a;\nMOV.b32 a, 1;", 7, "`MOV.b32` is not allowed here"},
    {".reg .b32 a;\nmov..b32 a, 1;", 7, "a dot without a name"},
    {"bra NOWHERE;", 6, "label `NOWHERE` is not defined"},
    {"{ IN: ret; }\nbra IN;", 7, "label `IN` is not defined"},
    {"L: ret;\nL: ret;", 7, "label `L` is defined twice"},
    {".reg .b32 a;\nbrx.idx a, T;", 7, "is not the name of a table"},
    {".reg .b32 a;\nT: .branchtargets X;\nbrx.idx a, T;", 7, "label `X` is not defined"},
    {"call f, (1);", 6, "`f` is called but not declared"},
    {".param .b64 p;\ncall (p) k;", 7, "`k` is not allowed here"},
    {".shared .b32 s = 4;", 6, "can't have an initial value"},
    {".local .b32 s[];", 6, "has no size"},
    {".local .pred p;", 6, "can't be a predicate"},
    {".local .align 3 .b32 p;", 6, "3 bytes is impossible"},
    {".local .b8 p[0];", 6, "impossible array size"},
    {".local .b64 p[99999999999][99999999999];", 6, "larger than any memory"},
    {".local .b8 p[281474976710657];", 6, "impossible array size"},
    {".local .b64 p[35184372088833];", 6, "larger than any memory"},
    {"ret; \x01", 6, "the text contains a byte of value 1"},
    {"ret; \x7f", 6, "the text contains a byte of value 127"},
    {"ret; \x80", 6, "the text contains a byte of value 128"},
    {"ret; \\", 6, "`\\` has no meaning here"},
    {".loc 1 2", 7, "`}` is not allowed here"},
    {".loc 9 2 3\nret;", 6, "has no .file 9"},
    {".pragma \"x\"", 7, "`}` is not allowed here"},
    {"ret", 7, "`}` is not allowed here"},
    {"%r1: ret; @", 7, "`}` is not allowed here"},
    {"@%p L: ret;", 6, "is not declared as a register"},
    {"ret; \"text\"", 6, "a string is not allowed here"},
    {"a.b: ret;", 6, "is not a name for a label"},
    {"0x: ret;", 6, "is not an integer"},
};

TEST(ParseErrors, InBodiesSayLineAndFault) {
  for (const Malformed& item : kBodies) {
    const Report report = report_of(".visible .entry k()\n{\n" + std::string(item.text) + "\n}\n");
    EXPECT_EQ(report.kind(), FaultKind::parse) << item.text;
    EXPECT_NE(report.what.find(item.what), std::string::npos) << item.text << "\n" << report.what;
    const std::string line = "test.ptx:" + std::to_string(item.line) + ": `";
    EXPECT_TRUE(report.where.starts_with(line)) << item.text << "\n" << report.where;
    ASSERT_FALSE(report.details.empty()) << item.text;
    EXPECT_TRUE(report.details[0].starts_with("expected: ")) << item.text;
    EXPECT_FALSE(report.fix.empty()) << item.text;
  }
}

const Malformed kModules[] = {
    {"\n.golbal .u32 x;\n", 5, "`.golbal` is unknown"},
    {"x\n", 4, "`x` is not allowed here"},
    {".visible .u32 x;\n", 4, "`.u32` is unknown"},
    {".global .u32 x = 1\n.global .u32 y;\n", 5, "`.global` is not allowed here"},
    {".global .u32 x; .global .u32 x;\n", 4, "declared twice"},
    {".global .u32 x = {1, 2};\n", 4, "`,` is not allowed here"},
    {".global .u32 x[2] = 1;\n", 4, "`1` is not allowed here"},
    {".global .u32 x[2] = {1, 2, 3};\n", 4, "more initial values than elements"},
    {".global .u32 x[2] = {1, {2}};\n", 4, "`{` is not allowed here"},
    {".global .u32 x[2] = {1 2};\n", 4, "`2` is not allowed here"},
    {".global .b8 x = 256;\n", 4, "does not fit into .b8"},
    {".global .b8 x = -129;\n", 4, "does not fit into .b8"},
    {".global .u32 x = 0d3FF0000000000000;\n", 4, "floating-point value can't initialise"},
    {".global .u32 x[];\n", 4, "has no size"},
    {".global .u32 x[] = {};\n", 4, "no values"},
    {".global .u32 x[2][];\n", 4, "`]` is not allowed here"},
    {".global .b8 x[2000000000] = {1};\n", 4, "has 2000000000 bytes"},
    {".extern .global .u32 x = 1;\n", 4, "can't have an initial value"},
    {".global .u64 p = nothing;\n", 4, "`nothing`, which the module doesn't declare"},
    {".global .u16 p = p;\n", 4, "an address can't initialise"},
    {".global .b8 p = 0xF0(p);\n", 4, "doesn't pick one element's bytes"},
    {".global .u64 p = generic(p;\n", 4, "`;` is not allowed here"},
    {".func f() { ret; }\n.func f() { ret; }\n", 5, "defined twice"},
    {".global .u32 f;\n.func f() { ret; }\n", 5, "declared twice"},
    {".func f() { ret; }\n.global .u32 f;\n", 5, "declared twice"},
    {".func f(.b32 a) { ret; }\n", 4, "`.b32` is not allowed here"},
    {".func f(.param .b32 a .param .b32 b);\n", 4, "`.param` is not allowed here"},
    {".func f(.param .b32 a, .param .b32 a);\n", 4, "parameter `a` is declared twice"},
    {".entry k() .maxntd 128 { ret; }\n", 4, "`.maxntd` is unknown"},
    {".entry k() .maxntid 1, 2, 3, 4 { ret; }\n", 4, "`4` is not allowed here"},
    {".entry k() .maxntid { ret; }\n", 4, "`{` is not allowed here"},
    {".entry k() ret;\n", 4, "`ret` is not allowed here"},
    {".entry .b32();\n", 4, "`.b32` is not allowed here"},
    {".file x\n", 4, "`x` is not allowed here"},
    {".file 99999999 \"x\"\n", 4, "too large"},
    {".section .debug_str { .b32 1 }\n", 4, "`.b32` is not allowed here"},
    {".section .debug_str { .b8 300 }\n", 4, "too large"},
    {".section .debug_str {\n.b8 1\n.b8 2,3\n.b8 300 }\n", 7, "too large"},
    {".section .debug_str {\n.b8 1\n.b8 2,3\n+ .b8 4 }\n", 7, "`.b8` is not allowed here"},
    {".section 7 { }\n", 4, "`7` is not allowed here"},
    {".address_size 32\n", 4, "`32` is not allowed here"},
    {"}\n", 4, "`}` is not allowed here"},
};

TEST(ParseErrors, InModulesSayLineAndFault) {
  for (const Malformed& item : kModules) {
    const Report report = report_of(item.text);
    EXPECT_EQ(report.kind(), FaultKind::parse) << item.text;
    EXPECT_NE(report.what.find(item.what), std::string::npos) << item.text << "\n" << report.what;
    const std::string line = "test.ptx:" + std::to_string(item.line) + ": `";
    EXPECT_TRUE(report.where.starts_with(line)) << item.text << "\n" << report.where;
    ASSERT_FALSE(report.details.empty()) << item.text;
  }
}

TEST(ParseErrors, RefuseWhatIsWellFormedButNotExecuted) {
  for (const char* text : {".global .texref t;\n", ".texref t;\n", ".alias f, g;\n",
                           ".func f(.reg .b32 a);\n", ".entry k() { .reg .v4 .f32 v; }\n"}) {
    const Report report = report_of(text);
    const bool is_texture_variable = std::string(text).starts_with(".global");
    EXPECT_EQ(report.kind(), is_texture_variable ? FaultKind::parse : FaultKind::unsupported)
        << text;
  }
}

TEST(ParseErrors, InTheHeader) {
  for (const char* text : {"", ";", ".target sm_100a\n", ".version x\n.target sm_100a\n",
                           ".version 9\n.target sm_100a\n", ".version 9.0\n.target foo\n",
                           ".version 9.0\n.global .u32 x;\n", "hello"}) {
    EXPECT_THROW((void)parse(text, "m"), SimulationError) << text;
  }
}

TEST(ParseErrors, NewerVersionsAreRefused) {
  const auto read = [](const std::string& version) {
    (void)parse(".version " + version + "\n.target sm_100a\n.address_size 64\n", "m");
  };
  for (const char* version : {"10.0", "11.3"}) {
    try {
      read(version);
      ADD_FAILURE() << version;
    } catch (const SimulationError& error) {
      EXPECT_EQ(error.report().kind(), FaultKind::unsupported);
      EXPECT_NE(error.report().what.find("PTX " + std::string(version)), std::string::npos);
    }
  }
  for (const char* version : {"9.1e0", "9.0e", "9.", ".9", "9.0000"})
    EXPECT_THROW(read(version), SimulationError) << version;
  for (const char* version : {"8.0", "9.9"}) EXPECT_NO_THROW(read(version)) << version;
}

TEST(ParseErrors, OfALongLineThePartAroundTheFaultIsShown) {
  // 160 bytes: 80 before the fault, which is the second name, and 80 from there on.
  const std::string before(200, 'x'), after(300, 'y');
  EXPECT_EQ(report_of(".global .u32 " + before + " " + after + ";\n").where,
            "test.ptx:4: `" + before.substr(0, 79) + " " + after.substr(0, 80) + "`");
  // Where less is left before or after it, less is shown.
  EXPECT_EQ(report_of(".global .u32 a " + after + ";\n").where,
            "test.ptx:4: `" + (".global .u32 a " + after).substr(0, 160) + "`");
  EXPECT_EQ(report_of(".global .u32 " + before + " b;\n").where,
            "test.ptx:4: `" + before.substr(0, 79) + " b;`");
}

TEST(ParseErrors, ShowTheOffendingLineAndNothingUnprintable) {
  const Report report = report_of(".visible .entry k()\n{\n\tfoo.bar\t%x, \xc3\xa4;\n}\n");
  EXPECT_EQ(report.where, "test.ptx:6: `foo.bar %x, ??;`");
}

/// One of everything, as nvcc writes it.
const std::string kModule = kHeader + R"(
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.global .align 4 .b8 data[8] = {1, 2, 0x3};
.global .align 8 .u64 pointer[2] = {generic(data)+4, 0};
.global .align 1 .u8 packed[2] = {0xFF(generic(data)), 7};
.extern .shared .align 1024 .b8 dyn[];
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	.reg .b32 	%r<3>;
	ld.param.u32 	%r1, [helper_param_0];
	add.s32 	%r2, %r1, 0x10;
	st.param.b32 	[func_retval0], %r2;
	ret;
}
.visible .entry k(
	.param .u64 .ptr .align 1 k_param_0,
	.param .align 64 .b8 k_param_1[128]
)
.maxntid 128, 1, 1
.reqnctapercluster 2, 1, 1
{
	.local .align 16 .b8 	__local_depot0[16];
	.reg .pred 	%p<3>;
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<3>;
	.loc	1 12 3
	ld.param.u64 	%rd1, [k_param_0];
	// begin inline asm
	{
	.reg .pred P1;
	LAB_WAIT:
	mbarrier.try_wait.parity.shared::cta.b64 P1, [%r1+-8], %r2;
	@P1 bra DONE;
	bra LAB_WAIT;
	DONE:
	}
	// end inline asm
	.loc	1 20 3, function_name $L__info_string0, inlined_at 1 12 3
	{ // callseq 0, 0
	.param .b32 param0;
	st.param.b32 	[param0], %r1;
	.param .b32 retval0;
	call.uni (retval0), helper, (param0);
	ld.param.b32 	%r3, [retval0];
	} // callseq 0
	mov.f32 	%r4, 0f3F800000;
	mov.f64 	%rd2, 0d3FF0000000000000;
	setp.eq.s32 	%p2, %r3, 0;
	@!%p2 bra 	$L__BB0_2;
	shfl.sync.idx.b32 	%r1|%p1, %r2, 0, 31, -1;
$L__BB0_2:
	.pragma "nounroll";
	ret;
}
	.file	1 "kernel.cu"
	.section	.debug_str
	{
$L__info_string0:
.b8 97
.b8 0

	}
)";

/// Runs everything that a loaded module goes through.
void digest(const std::string& text) {
  const auto module = parse(text, "cut.ptx");
  inline_calls(*module);
  for (const auto& function : module->functions) {
    (void)reconvergence_points(*function);
    (void)allocate_registers(*function);
    for (const Instruction& instruction : function->instructions) {
      (void)module->describe_location(instruction);
    }
  }
}

TEST(CutText, IsAnErrorOrAModuleAtEveryByte) {
  ASSERT_NO_THROW(digest(kModule));
  size_t valid = 0, said_so = 0;
  for (size_t size = 0; size < kModule.size(); ++size) {
    try {
      digest(kModule.substr(0, size));
      ++valid;
    } catch (const SimulationError& error) {
      const Report& report = error.report();
      EXPECT_TRUE(report.kind() == FaultKind::parse) << size << "\n" << error.what();
      if (report.what.find("ends in the middle of") != std::string::npos) {
        ++said_so;
        EXPECT_NE(report.fix.find("cut off"), std::string::npos);
      } else {
        // Only half a name that represents nothing, or .loc before .file, may read as another
        // fault.
        const bool names_a_file = report.what.find(".file") != std::string::npos;
        EXPECT_TRUE(names_a_file) << size << "\n" << error.what();
      }
    }
  }
  EXPECT_GT(valid, 20u);
  EXPECT_GT(said_so, kModule.size() / 2);
}

TEST(CutText, SaysWhatItEndsIn) {
  const std::pair<const char*, const char*> cases[] = {
      {".visible .entry k() { ret", "the function `k`"},
      {".visible .entry k() { .reg .b32", "a .reg declaration"},
      {".visible .entry k() { .loc 1", "a .loc directive"},
      {".global .b8 x[4] = {1, 2", "the initialiser of `x`"},
      {".visible .entry k(.param .b32 a", "the function `k`"},
      {".glob", "a declaration"},
      {"/* text", "the comment that begins in line 4"},
      {".file 1 \"abc", "a string"},
      {".section .debug_str { .b8 1", "the debug section `.debug_str`"},
      {".visible .entry k() { .reg .b32 a; mov.f32 a, 0f3F8", "the literal `0f3F8`"}};
  for (const auto& [text, construct] : cases) {
    const Report report = report_of(text);
    const std::string expected = std::string("ends in the middle of ") + construct;
    EXPECT_NE(report.what.find(expected), std::string::npos) << report.what;
    EXPECT_EQ(report.kind(), FaultKind::parse);
  }
}

// Mutations of a real module: never a crash, never another kind of exception.
TEST(MutatedText, IsAnErrorOrAModule) {
  std::mt19937 random(12345);
  const auto below = [&](size_t bound) {
    return static_cast<size_t>(random() % static_cast<uint32_t>(bound));
  };
  constexpr int kRounds = 4000;
  size_t valid = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = kModule;
    for (size_t change = 0; change <= below(3); ++change) {
      const size_t at = below(text.size());
      const size_t length = 1 + below(8);
      switch (below(4)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, text.substr(below(text.size()), length));
          break;
        case 2:
          text[at] = static_cast<char>(below(256));
          break;
        default:
          text[at] = "{}()[],;:@!|+-*/<>.%\"0U_$\n"[below(26)];
          break;
      }
    }
    try {
      digest(text);
      ++valid;
    } catch (const SimulationError&) {
      // as it should be
    }
  }
  EXPECT_GT(valid, 0u);
}

TEST(Depth, NestingIsBounded) {
  const std::string parentheses(100000, '('), braces(100000, '{'), minus(100000, '-');
  for (const std::string& value : {parentheses, minus}) {
    EXPECT_THROW((void)parse_text(".global .u32 x = " + value + "1;"), SimulationError);
  }
  EXPECT_THROW((void)parse_text(".global .u32 x[2] = " + braces), SimulationError);
  EXPECT_THROW((void)parse_text(".entry k() " + braces), SimulationError);
  std::string conditional;
  for (int i = 0; i < 100000; ++i) conditional += "1?1:";
  EXPECT_THROW((void)parse_text(".global .u32 x = " + conditional + "1;"), SimulationError);
}

TEST(ParseErrors, RegistersAreNoVectors) {
  for (const std::string length : {".v2", ".v4", ".v8"})
    EXPECT_NE(report_of(".visible .entry k()\n{\n.reg " + length + " .b32 a;\n}\n")
                  .what.find("declared as a vector (" + length + ")"),
              std::string::npos);
}

}  // namespace
}  // namespace bw::sim::ptx::parse_error_test
