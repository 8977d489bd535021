#pragma once
/// \file
/// Kernel text that the tests of barriers share.

#include <string>
#include <string_view>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test {

/// A kernel `k(.param .u64 out)` with four mbarriers `bar`, 64 bytes `data` and registers declared:
/// %rd0 is the output, %r0 the thread index, %r1 the shared address of `bar`, %r2 the CTA's rank in
/// its cluster. `.loc 1 LINE 0` is a line of ring.cuh.
inline std::string synchronisation_kernel(std::string_view body, std::string_view directives = "") {
  std::string text =
      "  .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .pred %p<16>; .reg .b128 %q<4>;\n"
      "  ld.param.u64 %rd0, [out];\n"
      "  mov.u32 %r0, %tid.x;\n"
      "  mov.u32 %r1, bar;\n"
      "  mov.u32 %r2, %cluster_ctarank;\n";
  text += body;
  text += "\n  ret;\n";
  return entry(
      ".param .u64 out", text,
      ".shared .align 8 .b64 bar[4];\n.shared .align 16 .b8 data[64]; .file 1 \"ring.cuh\"\n",
      directives);
}

/// Stores predicate `predicate` as 0 or 1 to out[index].
inline std::string store_predicate(std::string_view predicate, int index) {
  return "  selp.u32 %r63, 1, 0, " + std::string(predicate) + ";\n  st.global.u32 [%rd0+" +
         std::to_string(4 * index) + "], %r63;\n";
}

/// Runs a body as one CTA and returns the first `words` words of `out`, which start as 0xffffffff.
inline std::vector<uint32_t> run_body(std::string_view body, uint32_t thread_count, size_t words,
                                      Settings settings = test_settings()) {
  Runner runner(settings);
  auto out = runner.buffer(std::vector<uint32_t>(words, 0xffffffffu));
  runner.run(synchronisation_kernel(body), threads(thread_count), out);
  return out.values();
}

/// The settings of the level `hardware`.
inline Settings hardware_settings() {
  Settings settings = test_settings();
  settings.strictness = Strictness::hardware;
  return settings;
}

}  // namespace bw::sim::test
