#include "common/simulator/diagnosis/exploration/watch.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/error.hpp"
#include "common/simulator/base/text.hpp"
#include "common/simulator/diagnosis/exploration/collector.hpp"
#include "common/simulator/diagnosis/exploration/sync_program.hpp"
#include "common/simulator/machine/execution.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::exploration {
namespace {

/// Rows of the table: the last ones tell how it ends.
constexpr size_t kMostRows = 40;

bool are_alike(const SyncProgram& a, const SyncProgram& b) {
  const auto same_object = [](const SyncObject& x, const SyncObject& y) {
    return x.name == y.name && x.expected == y.expected;
  };
  const auto same_step = [](const Step& x, const Step& y) {
    return x.action == y.action && x.object == y.object && x.amount == y.amount &&
           x.phase == y.phase && x.later == y.later && x.after == y.after &&
           x.origin.instruction == y.origin.instruction && x.origin.warp == y.origin.warp &&
           x.origin.cta_rank == y.origin.cta_rank && x.origin.lanes == y.origin.lanes;
  };
  return std::equal(a.objects.begin(), a.objects.end(), b.objects.begin(), b.objects.end(),
                    same_object) &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step);
}

/// "lane 3", "lanes 1 to 31", "lanes 0x00000ffd".
std::string lanes_text(LaneMask lanes) {
  const int first = lowest_lane(lanes);
  if (std::has_single_bit(lanes)) return fmt::format("lane {}", first);
  const int count = std::countr_one(lanes >> first);
  return count == std::popcount(lanes) ? fmt::format("lanes {} to {}", first, first + count - 1)
                                       : "lanes " + hex_mask(lanes);
}

/// Puts steps into words.
class Words {
 public:
  Words(const Kernel& kernel, const SyncProgram& program, bool has_ranks, bool lanes_apart)
      : kernel_(kernel), program_(program), has_ranks_(has_ranks), lanes_apart_(lanes_apart) {}

  [[nodiscard]] std::string place(const Step& step) const {
    return kernel_.module().ptx().describe_place(kernel_.source(*step.origin.instruction));
  }

  [[nodiscard]] std::string actor_text(const Step& step) const {
    std::string text = has_ranks_ ? fmt::format("CTA rank {} ", step.origin.cta_rank) : "";
    text += fmt::format("warp {}", step.origin.warp);
    if (lanes_apart_ && !step.later && step.origin.lanes != kAllLanes)
      text += ", " + lanes_text(step.origin.lanes);
    if (step.later)
      text += kernel_.form(*step.origin.instruction).unit == Unit::mbarrier
                  ? "'s arrive, on its way"
                  : "'s operation, later";
    return text;
  }

  [[nodiscard]] std::string operation_text(const Step& step) const {
    const std::string& name = program_.objects[step.object].name;
    switch (step.action) {
      case Action::join:
        return "its lanes meet";
      case Action::init:
        return fmt::format("initialises {} for {}", name, counted(step.amount, "arrival"));
      case Action::arrive:
        return fmt::format("{} on {}", counted(step.amount, "arrival"), name);
      case Action::arrive_drop:
        return fmt::format("{} on {}, for good", counted(step.amount, "arrival"), name);
      case Action::expect_tx:
        return fmt::format("announces {} on {}", counted(step.amount, "byte"), name);
      case Action::complete_tx:
        return fmt::format("{} of {} have arrived", counted(step.amount, "byte"), name);
      case Action::increment:
        return fmt::format("{} more are expected on {}", step.amount, name);
      case Action::wait:
        return program_.objects[step.object].is_mbarrier
                   ? fmt::format("waits for phase {} (parity {}) of {}", step.phase, step.phase & 1,
                                 name)
                   : fmt::format("waits for {}", name);
    }
    return {};
  }

