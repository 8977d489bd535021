#include "common/simulator/diagnosis/races/finding.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/isa/sections.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::races {
namespace {

constexpr size_t kMostListed = 8;

/// The texts of a kind of race, and what to do. {first} and {second} are replaced by the lines.
struct Kind {
  Missing missing;
  const char* what;  ///< follows "...: "
  const char* rule;
  std::string_view section;
  const char* fix;
};

constexpr const char* kProxies = "Proxies";
constexpr const char* kModel = "Memory Consistency Model";

constexpr Kind kKinds[] = {
    {Missing::order, "the two threads have not synchronised in between",
     "conflicting accesses of two threads are ordered by synchronisation", kModel,
     "after {first} and before {second}, put an mbarrier that the first thread arrives on and the "
     "second one waits for, or a barrier that both reach: a named one, or __syncthreads where all "
     "threads of the CTA pass (never inside a role)"},
    {Missing::warp_order, "the two lanes of the warp have not synchronised in between",
     "the threads of a warp are not ordered by running together", kWarpBarrierSection,
     "put __syncwarp() (bar.warp.sync) after {first} and before {second}"},
    {Missing::cluster_order, "the two CTAs have not synchronised in between",
     "conflicting accesses of two threads are ordered by synchronisation", kModel,
     "put a cluster barrier (arrive.release, wait.acquire) or an mbarrier of scope .cluster after "
     "{first} and before {second}"},
    {Missing::proxy_fence,
     "they are ordered, but without a proxy fence between the generic and the async proxy",
     "accesses of one memory by different proxies need a proxy fence between them", kProxies,
     "execute fence.proxy.async after {first}, in its thread, and before that thread synchronises "
     "with the one that issues {second}"},
    {Missing::completion, "this access is not ordered after a wait for its completion",
     "the result of an asynchronous operation is visible only after a wait on its completion "
     "mechanism",
     "Async proxy",
     "let the thread of {second} wait for what the operation of {first} completes: its mbarrier's "
     "phase, its bulk group (wait_group without .read), or a thread that has waited"},
    {Missing::source_free, "the operation was not known to have read it",
     "the source of an asynchronous operation must not change before the operation has read it",
     "Async proxy",
     "before {second}, wait until the operation of {first} has read its source: "
     "cp.async.bulk.wait_group.read in the thread that issued the copy, tcgen05.commit and its "
     "mbarrier for an MMA, wgmma.wait_group; then release the other threads by a barrier"},
    {Missing::wider_scope,
     "a release or an acquire between them has the scope .cta, and the threads are in two CTAs",
     "a release orders for an acquire where the scope of each contains the other's thread", "Scope",
     "use .cluster: mbarrier.arrive.release.cluster and mbarrier.try_wait.acquire.cluster"},
    {Missing::release_acquire, "the operation that should order them is .relaxed",
     "a relaxed operation orders nothing but itself", "Release and Acquire Patterns",
     "use .release in the operation that follows {first}, and .acquire in the wait before {second} "
     "(the defaults of mbarrier operations without a qualifier)"},
    {Missing::init_order, "no synchronisation orders this use after the init",
     "a thread uses an mbarrier only after synchronising with its init", kMbarrierInitSection,
     "put a barrier of the CTA (or of the cluster) after {first}, and let all threads that use the "
     "mbarrier pass it first"},
    {Missing::init_fence, "no fence.mbarrier_init makes the init known to asynchronous units",
     "mbarrier.init is made visible to other CTAs and the async proxy by fence.mbarrier_init",
     "membar, fence",
     "execute fence.mbarrier_init.release.cluster after {first}, in its thread, and before the "
     "barrier that the others wait at"},
    {Missing::address_word, "nothing orders the reader after tcgen05.alloc",
     "tcgen05.alloc writes the address as a weak store", kTensorAllocationSection,
     "after {first} and before {second}, put a barrier that both the allocating warp and the "
     "reader reach (__syncthreads where all threads of the CTA pass, else a named barrier or an "
     "mbarrier)"},
    {Missing::tcgen05_fence, "a tcgen05.fence is missing before or after what orders the threads",
     "tcgen05 operations of two threads are ordered by fence::before_thread_sync, "
     "synchronisation, fence::after_thread_sync",
     "tcgen05 Memory Consistency Model",
     "execute tcgen05.fence::before_thread_sync after {first} and before its thread synchronises, "
     "and tcgen05.fence::after_thread_sync after the wait and before {second}"},
    {Missing::tensor_order, "nothing orders the two operations on Tensor Memory",
     "asynchronous tcgen05 operations need a wait: tcgen05.commit and its mbarrier, "
     "or tcgen05.wait",
     "tcgen05 Memory Consistency Model", "wait for the operation of {first} before {second}"},
    {Missing::global_order, "the two threads have not synchronised in between",
     "conflicting accesses of two threads are ordered by synchronisation", kModel,
     "order {first} before {second}, or make both atomic"},
    {Missing::launch_order, "nothing orders the two launches",
     "launches of different streams run at the same time unless events order them", kModel,
     "put both into one stream, or let the second stream wait for an event of the first"},
    {Missing::previous_grid, "griddepcontrol.wait does not come before it",
     "a dependent grid sees the writes of the previous grid only after griddepcontrol.wait",
     kDependentLaunchSection, "execute griddepcontrol.wait before {second}"},
    {Missing::barrier_phase, "the second arrival could as well fall into the phase of the first",
     "a thread uses a barrier again only after the completion of its last phase", "bar, barrier",
     "give the two groups of warps barriers of their own (__syncthreads takes barrier 0), or order "
     "{second} after the completion of the phase of {first}"},
    {Missing::tensor_map, "no fence.proxy.tensormap separates them",
     "a changed tensor map is handed on with fence.proxy.tensormap", kProxies,
     "execute fence.proxy.tensormap::generic.release after {first} and "
     "fence.proxy.tensormap::generic.acquire before {second}"},
    {Missing::cta_end, "nothing orders it before the CTA's end",
     "shared memory lives as long as its CTA", "Shared State Space",
     "let every CTA of the cluster pass a cluster barrier (arrive, wait) after {first} and before "
     "the first of them ends"},
    {Missing::barrier_end, "nothing shows that the arrival has completed",
     "an mbarrier object is invalidated or overwritten after the last operation on it",
     kMbarrierInvalSection,
     "wait for the phase that {first} arrives for, or for a barrier after it, before {second}"},
    {Missing::coherence, "a .nc load may return the value from before the grid began",
     "ld.global.nc reads through a cache that is not coherent: data that no thread of the grid "
     "writes",
     kNonCoherentLoadSection,
     "read it by a plain ld.global in {second} (in CUDA C++: not through __ldg or a const "
     "__restrict__ pointer)"},
    {Missing::one_proxy, "both are strong, but by different proxies, and nothing orders them",
     "strong operations are atomic, and have one order, only if one proxy performs them",
     "Morally strong operations",
     "use one proxy for both (atomics of threads, or bulk reductions), or order {first} before "
     "{second}, with a proxy fence between them"},
};

const Kind& kind_of(Missing missing) {
  for (const Kind& kind : kKinds)
    if (kind.missing == missing) return kind;
  return kKinds[0];
}

/// What a detail about the earlier access begins with.
constexpr const char* kFirst = "first";

FaultCode code_of(Missing missing) {
  switch (missing) {
    case Missing::order:
      return FaultCode::race_shared;
    case Missing::warp_order:
      return FaultCode::race_in_warp;
    case Missing::cluster_order:
      return FaultCode::race_cluster;
    case Missing::proxy_fence:
    case Missing::one_proxy:
      return FaultCode::race_proxy;
    case Missing::completion:
      return FaultCode::race_not_awaited;
    case Missing::source_free:
      return FaultCode::race_source_reused;
    case Missing::wider_scope:
      return FaultCode::race_scope;
    case Missing::release_acquire:
      return FaultCode::race_relaxed;
    case Missing::init_order:
    case Missing::init_fence:
      return FaultCode::race_barrier_init;
    case Missing::address_word:
      return FaultCode::race_tmem_address;
    case Missing::tcgen05_fence:
      return FaultCode::race_tcgen05_fence;
    case Missing::tensor_order:
      return FaultCode::race_tensor_memory;
    case Missing::global_order:
      return FaultCode::race_global;
    case Missing::launch_order:
      return FaultCode::race_between_launches;
    case Missing::previous_grid:
      return FaultCode::race_previous_grid;
    case Missing::barrier_phase:
      return FaultCode::barrier_shared;
    case Missing::tensor_map:
      return FaultCode::race_tensor_map;
    case Missing::cta_end:
      return FaultCode::race_cta_end;
    case Missing::barrier_end:
      return FaultCode::race_barrier_end;
    case Missing::coherence:
      return FaultCode::race_noncoherent;
  }
  return FaultCode::race_shared;
}

std::string with_lines(std::string text, const Finding& finding) {
  const bool is_one_line = finding.earlier.line == finding.later.line;
  const std::pair<const char*, std::string> kLines[] = {
      {"{first}", finding.earlier.line + (is_one_line ? " (first)" : "")},
      {"{second}", finding.later.line + (is_one_line ? " (second)" : "")}};
  for (const auto& [name, line] : kLines)
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, std::string_view(name).size(), line);
  return text;
}

