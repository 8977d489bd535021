#include "common/simulator/diagnosis/deadlock.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/text.hpp"
#include "common/simulator/diagnosis/barrier_history.hpp"
#include "common/simulator/diagnosis/waiting.hpp"
#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/device_memory.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"
#include "common/simulator/units/synchronisation/mbarrier.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim {
namespace {

constexpr size_t kMostRoles = 8;
constexpr size_t kMostCauses = 4;

/// Warps that are at the same place for the same reason.
struct Role {
  const Strand* first = nullptr;
  waiting::Facts facts;
  Cycle since = kNever;
  std::map<uint32_t, std::vector<uint32_t>> warps;  ///< by CTA rank, ascending
  LaneMask waiting_lanes = 0;                       ///< of the first strand
  LaneMask parted_lanes = 0;  ///< of the first strand's warp: wait to reconverge with it
};

/// Lanes of a warp that no strand runs: they are at a reconvergence point.
LaneMask lanes_at_meeting_point(const Warp& warp) {
  LaneMask lanes = warp.live;
  for (const auto& strand : warp.strands)
    if (strand->alive) lanes &= ~strand->mask;
  return lanes;
}

/// The load that a running strand repeats: the last one of the innermost loop around its place.
const Instruction* polling_load(const Kernel& kernel, const Strand& strand) {
  const std::vector<Instruction>& code = kernel.code();
  for (size_t end = strand.pc; end < code.size(); ++end) {
    const InstructionForm& form = kernel.form(code[end]);
    if (form.transfer != Transfer::branch || code[end].target > strand.pc) continue;
    for (size_t at = end; at-- > code[end].target;)
      if (kernel.form(code[at]).memory == Memory::load) return &code[at];
    return nullptr;
  }
  return nullptr;
}

/// "polls global memory, 4 bytes at 0x7000... (byte 8 of cudaMalloc of 800 bytes), at k.cu:12".
std::string polled_memory(Cluster& cluster, const Strand& strand) {
  const Instruction* const load = polling_load(cluster.kernel(), strand);
  if (load == nullptr || load->operand_count == 0) return {};
  // A load's address is its first operand (units/memory/load_store.cpp).
  const uint64_t address =
      lane_address(strand, load->operands[0], load->immediate, lowest_lane(strand.mask));
  const Allocation* const allocation = cluster.memory().find(address);
  const bool is_parameter =
      allocation != nullptr && allocation->address == cluster.memory().parameter_buffer();
  if (allocation == nullptr || is_parameter) return {};
  return fmt::format("polls global memory at {:#x} (byte {} of {}), at {}", address,
                     address - allocation->address, allocation->description,
                     waiting::location(cluster, *load));
}

/// What a strand that runs in a loop tests: the mbarrier that its warp waited on last.
waiting::Facts facts_of_running(Cluster& cluster, const Strand& strand) {
  const BarrierHistory& history = history_of(cluster);
  const Mbarrier* latest = nullptr;
  Actor latest_waiter;
  for (const Mbarrier* barrier : units_of(strand).mbarriers.objects()) {
    const Actor& waiter = history.of(strand.cta->rank, barrier->slot).last_waiter;
    if (waiter.instruction == nullptr || waiter.warp != strand.warp->index) continue;
    if (latest != nullptr && waiter.time <= latest_waiter.time) continue;
    latest = barrier;
    latest_waiter = waiter;
  }
  if (latest == nullptr) {
    std::string polled = polled_memory(cluster, strand);
    if (polled.empty()) return {"runs without changing anything that others can see", {}, ""};
    return {std::move(polled), {}, ""};
  }
  waiting::Facts facts =
      waiting::mbarrier_facts(cluster, *strand.cta, latest->offset_bytes, latest->phase & 1);
  facts.summary = "spins; its last test, at " +
                  waiting::location(cluster, *latest_waiter.instruction) + ", " + facts.summary;
  return facts;
}

std::vector<Role> collect_roles(Cluster& cluster) {
  std::vector<Role> roles;
  for (Cta& cta : cluster.ctas()) {
    for (const Warp& warp : cta.warps) {
      for (const auto& strand : warp.strands) {
        if (!strand->alive) continue;
        waiting::Facts facts = strand->suspended ? waiting::facts_of(cluster, *strand)
                                                 : facts_of_running(cluster, *strand);
        auto same = std::find_if(roles.begin(), roles.end(), [&](const Role& role) {
          return role.first->pc == strand->pc && role.first->suspended == strand->suspended &&
                 role.first->wait.kind == strand->wait.kind &&
                 role.facts.summary == facts.summary && role.facts.lines == facts.lines;
        });
        if (same == roles.end()) {
          Role role;
          role.first = strand.get();
          role.facts = std::move(facts);
          role.waiting_lanes = strand->mask;
          role.parted_lanes = lanes_at_meeting_point(warp);
          roles.push_back(std::move(role));
          same = roles.end() - 1;
        }
        same->since = std::min(same->since, strand->suspended ? strand->wait.since : strand->time);
        std::vector<uint32_t>& warps = same->warps[cta.rank];
        if (warps.empty() || warps.back() != warp.index) warps.push_back(warp.index);
      }
    }
  }
  return roles;
}

std::string warps_of(const Cluster& cluster, const Role& role) {
  std::string text;
  const auto list = [](const std::vector<uint32_t>& warps) {
    return (warps.size() == 1 ? "warp " : "warps ") + waiting::ranges(warps);
  };
  if (cluster.size() == 1) {
    text = list(role.warps.begin()->second);
  } else {
    std::map<std::vector<uint32_t>, std::vector<uint32_t>> by_warps;
    for (const auto& [rank, warps] : role.warps) by_warps[warps].push_back(rank);
    for (const auto& [warps, ranks] : by_warps) {
      text += (text.empty() ? "" : "; ") +
              std::string(ranks.size() == 1 ? "CTA rank " : "CTA ranks ") + waiting::ranges(ranks) +
              " " + list(warps);
    }
  }
  const int lanes = std::popcount(role.waiting_lanes);
  if (lanes == 1) {
    text += fmt::format(" lane {}", lowest_lane(role.waiting_lanes));
  } else if (role.waiting_lanes != role.first->warp->live) {
    text += fmt::format(" ({} lanes)", lanes);
  }
  if (role.parted_lanes != 0)
    text += fmt::format(" ({} lanes wait to reconverge)", std::popcount(role.parted_lanes));
  return text;
}

std::string place_of(const Cluster& cluster, const Role& role) {
  const Kernel& kernel = cluster.kernel();
  if (role.first->pc >= kernel.code().size()) return "the kernel's end";
  const Instruction& instruction = kernel.code()[role.first->pc];
  return waiting::location(cluster, instruction) + " `" + kernel.source(instruction).opcode + "`";
}

size_t warp_count(const std::vector<Role>& roles) {
  std::map<std::pair<uint32_t, uint32_t>, bool> warps;
  for (const Role& role : roles)
    for (const auto& [rank, indices] : role.warps)
      for (const uint32_t warp : indices) warps[{rank, warp}] = true;
  return warps.size();
}

/// Roles, causes and place, which both reports share.
void describe(Cluster& cluster, const std::vector<Role>& roles, Report& report) {
  const Kernel& kernel = cluster.kernel();
  std::vector<std::string> causes;
  for (size_t k = 0; k < roles.size(); ++k) {
    const Role& role = roles[k];
    if (!role.facts.cause.empty() &&
        std::find(causes.begin(), causes.end(), role.facts.cause) == causes.end())
      causes.push_back(role.facts.cause);
    if (k >= kMostRoles) continue;
    report.details.push_back(fmt::format("[{}] {} at {}, since cycle {}", k + 1,
                                         warps_of(cluster, role), place_of(cluster, role),
                                         role.since));
    if (role.first->pc < kernel.code().size()) {
      report.places.push_back(role.first->place(kernel.code()[role.first->pc], role.first->mask));
      report.places.back().role = fmt::format("[{}]", k + 1);
    }
    report.details.push_back("    " + role.facts.summary);
    for (const std::string& line : role.facts.lines) report.details.push_back("    " + line);
  }
  if (roles.size() > kMostRoles)
    report.details.push_back("and " + counted(roles.size() - kMostRoles, "more waiting role"));
  for (size_t k = 0; k < causes.size() && k < kMostCauses; ++k)
    report.fix += (k == 0 ? "" : ". ") + causes[k];
  report.event = cluster.event();
  report.seed = cluster.settings().chosen_seed();
  const Dim3 index = cluster.cta(0).index;
  report.where =
      fmt::format("{} in {}, {}CTA ({},{},{}), cycle {}",
                  roles.empty() ? kernel.name() : place_of(cluster, roles.front()), kernel.name(),
                  cluster.size() == 1 ? "" : "the cluster that starts at ", index.x, index.y,
                  index.z, cluster.now());
}

/// Lets the report name the instruction that a strand comes to.
void point_at(const Strand& strand, const Cluster& cluster, Report& report) {
  const Kernel& kernel = cluster.kernel();
  if (strand.pc >= kernel.code().size()) return;
  report.where = strand.describe(kernel.code()[strand.pc], strand.mask);
  report.places.insert(report.places.begin(), strand.place(kernel.code()[strand.pc], strand.mask));
}

}  // namespace

