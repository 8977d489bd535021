/// \file
/// Forms that are known and not executed are refused at launch, by name; production kernels' forms
/// are known.
#include <fstream>

#include "common/simulator/machine/binder.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::unexecuted_test {
namespace {

TEST(Unexecuted, EveryFormOfProductionKernelsIsExecuted) {
  std::ifstream file(std::string(BW_TEST_DATA) + "/ptx/instruction_forms.txt");
  ASSERT_TRUE(file.is_open());
  size_t forms = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    ++forms;
    const std::optional<FormMatch> match = find_form(line);
    ASSERT_TRUE(match.has_value()) << line << " is not known";
    EXPECT_NE(match->form->bind, nullptr) << line << " is refused by name";
  }
  constexpr size_t kForms = 281;
  EXPECT_EQ(forms, kForms);
}

TEST(Unexecuted, RefusedFormsHaveNoHandler) {
  for (const char* opcode : {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
                             "tex.2d.v4.f32.s32", "suld.b.2d.b32.trap", "multimem.red.add.u32"}) {
    const std::optional<FormMatch> match = find_form(opcode);
    ASSERT_TRUE(match.has_value()) << opcode;
    EXPECT_EQ(match->form->bind, nullptr) << opcode;
  }
}

TEST(Unexecuted, LaunchNamesTheForm) {
  expect_fault(FaultKind::unsupported,
               {"vadd.u32.u32.u32", "is known but not executed by this simulator"}, [] {
                 Runner runner;
                 runner.run(
                     entry("", "  .reg .b32 %r<2>;\n  vadd.u32.u32.u32 %r0, %r1, %r1;\n  ret;\n"),
                     threads(32));
               });
}

TEST(Unexecuted, TheReportNamesTheVersionOfPtxThatBroughtTheForm) {
  const auto refusal = [](const std::string& words, std::string version, const std::string& text) {
    expect_fault(FaultKind::unsupported, {words}, [&] {
      Runner runner;
      std::string module = entry("", "  .reg .b32 %r<2>;\n  " + text + "\n  ret;\n");
      module.replace(module.find("9.0"), 3, version);
      runner.run(module, threads(32));
    });
  };
  refusal("known but not executed by this simulator (it came with PTX 9.3)", "9.3",
          "fabric.submit;");
  refusal("(it came with PTX 9.5)", "9.5", "fabric.wait.sync_restrict::read 1;");
  refusal("not an instruction form that this simulator knows (it came with PTX 9.2)", "9.5",
          "min.u8x4 %r0, %r1, %r1;");
  // Not a form of any known version; the module may be newer than the simulator.
  refusal("knows (the module is written in PTX 9.8, and the newest version known here is 9.5)",
          "9.8", "add.frobnicate.u32 %r0, %r1, %r1;");
  refusal("`add.frobnicate.u32` is not an instruction form that this simulator knows\n", "9.5",
          "add.frobnicate.u32 %r0, %r1, %r1;");
}

TEST(Unexecuted, AFormThatDoesNotExistIsNotKnown) {
  for (const char* opcode :
       {"tcgen05.mma.cta_group::3.kind::f16", "tcgen05.ld.sync.aligned.8x8b.x1.b32",
        "tcgen05.alloc.cta_group::1.b32", "tcgen05.frobnicate"})
    EXPECT_FALSE(find_form(opcode).has_value()) << opcode;
}

}  // namespace
}  // namespace bw::sim::test::unexecuted_test
