#include "tests/fuzz/pipeline_program.hpp"

#include <array>

#include <fmt/core.h>

namespace bw::sim::fuzz {
namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kStageBytes = kLanes * sizeof(uint32_t);
constexpr uint32_t kMostStages = 4;
constexpr uint32_t kMostRounds = 9;
constexpr uint32_t kBarrierBytes = 8;
// What multicast copies is a box of the tensor map: 8 rows of 32 words.
constexpr uint32_t kBoxRows = 8;

struct Plan {
  Transport transport = Transport::stores;
  Mistake mistake = Mistake::none;
  uint32_t stages = 1;
  uint32_t rounds = 1;
  uint32_t consumers = 1;  ///< warps of a CTA
  uint32_t clusters = 1;
  bool every_lane_releases = false;
  bool every_lane_fills = false;  ///< arrives on the full barrier, with Transport::stores
  bool polls = false;             ///< test_wait instead of try_wait

  [[nodiscard]] bool paired() const { return transport == Transport::multicast; }
  [[nodiscard]] uint32_t ctas() const { return paired() ? 2 : 1; }
  [[nodiscard]] uint32_t rows() const { return paired() ? kBoxRows : 1; }
  [[nodiscard]] uint32_t stage_bytes() const { return kStageBytes * rows(); }
  [[nodiscard]] uint32_t full_count() const {
    const bool all =
        transport == Transport::cp_async || (transport == Transport::stores && every_lane_fills);
    return all ? kLanes : 1;
  }
  [[nodiscard]] uint32_t empty_count() const {
    return consumers * ctas() * (every_lane_releases ? kLanes : 1);
  }
  [[nodiscard]] bool is(Mistake other) const { return mistake == other; }
  [[nodiscard]] uint32_t input_words() const { return clusters * rounds * rows() * kLanes; }
};

bool is_possible(const Plan& plan) {
  switch (plan.mistake) {
    case Mistake::forgotten_release:
    case Mistake::empty_count_too_large:
      return plan.rounds > plan.stages;  // some warp has to wait for it
    case Mistake::too_many_bytes:
      return plan.transport == Transport::bulk || plan.transport == Transport::multicast;
    case Mistake::read_beyond_memory:
      return plan.transport != Transport::multicast;  // a tensor copy fills with zeros
    case Mistake::no_proxy_fence:
      // Somebody has to write a stage again.
      return plan.rounds > plan.stages &&
             (plan.transport == Transport::bulk || plan.transport == Transport::multicast);
    case Mistake::no_warp_sync:
      return plan.transport == Transport::stores && !plan.every_lane_fills;
    default:
      return true;
  }
}

bool is_race(Mistake mistake) { return mistake >= Mistake::no_proxy_fence; }

std::optional<FaultKind> verdict_of(const Plan& plan) {
  if (plan.is(Mistake::none) || is_race(plan.mistake)) return std::nullopt;
  if (plan.mistake >= Mistake::misaligned_barrier) return FaultKind::contract;
  return plan.polls ? FaultKind::livelock : FaultKind::deadlock;
}

Plan plan_of(Choices& choices) {
  Plan plan;
  plan.transport = static_cast<Transport>(choices.below(4));
  plan.stages = 1 + choices.below(kMostStages);
  plan.rounds = 1 + choices.below(kMostRounds);
  plan.consumers = 1 + choices.below(3);
  plan.clusters = 1 + choices.below(3);
  plan.every_lane_releases = choices.below(2) == 1;
  plan.every_lane_fills = choices.below(2) == 1;
  plan.polls = choices.below(4) == 3;
  if (choices.below(2) == 1) {
    constexpr auto kMistakes = static_cast<uint32_t>(Mistake::no_warp_sync);
    plan.mistake = static_cast<Mistake>(1 + choices.below(kMistakes));
    if (!is_possible(plan)) plan.mistake = Mistake::none;
  }
  return plan;
}

/// Writes a plan's kernel.
class Writer {
 public:
  explicit Writer(const Plan& plan) : plan_(plan) {}

