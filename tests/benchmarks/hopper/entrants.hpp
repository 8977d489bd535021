#pragma once
/// \file
/// The entrants of a comparison: our configurations and cuBLASLt's algorithms, each verified
/// before anything is timed.

#include <optional>
#include <string>
#include <vector>

#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"
#include "tests/benchmarks/hopper/shapes.hpp"
#include "tests/benchmarks/hopper/timing.hpp"
#include "tests/gpu_reference/cublaslt_matmul.hpp"
#include "tests/gpu_reference/float64_reference.hpp"

namespace bw {

/// Launches with which the candidates for the final are chosen.
constexpr int kTrialWarmUps = 2, kTrialRepeats = 7;

/// By a plan, as cuBLASLt's descriptors and algorithm are prepared once, too.
Launch our_launch(const hopper::GemmPlan& plan);
Launch peer_launch(const CublasLtMatmul& peer, int algorithm);

/// Plans of the configurations that take part, by the option's value: a name, "auto" or "all".
std::vector<hopper::GemmPlan> make_plans(const BlockwiseFp8GemmArguments& arguments,
                                         const std::string& config);

/// Launches a plan for `gemm`, whose D is dense, once into a poisoned D; its relative error. Throws
/// Error when the result is wrong: when elements are off by more than is allowed that aren't, bit
/// for bit, what the tensor cores compute in the plan's order, or when there are too many of them.
double verify_plan(const hopper::GemmPlan& plan, const Shape& shape,
                   const BlockwiseFp8GemmArguments& gemm, const DeviceReference& reference);

/// An algorithm of cuBLASLt that ran and was right.
struct PeerAlgorithm {
  int place;  ///< in the heuristic's list
  double error;
};

/// Tries all that cuBLASLt proposes, with D at `d`. It doesn't tell in which order an algorithm
/// adds K blocks; the usual one is assumed where the model is asked.
std::vector<PeerAlgorithm> usable_algorithms(const CublasLtMatmul& peer, const Shape& shape,
                                             Bf16* d, const BlockwiseFp8GemmArguments& gemm,
                                             const DeviceReference& reference);

/// The fastest of them, found by a few launches of each; none where none is usable.
std::optional<PeerAlgorithm> fastest_queued(const CublasLtMatmul& peer,
                                            const std::vector<PeerAlgorithm>& usable);

}  // namespace bw
