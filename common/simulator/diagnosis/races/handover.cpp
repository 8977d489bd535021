#include "common/simulator/diagnosis/races/handover.hpp"

#include <algorithm>

namespace bw::sim::races {

View& Handover::of(std::vector<std::pair<uint16_t, View>>& views, uint16_t cta_rank) {
  for (auto& [rank, view] : views)
    if (rank == cta_rank) return view;
  return views.emplace_back(cta_rank, View{}).second;
}

void Handover::release(Threads& threads, const Origin& origin, Semantics semantics,
                       TensorOrder* tensor) {
  bool is_wide = semantics.scope > MemoryScope::cta;
  if (tensor != nullptr) tensor_.merge(tensor->released(origin));
  if (!semantics.is_relaxed() && !is_wide) {
    threads.release(origin, of(by_cta_, origin.cta_rank));
    return;
  }
  View released;
  if (!semantics.is_relaxed()) {
    threads.release(origin, released);
  } else {
    const MemoryScope of_fence = threads.release_fenced(origin, released);
    // What mbarrier.init fences hand on they hand on to the cluster.
    wide_.inits.join(released.inits);
    is_wide = is_wide && of_fence > MemoryScope::cta;
    threads.release(origin, relaxed_);
  }
  of(by_cta_, origin.cta_rank).join(released);
  if (is_wide) wide_.join(released);
}

void Handover::bring(const Handover& sent) {
  for (const auto& [rank, view] : sent.by_cta_) of(by_cta_, rank).join(view);
  wide_.join(sent.wide_);
  completed_.join(sent.completed_);
  relaxed_.join(sent.relaxed_);
  tensor_.merge(sent.tensor_);
}

void Handover::acquire(Threads& threads, const Origin& origin, Semantics semantics,
                       TensorOrder* tensor) const {
  const bool is_wide = semantics.scope > MemoryScope::cta;
  threads.change_groups(origin, [&](LaneGroup& group) {
    const auto learn = [&](View Unordered::*seen, const View& view) {
      if (semantics.is_relaxed())
        group.keep(seen, view);
      else
        group.view.join(view);
    };
    for (const auto& [rank, view] : by_cta_) {
      if (rank == origin.cta_rank) {
        learn(&Unordered::seen, view);
        if (semantics.is_relaxed()) group.keep(&Unordered::relaxed, view);
      } else {
        // As far as it is not in what others have released widely.
        group.keep(&Unordered::too_narrow, view);
      }
    }
    if (is_wide) {
      learn(&Unordered::seen_wide, wide_);
      if (semantics.is_relaxed()) group.keep(&Unordered::relaxed, wide_);
    }
    learn(&Unordered::seen, completed_);
    // The operations are known to be over, whatever the order and the scope.
    VectorClock& performed = group.view.performed;
    const auto join_performed = [&](const View& view) {
      performed.join_chains(view.generic);
      performed.join_chains(view.performed);
    };
    for (const auto& [rank, view] : by_cta_)
      if (rank != origin.cta_rank || semantics.is_relaxed()) join_performed(view);
    join_performed(relaxed_);
    if (semantics.is_relaxed()) join_performed(completed_);
    group.keep(&Unordered::relaxed, relaxed_);
  });
  if (tensor != nullptr) tensor->acquired(origin, tensor_);
}

void Handover::clear() {
  for (auto& [rank, view] : by_cta_) view.clear();  // keeps their room
  wide_.clear();
  completed_.clear();
  relaxed_.clear();
  tensor_ = {};
}

}  // namespace bw::sim::races