  std::string text() {
    begin();
    line("setp.ge.u32 %p1, %warp, 1;");
    line("@%p1 bra CONSUMERS;");
    // Of a pair, the first CTA's producer fills the stages of both.
    if (plan_.paired()) line("@%pother bra END;");
    for (uint32_t round = 0; round < plan_.rounds; ++round) produce(round);
    line("bra END;");
    body_ += "CONSUMERS:\n";
    line("mov.u32 %sum, 0;");
    const uint32_t extra = plan_.is(Mistake::one_round_too_many) ? 1 : 0;
    for (uint32_t round = 0; round < plan_.rounds + extra; ++round) consume(round);
    line("st.global.u32 [%out], %sum;");
    body_ += "END:\n";
    if (plan_.paired()) meet();
    return fmt::format(
        ".version 9.0\n.target sm_100a\n.address_size 64\n"
        ".shared .align 128 .b8 stages[{}];\n.shared .align 8 .b64 full[{}];\n"
        ".shared .align 8 .b64 empty[{}];\n.shared .align 8 .b64 unused;\n"
        ".visible .entry k(.param .u64 memory, .param .align 64 .b8 map[128])\n{{\n"
        "  .reg .pred %p<8>; .reg .pred %pother; .reg .b32 %r<24>; .reg .b64 %d<8>; .reg .b16 "
        "%mask;\n"
        "  .reg .b32 %tid, %warp, %lane, %sum; .reg .b64 %in, %out;\n{}  ret;\n}}\n",
        plan_.stage_bytes() * plan_.stages, plan_.stages, plan_.stages, body_);
  }

 private:
  void line(const std::string& text) { body_ += "  " + text + "\n"; }
  [[nodiscard]] static std::string barrier(const char* name, uint32_t stage) {
    return fmt::format("[{}+{}]", name, kBarrierBytes * stage);
  }

  void meet() {
    line("barrier.cluster.arrive.release;");
    line("barrier.cluster.wait.acquire;");
  }

  void begin() {
    line("mov.u32 %tid, %tid.x;");
    line("shr.u32 %warp, %tid, 5;");
    line("and.b32 %lane, %tid, 31;");
    line("mov.u32 %r0, %cluster_ctarank;");
    line("setp.ne.u32 %pother, %r0, 0;");
    line("ld.param.u64 %in, [memory];");
    // out[CTA][consumer][lane] after the input
    line("mov.u32 %r1, %ctaid.x;");
    line(fmt::format("mad.lo.u32 %r2, %r1, {}, %warp;", plan_.consumers));
    line("sub.u32 %r2, %r2, 1;");
    line("mad.lo.u32 %r2, %r2, 32, %lane;");
    line(fmt::format("add.u32 %r2, %r2, {};", plan_.input_words()));
    line("mul.wide.u32 %d0, %r2, 4;");
    line("add.u64 %out, %in, %d0;");
    // the cluster's rounds, the lane's word
    line(fmt::format("div.u32 %r3, %r1, {};", plan_.ctas()));
    line(fmt::format("mul.lo.u32 %r4, %r3, {};", plan_.rounds * plan_.rows()));
    line("mad.lo.u32 %r5, %r4, 32, %lane;");
    line("mul.wide.u32 %d1, %r5, 4;");
    line("add.u64 %in, %in, %d1;");
    line("mov.u32 %r6, stages;");
    line("mad.lo.u32 %r6, %lane, 4, %r6;");
    line("setp.eq.u32 %p2, %lane, 0;");
    line("setp.eq.u32 %p0, %tid, 0;");
    const uint32_t full =
        plan_.is(Mistake::zero_count)
            ? 0
            : plan_.full_count() + (plan_.is(Mistake::full_count_too_large) ? 1 : 0);
    const uint32_t empty = plan_.empty_count() + (plan_.is(Mistake::empty_count_too_large) ? 1 : 0);
    for (uint32_t stage = 0; stage < plan_.stages; ++stage) {
      line(fmt::format("@%p0 mbarrier.init.shared::cta.b64 {}, {};", barrier("full", stage), full));
      line(fmt::format("@%p0 mbarrier.init.shared::cta.b64 {}, {};", barrier("empty", stage),
                       empty));
    }
    line("fence.mbarrier_init.release.cluster;");
    line("bar.sync 0;");
    if (plan_.paired()) meet();
  }