  [[nodiscard]] std::string row(size_t number, const Step& step, const BarrierState& after) const {
    std::string text = fmt::format("{:>5}  {:<28}  {:<22}  {}", number, actor_text(step),
                                   place(step), operation_text(step));
    if (step.action != Action::join && program_.objects[step.object].is_mbarrier)
      text += fmt::format("; phase {}, pending {} of {}, tx-count {}", after.phase, after.pending,
                          after.expected, after.tx_bytes);
    return text;
  }

 private:
  const Kernel& kernel_;
  const SyncProgram& program_;
  bool has_ranks_;
  bool lanes_apart_;
};

/// What an order that goes wrong is, which rule it breaks and what to do.
struct Judgement {
  FaultCode code;
  const char* what;
  const char* rule;
  const char* fix;
};

Judgement judgement_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::overrun:
      return {
          FaultCode::mbarrier_phase_unobserved,
          "a phase can complete before a wait for the previous one has been executed",
          "a wait by parity can tell the current phase from the preceding one only",
          "let no thread get two phases ahead: a thread that completes the phase must know that "
          "the waiting thread has seen the previous one"};
    case Verdict::too_many:
      return {FaultCode::mbarrier_too_many_arrivals,
              "more threads can arrive in one phase than it expects",
              "the pending count must not fall below zero",
              "let threads arrive for the next phase only after this one has completed"};
    case Verdict::not_ready:
      return {
          FaultCode::mbarrier_not_initialised, "a barrier can be used before it is initialised",
          "every mbarrier operation but init needs a valid object",
          "put a barrier of the CTA (of the cluster, for others' barriers) between the init and "
          "the first use"};
    default:
      return {FaultCode::deadlock, "threads can end up waiting for each other",
              "a wait returns only when another thread completes it",
              "compare the threads that arrive on each of these barriers, and what they wait for "
              "before that"};
  }
}

/// Whether the order needs lanes of one warp that are not together: one of its steps that come next
/// or too late is of lanes that others of the warp have left.
bool is_for_lanes(const SyncProgram& program, const Exploration& found) {
  const auto of_part = [&](uint32_t index) {
    const Step& late = program.steps[index];
    return std::any_of(found.order.begin(), found.order.end(), [&](uint32_t done) {
      const Step& step = program.steps[done];
      return !step.later && !late.later && step.action == late.action &&
             step.object == late.object && step.phase == late.phase &&
             step.origin.cta_rank == late.origin.cta_rank && step.origin.warp == late.origin.warp &&
             step.origin.instruction == late.origin.instruction &&
             (step.origin.lanes & late.origin.lanes) == 0;
    });
  };
  return std::any_of(found.waiting.begin(), found.waiting.end(), of_part);
}

Report report_of(const Kernel& kernel, const SyncProgram& program, bool has_ranks, bool lanes_apart,
                 const Exploration& found) {
  const Words words(kernel, program, has_ranks, lanes_apart);
  const Judgement judgement = judgement_of(found.verdict);
  Report report{.code = judgement.code};
  report.what = fmt::format("{}, in an order that this run has not taken ({} explored)",
                            judgement.what, counted(found.states, "state"));
  report.rule = judgement.rule;
  report.fix = judgement.fix;
  if (lanes_apart && is_for_lanes(program, found))
    report.fix =
        "let the lanes meet (__syncwarp) between this wait and what one of them does next, or let "
        "one elected lane both wait and act: after a branch a lane of the warp may lag";
  report.where =
      fmt::format("{} in {}", words.place(program.steps[found.waiting.front()]), kernel.name());
  report.details.push_back("the order, step by step:");
  std::vector<BarrierState> barriers;
  for (const SyncObject& object : program.objects)
    barriers.push_back({!object.is_mbarrier, 0, object.expected, object.expected, 0});
  barriers.resize(std::max<size_t>(barriers.size(), 1));  // a join names the first
  const size_t count = found.order.size();
  if (count > kMostRows)
    report.details.push_back(
        fmt::format("  ... {} before these", counted(count - kMostRows, "step")));
  for (size_t i = 0; i < count; ++i) {
    const Step& step = program.steps[found.order[i]];
    BarrierState& barrier = barriers[step.object];
    apply(step, barrier);
    if (i + kMostRows >= count) report.details.push_back(words.row(i + 1, step, barrier));
  }
  report.details.push_back(found.verdict == Verdict::deadlock
                               ? "then only these steps are left:"
                               : "which is too late, or too early, for:");
  for (const uint32_t index : found.waiting) {
    const Step& step = program.steps[index];
    report.details.push_back(fmt::format("  {} at {}: {}", words.actor_text(step),
                                         words.place(step), words.operation_text(step)));
  }
  return report;
}

}  // namespace

