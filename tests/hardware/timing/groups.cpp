/// \file
/// What is measured on a Hopper GPU.

#include <array>
#include <vector>

#include "common/host/hopper_device.hpp"
#include "tests/hardware/timing/measurement.hpp"

namespace bw::timing {

// Null in a program that is linked without the group's file, as timing_tests and timing_slow_tests
// are.
[[gnu::weak]] void measure_latency(Results& results);
[[gnu::weak]] void measure_issue(Results& results);
[[gnu::weak]] void measure_shared_memory(Results& results);
[[gnu::weak]] void measure_tma_latency(Results& results);
[[gnu::weak]] void measure_tma_throughput(Results& results);
[[gnu::weak]] void measure_memory(Results& results);
[[gnu::weak]] void measure_cta_end(Results& results);
[[gnu::weak]] void measure_followers(Results& results);
[[gnu::weak]] void measure_contention(Results& results);
[[gnu::weak]] void measure_math_warps(Results& results);
[[gnu::weak]] void measure_behind_stores(Results& results);
[[gnu::weak]] void measure_sharing(Results& results);
[[gnu::weak]] void measure_l2_sides(Results& results);
[[gnu::weak]] void measure_streams(Results& results);
[[gnu::weak]] void measure_rings(Results& results);
[[gnu::weak]] void measure_residents(Results& results);
[[gnu::weak]] void measure_launch_span(Results& results);
[[gnu::weak]] void measure_start(Results& results);
[[gnu::weak]] void measure_new_code(Results& results);
[[gnu::weak]] void measure_jumps(Results& results);
[[gnu::weak]] void measure_few_rows(Results& results);
[[gnu::weak]] void measure_clock(Results& results);
[[gnu::weak]] void measure_l2_clock(Results& results);
[[gnu::weak]] void measure_narrow_stores(Results& results);
[[gnu::weak]] void measure_teaching(Results& results);
[[gnu::weak]] void measure_warp_mma(Results& results);
[[gnu::weak]] void measure_warp_orders(Results& results);
[[gnu::weak]] void measure_warp_product(Results& results);

std::span<const Group> groups() {
  static constexpr std::array<Group, 38> kGroups{{
      {"latency", "cycles from an instruction to the one that needs its result", true,
       measure_latency},
      {"issue", "instructions a cycle and SM, by warps", true, measure_issue},
      {"warp_mma", "mma.sync and ldmatrix: chains, what is among MMAs, K blocks", true,
       measure_warp_mma},
      {"shared_memory", "cycles an access, by width and bank conflicts", true,
       measure_shared_memory},
      {"barrier", "named barriers, mbarriers, cluster barriers", true, measure_barriers},
      {"pipeline", "what warps do around their copies: fences, arrivals, copies by lanes", true,
       measure_pipeline},
      {"tma_latency", "one copy at a time, by bytes and width", true, measure_tma_latency},
      {"tma_throughput", "copies in flight, by width, SMs and multicast", true,
       measure_tma_throughput},
      {"wgmma", "latency and interval by N and place of A", true, measure_wgmma},
      {"contention", "stores, MMAs and copies side by side on one SM", true, measure_contention},
      {"k_block", "a consumer's K block and slice of the output, piece by piece", true,
       measure_k_block},
      {"math_warps", "K blocks, tiles and slices of a GEMM's math warps on one SM and on all", true,
       measure_math_warps},
      {"behind_stores", "loads, waits and copies after stores, for one SM and for all", true,
       measure_behind_stores},
      {"memory", "loads and stores of threads, L2 and HBM", true, measure_memory},
      {"sharing", "bandwidth when SMs read the same lines, pause, or store", true, measure_sharing},
      {"l2_sides", "near and far lines of the L2 cache, and what it loses", true, measure_l2_sides},
      {"streams", "what threads of all SMs read, write and copy, and CTAs that end soon", true,
       measure_streams},
      {"rings", "the copies of a matrix product, by SMs and clusters", true, measure_rings},
      {"residents", "CTAs that share an SM", true, measure_residents},
      {"launch", "launches, waves, the next CTA on an SM", true, measure_launch},
      {"launch_span", "what a launch takes in addition to the span of its CTAs", true,
       measure_launch_span},
      {"first_use", "code, tensor maps, pages and parameters that a launch uses first", true,
       measure_first_use},
      {"start", "from a launch to the first data of a pipelined kernel", true, measure_start},
      {"new_code", "new code for several SMs at once, and how a CTA of a GEMM begins", true,
       measure_new_code},
      {"jumps", "jumps into new code by roles, parameters and maps that are read first", true,
       measure_jumps},
      {"cold_start",
       "code far after a kernel's beginning, and roles that read parameters at the same time", true,
       measure_cold_start},
      {"cta_end", "between CTAs: what they send, when they begin, which one follows", true,
       measure_cta_end},
      {"few_rows", "CTAs that share an SM: rings for small MMAs, waves, exchanged sums", true,
       measure_few_rows},
      {"followers", "CTAs that follow others on their SMs: rings that wait for the L2 cache", true,
       measure_followers},
      {"clock", "the SM's clock by what the SMs do", true, measure_clock},
      {"l2_clock", "what the L2 cache gives while MMAs pull the SMs' clock down", true,
       measure_l2_clock},
      {"narrow_stores", "tiles that threads store two to sixteen bytes at a time", true,
       measure_narrow_stores},
      {"ladder", "matrix products, one idea after the other: tests the model", false,
       measure_ladder},
      {"large_ladder", "the same of larger matrices: tests the model", false, measure_large_ladder},
      {"ladder_errors", "how far the ladder's products are from what they should be", false,
       measure_ladder_errors},
      {"warp_orders", "K blocks by mma.sync whose loads come in other orders: tests the model",
       false, measure_warp_orders},
      {"warp_product", "a matrix product by mma.sync: tests the model", false,
       measure_warp_product},
      {"teaching", "kernels of teaching material: tests the model", false, measure_teaching},
  }};
  static const std::vector<Group> linked = [] {
    std::vector<Group> found;
    for (const Group& group : kGroups)
      if (group.measure) found.push_back(group);
    return found;
  }();
  return linked;
}

void require_device() { require_hopper(); }

}  // namespace bw::timing
