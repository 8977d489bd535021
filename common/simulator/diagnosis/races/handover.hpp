#pragma once
/// \file
/// What threads and operations hand to a synchronisation object: an mbarrier's phase, a barrier, a
/// variable that is used with strong operations.

#include <utility>
#include <vector>

#include "common/simulator/diagnosis/races/tensor_view.hpp"
#include "common/simulator/diagnosis/races/threads.hpp"

namespace bw::sim::races {

/// The order and scope of an arrival or a wait, a store or a load.
struct Semantics {
  MemoryOrder order = MemoryOrder::unspecified;  ///< release or acquire, or relaxed
  MemoryScope scope = MemoryScope::unspecified;  ///< cta or wider

  /// Whether it orders nothing by itself.
  [[nodiscard]] bool is_relaxed() const {
    return order == MemoryOrder::relaxed || order == MemoryOrder::is_volatile ||
           order == MemoryOrder::mmio;
  }
};

/// What was handed to an object and not taken back since.
class Handover {
 public:
  /// Lanes arrive: they hand on what they did and know. `tensor` may be null.
  void release(Threads& threads, const Origin& origin, Semantics semantics, TensorOrder* tensor);
  /// An arrival that takes effect now brings what a snapshot of its threads held when it set off.
  void bring(const Handover& sent);
  /// An operation is complete. Whoever waits for that learns of it, whatever the scope of the wait:
  /// the completion mechanism of an asynchronous operation makes its effects visible to the waiting
  /// thread (this project's reading; the ISA names a scope for the arrival alone).
  void complete(const Agent& agent) { agent.complete(completed_); }
  /// The same of what a commit has tracked.
  [[nodiscard]] View& completed() { return completed_; }
  /// The view of a thread that has handed on something else: for reports.
  void keep_relaxed(const View& view) { relaxed_.join(view); }
  /// What it carries for Tensor Memory.
  [[nodiscard]] TensorView& tensor() { return tensor_; }
  /// Lanes have waited for it: they learn what they may.
  void acquire(Threads& threads, const Origin& origin, Semantics semantics,
               TensorOrder* tensor) const;
  /// All that threads of one CTA have handed on; for barriers that only know one scope.
  [[nodiscard]] View& of_cta(uint16_t cta_rank) { return of(by_cta_, cta_rank); }
  /// Takes everything back.
  void clear();

 private:
  View& of(std::vector<std::pair<uint16_t, View>>& views, uint16_t cta_rank);

  std::vector<std::pair<uint16_t, View>> by_cta_;  ///< by the CTA of who released
  View wide_;       ///< of releases whose scope is wider than the CTA
  View completed_;  ///< by asynchronous operations
  TensorView tensor_;
  // For reports.
  View relaxed_;  ///< what a release instead would have handed on
};

}  // namespace bw::sim::races
