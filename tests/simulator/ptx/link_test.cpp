#include <gtest/gtest.h>

#include "common/simulator/base/error.hpp"
#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::link_test {
namespace {

std::unique_ptr<Module> linked(const std::vector<std::string>& texts) {
  std::vector<std::unique_ptr<Module>> modules;
  modules.reserve(texts.size());
  for (const std::string& text : texts) modules.push_back(parse_text(text));
  return link(std::move(modules), "program");
}

const Variable& variable(const Module& module, std::string_view name) {
  const auto found = std::find_if(module.variables.begin(), module.variables.end(),
                                  [&](const auto& candidate) { return candidate->name == name; });
  EXPECT_NE(found, module.variables.end()) << name;
  return **found;
}

const std::string kUse = R"(
.extern .global .align 4 .u32 counter;
.extern .func (.param .b32 r) twice(.param .b32 x);
.global .align 1 .b8 $str[3] = {104, 105, 0};
.visible .entry k()
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  .loc 1 7 1
  ld.global.u32 %r1, [counter];
  mov.u64 %rd1, $str;
  {
  .param .b32 a;
  .param .b32 b;
  st.param.b32 [a], %r1;
  call.uni (b), twice, (a);
  }
  ret;
}
.file 1 "use.cu"
)";
const std::string kDefine = R"(
.visible .global .align 8 .u32 counter = 7;
.global .align 1 .b8 $str[2] = {66, 0};
.visible .global .align 8 .u64 text = generic($str);
.func (.param .b32 r) half(.param .b32 x)
{
  ret;
}
.visible .func (.param .b32 r) twice(.param .b32 x)
{
  .loc 1 9 1
  st.param.b32 [r], 1;
  ret;
}
.file 1 "define.cu"
)";

TEST(Link, AnExternBecomesTheDefinitionOfAnotherModule) {
  for (const auto& order : {std::vector{kUse, kDefine}, std::vector{kDefine, kUse}}) {
    const auto module = linked(order);
    const Variable& counter = variable(*module, "counter");
    EXPECT_FALSE(counter.is_extern);
    EXPECT_EQ(counter.alignment_bytes, 8u);
    ASSERT_EQ(counter.initial.size(), 4u);
    const Function* const k = module->find_function("k");
    ASSERT_NE(k, nullptr);
    EXPECT_EQ(k->instructions[0].operands[1].elements[0].variable, &counter);
    const Function* const twice = module->find_function("twice");
    ASSERT_NE(twice, nullptr);
    EXPECT_TRUE(twice->is_defined);
    EXPECT_EQ(module->describe_location(k->instructions[0]), "use.cu:7");
    EXPECT_EQ(module->describe_location(twice->instructions[0]), "define.cu:9");
    inline_calls(*module);  // the call finds its body
    for (const Instruction& instruction : k->instructions)
      EXPECT_FALSE(instruction.opcode.starts_with("call"));
  }
}

TEST(Link, WhatAModuleKeepsToItselfStaysApart) {
  const auto module = linked({kUse, kDefine});
  const Function* const k = module->find_function("k");
  const Variable* const first = k->instructions[1].operands[1].variable;
  EXPECT_EQ(first->size_bytes, 3u);
  const Variable& text = variable(*module, "text");
  ASSERT_EQ(text.relocations.size(), 1u);
  const Variable& second = variable(*module, text.relocations[0].symbol);
  EXPECT_NE(first, &second);
  EXPECT_EQ(second.size_bytes, 2u);
}

TEST(Link, TheFirstWeakDefinitionStaysAndAStrongOneWins) {
  const std::string weak = ".weak .global .align 4 .u32 v = 1;\n.weak .entry k() { ret; }\n";
  const std::string other = ".weak .global .align 4 .u32 v = 2;\n.weak .entry k() { ret; }\n";
  const std::string strong = ".visible .global .align 4 .u32 v = 3;\n";
  EXPECT_EQ(variable(*linked({weak, other}), "v").initial[0], std::byte{1});
  EXPECT_EQ(variable(*linked({weak, strong, other}), "v").initial[0], std::byte{3});
  EXPECT_EQ(linked({weak, other})->functions.size(), 1u);
}

TEST(Link, TheLargestOfCommonVariablesStays) {
  const auto module =
      linked({".common .global .align 4 .b8 v[4];\n", ".common .global .align 4 .b8 v[16];\n",
              ".common .global .align 4 .b8 v[8];\n"});
  EXPECT_EQ(module->variables.size(), 1u);
  EXPECT_EQ(module->variables[0]->size_bytes, 16u);
}

std::string refusal(const std::vector<std::string>& texts) {
  try {
    (void)linked(texts);
  } catch (const SimulationError& error) {
    return error.what();
  }
  return "";
}

TEST(Link, TwoStrongDefinitionsAndMissingOnesAreRefused) {
  const std::string strong = ".visible .global .align 4 .u32 v = 3;\n";
  EXPECT_NE(refusal({strong, strong}).find("`v` is defined in two modules"), std::string::npos);
  const std::string function = ".visible .func f() { ret; }\n";
  EXPECT_NE(refusal({function, function}).find("`f` is defined in two modules"), std::string::npos);
  EXPECT_NE(refusal({kUse}).find("`k` uses the variable `counter`, which no module"),
            std::string::npos);
}

}  // namespace
}  // namespace bw::sim::ptx::link_test
