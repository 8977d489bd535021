#include "common/simulator/diagnosis/waiting.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/diagnosis/barrier_history.hpp"
#include "common/simulator/diagnosis/barrier_rows.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/units/synchronisation/cluster_barrier.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/synchronisation/named_barriers.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::waiting {
namespace {

constexpr size_t kMostListed = 4;

using Operation = MbarrierEvent::Operation;

/// Appends " and 3 more" items to a list that is cut off.
std::string join(const std::vector<std::string>& items, const char* separator) {
  std::string text;
  for (size_t k = 0; k < items.size() && k < kMostListed; ++k)
    text += (k == 0 ? "" : separator) + items[k];
  if (items.size() > kMostListed)
    text += fmt::format("{}and {} more", separator, items.size() - kMostListed);
  return text;
}

/// "full+8 (stage 1 of the 4 initialised at gemm.cuh:40)".
std::string mbarrier_name(Cluster& cluster, Cta& cta, const Mbarrier& barrier) {
  std::string text = "mbarrier " + cluster.kernel().describe_shared(barrier.offset_bytes);
  const std::string row = describe_row(cluster, cta, barrier);
  if (!row.empty()) text += " (" + row + ")";
  return text;
}

/// Contributions of several warps by the same instruction, told as one.
struct Merged {
  Operation kind;
  const Instruction* instruction;
  uint32_t cta_rank;
  std::vector<uint32_t> warps;
  uint64_t amount;
  uint64_t phase;
};

std::vector<Merged> merge(const Mbarrier& barrier, const BarrierRecord& record, bool current) {
  std::vector<Merged> merged;
  for (const Contribution& part : record.contributions) {
    if ((part.phase == barrier.phase) != current) continue;
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const Merged& other) {
      return other.kind == part.operation && other.instruction == part.actor.instruction &&
             other.cta_rank == part.actor.cta_rank && other.phase == part.phase;
    });
    if (same != merged.end()) {
      same->warps.push_back(part.actor.warp);
      same->amount += part.amount;
    } else {
      merged.push_back({part.operation,
                        part.actor.instruction,
                        part.actor.cta_rank,
                        {part.actor.warp},
                        part.amount,
                        part.phase});
    }
  }
  for (Merged& one : merged) std::sort(one.warps.begin(), one.warps.end());
  return merged;
}

std::string warps_name(const Cluster& cluster, const Merged& merged) {
  std::string text;
  if (cluster.size() > 1) text = fmt::format("CTA rank {} ", merged.cta_rank);
  return text + (merged.warps.size() == 1 ? "warp " : "warps ") + ranges(merged.warps);
}

std::string deed(const Merged& merged) {
  switch (merged.kind) {
    case Operation::arrive:
    case Operation::arrive_drop:
      return counted(merged.amount, "arrival");
    case Operation::expect_tx:
      return "expect_tx of " + counted(merged.amount, "byte");
    case Operation::complete_tx:
      return "complete_tx of " + counted(merged.amount, "byte");
    default:
      return {};  // nothing else is a contribution
  }
}

std::string describe(const Cluster& cluster, const Merged& merged) {
  const bool copied = merged.kind == Operation::complete_tx;
  return deed(merged) + (copied ? " from the operation of " : " by ") +
         warps_name(cluster, merged) + " at " + location(cluster, *merged.instruction);
}

/// The warps that completed earlier phases and so may complete this one: a line for each group of
/// warps, with what it did and where it is now.
std::vector<std::string> earlier_contributors(Cluster& cluster, const Mbarrier& barrier,
                                              const BarrierRecord& record) {
  struct Group {
    const Merged* first;
    std::vector<std::string> deeds;
  };
  const std::vector<Merged> earlier = merge(barrier, record, false);
  std::vector<Group> groups;
  for (const Merged& merged : earlier) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.first->cta_rank == merged.cta_rank && other.first->warps == merged.warps;
    });
    if (group == groups.end()) group = groups.insert(group, Group{&merged, {}});
    group->deeds.push_back(deed(merged) + " at " + location(cluster, *merged.instruction));
  }
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    if (lines.size() == kMostListed) break;
    const Merged& first = *group.first;
    lines.push_back(fmt::format("earlier phases had {} by {} (last in phase {}), which now {}",
                                join(group.deeds, ", "), warps_name(cluster, first), first.phase,
                                whereabouts(cluster, first.cta_rank, first.warps.front())));
  }
  return lines;
}