const char* proxy_name(Proxy proxy) {
  switch (proxy) {
    case Proxy::generic:
      return "generic proxy";
    case Proxy::async:
      return "async proxy";
    case Proxy::tensor:
      return "Tensor Memory";
    case Proxy::tensormap:
      return "tensormap proxy";
  }
  return "";
}

std::string describe(const char* order, const RaceSide& side) {
  return fmt::format("{}: the {} ({}{}): {}", order, side.unit, proxy_name(side.accessor.proxy),
                     side.accessor.is_async ? ", issued here" : "", side.place);
}

/// The race that the report begins with: the first, or one of the same lines that says more. Where
/// threads of several warps race, a synchronisation of the warp mends nothing.
const Finding& leading(const Findings& findings) {
  const Finding& first = findings.all().front();
  if (first.missing != Missing::warp_order) return first;
  const auto lines = [](const Finding& finding) {
    return std::minmax(finding.earlier.line, finding.later.line);
  };
  for (const Finding& other : findings.all()) {
    const bool is_wider = other.missing == Missing::order ||
                          other.missing == Missing::cluster_order ||
                          other.missing == Missing::global_order;
    if (is_wider && lines(other) == lines(first)) return other;
  }
  return first;
}

/// One line whose threads store to the same address, which nothing orders: more often a wrong index
/// than a missing barrier.
bool is_store_of_several_threads(const Finding& finding) {
  constexpr Missing kOrders[] = {Missing::order, Missing::warp_order, Missing::cluster_order,
                                 Missing::global_order};
  const auto is_store = [](const RaceSide& side) {
    return side.accessor.writes && !side.accessor.is_async;
  };
  return std::find(std::begin(kOrders), std::end(kOrders), finding.missing) != std::end(kOrders) &&
         finding.earlier.line == finding.later.line && is_store(finding.earlier) &&
         is_store(finding.later);
}

}  // namespace

