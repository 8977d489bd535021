#pragma once
/// \file
/// What the timing program measures: one number a row, and the groups that the rows come from.

#include <span>
#include <string>
#include <vector>

namespace bw::timing {

/// One number. `name` and `parameter` together are its key in a file of results.
struct Measurement {
  std::string name;       ///< "latency.shared_load"
  std::string parameter;  ///< what was varied: "warps=4", or nothing
  std::string unit;       ///< "cycles", "instructions/cycle", "bytes/cycle", "us", "GB/s"
  double value = 0;
};

/// Takes the numbers of a group as they come.
class Results {
 public:
  /// Adds one.
  void add(std::string name, std::string parameter, std::string unit, double value) {
    rows_.push_back({std::move(name), std::move(parameter), std::move(unit), value});
  }
  /// All so far.
  [[nodiscard]] const std::vector<Measurement>& rows() const { return rows_; }

 private:
  std::vector<Measurement> rows_;
};

/// A kernel or a family of kernels that is measured together.
struct Group {
  const char* name;  ///< as `--groups` takes it
  const char* what;  ///< one line for `--list`
  bool fits;         ///< whether the timing model may be fitted to it; else it tests
  void (*measure)(Results& results);  ///< runs it on the current device
};

void measure_latency(Results& results);         ///< dependent chains of one warp
void measure_issue(Results& results);           ///< independent instructions by warps of an SM
void measure_warp_mma(Results& results);        ///< mma.sync and ldmatrix, alone and together
void measure_warp_orders(Results& results);     ///< K blocks of such a product in other orders
void measure_warp_product(Results& results);    ///< a matrix product by mma.sync
void measure_shared_memory(Results& results);   ///< widths and bank conflicts
void measure_barriers(Results& results);        ///< named, mbarrier, cluster
void measure_pipeline(Results& results);        ///< what warps do around their copies
void measure_tma_latency(Results& results);     ///< one copy at a time
void measure_wide_tma_loads(Results& results);  ///< one copy of wide rows, or of 64 KB
void measure_tma_throughput(Results& results);  ///< copies in flight, box widths, SMs, multicast
void measure_wgmma(Results& results);           ///< latency and interval by type, shape, place of A
void measure_k_block(Results& results);         ///< a consumer's K block and slice, piece by piece
void measure_math_warps(Results& results);      ///< a GEMM's math warps on one SM and on all
void measure_behind_stores(Results& results);   ///< what waits after stores; copies that store
void measure_contention(Results& results);      ///< who shares the memory of an SM with whom
void measure_memory(Results& results);          ///< loads and stores of threads: L2, HBM, by SMs
void measure_sharing(Results& results);         ///< the same lines for several SMs, pauses, stores
void measure_l2_sides(Results& results);        ///< near and far lines, and what the cache loses
void measure_streams(Results& results);         ///< reads, writes, copies; CTAs that end soon
void measure_rings(Results& results);           ///< a matrix product's copies by TMA
void measure_residents(Results& results);       ///< CTAs of one SM
void measure_launch(Results& results);          ///< launches, CTAs that follow one another, waves
void measure_launch_span(Results& results);     ///< launches compared with the span of their CTAs
void measure_first_use(Results& results);       ///< code, maps and pages that are cold
void measure_start(Results& results);           ///< from a launch to the first copies' data
void measure_new_code(Results& results);        ///< new code for several SMs, how a GEMM begins
void measure_jumps(Results& results);           ///< roles that jump into new code, parameters
void measure_cold_start(Results& results);      ///< far code, and parameters that roles read
void measure_cta_end(Results& results);    ///< what CTAs send, when they begin, which one follows
void measure_few_rows(Results& results);   ///< CTAs that share an SM
void measure_followers(Results& results);  ///< CTAs that follow others on their SMs
void measure_clock(Results& results);      ///< the SM's clock under load
void measure_l2_clock(Results& results);   ///< copies while MMAs pull the clock down
void measure_narrow_stores(Results& results);  ///< tiles that threads store in small pieces
void measure_ladder(Results& results);         ///< matrix products, one idea after the other
void measure_large_ladder(Results& results);   ///< the same of larger matrices
void measure_ladder_errors(Results& results);  ///< the same, held against exact sums
void measure_teaching(Results& results);       ///< ten kernels as teaching material has them
void measure_tensor_core(Results& results);    ///< tcgen05: MMAs, copies, tensor memory
void measure_mbarrier(Results& results);       ///< an operation on an mbarrier, without a loop

/// Keeps a GPU busy until its clock has come up; does nothing in the simulator.
void wake_up();

// What a program is made for: groups.cpp for Hopper, blackwell_groups.cpp for Blackwell.

/// All groups, in the order in which they run.
[[nodiscard]] std::span<const Group> groups();
/// Throws Error unless the current device can run them.
void require_device();

}  // namespace bw::timing