/// A CTA of the cluster whose mbarrier at the same offset lacks bytes where this one has too many,
/// or the other way round; null without such a CTA.
const Cta* cta_with_the_bytes(Cluster& cluster, const Cta& cta, const Mbarrier& barrier) {
  if (barrier.tx_bytes == 0) return nullptr;
  for (Cta& other : cluster.ctas()) {
    if (other.rank == cta.rank) continue;
    const Mbarrier* const same = units_of(other).mbarriers.find(barrier.offset_bytes);
    if (same != nullptr && same->tx_bytes != 0 && (same->tx_bytes > 0) != (barrier.tx_bytes > 0))
      return &other;
  }
  return nullptr;
}

/// What keeps the phase from completing, and what to do. `other`: cta_with_the_bytes().
std::string mbarrier_cause(const Mbarrier& barrier, const BarrierRecord& record, const Cta& cta,
                           const Cta* other, const std::string& name) {
  std::string text;
  if (other != nullptr) {
    const uint32_t announces = barrier.tx_bytes > 0 ? cta.rank : other->rank;
    const uint32_t receives = barrier.tx_bytes > 0 ? other->rank : cta.rank;
    text = fmt::format(
        "{}: CTA rank {} announces bytes that arrive on the mbarrier of CTA rank {} at the same "
        "offset; give the copies the address of the mbarrier that is waited on (in a pair: the "
        "leader's, by mapa or by clearing bit 24 of the shared::cluster address), or announce the "
        "bytes where they arrive",
        name, announces, receives);
  } else if (barrier.tx_bytes > 0) {
    text = name + ": " + counted(static_cast<uint64_t>(barrier.tx_bytes), "byte") +
           " announced by expect_tx have not arrived; announce exactly the bytes of the phase's "
           "copies, and issue all of these copies";
  } else if (barrier.tx_bytes < 0) {
    text = name + ": " + counted(static_cast<uint64_t>(-barrier.tx_bytes), "byte") +
           " arrived that no expect_tx announced; expect the sum of all copies of the phase";
  } else if (barrier.phase == 0 && record.initialiser.instruction != nullptr &&
             record.contributions.empty()) {
    text = name +
           ": no thread has ever arrived on it; if its stage starts out free, the first wait must "
           "use parity 1 (on a fresh barrier parity 1 returns at once, parity 0 blocks: wrong "
           "initial phase), otherwise an arrive is missing";
  } else if (barrier.pending > 0) {
    text = fmt::format(
        "{}: {} of {} missing in phase {}; compare the count of its init with the threads that "
        "arrive in each phase, and the trip counts of the loops on both sides",
        name, counted(static_cast<uint64_t>(barrier.pending), "arrival"), barrier.expected,
        barrier.phase);
  }
  return text;
}

