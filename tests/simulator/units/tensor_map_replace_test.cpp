/// \file
/// tensormap.replace and tensormap.cp_fenceproxy: a kernel changes a map as the host would have
/// encoded it (PTX ISA, "tensormap.replace").
#include "tests/simulator/units/copy_harness.hpp"

namespace bw::sim::test::tensor_map_replace_test {
namespace {

constexpr size_t kMapWords = kTensorMapBytes / 4;

/// Copies the parameter's map into the tile (all threads), runs `replace` there, and publishes it
/// at out + 4096, from where thread 0 prefetches it.
std::string in_shared(const std::string& replace) {
  return "  shl.b32 %r10, %r0, 2;\n  cvt.u64.u32 %rd10, %r10;\n  add.u64 %rd10, %rd10, %rd1;\n"
         "  ld.b32 %r11, [%rd10];\n  add.u32 %r12, %r10, %r1;\n  st.shared.b32 [%r12], %r11;\n"
         "  bar.warp.sync -1;\n  @!%p0 bra REPLACED;\n" +
         replace +
         "REPLACED:\n  bar.warp.sync -1;\n  add.u64 %rd11, %rd2, 4096;\n"
         "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
         "[%rd11], [%r1], 128;\n"
         "  fence.proxy.tensormap::generic.acquire.gpu [%rd11], 128;\n";
}

std::string replace_one(const std::string& field, const std::string& operands,
                        const std::string& type = "b32") {
  return "  tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [%r1], " +
         operands + ";\n";
}

/// The map that the kernel has published.
TensorMap published(CopyRun& run) {
  std::array<uint32_t, kMapWords> words{};
  for (size_t i = 0; i < kMapWords; ++i) words[i] = run.out[kTileWords + i];
  const std::optional<TensorMap> map = decode_tensor_map(words.data());
  EXPECT_TRUE(map.has_value());
  EXPECT_EQ(tensor_map_problem(words.data()), "");
  return map.value_or(TensorMap{});
}

TEST(TensorMapReplace, EveryField) {
  CopyRun run(2);  // for the room in its output; one CTA runs
  run.cluster = 1;
  MapArguments before = CopyRun::plain_map(run.in.address());
  MapArguments after = before;
  after.type = TensorMapType::bf16;
  after.address = run.in.address() + 256;
  after.extents = {48, 20, 3};
  after.strides = {112, 4096};
  after.box = {64, 2, 2};
  after.element_strides = {1, 2, 1};
  after.swizzle = TensorMapSwizzle::bytes128_atom32;
  after.nan_fill = true;
  const std::string body =
      in_shared("  ld.param.u64 %rd12, [in];\n  add.u64 %rd12, %rd12, 256;\n" +
                replace_one("global_address", "%rd12", "b64") + replace_one("rank", "2") +
                replace_one("global_dim", "0, 48") + replace_one("global_dim", "1, 20") +
                "  mov.u32 %r13, 3;\n" + replace_one("global_dim", "2, %r13") +
                replace_one("global_stride", "0, 112", "b64") +
                replace_one("global_stride", "1, 4096", "b64") + replace_one("box_dim", "0, 64") +
                replace_one("box_dim", "1, 2") + replace_one("box_dim", "2, 2") +
                replace_one("element_stride", "0, 1") + replace_one("element_stride", "1, 2") +
                replace_one("element_stride", "2, 1") + replace_one("elemtype", "10") +
                replace_one("interleave_layout", "0") + replace_one("swizzle_mode", "3") +
                replace_one("swizzle_atomicity", "1") + replace_one("fill_mode", "1"));
  run.run(body, before.encode());
  OpaqueMap expected_bytes = after.encode();
  const TensorMap expected = *decode_tensor_map(&expected_bytes);
  const TensorMap map = published(run);
  EXPECT_EQ(map.describe(), expected.describe());
  EXPECT_EQ(map.element_strides, expected.element_strides);
  EXPECT_EQ(map.swizzle, expected.swizzle);
  EXPECT_EQ(map.nan_fill, expected.nan_fill);
  EXPECT_EQ(map.interleave, expected.interleave);
}

TEST(TensorMapReplace, ElementTypesCountInTheInstructionsOrder) {
  constexpr TensorMapType kOrder[] = {
      TensorMapType::u8,      TensorMapType::u16, TensorMapType::u32,  TensorMapType::s32,
      TensorMapType::u64,     TensorMapType::s64, TensorMapType::f16,  TensorMapType::f32,
      TensorMapType::f32_ftz, TensorMapType::f64, TensorMapType::bf16, TensorMapType::tf32,
      TensorMapType::tf32_ftz};
  for (uint64_t i = 0; i < std::size(kOrder); ++i) {
    OpaqueMap map = CopyRun::plain_map(0x1000).encode();
    ASSERT_TRUE(replace_tensor_map_field(&map, TensorMapField::element_type, 0, i).ok());
    EXPECT_EQ(decode_tensor_map(&map)->type, kOrder[i]) << i;
  }
}

/// A grouped kernel: the map of another tensor, made on the device, and a load through it.
TEST(TensorMapReplace, ACopyUsesTheReplacedMap) {
  CopyRun run(2);
  run.cluster = 1;
  const std::string body =
      in_shared("  add.u64 %rd12, %rd3, 2048;\n" + replace_one("global_address", "%rd12", "b64") +
                replace_one("global_dim", "1, 2")) +
      expect_bytes(512) +
      "  @%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
      "[%r1], [%rd11, {0, 0}], [%r2];\n" +
      wait_for_bar() + write_tile();
  run.run(body, CopyRun::plain_map(run.in.address()).encode());
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(run.out[i], i < 64 ? 512 + i + 1 : 0u) << i;  // two of four rows are inside
}

/// Loads a box of 24 words by 4 rows through a map whose swizzle mode is replaced by 4.
void load_with_96_bytes(CopyRun& run, const std::string& more = "", uint32_t width = 24) {
  MapArguments map = CopyRun::plain_map(run.in.address());
  map.box = {width, 4};
  run.cluster = 1;
  const std::string body =
      in_shared(replace_one("swizzle_mode", "4") + more) + expect_bytes(width * 16) +
      "  @%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
      "[%r1], [%rd11, {0, 0}], [%r2];\n" +
      wait_for_bar() + write_tile();
  std::string text = entry(kCopyParameters, copy_prelude() + body + "  ret;\n");
  const std::string target = "sm_100a";
  text.replace(text.find(target), target.size(),
               "sm_" + run.runner.device().settings().machine->specific_target());
  run.runner.run(text, grid(1, 32, 1), map.encode().bytes, run.out, run.in);
}

Settings on_b300(Strictness level = Strictness::isa) {
  Settings settings = test_settings();
  settings.machine = find_machine("b300");
  settings.strictness = level;
  return settings;
}

/// PTX ISA, "Swizzling Modes", 96 bytes: the two chunks of each pair change places in every other
/// 128 bytes of shared memory.
TEST(TensorMapReplace, The96ByteSwizzleExchangesPairsOfChunks) {
  for (const Strictness level : {Strictness::isa, Strictness::hardware}) {
    CopyRun run(2, on_b300(level));
    load_with_96_bytes(run);
    for (uint32_t row = 0; row < 4; ++row)
      for (uint32_t column = 0; column < 24; ++column) {
        const uint32_t plain = row * 96 + column * 4;
        const uint32_t chunk = plain / 16, there = plain / 128 % 2 == 0 ? chunk
                                                   : chunk % 2 == 0     ? chunk + 1
                                                                        : chunk - 1;
        EXPECT_EQ(run.out[there * 4 + plain / 4 % 4], row * 32 + column + 1)
            << row << " " << column;
      }
  }
}

TEST(TensorMapReplace, The96ByteSwizzleHasRules) {
  for (const Strictness level : {Strictness::isa, Strictness::hardware}) {
    const auto fault = [&](const std::string& words, const std::string& more, uint32_t width,
                           Settings settings) {
      settings.strictness = level;
      expect_fault(FaultKind::contract, {words}, [&] {
        CopyRun run(2, settings);
        load_with_96_bytes(run, more, width);
      });
    };
    fault("swizzle_mode is 4 (96 bytes), which the machine b200 does not have", "", 24,
          test_settings());
    fault("which are 128 bytes; with the 96-byte swizzle", "", 32, on_b300());
    fault("with the 96-byte swizzle it must be 0 (16 bytes)", replace_one("swizzle_atomicity", "1"),
          24, on_b300());
    fault("the 96-byte swizzle allows no interleave", replace_one("interleave_layout", "1"), 24,
          on_b300());
    fault("the value of .swizzle_mode is 5; it must be 0 to 4", replace_one("swizzle_mode", "5"),
          24, on_b300());
  }
}

TEST(TensorMapReplace, InGlobalMemory) {
  CopyRun run(2);
  run.cluster = 1;
  run.run(in_shared("") + "  @%p0 tensormap.replace.tile.box_dim.global.b1024.b32 [%rd11], 1, 8;\n",
          CopyRun::plain_map(run.in.address()).encode());
  EXPECT_EQ(published(run).box[1], 8u);
}

TEST(TensorMapReplace, Faults) {
  const MapArguments map = CopyRun::plain_map(0);
  expect_copy_fault({"the 128 bytes aren't a tensor map", "(PTX ISA, \"tensormap.replace\")"},
                    "  @%p0 tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r1], 2;\n");
  expect_copy_fault({"the value of .box_dim is 257; it must be 1 to 256"},
                    in_shared(replace_one("box_dim", "0, 257")), &map);
  expect_copy_fault({"the ordinal of .global_stride is 4; it must be 0 to 3"},
                    in_shared(replace_one("global_stride", "4, 16", "b64")), &map);
  expect_copy_fault({"the lanes give different destination addresses"},
                    "  cvt.u64.u32 %rd10, %r0;\n  add.u64 %rd10, %rd10, %rd2;\n"
                    "  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
                    ".sync.aligned [%rd10], [%r1], 128;\n");
  expect_fault(FaultKind::unsupported, {"changes a field of type .b64 as .b32"}, [] {
    CopyRun run;
    run.run(replace_one("global_stride", "0, 16"));
  });
}

TEST(TensorMapReplace, AMapThatCannotBeIsNamedWhereItIsUsed) {
  CopyRun run(2);
  run.cluster = 1;
  const std::string body =
      in_shared(replace_one("global_stride", "0, 120", "b64")) + expect_bytes(512) +
      "  @%p0 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
      "[%r1], [%rd11, {0, 0}], [%r2];\n" +
      wait_for_bar();
  expect_fault(FaultKind::contract,
               {"tensormap.replace has made an invalid map", "globalStrides[0] is 120",
                "(PTX ISA, \"tensormap.replace\")"},
               [&] { run.run(body, CopyRun::plain_map(run.in.address()).encode()); });
}

/// Whether a field's value may come from a register (PTX ISA, "tensormap.replace": new_val is a
/// constant for .elemtype, .interleave_layout, .swizzle_mode, .swizzle_atomicity and .fill_mode).
TEST(TensorMapReplace, ValuesInRegisters) {
  const auto attempt = [](const std::string& field, const std::string& ordinal,
                          const std::string& type) {
    CopyRun run(2);
    run.cluster = 1;
    const bool is_wide = type == "b64";
    run.run(in_shared("  mov.u32 %r13, 1;\n  mov.u64 %rd12, 4096;\n" +
                      replace_one(field, ordinal + (is_wide ? "%rd12" : "%r13"), type)),
            CopyRun::plain_map(run.in.address()).encode());
  };
  for (const std::string field : {"box_dim", "global_dim", "element_stride"})
    EXPECT_NO_THROW(attempt(field, "0, ", "b32")) << field;
  EXPECT_NO_THROW(attempt("rank", "", "b32"));
  EXPECT_NO_THROW(attempt("global_address", "", "b64"));
  EXPECT_NO_THROW(attempt("global_stride", "0, ", "b64"));
  for (const std::string field :
       {"elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode"})
    EXPECT_THROW(attempt(field, "", "b32"), SimulationError) << field;
}

}  // namespace
}  // namespace bw::sim::test::tensor_map_replace_test