std::unique_ptr<ExplorationWatch> ExplorationWatch::from_environment() {
  const char* const text = std::getenv("BW_SIM_EXPLORE");
  if (text == nullptr || *text == '\0') return nullptr;
  char* end = nullptr;
  const unsigned long long states = std::strtoull(text, &end, 10);
  if (*end != '\0' || *text == '-')
    throw SimulationError(Report{
        .code = FaultCode::setting_invalid,
        .what = std::string("the environment variable BW_SIM_EXPLORE is \"") + text +
                "\", which is not a number of states",
        .fix = "set it to the largest number of states to explore, such as 1000000, or unset it"});
  const char* const lanes = std::getenv("BW_SIM_EXPLORE_LANES");
  const std::string_view apart = lanes == nullptr ? "" : lanes;
  if (apart != "" && apart != "0" && apart != "1")
    throw SimulationError(Report{
        .code = FaultCode::setting_invalid,
        .what = fmt::format(
            "the environment variable BW_SIM_EXPLORE_LANES is \"{}\", which is not 0 or 1", apart),
        .fix = "set it to 1 for lanes that run apart, or unset it"});
  return states == 0 ? nullptr : std::make_unique<ExplorationWatch>(states, stderr, apart == "1");
}

void ExplorationWatch::on_launch(Grid& grid) {
  programs_.clear();
  kernel_ = &grid.kernel();
  has_ranks_ = grid.configuration().cluster.volume() > 1;
}

void ExplorationWatch::add(SyncProgram program) {
  for (Distinct& known : programs_)
    if (are_alike(known.program, program)) {
      ++known.clusters;
      return;
    }
  programs_.push_back({std::move(program)});
}

std::unique_ptr<Observer> ExplorationWatch::observe(Cluster&) {
  return std::make_unique<Collector>(*kernel_, has_ranks_, lanes_apart_,
                                     [this](SyncProgram program, RunStatus status) {
                                       if (status == RunStatus::finished) add(std::move(program));
                                     });
}

void ExplorationWatch::on_launch_end(const LaunchResult& result) {
  // A run that is stuck has a report of its own.
  if (result.status != RunStatus::finished) return;
  for (const Distinct& one : programs_) {
    const SyncProgram program = lanes_apart_ ? lanes_apart(one.program) : one.program;
    const Exploration found = explore(program, most_states_);
    if (found.verdict != Verdict::proven && found.verdict != Verdict::bound)
      throw SimulationError(report_of(*kernel_, program, has_ranks_, lanes_apart_, found));
    std::set<std::pair<uint16_t, uint16_t>> warps;
    for (const Step& step : program.steps) warps.insert({step.origin.cta_rank, step.origin.warp});
    fmt::print(output_, "simulator: {}: exploration: {} with {} by {} on {}: {}\n", kernel_->name(),
               counted(one.clusters, "cluster"), counted(program.steps.size(), "step"),
               counted(warps.size(), "warp"), counted(program.objects.size(), "barrier"),
               found.verdict == Verdict::proven
                   ? fmt::format("every order ends ({} explored)", counted(found.states, "state"))
                   : fmt::format("not proven, nothing found in {}; a smaller configuration (fewer "
                                 "stages, tiles or K blocks) has fewer, BW_SIM_EXPLORE allows more",
                                 counted(most_states_, "state")));
  }
}

}  // namespace bw::sim::exploration
