#include <gtest/gtest.h>

#include <cstring>

#include "common/simulator/ptx/demangle.hpp"
#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::module_test {
namespace {

TEST(Module, ReadsTheHeader) {
  const auto module = parse(".version 8.7\n.target sm_100a, debug\n.address_size 64\n", "m");
  EXPECT_EQ(module->version_major, 8u);
  EXPECT_EQ(module->version_minor, 7u);
  EXPECT_EQ(module->target, "sm_100a");
  EXPECT_EQ(module->name, "m");
}

TEST(Module, ReadsEntryDirectives) {
  const auto module = parse_text(R"(
.visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 64 .b8 map[128],
                  .param .f32 f)
.maxntid 128, 2
.reqntid 64
.minnctapersm 3
.maxnctapersm 4
.maxnreg 168
.explicitcluster
.reqnctapercluster 2, 1, 1
.maxclusterrank 8
.blocksareclusters
.noreturn
.pragma "nounroll";
{ ret; }
)");
  const Function& k = entry(*module);
  EXPECT_TRUE(k.is_entry);
  EXPECT_TRUE(k.is_defined);
  EXPECT_TRUE(k.no_return);
  const EntryDirectives& d = k.directives;
  EXPECT_EQ(d.max_threads[0], 128u);
  EXPECT_EQ(d.max_threads[1], 2u);
  EXPECT_EQ(d.max_threads[2], 1u);
  EXPECT_EQ(d.required_threads[0], 64u);
  EXPECT_EQ(d.min_ctas_per_sm, 3u);
  EXPECT_EQ(d.max_registers, 168u);
  EXPECT_EQ(d.required_cluster[0], 2u);
  EXPECT_EQ(d.required_cluster[2], 1u);
  EXPECT_EQ(d.max_cluster_rank, 8u);
  EXPECT_TRUE(d.explicit_cluster);
  EXPECT_TRUE(d.blocks_are_clusters);
  ASSERT_EQ(k.parameters.size(), 3u);
  EXPECT_EQ(k.parameters[0]->alignment_bytes, 8u);
  EXPECT_EQ(k.parameters[0]->size_bytes, 8u);
  EXPECT_EQ(k.parameters[1]->alignment_bytes, 64u);
  EXPECT_EQ(k.parameters[1]->size_bytes, 128u);
  EXPECT_EQ(k.parameters[2]->type, ScalarType::f32);
  EXPECT_EQ(k.parameters[2]->space, StateSpace::param);
}

TEST(Module, ReadsVariablesOfEverySpace) {
  const auto module = parse_text(R"(
.extern .shared .align 1024 .b8 dynamic[];
.shared .align 8 .b64 barriers[4];
.visible .const .align 16 .v4 .f32 table[2];
.weak .global .attribute(.managed) .align 4 .u32 managed;
.common .global .b16 a, b[3], c[2][5];
.visible .entry k() {
  .local .align 16 .b8 __local_depot0[96];
  .shared .b32 word;
  .reg .b64 %SP;
  mov.u64 %SP, __local_depot0;
}
)");
  ASSERT_EQ(module->variables.size(), 7u);
  const auto& v = module->variables;
  EXPECT_TRUE(v[0]->is_extern);
  EXPECT_EQ(v[0]->size_bytes, 0u);
  EXPECT_EQ(v[0]->alignment_bytes, 1024u);
  EXPECT_EQ(v[1]->size_bytes, 32u);
  EXPECT_EQ(v[2]->space, StateSpace::constant);
  EXPECT_EQ(v[2]->size_bytes, 32u);
  EXPECT_EQ(v[4]->name, "a");
  EXPECT_EQ(v[4]->alignment_bytes, 2u);
  EXPECT_EQ(v[5]->size_bytes, 6u);
  EXPECT_EQ(v[6]->size_bytes, 20u);
  const Function& k = entry(*module);
  ASSERT_EQ(k.variables.size(), 2u);
  EXPECT_EQ(k.variables[0]->space, StateSpace::local);
  EXPECT_EQ(k.variables[1]->space, StateSpace::shared);
  EXPECT_EQ(k.instructions[0].operands[1].variable, k.variables[0].get());
}

