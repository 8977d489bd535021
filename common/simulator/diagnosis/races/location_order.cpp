#include "common/simulator/diagnosis/races/location_order.hpp"

#include <algorithm>

namespace bw::sim::races {
namespace {

/// `view` and what was known before, as one.
SharedView joined(const SharedView& before, const SharedView& view) {
  if (before == nullptr || before == view) return view;
  SharedView both = SharedView::make(*before);
  both.change().join(*view);
  return both;
}

}  // namespace

void LocationTable::write(Location location, bool is_atomic, std::span<const Released> released,
                          const Unreleased& writer) {
  LocationState& state = states_[location.key];
  if (!is_atomic) {
    state.released.clear();
    ++state.stores;
  }
  if (writer.lanes != 0) state.unreleased = writer;
  for (const Released& one : released) add(state, one);
}

void LocationTable::add(LocationState& state, const Released& one) {
  const auto of_party = [&](const ThreadPosition& party) {
    return std::find_if(state.released.begin(), state.released.end(), [&](const Released& other) {
      return other.from == party && other.scope == one.scope;
    });
  };
  constexpr ThreadPosition kMany{kManyClusters, 0};
  const bool is_wide = one.scope >= MemoryScope::gpu;
  if (const auto many = of_party(kMany); is_wide && many != state.released.end()) {
    // A view that no thread has found yet can change.
    if (many->view.is_only_owner()) {
      one.tell(many->view.change(), kManyClusters);
      return;
    }
    SharedView view = SharedView::make(*many->view);
    one.tell(view.change(), kManyClusters);
    if (*view == *many->view) return;
    many->view = std::move(view);
    return;
  }
  if (const auto same = of_party(one.from); same != state.released.end()) {
    same->view = joined(same->view, one.view);
    return;
  }
  state.released.push_back(one);
  constexpr size_t kFewParties = 8;
  if (!is_wide || state.released.size() <= kFewParties) return;
  View all;
  std::erase_if(state.released, [&](const Released& other) {
    if (other.scope != one.scope) return false;
    other.tell(all, kManyClusters);
    return true;
  });
  state.released.push_back({kMany, one.scope, SharedView::make(std::move(all))});
}

void ThreadOrder::release_fence(MemoryScope scope, const SharedView& view) {
  // What a narrower or equal fence has prepared is part of this one.
  std::erase_if(fenced_, [&](const Fenced& fenced) { return fenced.scope <= scope; });
  fenced_.push_back({scope, view});
}

void ThreadOrder::collect_released(const ThreadPosition& self, MemoryScope write_scope,
                                   std::vector<Released>& out) const {
  for (const Fenced& fenced : fenced_)
    out.push_back({self, std::min(fenced.scope, write_scope), fenced.view});
}

bool ThreadOrder::keep(Location location, const Released& found, uint32_t stores,
                       MemoryScope read_scope) {
  const Released reached{found.from, std::min(found.scope, read_scope), found.view};
  for (Kept& kept : kept_)
    if (kept.location == location && kept.released.from == reached.from &&
        kept.released.scope == reached.scope) {
      if (kept.latest == found.view) return false;
      // A thread that has read both values, one after the other, is ordered after both writes.
      if (kept.stores != stores) kept.before = kept.released.view;
      kept.released.view = joined(kept.before, reached.view);
      kept.stores = stores;
      kept.latest = found.view;
      return true;
    }
  kept_.push_back({location, reached, stores, nullptr, found.view});
  return true;
}

}  // namespace bw::sim::races