Report deadlock_report(Cluster& cluster) {
  const std::vector<Role> roles = collect_roles(cluster);
  Report report{.code = FaultCode::deadlock};
  const uint64_t warps = warp_count(roles);
  report.what = fmt::format("no thread can run and nothing is in flight: {} of {} {} in {}",
                            counted(warps, "warp"), cluster.kernel().name(),
                            warps == 1 ? "waits" : "wait", counted(roles.size(), "role"));
  report.rule =
      "a wait returns only when another thread completes it; each wait listed here depends on "
      "another one of them, or on a thread that has exited";
  describe(cluster, roles, report);
  if (!report.places.empty()) report.places.front().role.clear();  // it is where the report begins
  return report;
}

Report livelock_report(Cluster& cluster, const Strand& spinning) {
  const std::vector<Role> roles = collect_roles(cluster);
  Report report{.code = FaultCode::livelock};
  report.what = fmt::format(
      "threads run, but for more than {} cycles they have changed nothing that another thread "
      "could "
      "see (the limit is BW_SIM_LIVELOCK_CYCLES)",
      cluster.settings().livelock_cycles);
  report.rule = "a loop that polls ends only when another thread changes what it polls";
  describe(cluster, roles, report);
  Grid& grid = cluster.grid();
  // The launch is over: none of these will start any more.
  uint64_t pending = 0;
  for (uint64_t index = 0; grid.take_pending_cluster(index);) ++pending;
  if (pending != 0) {
    const bool are_ctas = grid.configuration().cluster.volume() == 1;
    const std::string some = counted(pending, are_ctas ? "CTA" : "cluster");
    report.details.push_back(fmt::format(
        "{} of {} wait for an SM: {} fit at a time, and none of the running ones has ended", some,
        grid.clusters().volume(), grid.resident_clusters()));
    report.fix = fmt::format(
        "if the loop waits for what one of the {} {} that have not started would write, launch no "
        "more than fit at a time (cudaOccupancyMaxActiveBlocksPerMultiprocessor; a cooperative "
        "launch checks it), or wait only for CTAs of lower index{}{}",
        pending, are_ctas ? "CTAs" : "clusters", report.fix.empty() ? "" : ". ", report.fix);
  }
  point_at(spinning, cluster, report);
  return report;
}

Report cycle_limit_report(Cluster& cluster, const Strand& running) {
  const std::vector<Role> roles = collect_roles(cluster);
  Report report{.code = FaultCode::cycle_limit};
  report.what = fmt::format("{} still runs after {} cycles (the limit is BW_SIM_CYCLE_LIMIT)",
                            cluster.kernel().name(), cluster.settings().cycle_limit);
  report.rule = "a loop ends only when its condition changes";
  describe(cluster, roles, report);
  report.fix = "find the loop that contains this line, and the condition that would end it";
  point_at(running, cluster, report);
  return report;
}

Report stopped_report(Cluster& cluster) {
  const std::vector<Role> roles = collect_roles(cluster);
  Report report{.code = FaultCode::cycle_limit};
  report.what = fmt::format("{} has stopped before event {}, as BW_SIM_UNTIL_EVENT requests",
                            cluster.kernel().name(), cluster.settings().until_event->text());
  report.rule = "a repeated schedule stops at the requested event";
  describe(cluster, roles, report);
  report.fix = "look at what each role does here; set another event, or none, to continue";
  if (!report.places.empty()) report.places.front().role.clear();  // it is where the report begins
  return report;
}

}  // namespace bw::sim