TEST(Module, PutsADefinitionInPlaceOfItsDeclaration) {
  const auto module = parse_text(R"(
.extern .global .u32 x;
.global .u64 p = x;
.global .u32 x = 9;
.func (.param .b32 r) f (.param .b32 a);
.func (.param .b32 r) f (.param .b32 a) { ret; }
.func g;
)");
  ASSERT_EQ(module->variables.size(), 2u);
  EXPECT_FALSE(module->variables[0]->is_extern);
  EXPECT_EQ(std::to_integer<int>(module->variables[0]->initial.at(0)), 9);
  ASSERT_EQ(module->functions.size(), 2u);
  EXPECT_TRUE(module->find_function("f")->is_defined);
  EXPECT_FALSE(module->find_function("g")->is_defined);
  EXPECT_EQ(module->find_function("h"), nullptr);
}

template <typename T>
T value_at(const Variable& variable, size_t index) {
  T value;
  EXPECT_GE(variable.initial.size(), (index + 1) * sizeof(T));
  std::memcpy(&value, variable.initial.data() + index * sizeof(T), sizeof(T));
  return value;
}

TEST(Initialisers, BytesWordsAndFloats) {
  const auto module = parse_text(R"(
.global .align 4 .b8 bytes[6] = {1, 255, -1};
.const .u32 word = 0x89abcdef;
.global .s64 wide[2] = {-2, 9223372036854775807};
.global .f32 f[4] = {0f3FC00000, -1.5, 2, -0f7FC00001};
.global .f64 d = 0d3FF8000000000000;
.global .u16 open[] = {1, 2, 3};
.global .b32 matrix[2][3] = {{1}, {4, 5}};
.global .b32 flat[2][2] = {1, 2, 3};
.global .v2 .b16 pair[2] = {{1, 2}, {3, 4}};
.global .b32 zero[4];
)");
  const auto& v = module->variables;
  EXPECT_EQ(v[0]->initial.size(), 6u);
  EXPECT_EQ(value_at<uint8_t>(*v[0], 1), 255);
  EXPECT_EQ(value_at<uint8_t>(*v[0], 2), 255);
  EXPECT_EQ(value_at<uint8_t>(*v[0], 3), 0);
  EXPECT_EQ(value_at<uint32_t>(*v[1], 0), 0x89abcdefu);
  EXPECT_EQ(value_at<int64_t>(*v[2], 0), -2);
  EXPECT_EQ(value_at<int64_t>(*v[2], 1), INT64_MAX);
  EXPECT_EQ(value_at<float>(*v[3], 0), 1.5f);
  EXPECT_EQ(value_at<float>(*v[3], 1), -1.5f);
  EXPECT_EQ(value_at<float>(*v[3], 2), 2.0f);
  EXPECT_EQ(value_at<uint32_t>(*v[3], 3), 0xFFC00001u);
  EXPECT_EQ(value_at<double>(*v[4], 0), 1.5);
  EXPECT_EQ(v[5]->size_bytes, 6u);
  EXPECT_EQ(value_at<uint16_t>(*v[5], 2), 3);
  EXPECT_EQ(value_at<uint32_t>(*v[6], 0), 1u);
  EXPECT_EQ(value_at<uint32_t>(*v[6], 1), 0u);
  EXPECT_EQ(value_at<uint32_t>(*v[6], 3), 4u);
  EXPECT_EQ(value_at<uint32_t>(*v[6], 4), 5u);
  EXPECT_EQ(value_at<uint32_t>(*v[7], 2), 3u);
  EXPECT_EQ(value_at<uint16_t>(*v[8], 2), 3);
  EXPECT_TRUE(v[9]->initial.empty());
}

TEST(Initialisers, AddressesOfSymbols) {
  const auto module = parse_text(R"(
.global .u32 x;
.global .u64 a = x;
.global .u64 b[3] = {generic(x)+24, 7, later-8};
.global .b8 packed[9] = {1, 0xFF(generic(x)), 0xFF00(generic(x)), 0xFF00000000000000(x+4)};
.global .u32 later[8];
)");
  const auto& v = module->variables;
  ASSERT_EQ(v[1]->relocations.size(), 1u);
  EXPECT_EQ(v[1]->relocations[0].symbol, "x");
  EXPECT_FALSE(v[1]->relocations[0].generic);
  ASSERT_EQ(v[2]->relocations.size(), 2u);
  EXPECT_TRUE(v[2]->relocations[0].generic);
  EXPECT_EQ(v[2]->relocations[0].addend, 24);
  EXPECT_EQ(v[2]->relocations[0].size_bytes, 8u);
  EXPECT_EQ(v[2]->relocations[1].offset_bytes, 16u);
  EXPECT_EQ(v[2]->relocations[1].addend, -8);
  EXPECT_EQ(value_at<uint64_t>(*v[2], 1), 7u);
  ASSERT_EQ(v[3]->relocations.size(), 3u);
  EXPECT_EQ(v[3]->relocations[1].offset_bytes, 2u);
  EXPECT_EQ(v[3]->relocations[1].size_bytes, 1u);
  EXPECT_EQ(v[3]->relocations[1].shift_bits, 8u);
  EXPECT_EQ(v[3]->relocations[2].shift_bits, 56u);
  EXPECT_EQ(v[3]->relocations[2].addend, 4);
}