RaceSide describe_side(Cluster& cluster, const Accessor& accessor, LaneMask lanes) {
  RaceSide side;
  side.accessor = accessor;
  side.lanes = lanes;
  side.unit = accessor.unit;
  Cta& cta = cluster.cta(accessor.cta_rank);
  Strand place;
  place.cta = &cta;
  place.cluster = &cluster;
  place.warp = &cta.warps[accessor.warp];
  side.place = place.describe(*accessor.instruction, lanes);
  const Kernel& kernel = cluster.kernel();
  side.source = place.place(*accessor.instruction, lanes);
  side.line = kernel.module().ptx().describe_place(kernel.source(*accessor.instruction));
  return side;
}

FaultCode code_of(const Finding& finding) { return code_of(finding.missing); }

size_t Findings::add(Finding finding) {
  const auto [found, is_new] = by_line_.try_emplace(
      {finding.missing, finding.weight, finding.earlier.line, finding.later.line},
      findings_.size());
  if (is_new)
    findings_.push_back(std::move(finding));
  else
    findings_[found->second].count += finding.count;
  return found->second;
}

void Findings::merge(const Findings& other) {
  for (const Finding& finding : other.findings_) add(finding);
}

Report report_of(const Findings& findings) {
  const Finding& first = leading(findings);
  const Kind& kind = kind_of(first.missing);
  Report report{.code = code_of(first.missing)};
  report.what = fmt::format("race: the {} {} {}, which the {} has {}: {}", first.later.unit,
                            first.missing == Missing::cta_end ? "frees"
                            : first.later.accessor.writes     ? "writes"
                                                              : "reads",
                            first.memory, first.earlier.unit,
                            first.earlier.accessor.writes ? "written" : "read",
                            first.edge.empty() ? kind.what : first.edge);
  if (first.weight == Weight::same_value) report.what += " (both store the same value)";
  report.where = first.later.place;
  report.details.push_back(describe("second", first.later));
  report.details.push_back(describe(kFirst, first.earlier));
  if (first.count > 1)
    report.details.push_back(
        fmt::format("this pair of lines has raced {} more",
                    first.count == 2 ? "once" : fmt::format("{} times", first.count - 1)));
  size_t listed = 1;
  for (const Finding& other : findings.all()) {
    if (&other == &first) continue;
    if (++listed > kMostListed) break;
    report.details.push_back(fmt::format("also: the {} at {} and, first, the {} at {}: {} ({})",
                                         other.later.unit, other.later.line, other.earlier.unit,
                                         other.earlier.line, kind_of(other.missing).what,
                                         counted(other.count, "race")));
  }
  if (findings.all().size() > kMostListed)
    report.details.push_back("and " + counted(findings.all().size() - kMostListed, "more pair") +
                             " of lines");
  report.rule = fmt::format("{} (PTX ISA, \"{}\")", kind.rule, kind.section);
  report.fix = with_lines(first.fix.empty() ? kind.fix : first.fix, first);
  if (is_store_of_several_threads(first))
    report.fix =
        "if each thread was to write an address of its own, correct the index; else " + report.fix;
  report.hardware_accepts = first.weight != Weight::fault;
  report.event = first.event;
  report.seed = first.seed;
  // A copy of the host has no line.
  if (!first.later.source.path.empty()) report.places.push_back(first.later.source);
  if (!first.earlier.source.path.empty()) {
    report.places.push_back(first.earlier.source);
    if (report.places.size() > 1) report.places.back().role = kFirst;
  }
  return report;
}

}  // namespace bw::sim::races