  void wait(const std::string& address, uint32_t parity) {
    const std::string label = fmt::format("W{}", waits_++);
    body_ += label + ":\n";
    // Of a pair, threads of the other CTA arrive.
    line(fmt::format("mbarrier.{}.parity.{}shared::cta.b64 %p3, {}, {};",
                     plan_.polls ? "test_wait" : "try_wait",
                     plan_.paired() ? "acquire.cluster." : "", address, parity));
    line("@!%p3 bra " + label + ";");
  }

  void produce(uint32_t round) {
    const uint32_t stage = round % plan_.stages;
    const uint32_t use = round / plan_.stages;
    const bool is_last = round + 1 == plan_.rounds;
    wait(barrier("empty", stage), (use + (plan_.is(Mistake::wrong_initial_phase) ? 0 : 1)) & 1);
    if (is_last && plan_.is(Mistake::initialised_again))
      line("@%p2 mbarrier.init.shared::cta.b64 [full], 1;");
    constexpr uint32_t kFarAway = 1u << 20;
    const uint32_t from =
        round * kStageBytes + (is_last && plan_.is(Mistake::read_beyond_memory) ? kFarAway : 0);
    const uint32_t to = stage * plan_.stage_bytes();
    const std::string full = barrier("full", stage);
    const uint32_t announced =
        plan_.stage_bytes() + (plan_.is(Mistake::too_many_bytes) && round == 0 ? 16 : 0);
    switch (plan_.transport) {
      case Transport::stores:
        line(fmt::format("ld.global.u32 %r7, [%in+{}];", from));
        line(fmt::format("st.shared.u32 [%r6+{}], %r7;", to));
        if (plan_.every_lane_fills) {
          line(fmt::format("mbarrier.arrive.shared::cta.b64 _, {};", full));
        } else {
          if (!plan_.is(Mistake::no_warp_sync)) line("bar.warp.sync 0xffffffff;");
          line(fmt::format("@%p2 mbarrier.arrive.shared::cta.b64 _, {};", full));
        }
        break;
      case Transport::bulk:
        line(fmt::format("@%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, {}, {};", full,
                         announced));
        line(fmt::format("add.u64 %d2, %in, {};", from));
        line(fmt::format(
            "@%p2 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r6+{}], [%d2], "
            "{}, {};",
            to, kStageBytes, full));
        break;
      case Transport::cp_async:
        line(fmt::format("cp.async.ca.shared.global [%r6+{}], [%in+{}], 4;", to, from));
        line(fmt::format("cp.async.mbarrier.arrive.noinc.shared::cta.b64 {};", full));
        break;
      case Transport::multicast:
        // Each CTA's barrier is told of the bytes that land there.
        line(fmt::format("mov.u32 %r8, full;\n  add.u32 %r8, %r8, {};", kBarrierBytes * stage));
        line("mapa.shared::cluster.u32 %r9, %r8, 1;");
        line(fmt::format(
            "@%p2 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r8], {};",
            announced));
        line(fmt::format(
            "@%p2 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r9], {};",
            plan_.stage_bytes()));
        line(fmt::format("add.u32 %r10, %r4, {};", round * kBoxRows));
        line("mov.u32 %r11, 0;\n  mov.b64 %d3, map;\n  cvta.param.u64 %d3, %d3;");
        line(fmt::format("mov.u32 %r12, stages;\n  add.u32 %r12, %r12, {};", to));
        line("mov.b16 %mask, 3;");
        line(
            "@%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            ".multicast::cluster [%r12], [%d3, {%r11, %r10}], [%r8], %mask;");
        break;
    }
  }

  void consume(uint32_t round) {
    const uint32_t stage = round % plan_.stages;
    const uint32_t use = round / plan_.stages;
    const bool is_last = round + 1 == plan_.rounds;
    const bool wrong_barrier = is_last && plan_.is(Mistake::never_initialised);
    const bool misaligned = is_last && plan_.is(Mistake::misaligned_barrier);
    wait(wrong_barrier ? "[unused]" : misaligned ? "[full+4]" : barrier("full", stage), use & 1);
    constexpr uint32_t kFarAway = 256u << 10;
    for (uint32_t row = 0; row < plan_.rows(); ++row) {
      const uint32_t from = stage * plan_.stage_bytes() + row * kStageBytes +
                            (is_last && plan_.is(Mistake::read_beyond_shared) ? kFarAway : 0);
      line(fmt::format("ld.shared.u32 %r13, [%r6+{}];", from));
      line(fmt::format("mad.lo.u32 %sum, %r13, {}, %sum;", weight(round, row)));
    }
    const bool copied = plan_.transport == Transport::bulk || plan_.paired();
    if (copied && !plan_.is(Mistake::no_proxy_fence)) line("fence.proxy.async.shared::cta;");
    const std::string empty =
        fmt::format("mov.u32 %r14, empty;\n  add.u32 %r14, %r14, {};", kBarrierBytes * stage);
    line(empty);
    if (plan_.paired()) line("mapa.shared::cluster.u32 %r14, %r14, 0;");
    std::string guard;
    if (!plan_.every_lane_releases) {
      line("bar.warp.sync 0xffffffff;");
      guard = "@%p2 ";
    }
    // The first round's release by the last consumer of the last CTA.
    if (plan_.is(Mistake::forgotten_release) && round == 0) {
      line(fmt::format("setp.ne.u32 %p4, %warp, {};", plan_.consumers));
      if (!plan_.every_lane_releases) line("and.pred %p4, %p4, %p2;");
      guard = "@%p4 ";
    }
    line(guard + (plan_.paired() ? "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];"
                                 : "mbarrier.arrive.shared::cta.b64 _, [%r14];"));
  }

 public:
  /// By which a word counts in a consumer's sum.
  static uint32_t weight(uint32_t round, uint32_t row) { return round * kBoxRows + row + 1; }

 private:
  const Plan& plan_;
  std::string body_;
  int waits_ = 0;
};

std::string describe(const Plan& plan) {
  static constexpr std::array<const char*, 4> kTransports = {"stores", "bulk copies", "cp.async",
                                                             "multicast"};
  return fmt::format("{}, {} stages, {} rounds, {} consumers, {} clusters, mistake {}",
                     kTransports[static_cast<size_t>(plan.transport)], plan.stages, plan.rounds,
                     plan.consumers, plan.clusters, static_cast<int>(plan.mistake));
}

}  // namespace

PipelineProgram pipeline_program(Choices& choices) {
  const Plan plan = plan_of(choices);
  PipelineProgram program;
  program.mistake = plan.mistake;
  program.verdict = verdict_of(plan);
  program.races = is_race(plan.mistake);
  program.description = describe(plan);
  program.task.text = Writer(plan).text();
  LaunchConfiguration& launch = program.task.configuration;
  launch.block = {kLanes * (1 + plan.consumers), 1, 1};
  launch.cluster = {plan.ctas(), 1, 1};
  launch.grid = {plan.ctas() * plan.clusters, 1, 1};

  const uint32_t ctas = plan.ctas() * plan.clusters;
  const uint32_t words = plan.input_words() + ctas * plan.consumers * kLanes;
  std::vector<uint32_t>& memory = program.task.memory;
  memory.resize((words + kLanes * kBoxRows - 1) / (kLanes * kBoxRows) * (kLanes * kBoxRows));
  for (uint32_t i = 0; i < plan.input_words(); ++i) memory[i] = 0x9e3779b9u * (i + 1);
  program.expected = memory;
  for (uint32_t cta = 0; cta < ctas; ++cta)
    for (uint32_t consumer = 0; consumer < plan.consumers; ++consumer)
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        uint32_t sum = 0;
        for (uint32_t round = 0; round < plan.rounds; ++round)
          for (uint32_t row = 0; row < plan.rows(); ++row) {
            const uint32_t at = (cta / plan.ctas() * plan.rounds + round) * plan.rows() + row;
            sum += memory[at * kLanes + lane] * Writer::weight(round, row);
          }
        const uint32_t at = (cta * plan.consumers + consumer) * kLanes + lane;
        program.expected[plan.input_words() + at] = sum;
      }
  return program;
}

}  // namespace bw::sim::fuzz