TEST(Scopes, RepeatRegistersAndLabels) {
  std::string body = ".reg .b32 %r<3>;\n";
  for (int i = 0; i < 3; ++i) {
    body += R"({
.reg .pred P1;
LAB_WAIT:
mbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2;
@P1 bra DONE;
bra LAB_WAIT;
DONE:
}
)";
  }
  const auto module = parse_body_text(body + "ret;");
  const Function& k = entry(*module);
  ASSERT_EQ(k.instructions.size(), 10u);
  EXPECT_EQ(k.registers.size(), 6u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(k.instructions[i * 3].operands[0].reg, 3 + i);
    EXPECT_EQ(k.instructions[i * 3 + 1].guard, 3 + i);
    EXPECT_EQ(k.instructions[i * 3 + 1].operands[0].value, i * 3 + 3);
    EXPECT_EQ(k.instructions[i * 3 + 2].operands[0].value, i * 3);
  }
}

TEST(Scopes, InnerNamesHideOuterOnes) {
  const auto module = parse_body_text(R"(
.reg .b32 %r<2>, x;
{ .reg .b64 x, %r<1>; mov.b64 x, %r0; mov.b64 x, %r1; }
mov.b32 x, %r0;
{ bra OUT; }
OUT: ret;
)");
  const Function& k = entry(*module);
  EXPECT_EQ(k.registers[k.instructions[0].operands[0].reg].type, ScalarType::b64);
  EXPECT_EQ(k.registers[k.instructions[0].operands[1].reg].type, ScalarType::b64);
  EXPECT_EQ(k.registers[k.instructions[1].operands[1].reg].type, ScalarType::b32);
  EXPECT_EQ(k.registers[k.instructions[2].operands[0].reg].type, ScalarType::b32);
  EXPECT_EQ(k.instructions[3].operands[0].value, 4u);
}

TEST(Locations, FollowInlinedFunctions) {
  const auto module = parse_text(R"(
.visible .entry k() {
  .reg .b32 %r<2>;
  .loc 1 10 3
  mov.b32 %r0, 1;
  .loc 2 5 7, function_name $name, inlined_at 1 10 3
  mov.b32 %r0, 2;
  .loc 2 0 7
  mov.b32 %r0, 3;
  .loc 3 1 1, function_name .debug_str+4, inlined_at 2 5 7
  mov.b32 %r0, 4;
  .loc 2 9 1, function_name $name, inlined_at 1 77 1
  mov.b32 %r0, 5;
}
.file 1 "some/path/kernel.cu"
.file 2 "gemm.cuh", 1700000000, 99
.file 3 "leaf.cuh"
.section .debug_str
{
$name:
.b8 102
.b8 111, 111
.b8 0
.b8 98
.b8 0
}
.section .debug_info { .b32 .debug_abbrev+4
.b32 $a-$b
$c:
.b64 $name }
)");
  const auto& i = entry(*module).instructions;
  EXPECT_EQ(module->describe_location(i[0]), "kernel.cu:10");
  EXPECT_EQ(module->describe_location(i[1]), "kernel.cu:10 (gemm.cuh:5 in foo)");
  EXPECT_EQ(module->describe_location(i[2]), module->describe_location(i[1]));
  EXPECT_EQ(module->describe_location(i[3]), "kernel.cu:10 (leaf.cuh:1 in b)");
  EXPECT_EQ(module->describe_location(i[4]), "kernel.cu:77 (gemm.cuh:9 in foo)");
  EXPECT_EQ(module->locations[static_cast<size_t>(i[1].location)].function, "foo");
  EXPECT_EQ(module->locations[static_cast<size_t>(i[3].location)].function, "b");
}

