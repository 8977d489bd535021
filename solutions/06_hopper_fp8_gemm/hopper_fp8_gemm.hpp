#pragma once
/// \file
/// Host interface of the blockwise-scaled FP8 GEMM for Hopper.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "solutions/05_blockwise_fp8_gemm/gemm_arguments.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel.hpp"

namespace bw::hopper {

class SummationOrder;

/// Where the CTAs of a launch go, if a cluster has only one. (CTAs of larger clusters share a GPC
/// anyway.)
enum class LaunchOrder {
  /// Neighbours to different GPCs: the launch asks for clusters of one CTA.
  kAcrossGpcs,
  /// Neighbours to the same GPC, until it is full: the launch doesn't ask for clusters. Reads of
  /// the same line by SMs of a GPC are one request to the L2 cache.
  kGpcByGpc,
};

/// What the name of a choice ends with if it is launched GPC by GPC.
inline constexpr const char* kGpcByGpcSuffix = "/gpc";

/// How a GEMM is computed: a configuration, and the order of its launch.
struct GemmChoice {
  const GemmKernel* kernel;                      ///< the configuration
  LaunchOrder order = LaunchOrder::kAcrossGpcs;  ///< of its CTAs

  /// A configuration across the GPCs, unless `order` says otherwise. Throws Error if clusters of
  /// several CTAs are to go GPC by GPC.
  GemmChoice(const GemmKernel& kernel,  // NOLINT(google-explicit-constructor): the usual order
             LaunchOrder order = LaunchOrder::kAcrossGpcs);
  /// The configuration's name; GPC by GPC with the suffix "/gpc".
  [[nodiscard]] std::string name() const;
  bool operator==(const GemmChoice& other) const = default;  ///< the same launch
};

/// Whether a configuration can be launched GPC by GPC: one without clusters.
bool has_launch_orders(const GemmKernel& kernel);

/// The choices that `kernels` give: each configuration, and those without clusters in both orders.
/// They point to `kernels`, which must outlive them.
std::vector<GemmChoice> choices_of(const std::vector<GemmKernel>& kernels);

/// All choices for one product: those of gemm_kernels().
const std::vector<GemmChoice>& gemm_choices();

/// The one of `choices` that has this name. Throws Error that lists the names there are.
GemmChoice find_gemm_choice(std::string_view name,
                            const std::vector<GemmChoice>& choices = gemm_choices());

/// All configurations, in the order in which `--list-configs` shows them.
const std::vector<GemmKernel>& gemm_kernels();

/// The configuration of this name. Throws Error that lists the names there are.
const GemmKernel& find_gemm_kernel(std::string_view name);

/// Whether a launch may need device memory of its own.
enum class Workspace {
  kNone,    ///< no: the kernels that split the last round of tiles along K don't take part
  kOfPlan,  ///< yes: a GemmPlan has it
};

/// What is expected to be the fastest for a shape on a GPU of `multiprocessors`.
GemmChoice choose_gemm(int64_t m, int64_t n, int64_t k, int multiprocessors, Workspace workspace);

/// Enqueues D = A · Bᵀ (blockwise-scaled) + beta · C on `stream` and returns. The argument type is
/// chapter 5's; bf16 output only. Throws Error for arguments that validate_gemm_arguments refuses,
/// for a device that isn't of compute capability 9.0 (naming the one found), and for what CUDA
/// reports at the launch. For repeated calls with the same arguments, make a GemmPlan instead.
void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, cudaStream_t stream);

/// The same by the caller's choice. Workspace, where it needs one, is allocated and freed in the
/// order of the stream.
void blockwise_fp8_gemm(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice,
                        cudaStream_t stream);

/// A GEMM made ready once, to be launched often: arguments are validated, tensor maps encoded, the
/// configuration chosen, its workspace allocated, and the launch recorded as a graph. It belongs to
/// the device that was current, and to the addresses given; their contents may change between
/// launches. It outlives its launches. Move-only.
///
/// A plan with a workspace clears its flags once, on the legacy default stream, and waits for that
/// stream; every plan captures a stream of its own. So don't make one while a stream is being
/// captured into a graph; launch() may be captured.
class GemmPlan {
 public:
  /// Errors are those of blockwise_fp8_gemm().
  explicit GemmPlan(const BlockwiseFp8GemmArguments& gemm);
  /// By the caller's choice, of a configuration of gemm_kernels().
  GemmPlan(const BlockwiseFp8GemmArguments& gemm, const GemmChoice& choice);
  GemmPlan(GemmPlan&& other) noexcept;
  GemmPlan& operator=(GemmPlan&& other) noexcept;
  ~GemmPlan();

  /// The kernel that was chosen.
  const GemmKernel& kernel() const;
  /// The kernel and the order of its launch.
  GemmChoice choice() const;

  /// The parts of K in which a launch sums D's elements (summation_order.hpp), for callers
  /// that must know the result bit for bit.
  SummationOrder summation_order() const;

  /// Enqueues the GEMM on `stream` and returns; any thread. Launches of one plan run one after the
  /// other, whatever their streams: plans are what runs side by side. (Those that were captured
  /// into a graph of the caller's aren't held apart from others, but share the plan's workspace:
  /// there the caller sees to it.) Throws Error for what CUDA reports.
  void launch(cudaStream_t stream) const;

 private:
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace bw::hopper