Facts named_barrier_facts(Cluster& cluster, Cta& cta, uint32_t id) {
  const NamedBarrier& barrier = units_of(cta).named_barriers.barrier(id);
  std::vector<uint32_t> arrived;
  std::vector<std::string> missing;
  for (const Warp& warp : cta.warps) {
    if (warp.index < barrier.warps.size() && barrier.warps[warp.index].complete)
      arrived.push_back(warp.index);
    else
      missing.push_back(
          fmt::format("warp {} {}", warp.index, whereabouts(cluster, cta.rank, warp.index)));
  }
  Facts facts;
  const uint32_t threads = barrier.arrived_warps * static_cast<uint32_t>(kWarpLanes);
  facts.summary =
      fmt::format("waits at barrier {}: {} of {} threads{} have arrived", id, threads,
                  barrier.threads, barrier.whole_cta ? " (the whole CTA, less exited warps)" : "");
  facts.lines.push_back(arrived.empty()
                            ? std::string("no warp has arrived with all its lanes")
                            : (arrived.size() == 1 ? "arrived: warp " : "arrived: warps ") +
                                  ranges(arrived));
  if (!missing.empty()) facts.lines.push_back("not arrived: " + join(missing, "; "));
  facts.cause = fmt::format(
      "barrier {}: {} threads missing; let every warp that the count includes execute it, or lower "
      "the count (a __syncthreads inside a role's branch never completes)",
      id, barrier.threads - std::min(barrier.threads, threads));
  return facts;
}

Facts cluster_barrier_facts(Cluster& cluster) {
  const ClusterBarrier& barrier = units_of(cluster).cluster_barrier;
  uint32_t live = 0;
  std::vector<std::string> missing;
  for (Cta& cta : cluster.ctas()) {
    for (const Warp& warp : cta.warps) {
      live += static_cast<uint32_t>(std::popcount(warp.live));
      const LaneMask absent = warp.live & ~barrier.warp_state(cta.rank, warp.index).arrived;
      if (absent == 0) continue;
      missing.push_back(warp_name(cluster, cta.rank, warp.index) +
                        (absent == warp.live ? "" : " lanes " + hex_mask(absent)) + " " +
                        whereabouts(cluster, cta.rank, warp.index));
    }
  }
  Facts facts;
  facts.summary =
      fmt::format("waits at the cluster barrier, phase {}: {} of {} live threads have arrived",
                  barrier.phase(), barrier.arrived_threads(), live);
  if (!missing.empty()) facts.lines.push_back("not arrived: " + join(missing, "; "));
  facts.cause = "cluster barrier: " + counted(live - barrier.arrived_threads(), "thread") +
                " missing; every thread of the cluster that has not exited "
                "must execute barrier.cluster.arrive";
  return facts;
}

std::string cta_name(const Cta& cta) {
  return fmt::format("CTA ({},{},{})", cta.index.x, cta.index.y, cta.index.z);
}

/// Whether a CTA of `waiter` waits for columns of an SM where a CTA of `holder` holds some.
bool waits_for(Cluster& waiter, const Cluster& holder) {
  for (const Cta& cta : waiter.ctas()) {
    const TensorMemory& memory = units_of(cta).tensor_memory;
    if (!memory.waits()) continue;
    for (const TensorMemory::Holding& holding : memory.holdings())
      if (holding.cta->cluster == &holder) return true;
  }
  return false;
}

Facts allocation_facts(Cluster& cluster, const Strand& strand) {
  Facts facts;
  facts.summary = fmt::format("waits for {} of Tensor Memory to become free",
                              counted(strand.wait.object, "column"));
  const bool of_pair = strand.wait.detail == 2;
  if (of_pair) {
    const uint32_t peer = strand.cta->rank ^ 1u;
    if (!units_of(cluster.cta(peer)).tensor_memory.waits()) {
      facts.lines.push_back(
          fmt::format("its peer, CTA rank {}, has not reached its tcgen05.alloc", peer));
      facts.cause =
          "tcgen05.alloc with cta_group::2 allocates in both CTAs of the pair at once: "
          "one warp of each CTA must execute it";
      return facts;
    }
  }
  const Cluster* crosswise = nullptr;
  for (const TensorMemory::Holding& holding : units_of(strand).tensor_memory.holdings()) {
    Cluster& holder = *holding.cta->cluster;
    const bool is_own = holding.cta == strand.cta;
    const bool waits = !is_own && waits_for(holder, cluster);
    if (waits) crosswise = &holder;
    facts.lines.push_back(fmt::format(
        "columns {}-{} of the SM are held by {}, allocated by its warp {} at {}{}", holding.first,
        holding.first + holding.count - 1, is_own ? "this CTA itself" : cta_name(*holding.cta),
        holding.warp, location(cluster, *holding.instruction),
        waits ? ", which waits for columns that this one holds" : ""));
  }
  if (crosswise != nullptr)
    facts.cause = fmt::format(
        "two {} wait for each other: each holds columns of Tensor Memory that the other waits for. "
        "The "
        "CTAs of an SM share its 512 columns: allocate all that a CTA needs with one "
        "tcgen05.alloc, "
        "or so little that both fit, or keep two CTAs off one SM (more dynamic shared memory)",
        cluster.size() > 1 ? "clusters" : "CTAs");
  else
    facts.cause =
        "tcgen05.alloc blocks until columns are free: deallocate in the CTA that holds them, "
        "allocate less, or keep two CTAs off one SM (the CTAs of an SM share its 512 columns)";
  return facts;
}

}  // namespace