TEST(Locations, NamesAreBytesInAnyNotation) {
  const auto module = parse_text(R"(
.visible .entry k() {
  .reg .b32 %r<2>;
  .loc 1 1 1, function_name $line_each, inlined_at 1 10 3
  mov.b32 %r0, 1;
  .loc 1 2 1, function_name $one_line, inlined_at 1 10 3
  mov.b32 %r0, 2;
  .loc 1 3 1, function_name $continued, inlined_at 1 10 3
  mov.b32 %r0, 3;
  .loc 1 4 1, function_name $other_bases, inlined_at 1 10 3
  mov.b32 %r0, 4;
}
.file 1 "kernel.cu"
.section .debug_str
{
$line_each:
.b8 102
.b8 111
.b8 111
.b8 0
$one_line:
.b8 102,111,111,0
$continued:
.b8 100
+ 2
.b8 111
, 111
.b8 1,2,
3-3
.b8 0
$other_bases:
.b8 0146
.b8 0x6f,0157
.b8 00
}
)");
  const auto& i = entry(*module).instructions;
  const auto name = [&](size_t index) {
    return module->locations[static_cast<size_t>(i[index].location)].function;
  };
  EXPECT_EQ(name(0), "foo");
  EXPECT_EQ(name(1), "foo");
  EXPECT_EQ(name(2), "foo\1\2");
  EXPECT_EQ(name(3), "foo");
}

TEST(Locations, PreferTheKernelsFileThenItsFolder) {
  const auto module = parse_text(R"(
.visible .entry k() {
  .reg .b32 %r<2>;
  .loc 1 99 1
  mov.b32 %r0, 0;
  .loc 2 20 1, function_name $dispatch, inlined_at 1 99 1
  mov.b32 %r0, 1;
  .loc 1 30 1, function_name $load, inlined_at 2 20 1
  mov.b32 %r0, 2;
  .loc 2 8 1, function_name $wait, inlined_at 1 30 1
  mov.b32 %r0, 3;
  .loc 3 50 1, function_name $load, inlined_at 1 98 1
  mov.b32 %r0, 4;
  .loc 2 9 1, function_name $wait, inlined_at 3 50 1
  mov.b32 %r0, 5;
}
.file 1 "chapter/kernel.cuh"
.file 2 "library/wait.cuh"
.file 3 "chapter/roles.cuh"
.section .debug_str
{
$dispatch:
.b8 100,0
$load:
.b8 108,0
$wait:
.b8 119,0
}
)");
  const auto& i = entry(*module).instructions;
  EXPECT_EQ(module->describe_place(i[1]), "kernel.cuh:99");
  EXPECT_EQ(module->describe_place(i[3]), "kernel.cuh:30 in l");
  EXPECT_EQ(module->describe_location(i[3]), "kernel.cuh:30 in l (wait.cuh:8 in w)");
  EXPECT_EQ(module->describe_place(i[5]), "roles.cuh:50 in l");
}

TEST(Locations, NameTheReadersFramesAroundALibrarys) {
  const auto module = parse_text(R"(
.visible .entry k() {
  .reg .b32 %r<2>;
  .loc 1 40 1
  mov.b32 %r0, 0;
  .loc 2 12 1, function_name $functor, inlined_at 1 40 1
  mov.b32 %r0, 1;
  .loc 3 7 1, function_name $load, inlined_at 2 12 1
  mov.b32 %r0, 2;
  .loc 4 5 1
  mov.b32 %r0, 3;
  .loc 2 13 1, function_name $functor, inlined_at 4 5 1
  mov.b32 %r0, 4;
  .loc 3 8 1, function_name $load, inlined_at 2 13 1
  mov.b32 %r0, 5;
}
.file 1 "/home/me/cutlass/include/cutlass/device_kernel.h"
.file 2 "/home/me/project/src/functor.cuh"
.file 3 "/usr/local/cuda/include/cuda_fp8.hpp"
.file 4 "/home/me/project/kernel.cu"
.section .debug_str
{
$functor:
.b8 102,0
$load:
.b8 108,0
}
)");
  const auto& i = entry(*module).instructions;
  // The library's kernel: the place is the reader's code in it.
  EXPECT_EQ(module->describe_location(i[0]), "device_kernel.h:40");
  EXPECT_EQ(module->describe_location(i[1]), "functor.cuh:12 in f");
  EXPECT_EQ(module->describe_location(i[2]), "functor.cuh:12 in f (cuda_fp8.hpp:7 in l)");
  // The reader's kernel, a file of the reader's in another folder, and a library in that.
  EXPECT_EQ(module->describe_location(i[4]), "kernel.cu:5 (functor.cuh:13 in f)");
  EXPECT_EQ(module->describe_location(i[5]),
            "kernel.cu:5 (functor.cuh:13 in f, cuda_fp8.hpp:8 in l)");
}

