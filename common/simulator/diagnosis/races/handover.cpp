#include "common/simulator/diagnosis/races/handover.hpp"

#include <algorithm>

namespace bw::sim::races {

View& Handover::of(std::vector<std::pair<uint16_t, View>>& views, uint16_t cta_rank) {
  for (auto& [rank, view] : views)
    if (rank == cta_rank) return view;
  return views.emplace_back(cta_rank, View{}).second;
}

const View& Handover::of_cta(uint16_t cta_rank) const {
  static const View kNothing;
  for (const auto& [rank, view] : by_cta_)
    if (rank == cta_rank) return view;
  return kNothing;
}

void Handover::release(Threads& threads, const Origin& origin, Semantics semantics,
                       TensorOrder* tensor) {
  View released;
  const bool is_wide = semantics.scope > MemoryScope::cta;
  if (semantics.is_relaxed()) {
    threads.release_fenced(origin, semantics.scope, released);
    threads.release(origin, relaxed_);
  } else if (!is_wide) {
    threads.release(origin, of(by_cta_, origin.cta_rank));
  } else {
    threads.release(origin, released);
  }
  if (!released.empty()) {
    of(by_cta_, origin.cta_rank).join(released);
    if (is_wide) wide_.join(released);
  }
  if (tensor != nullptr) tensor_.merge(tensor->released(origin));
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
    View& into = semantics.is_relaxed() ? group.seen : group.view;
    for (const auto& [rank, view] : by_cta_) {
      if (rank == origin.cta_rank) {
        into.join(view);
        if (semantics.is_relaxed()) group.relaxed.join(view);
      } else if (!is_wide) {
        group.too_narrow.join(view);
      }
    }
    if (is_wide) {
      into.join(wide_);
      // What others have released with .cta is not in there.
      for (const auto& [rank, view] : by_cta_)
        if (rank != origin.cta_rank) group.too_narrow.join(view);
      if (semantics.is_relaxed()) group.relaxed.join(wide_);
    }
    into.join(completed_);
    if (!relaxed_.empty()) group.relaxed.join(relaxed_);
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
