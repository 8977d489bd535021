#include "common/simulator/diagnosis/races/threads.hpp"

#include <algorithm>

namespace bw::sim::races {
namespace {

/// Chains that begin() looks at before it makes a new one.
constexpr size_t kMostCandidates = 64;

}  // namespace

void Unordered::join(const Unordered& other) {
  fenced.join(other.fenced);
  seen.join(other.seen);
  seen_wide.join(other.seen_wide);
  too_narrow.join(other.too_narrow);
  relaxed.join(other.relaxed);
  unfenced.join(other.unfenced);
}

Threads::Threads(uint32_t ctas, uint32_t warps_per_cta)
    : warps_per_cta_(warps_per_cta), warps_(size_t{ctas} * warps_per_cta) {
  for (WarpState& warp : warps_) {
    warp.groups.emplace_back();
    warp.groups.back().lanes = kAllLanes;
  }
}

void Threads::isolate(const Origin& origin) {
  std::vector<LaneGroup>& groups = warps_[warp_of(origin)].groups;
  const size_t count = groups.size();
  for (size_t i = 0; i < count; ++i) {
    const LaneMask inside = groups[i].lanes & origin.lanes;
    if (inside == 0 || inside == groups[i].lanes) continue;
    LaneGroup others = groups[i];
    others.lanes &= ~inside;
    groups[i].lanes = inside;
    groups.push_back(std::move(others));
  }
}

void Threads::add_own(const LaneGroup& group, LaneMask lanes, uint32_t warp, Clock now,
                      View& into) {
  into.generic.learn_lanes(warp, lanes, now);
  if (group.own_async != 0) into.async.learn_lanes(warp, lanes, group.own_async);
  if (group.own_async_global != 0)
    into.async_global.learn_lanes(warp, lanes, group.own_async_global);
  if (group.own_async_reads != 0) into.async_reads.learn_lanes(warp, lanes, group.own_async_reads);
  if (group.own_inits != 0) into.inits.learn_lanes(warp, lanes, group.own_inits);
}

void Threads::add(const LaneGroup& group, LaneMask lanes, uint32_t warp, Clock now, View& into) {
  into.join(group.view);
  add_own(group, lanes, warp, now, into);
}

void Threads::release(const Origin& origin, View& into) {
  WarpState& warp = warps_[warp_of(origin)];
  for (const LaneGroup& group : warp.groups)
    if (const LaneMask lanes = group.lanes & origin.lanes; lanes != 0)
      add(group, lanes, warp_of(origin), warp.now, into);
  ++warp.now;
}

SharedView Threads::snapshot(const Origin& origin) {
  SharedView view = SharedView::make();
  release(origin, view.change());
  return view;
}

MemoryScope Threads::release_fenced(const Origin& origin, View& into) {
  MemoryScope scope = MemoryScope::sys;
  for_groups(origin, [&](LaneMask lanes, const LaneGroup& group) {
    scope = std::min(scope, group.fenced_scope);
    into.join(group.unordered().fenced);
    // A fence for mbarrier.init counts for the whole cluster.
    if (group.own_inits != 0) into.inits.learn_lanes(warp_of(origin), lanes, group.own_inits);
    into.inits.join(group.view.inits);
  });
  return scope;
}

void Threads::acquire(const Origin& origin, const View& view) {
  if (view.empty()) return;
  change_groups(origin, [&](LaneGroup& group) { group.view.join(view); });
}

void Threads::meet(const Origin& origin) {
  if ((origin.lanes & (origin.lanes - 1)) == 0) return;
  WarpState& warp = warps_[warp_of(origin)];
  if (warp.groups.size() == 1 && warp.groups[0].lanes == origin.lanes) {
    LaneGroup& group = warp.groups[0];
    add_own(group, group.lanes, warp_of(origin), warp.now++, group.view);
    return;
  }
  View all;
  release(origin, all);
  replace(origin, all);
}

void Threads::replace(const Origin& origin, const View& view) {
  WarpState& warp = warps_[warp_of(origin)];
  isolate(origin);
  LaneGroup* first = nullptr;
  for (LaneGroup& group : warp.groups) {
    if ((group.lanes & origin.lanes) == 0) continue;
    if (first == nullptr) {
      first = &group;
      first->view = view;
      continue;
    }
    // What was fenced stays fenced; relaxed operations of the united lanes may hand on more than
    // each of them could, which hides a race rather than reporting a false one.
    first->lanes |= group.lanes;
    first->own_async = std::min(first->own_async, group.own_async);
    first->own_async_global = std::min(first->own_async_global, group.own_async_global);
    first->own_async_reads = std::min(first->own_async_reads, group.own_async_reads);
    first->own_inits = std::min(first->own_inits, group.own_inits);
    first->fenced_scope = std::max(first->fenced_scope, group.fenced_scope);
    first->keep_all_of(group);
    group.lanes = 0;
  }
  std::erase_if(warp.groups, [](const LaneGroup& group) { return group.lanes == 0; });
}

void Threads::fence(const Origin& origin, MemoryOrder order, MemoryScope scope) {
  WarpState& warp = warps_[warp_of(origin)];
  change_groups(origin, [&](LaneGroup& group) {
    if (order != MemoryOrder::release) {
      const Unordered& unordered = group.unordered();
      group.view.join(unordered.seen);
      if (scope > MemoryScope::cta)
        group.view.join(unordered.seen_wide);
      else
        group.keep(&Unordered::too_narrow, View(unordered.seen_wide));
    }
    if (order == MemoryOrder::acquire) return;
    add(group, group.lanes, warp_of(origin), warp.now, group.own_unordered().fenced);
    group.fenced_scope = std::max(group.fenced_scope, scope);
  });
  ++warp.now;
}

void Threads::fence_proxy_async(const Origin& origin, ProxyFence memory) {
  WarpState& warp = warps_[warp_of(origin)];
  change_groups(origin, [&](LaneGroup& group) {
    if (memory != ProxyFence::global) {
      group.view.async.join(group.view.generic);
      group.view.inits.join(group.view.generic);
      group.own_async = group.own_inits = warp.now;
    }
    if (memory != ProxyFence::shared) {
      group.view.async_global.join(group.view.generic);
      group.own_async_global = warp.now;
    }
  });
  ++warp.now;
}

void Threads::fence_proxy_async_reads(const Origin& origin) {
  WarpState& warp = warps_[warp_of(origin)];
  change_groups(origin, [&](LaneGroup& group) { group.own_async_reads = warp.now; });
  ++warp.now;
}

void Threads::fence_mbarrier_init(const Origin& origin) {
  WarpState& warp = warps_[warp_of(origin)];
  change_groups(origin, [&](LaneGroup& group) {
    group.view.inits.join(group.view.generic);
    group.own_inits = warp.now;
  });
  ++warp.now;
}

Agent Threads::begin(const Origin& origin) {
  Agent agent;
  agent.start = snapshot(origin);
  // A chain whose last operation the issuer knows to be complete goes on with this one.
  const size_t looked_at = std::min(chains_.size(), kMostCandidates);
  for (size_t i = 0; i < looked_at; ++i) {
    next_candidate_ = next_candidate_ + 1 < chains_.size() ? next_candidate_ + 1 : 0;
    const auto chain = static_cast<uint32_t>(next_candidate_);
    if (chains_[chain].is_queue || !agent.start->generic.knows_chain(chain, chains_[chain].last))
      continue;
    agent.chain = chain;
    agent.clock = ++chains_[chain].last;
    return agent;
  }
  agent.chain = static_cast<uint32_t>(chains_.size());
  agent.clock = 1;
  chains_.push_back({agent.clock, false});
  return agent;
}

uint32_t Threads::queue_of(uint32_t warp, int lane, uint32_t queue) {
  const auto [found, is_new] =
      queues_.try_emplace({warp, lane, queue}, static_cast<uint32_t>(chains_.size()));
  if (is_new) chains_.push_back({0, true});
  return found->second;
}

Threads::Ticket Threads::next_in_order(uint32_t warp, int lane, uint32_t queue) {
  const uint32_t chain = queue_of(warp, lane, queue);
  return {chain, ++chains_[chain].last};
}

Agent Threads::begin_in_order(const Origin& origin, uint32_t queue) {
  const Ticket ticket = next_in_order(warp_of(origin), lowest_lane(origin.lanes), queue);
  return {ticket.chain, ticket.clock, snapshot(origin)};
}

}  // namespace bw::sim::races