TEST(Locations, NameTheCallsInsideOfALibrarysKernel) {
  const auto module = parse_text(R"(
.visible .entry k() {
  .reg .b32 %r<2>;
  .loc 1 40 1
  mov.b32 %r0, 0;
  .loc 2 700 1, function_name $run, inlined_at 1 40 1
  mov.b32 %r0, 1;
  .loc 3 610 1, function_name $load, inlined_at 2 700 1
  mov.b32 %r0, 2;
  .loc 4 120 1, function_name $copy, inlined_at 3 610 1
  mov.b32 %r0, 3;
}
.file 1 "/home/me/cutlass/include/cutlass/device_kernel.h"
.file 2 "/home/me/cutlass/include/cutlass/gemm/kernel/gemm.hpp"
.file 3 "/home/me/cutlass/include/cutlass/gemm/collective/mma.hpp"
.file 4 "/home/me/cutlass/include/cute/arch/copy.hpp"
.section .debug_str
{
$run:
.b8 114,0
$load:
.b8 108,0
$copy:
.b8 99,0
}
)");
  const auto& i = entry(*module).instructions;
  EXPECT_EQ(module->describe_location(i[0]), "device_kernel.h:40");
  // A frame in the instruction's own folder is a wrapper, unless there is nothing else.
  EXPECT_EQ(module->describe_place(i[1]), "device_kernel.h:40");
  EXPECT_EQ(module->describe_place(i[2]), "gemm.hpp:700 in r");
  EXPECT_EQ(module->describe_place(i[3]), "mma.hpp:610 in l");
  EXPECT_EQ(module->describe_location(i[3]),
            "mma.hpp:610 in l (copy.hpp:120 in c), called at gemm.hpp:700 in r");
}

TEST(Names, LongTemplateArgumentsGiveWay) {
  // kernel<tuple<int x 40>, 128>(int): what is deepest goes first.
  EXPECT_EQ(readable_name("_Z6kernelILi128EEvi"), "kernel<128>");
  EXPECT_EQ(readable_name("k"), "k");
  // A constructor that a class inherits has the class's own name.
  EXPECT_EQ(readable_name("_ZN2bw5StageILi4EECI1NS_4BaseILi4EEEERi"), "bw::Stage<4>::Stage");
  EXPECT_EQ(readable_name("_ZN2bw12_GLOBAL__N_15StageILi4EECI1NS_4BaseILi4EEEERi"),
            "bw::(anonymous namespace)::Stage<4>::Stage");
  // As g++ writes them where the class, or the one that declares the constructor, has no scope.
  EXPECT_EQ(readable_name("_ZN5StageCI1N2bw4BaseEEi"), "Stage::Stage");
  EXPECT_EQ(readable_name("_ZN4TileCI25PlainEi"), "Tile::Tile");
  EXPECT_EQ(readable_name("_ZN4Tile8LoadCI15Ei"), "Tile::LoadCI15") << "no constructor";
  // Substitutions that the C++ library counts differently, and so cannot demangle.
  EXPECT_EQ(readable_name("_ZNrK2bw4RoleIS9_E4loadEPc"), "bw::Role::load");
  EXPECT_EQ(readable_name("_ZN2bw4RoleIDTfp_EE4loadEvS9_"), "bw::Role::load");
  EXPECT_EQ(readable_name("_ZN2bw4RoleINS_5StageILi4EEEE4loadIJifEEEvS9_"), "bw::Role::load");
  EXPECT_EQ(readable_name("_ZN2bw6kernelINS_5StageILNS_4ModeE2ELS7_0EEEEEvT_"), "bw::kernel");
  EXPECT_EQ(readable_name("_ZN2bw3runIXgesr2bw4bitsIS9_EE5valueLi32EEEEviiZNS_1fEvEUliE0_"),
            "bw::run");
  EXPECT_EQ(readable_name("_ZNK2bw4RoleIS9_EclEPc"), "bw::Role::operator()");
  EXPECT_EQ(readable_name("_ZN2bw4RoleINS_5StageILi4EE"), "_ZN2bw4RoleINS_5StageILi4EE");
  EXPECT_EQ(readable_name("_ZN34_INTERNAL_aea1d6d8_4_a_cu_42fdece611__shfl_syncEjiii"),
            "__shfl_sync");
  std::string inner = "I";
  for (int i = 0; i < 40; ++i) inner += "f";
  inner += "E";
  EXPECT_EQ(readable_name("_Z6kernelI4pairIi5tuple" + inner + "ELi128EEvi"),
            "kernel<pair<int, tuple<...>>, 128>");
  std::string many = "_Z6kernelI";
  for (int i = 0; i < 60; ++i) many += "Li7E";
  EXPECT_EQ(readable_name(many + "Evi"), "kernel<...>");
  // Operators are not brackets; what follows them may be.
  const std::string long_list = "I" + std::string(130, 'f') + "E";
  EXPECT_EQ(readable_name("_ZN1SltI5tuple" + long_list + "EEvT_"), "S::operator< <tuple<...>>");
  EXPECT_EQ(readable_name("_ZN1SptI5tuple" + long_list + "EEvT_"), "S::operator-><tuple<...>>");
  // A variable of a function keeps its name.
  EXPECT_EQ(readable_name("_ZZ6kernelILi1EEvvE4slot"), "kernel<1>()::slot");
}