std::string location(const Cluster& cluster, const Instruction& instruction) {
  const Kernel& kernel = cluster.kernel();
  return kernel.module().ptx().describe_place(kernel.source(instruction));
}

std::string ranges(const std::vector<uint32_t>& numbers) {
  std::string text;
  for (size_t k = 0; k < numbers.size();) {
    size_t last = k;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", numbers[k]);
    if (last > k) text += fmt::format("{}{}", last == k + 1 ? ", " : "-", numbers[last]);
    k = last + 1;
  }
  return text;
}

std::string warp_name(const Cluster& cluster, uint32_t cta_rank, uint32_t warp) {
  return cluster.size() > 1 ? fmt::format("CTA rank {} warp {}", cta_rank, warp)
                            : fmt::format("warp {}", warp);
}

std::string whereabouts(Cluster& cluster, uint32_t cta_rank, uint32_t warp_index) {
  const Warp& warp = cluster.cta(cta_rank).warps[warp_index];
  if (warp.live == 0) return "has exited";
  const Kernel& kernel = cluster.kernel();
  const Strand* chosen = nullptr;
  for (const auto& strand : warp.strands)
    if (strand->alive && (chosen == nullptr || (strand->suspended && !chosen->suspended)))
      chosen = strand.get();
  if (chosen == nullptr || chosen->pc >= kernel.code().size()) return "is at the kernel's end";
  const std::string place = location(cluster, kernel.code()[chosen->pc]);
  if (!chosen->suspended) return "runs at " + place;
  switch (chosen->wait.kind) {
    case WaitKind::mbarrier:
      return "waits at " + place + " on " +
             kernel.describe_shared(static_cast<uint32_t>(chosen->wait.object));
    case WaitKind::named_barrier:
      return fmt::format("waits at {} at barrier {}", place, chosen->wait.object);
    case WaitKind::cluster_barrier:
      return "waits at " + place + " at the cluster barrier";
    default:
      return "waits at " + place;
  }
}

