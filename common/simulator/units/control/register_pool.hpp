#pragma once
/// \file
/// The registers of a CTA's warps, which setmaxnreg moves (PTX ISA, "setmaxnreg"): what a warp
/// gives up goes into the CTA's pool, from which another takes more; it waits until the pool has
/// enough.

#include <cstdint>
#include <vector>

#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

inline constexpr int64_t kRegisterGranularity = 8;  ///< counts of registers are multiples of it

/// The pool of one CTA, empty at launch.
class RegisterPool {
 public:
  /// For a CTA that outlives it.
  explicit RegisterPool(Cta& cta) : cta_(cta) {}

  /// Registers of each thread at launch: .maxnreg, or what fits when the register file of the SM is
  /// divided among the CTAs that the kernel asks to be resident, in steps of 8. ptxas may give
  /// fewer.
  [[nodiscard]] int64_t at_launch() const;
  /// The strand's warp takes `count` registers a thread. To be called again when the strand is
  /// resumed: then it has them. Nothing happens where it has as many.
  Flow increase(Strand& strand, int64_t count);
  /// The strand's warp keeps `count` registers a thread. Nothing happens where it has fewer.
  void decrease(const Strand& strand, int64_t count);

 private:
  struct Waiter {
    Strand* strand;
    int64_t count;
  };
  /// Registers a thread of a warp.
  int64_t& of(const Warp& warp);
  /// Takes what the warp lacks from the pool, if that has it.
  bool take(const Warp& warp, int64_t count);

  Cta& cta_;
  int64_t free_ = 0;               ///< registers in the pool
  std::vector<int64_t> per_warp_;  ///< a thread's, by warp; filled at the first use
  std::vector<Waiter> waiters_;    ///< in the order in which they came
};

}  // namespace bw::sim
