/// \file
/// The table of instruction forms: grammars parse, no row hides another, every executed row is
/// whole, and what clusters can see of each other is what the PTX ISA's scopes and spaces say.
#include "common/simulator/machine/binder.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/simulator/outcomes.hpp"

namespace bw::sim::test::instruction_form_test {
namespace {

std::vector<const InstructionForm*> all_rows() {
  std::vector<const InstructionForm*> rows;
  for (const FormFamily& family : instruction_forms())
    for (const InstructionForm& row : family) rows.push_back(&row);
  return rows;
}

std::string name_of(const InstructionForm& row) {
  return std::string(row.base) + " with \"" + std::string(row.modifiers) + "\"";
}

/// The ways to fill one group: its alternatives, each as often as the group takes it; for an
/// optional group also nothing.
std::vector<std::string> choices(const ModifierGroup& group) {
  std::vector<std::string> result;
  if (!group.required) result.emplace_back();
  for (const std::string_view first : group.alternatives) {
    if (group.most == 1) {
      result.push_back("." + std::string(first));
      continue;
    }
    for (const std::string_view second : group.alternatives)
      result.push_back("." + std::string(first) + "." + std::string(second));
  }
  return result;
}

/// Opcodes of a row: all pairs of its groups vary, the other groups have their first choice.
std::vector<std::string> opcodes_of(const InstructionForm& row) {
  const std::string base(row.base);
  if (row.modifiers == kAnyModifiers) return {base, base + ".anything"};
  std::vector<std::vector<std::string>> groups;
  for (const ModifierGroup& group : parse_grammar(row.modifiers)) groups.push_back(choices(group));
  const auto opcode = [&](size_t a, size_t choice_a, size_t b, size_t choice_b) {
    std::string text = base;
    for (size_t g = 0; g < groups.size(); ++g)
      text += groups[g][g == a ? choice_a : g == b ? choice_b : 0];
    return text;
  };
  std::vector<std::string> result{opcode(groups.size(), 0, groups.size(), 0)};
  // Types come last: counting down, the limit keeps the choices that tell rows apart.
  constexpr size_t kMostOpcodes = 400;
  for (size_t a = groups.size(); a-- > 0;)
    for (size_t b = 0; b <= a; ++b)
      for (size_t i = 0; i < groups[a].size(); ++i)
        for (size_t k = 0; k < (a == b ? 1 : groups[b].size()); ++k)
          if (result.size() < kMostOpcodes) result.push_back(opcode(a, i, b, k));
  return result;
}

TEST(OpcodeTable, EveryGrammarParses) {
  constexpr std::string_view kNameCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
  for (const InstructionForm* row : all_rows()) {
    if (row->modifiers == kAnyModifiers) continue;
    for (const ModifierGroup& group : parse_grammar(row->modifiers)) {
      EXPECT_FALSE(group.name.empty()) << name_of(*row);
      EXPECT_TRUE(group.most == 1 || group.most == 2) << name_of(*row);
      EXPECT_FALSE(group.alternatives.empty()) << name_of(*row);
      for (const std::string_view modifier : group.alternatives) {
        EXPECT_FALSE(modifier.empty()) << name_of(*row);
        EXPECT_EQ(modifier.find_first_not_of(kNameCharacters), modifier.npos)
            << name_of(*row) << ": " << modifier;
      }
    }
  }
}

TEST(OpcodeTable, NoRowHidesAnother) {
  for (const InstructionForm* row : all_rows()) {
    size_t own = 0;
    for (const std::string& opcode : opcodes_of(*row)) {
      const std::optional<FormMatch> match = find_form(opcode);
      ASSERT_TRUE(match.has_value()) << opcode << " does not fit its own row, " << name_of(*row);
      if (match->form == row) {
        ++own;
        continue;
      }
      // Two rows may share an opcode when they do the same with it (and only cost differently).
      EXPECT_EQ(match->form->bind, row->bind) << opcode << " of " << name_of(*row);
      EXPECT_EQ(match->form->effect(match->modifiers), row->effect(match->modifiers)) << opcode;
    }
    EXPECT_GT(own, 0u) << name_of(*row) << " is never found: an earlier row takes its opcodes";
  }
}

TEST(OpcodeTable, EveryRowIsWhole) {
  for (const InstructionForm* row : all_rows()) {
    EXPECT_FALSE(row->base.empty());
    EXPECT_FALSE(row->section.empty()) << name_of(*row);
    EXPECT_FALSE(row->section.starts_with("PTX ISA")) << "the name alone: " << row->section;
    if (row->bind != nullptr) {
      EXPECT_GT(row->cycles, 0) << name_of(*row);
    }
  }
}

/// The table's times and effects are kept (tests/simulator/kept); here, the conditions that any
/// cost has to meet.
TEST(OpcodeTable, CostsAreOfWholeInstructions) {
  constexpr size_t kMostOperands = 8;
  for (const InstructionForm* row : all_rows())
    for (const std::string& opcode : opcodes_of(*row)) {
      const std::optional<FormMatch> match = find_form(opcode);
      if (!match || match->form != row || row->bind == nullptr) continue;
      ptx::Instruction instruction;
      instruction.opcode = opcode;
      instruction.operands.resize(kMostOperands);
      Cost cost;
      if (row->cost.is_given()) cost = row->cost(match->modifiers, instruction);
      // Both halves of a packed operation take the pipe, in one issue slot.
      const bool is_packed = opcode.ends_with(".f32x2");
      EXPECT_LE(cost.on_pipe, cost.instructions * (is_packed ? 2 : 1)) << opcode;
      EXPECT_EQ(cost.pipe == Pipe::none, cost.instructions == 0) << opcode;
      std::string numbers;
      for (const uint64_t number :
           {uint64_t{row->cycles}, uint64_t{row->awaits_loads},
            static_cast<uint64_t>(row->effect(match->modifiers)), static_cast<uint64_t>(cost.pipe),
            uint64_t{cost.instructions}, uint64_t{cost.on_pipe}, uint64_t{cost.extra_cycles}})
        numbers += " " + std::to_string(number);
      const std::string line = opcode + numbers;
      note_memory(line.data(), line.size());
    }
}

void in_registers(const LaneRegisters&, const Instruction&, LaneMask) {}
Flow of_strand(Strand&, const Instruction&, LaneMask) { return Flow::next; }

TEST(OpcodeTable, AHandlerTouchesWhatTheEffectSays) {
  const InstructionForm& row = instruction_forms().front().forms.front();
  EXPECT_NO_THROW(check_handler(row, Effect::lane, in_registers));
  EXPECT_THROW(check_handler(row, Effect::lane, of_strand), std::logic_error);
  EXPECT_NO_THROW(check_handler(row, Effect::warp, in_registers));
  EXPECT_NO_THROW(check_handler(row, Effect::warp, of_strand));
  for (const Effect seen : {Effect::cluster, Effect::grid}) {
    EXPECT_THROW(check_handler(row, seen, in_registers), std::logic_error);
    EXPECT_NO_THROW(check_handler(row, seen, of_strand));
  }
  for (const Effect any : {Effect::lane, Effect::warp, Effect::cluster, Effect::grid})
    EXPECT_THROW(check_handler(row, any, Handler{}), std::logic_error);
}

static_assert(!std::is_constructible_v<Handler, void (*)(Strand&, const Instruction&, LaneMask)>,
              "a handler that takes the strand says how the strand goes on");

struct Expected {
  std::string_view opcode;
  Effect effect;
};

class EffectOfForm : public testing::TestWithParam<Expected> {};

TEST_P(EffectOfForm, FollowsScopeAndSpace) {
  const std::optional<FormMatch> match = find_form(GetParam().opcode);
  ASSERT_TRUE(match.has_value()) << GetParam().opcode;
  EXPECT_EQ(match->form->effect(match->modifiers), GetParam().effect) << GetParam().opcode;
}

INSTANTIATE_TEST_SUITE_P(
    Registers, EffectOfForm,
    testing::Values(Expected{"add.u32", Effect::lane}, Expected{"cvt.rn.f32.s32", Effect::lane},
                    Expected{"setp.lt.f32", Effect::lane}, Expected{"addc.cc.u32", Effect::lane},
                    Expected{"activemask.b32", Effect::lane}, Expected{"pmevent", Effect::lane}));

INSTANTIATE_TEST_SUITE_P(
    OwnWarp, EffectOfForm,
    testing::Values(Expected{"ld.param.u64", Effect::warp}, Expected{"ld.local.u32", Effect::warp},
                    Expected{"st.local.u32", Effect::warp}, Expected{"ld.const.f32", Effect::warp},
                    Expected{"mov.u32", Effect::warp}, Expected{"isspacep.shared", Effect::warp},
                    Expected{"shfl.sync.idx.b32", Effect::warp}, Expected{"bra", Effect::warp}));

INSTANTIATE_TEST_SUITE_P(
    OwnCluster, EffectOfForm,
    testing::Values(Expected{"ld.global.u32", Effect::cluster},
                    Expected{"ld.weak.global.u32", Effect::cluster},
                    Expected{"ld.shared.u32", Effect::cluster},
                    Expected{"ld.volatile.shared.u32", Effect::cluster},
                    Expected{"ld.acquire.cluster.shared::cluster.u32", Effect::cluster},
                    Expected{"ld.relaxed.cta.global.u32", Effect::cluster},
                    Expected{"st.release.cluster.global.u32", Effect::cluster},
                    Expected{"atom.shared.add.u32", Effect::cluster},
                    Expected{"atom.relaxed.gpu.shared::cluster.add.u32", Effect::cluster},
                    Expected{"atom.relaxed.cta.global.add.u32", Effect::cluster},
                    Expected{"mbarrier.arrive.shared.b64", Effect::cluster},
                    Expected{"bar.sync", Effect::cluster},
                    Expected{"cp.reduce.async.bulk.shared::cluster.shared::cta."
                             "mbarrier::complete_tx::bytes.add.u32",
                             Effect::cluster},
                    Expected{"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
                             Effect::cluster}));

INSTANTIATE_TEST_SUITE_P(
    WholeGrid, EffectOfForm,
    testing::Values(
        Expected{"ld.volatile.global.u32", Effect::grid}, Expected{"ld.volatile.u32", Effect::grid},
        Expected{"ld.acquire.gpu.global.u32", Effect::grid},
        Expected{"ld.relaxed.sys.u64", Effect::grid},
        Expected{"st.release.gpu.global.u32", Effect::grid},
        Expected{"atom.global.add.u32", Effect::grid}, Expected{"atom.add.u32", Effect::grid},
        Expected{"red.release.gpu.global.add.u32", Effect::grid},
        Expected{"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32", Effect::grid},
        Expected{"cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group", Effect::grid},
        Expected{"clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128",
                 Effect::grid}));

}  // namespace
}  // namespace bw::sim::test::instruction_form_test