Facts mbarrier_facts(Cluster& cluster, Cta& cta, uint32_t offset_bytes, uint64_t waited_parity) {
  Facts facts;
  const Mbarrier* const barrier = units_of(cta).mbarriers.find(offset_bytes);
  if (barrier == nullptr) {
    facts.summary = "waits on the mbarrier " + cluster.kernel().describe_shared(offset_bytes) +
                    ", which is no longer valid";
    return facts;
  }
  const BarrierRecord& record = history_of(cluster).of(cta.rank, barrier->slot);
  const std::string name = mbarrier_name(cluster, cta, *barrier);
  // A wait that has not returned waits for the current phase: the one before is complete.
  const bool same = (barrier->phase & 1) == waited_parity;
  facts.summary = fmt::format("waits for phase {} (parity {}) of {}; it is in phase {}: {}",
                              same ? barrier->phase : barrier->phase + 1, waited_parity, name,
                              barrier->phase, describe_counts(*barrier));
  std::vector<std::string> now;
  for (const Merged& merged : merge(*barrier, record, true))
    now.push_back(describe(cluster, merged));
  if (record.initialiser.instruction == nullptr) {
    facts.lines.push_back("the arrivals were not recorded (BW_SIM_CHECKS=off)");
  } else if (record.contributions.empty()) {
    facts.lines.push_back("no thread has ever arrived on it; initialised by " +
                          warp_name(cluster, record.initialiser.cta_rank, record.initialiser.warp) +
                          " at " + location(cluster, *record.initialiser.instruction));
  } else {
    facts.lines.push_back("in this phase: " + (now.empty() ? "no arrival" : join(now, "; ")));
    for (std::string& line : earlier_contributors(cluster, *barrier, record))
      facts.lines.push_back(std::move(line));
  }
  const Cta* const other = cta_with_the_bytes(cluster, cta, *barrier);
  if (other != nullptr) {
    const Mbarrier& theirs = *units_of(*other).mbarriers.find(offset_bytes);
    facts.lines.push_back(
        fmt::format("the mbarrier at the same offset of CTA rank {} is in phase {}: {}",
                    other->rank, theirs.phase, describe_counts(theirs)));
    for (const Merged& merged :
         merge(theirs, history_of(cluster).of(other->rank, theirs.slot), true))
      facts.lines.push_back("    there: " + describe(cluster, merged));
  }
  if (same) facts.cause = mbarrier_cause(*barrier, record, cta, other, name);
  return facts;
}

Facts facts_of(Cluster& cluster, const Strand& strand) {
  const Wait& wait = strand.wait;
  switch (wait.kind) {
    case WaitKind::mbarrier:
      return mbarrier_facts(cluster, *strand.cta, static_cast<uint32_t>(wait.object), wait.detail);
    case WaitKind::named_barrier:
      return named_barrier_facts(cluster, *strand.cta, static_cast<uint32_t>(wait.object));
    case WaitKind::cluster_barrier:
      return cluster_barrier_facts(cluster);
    case WaitKind::warp_sync:
      return {
          fmt::format("waits for lanes {} of its warp (live lanes {})",
                      hex_mask(static_cast<LaneMask>(wait.object)), hex_mask(strand.warp->live)),
          {},
          "a warp-level .sync instruction: make its member mask name exactly the lanes that "
          "execute it"};
    case WaitKind::bulk_group:
      return {"waits until at most " + counted(wait.object, "bulk group") + " are pending", {}, ""};
    case WaitKind::cp_async_group:
      return {
          "waits until at most " + counted(wait.object, "cp.async group") + " are pending", {}, ""};
    case WaitKind::wgmma_group:
      return {
          "waits until at most " + counted(wait.object, "wgmma group") + " are pending",
          {},
          "wgmma multiplies when all four warps of the warpgroup have issued it: each warp must "
          "reach the same wgmma.mma_async"};
    case WaitKind::register_pool:
      return {fmt::format("waits for {} registers a thread: the CTA's pool lacks {}", wait.object,
                          wait.detail),
              {},
              "setmaxnreg.inc blocks until other warps have given up enough registers by "
              "setmaxnreg.dec: the sum over all warps stays what the CTA had at launch"};
    case WaitKind::tcgen05_alloc:
      return allocation_facts(cluster, strand);
    case WaitKind::tcgen05_wait:
      return {"waits for its tcgen05 operations", {}, ""};
    case WaitKind::previous_grid:
      return {"waits for the end of the grid before it", {}, ""};
    case WaitKind::reconvergence:
      return {"waits for the other lanes of its warp to reconverge", {}, ""};
    case WaitKind::global_order:
      return {"waits for an operation that is ordered among all clusters", {}, ""};
    case WaitKind::sleep:
      return {"sleeps", {}, ""};
    case WaitKind::none:
      break;
  }
  return {"is suspended", {}, ""};
}

}  // namespace bw::sim::waiting
