#pragma once
/// \file
/// PTX around one copy instruction: a tile and an mbarrier in shared memory, initialised, and what
/// to do with the tile afterwards.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"
#include "tests/simulator/units/tensor_map_fixture.hpp"

namespace bw::sim::test {

/// Bytes of the tile; words of it that `write_tile` gives out.
inline constexpr uint32_t kTileBytes = 4096;
inline constexpr uint32_t kTileWords = kTileBytes / 4;

/// Registers after this: %r0 thread, %r1 tile, %r2 mbarrier (count 1, initialised), %r3 rank in the
/// cluster, %rd1 generic address of the map, %rd2 `out`, %rd3 `in`, %p0 thread 0. The tile's word i
/// of CTA rank r holds 0x1000000 * (r + 1) + i, written by all threads; every CTA of the cluster
/// has got here.
inline std::string copy_prelude() {
  return R"(
  .shared .align 1024 .b8 tile[4096];
  .shared .align 8 .b64 bar;
  .reg .pred %p<8>;
  .reg .b16 %rs<8>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<24>;
  mov.b64 %rd0, map;
  cvta.param.u64 %rd1, %rd0;
  ld.param.u64 %rd2, [out];
  ld.param.u64 %rd3, [in];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, tile;
  mov.u32 %r2, bar;
  mov.u32 %r3, %cluster_ctarank;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  add.u32 %r30, %r3, 1;
  shl.b32 %r30, %r30, 24;
  mov.u32 %r31, %r0;
  mov.u32 %r33, %ntid.x;
PRE_FILL:
  setp.ge.u32 %p7, %r31, 1024;
  @%p7 bra PRE_FILLED;
  shl.b32 %r32, %r31, 2;
  add.u32 %r32, %r32, %r1;
  add.u32 %r34, %r30, %r31;
  st.shared.u32 [%r32], %r34;
  add.u32 %r31, %r31, %r33;
  bra PRE_FILL;
PRE_FILLED:
  fence.proxy.async.shared::cta;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";
}

/// The parameters that copy_prelude reads.
inline constexpr const char* kCopyParameters =
    ".param .align 64 .b8 map[128], .param .u64 out, .param .u64 in";

/// Waits for the completion of the mbarrier's phase 0. `label` is unique in the kernel.
inline std::string wait_for_bar(const std::string& label = "WAIT") {
  return label + ":\n  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r2], 0;\n  @!%p6 bra " +
         label + ";\n";
}

/// Expects `bytes` on the mbarrier, by thread 0.
inline std::string expect_bytes(uint32_t bytes) {
  return "  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " + std::to_string(bytes) +
         ";\n";
}

/// Writes the tile of each CTA to out[rank * 1024 ...] and lets the cluster end together.
inline std::string write_tile() {
  return R"(
  mov.u32 %r31, %r0;
  mov.u32 %r33, %ntid.x;
  mul.wide.u32 %rd20, %r3, 4096;
  add.u64 %rd20, %rd20, %rd2;
OUT_LOOP:
  setp.ge.u32 %p7, %r31, 1024;
  @%p7 bra OUT_DONE;
  shl.b32 %r32, %r31, 2;
  add.u32 %r34, %r32, %r1;
  ld.shared.u32 %r35, [%r34];
  cvt.u64.u32 %rd21, %r32;
  add.u64 %rd21, %rd21, %rd20;
  st.global.u32 [%rd21], %r35;
  add.u32 %r31, %r31, %r33;
  bra OUT_LOOP;
OUT_DONE:
)";
}

inline std::string cluster_sync() {
  return "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
}

/// What the prelude wrote to word i of the tile of a rank.
inline uint32_t tile_word(uint32_t rank, uint32_t i) { return (rank + 1) * 0x1000000 + i; }

inline constexpr uint32_t kUntouched = 0xabababab;

/// A runner with an input of counted words and an output.
struct CopyRun {
  explicit CopyRun(uint32_t cluster_size = 1, Settings settings = test_settings())
      : runner(settings),
        in(runner.buffer(counted_words())),
        out(runner.buffer(std::vector<uint32_t>(cluster_size * kTileWords, kUntouched))),
        cluster(cluster_size) {}

  /// Input word i is i + 1.
  static std::vector<uint32_t> counted_words() {
    std::vector<uint32_t> words(4 * kTileWords);
    for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i + 1);
    return words;
  }
  /// A 2-D map of 32-bit elements on a buffer: 32 columns x 16 rows without padding.
  [[nodiscard]] static MapArguments plain_map(uint64_t address) {
    MapArguments a;
    a.type = TensorMapType::u32;
    a.address = address;
    a.extents = {32, 16};
    a.strides = {128};
    a.box = {32, 4};
    return a;
  }
  LaunchResult run(const std::string& body, const OpaqueMap& map = OpaqueMap{},
                   uint32_t thread_count = 32) {
    return runner.run(entry(kCopyParameters, copy_prelude() + body + "  ret;\n"),
                      grid(cluster, thread_count, cluster), map.bytes, out, in);
  }

  Runner runner;
  Buffer<uint32_t> in;
  Buffer<uint32_t> out;
  uint32_t cluster;
};

/// Expects a contract fault with these parts from a body in a cluster of this size.
inline void expect_copy_fault(const std::vector<std::string>& parts, const std::string& body,
                              const MapArguments* map = nullptr, uint32_t cluster_size = 1,
                              FaultKind kind = FaultKind::contract) {
  CopyRun run(cluster_size);
  OpaqueMap opaque{};
  if (map != nullptr) {
    MapArguments a = *map;
    if (a.address == 0) a.address = run.in.address();
    opaque = a.encode();
  }
  const Report report = expect_fault(kind, parts, [&] { run.run(body, opaque); });
  EXPECT_NE(report.where.find("test.ptx:"), std::string::npos) << report.where;
  EXPECT_FALSE(report.rule.empty());
  EXPECT_FALSE(report.fix.empty());
}

}  // namespace bw::sim::test