TEST(Locations, FallBackToTheTextsLine) {
  const auto module = parse_body_text("ret;");
  EXPECT_EQ(module->describe_location(entry(*module).instructions[0]), "test.ptx:6");
}

TEST(Types, KnowTheirNamesAndSizes) {
  struct Known {
    const char* name;
    size_t bytes;
    char kind;  ///< b: untyped bits, u, s: integers, f: floating point (PTX ISA, "Types")
  };
  // A pair of 8-bit elements is 16 bits, a pair of 4-bit elements 8; 6-bit ones are padded to 8.
  constexpr Known kKnown[] = {
      {"pred", 0, 'b'},   {"b8", 1, 'b'},     {"b16", 2, 'b'},     {"b32", 4, 'b'},
      {"b64", 8, 'b'},    {"b128", 16, 'b'},  {"u8", 1, 'u'},      {"u16", 2, 'u'},
      {"u32", 4, 'u'},    {"u64", 8, 'u'},    {"s8", 1, 's'},      {"s16", 2, 's'},
      {"s32", 4, 's'},    {"s64", 8, 's'},    {"f16", 2, 'f'},     {"f16x2", 4, 'f'},
      {"bf16", 2, 'f'},   {"bf16x2", 4, 'f'}, {"tf32", 4, 'f'},    {"f32", 4, 'f'},
      {"f64", 8, 'f'},    {"e4m3x2", 2, 'f'}, {"e5m2x2", 2, 'f'},  {"e2m3x2", 2, 'f'},
      {"e3m2x2", 2, 'f'}, {"e2m1x2", 1, 'f'}, {"ue8m0x2", 2, 'f'}, {"u16x2", 4, 'u'},
      {"s16x2", 4, 's'},  {"f32x2", 8, 'f'}};
  for (const Known& known : kKnown) {
    const ScalarType type = type_from_name(known.name);
    EXPECT_STREQ(type_name(type), known.name);
    EXPECT_EQ(size_bytes(type), known.bytes) << known.name;
    EXPECT_EQ(is_signed(type), known.kind == 's') << known.name;
    EXPECT_EQ(is_float(type), known.kind == 'f') << known.name;
  }
  EXPECT_EQ(type_from_name("u7"), ScalarType::none);
  EXPECT_EQ(type_from_name("none"), ScalarType::none);
}

TEST(Module, TheLargestVariables) {
  EXPECT_NO_THROW(parse_text(".global .b8 a[281474976710656];\n"));
  EXPECT_NO_THROW(parse_text(".global .b64 a[35184372088832];\n"));
  EXPECT_NO_THROW(parse_text(".global .b64 a[32768][1073741824];\n"));
}

TEST(Module, InitialValuesOf128BitsHaveTheirSign) {
  const auto module = parse_text(".global .b128 a[2] = {-2, 3};\n");
  const auto& initial = module->variables.at(0)->initial;
  ASSERT_EQ(initial.size(), 32u);
  for (size_t i = 0; i < initial.size(); ++i)
    EXPECT_EQ(std::to_integer<int>(initial[i]), i == 0    ? 0xfe
                                                : i < 16  ? 0xff
                                                : i == 16 ? 3
                                                          : 0)
        << i;
}

}  // namespace
}  // namespace bw::sim::ptx::module_test
