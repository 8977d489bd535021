/// \file
/// Operands of every form: the examples of tests/fuzz/shapes.inc decode, and with an operand more,
/// or with vectors of another length, they decode only where that is an example too.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/simulator/ptx/register_usage.hpp"
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::operand_forms_test {
namespace {

/// "ld.global.v2.u32 {R*2} [D]": see tests/fuzz/random_kernel.hpp.
struct Form {
  std::string opcode;
  std::vector<std::string> operands;
  int immediate = 1;  ///< an integer that it takes

  [[nodiscard]] std::string text() const {
    std::string text = opcode;
    for (const std::string& operand : operands) text += " " + operand;
    return text;
  }
};

Form form_of(std::string_view shape) {
  Form form;
  for (size_t begin = 0; begin < shape.size();) {
    const size_t end = std::min(shape.find(' ', begin), shape.size());
    const std::string word(shape.substr(begin, end - begin));
    if (begin == 0)
      form.opcode = word;
    else
      form.operands.push_back(word);
    begin = end + 1;
  }
  return form;
}

std::vector<Form> forms() {
  std::vector<Form> list;
  for (const std::string_view shape : {
#include "tests/fuzz/shapes.inc"
       })
    list.push_back(form_of(shape));
  return list;
}

/// An operand of kinds: the registers' numbers differ, so that destinations may be vectors.
std::string operand_of(std::string_view kinds, int immediate, int& next) {
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto number = [&] { return std::to_string(4 + next++ % 140); };
    switch (kinds[i]) {
      case 'R':
        text += "%r" + number();
        break;
      case 'D':
        text += "%d" + number();
        break;
      case 'H':
        text += "%h" + number();
        break;
      case 'Q':
        text += "%q" + std::to_string(next++ % 4);
        break;
      case 'P':
        text += "%p" + std::to_string(1 + next++ % 4);
        break;
      case 'I':
        text += std::to_string(immediate);
        break;
      case 'F':
        text += "0f3F800000";
        break;
      case 'N':
        text += "area";
        break;
      case 'S':
        text += "%laneid";
        break;
      case '*': {
        // "{R*4}": the contents of the braces, repeated.
        const int count = std::stoi(std::string(kinds.substr(i + 1)));
        const std::string_view kind = kinds.substr(i - 1, 1);
        for (int k = 1; k < count; ++k) text += ", " + operand_of(kind, immediate, next);
        while (std::isdigit(static_cast<unsigned char>(kinds[i + 1]))) ++i;
        break;
      }
      default:
        text += kinds[i];
        if (kinds[i] == ',') text += ' ';
    }
  }
  return text;
}

/// Hands the kernel with the instruction to `look`. Why it is refused; "" where it is not.
template <class Look>
std::string refusal(Device& device, const Form& form, Look&& look) {
  int next = 0;
  std::string instruction = form.opcode;
  for (size_t i = 0; i < form.operands.size(); ++i)
    instruction += (i == 0 ? " " : ", ") + operand_of(form.operands[i], form.immediate, next);
  const std::string body =
      "  .reg .pred %p<6>;\n  .reg .b16 %h<150>;\n  .reg .b32 %r<150>;\n  .reg .b64 %d<150>;\n"
      "  .reg .b128 %q<4>;\n  " +
      instruction + ";\n";
  const LoadedModule* module = nullptr;
  std::string why;
  try {
    module = &device.load(entry(".param .u64 out", body, ".shared .align 1024 .b8 area[8192];\n"),
                          "test.ptx");
    look(device.kernel(*module, "k"));
  } catch (const SimulationError& error) {
    why = error.report().what;
  }
  if (module != nullptr) device.unload(*module);
  return why;
}

std::string refusal(Device& device, const Form& form) {
  return refusal(device, form, [](const Kernel&) {});
}

/// The registers that the decoded instruction writes, by their places in the register file.
std::set<uint32_t> written_by(const Instruction& decoded) {
  std::set<uint32_t> places;
  for (uint16_t i = 0; i < decoded.operand_count; ++i)
    if (const Operand& operand = decoded.operands[i]; operand.written && !operand.sink)
      places.insert(operand.offset_bytes);
  return places;
}

/// Whether a form may have `operand` after an example's operands: what the PTX ISA calls optional.
bool may_be_appended(const std::string& opcode, const std::string& operand) {
  struct Optional {
    std::string_view opcodes;  ///< how they begin
    std::string_view kinds;    ///< of the operand
  };
  static constexpr Optional kOptional[] = {
      {"bar.", "RIP"},              // the number of threads
      {"barrier.", "RIP"},          // and the predicate of .red
      {"cp.async.", "RIP"},         // the size of the source, or whether to ignore it
      {"mbarrier.arrive", "RI"},    // the count
      {"mbarrier.try_wait", "RI"},  // the time limit
      {"min.", "RI"},
      {"max.", "RI"},         // the third source of f32
      {"tcgen05.mma", "ID"},  // scale-input-d; the zero-column mask of .ws
      {"wmma.load", "R"},
      {"wmma.store", "R"},  // the stride
  };
  return std::any_of(std::begin(kOptional), std::end(kOptional), [&](const Optional& one) {
    return opcode.starts_with(one.opcodes) && one.kinds.find(operand) != std::string_view::npos;
  });
}

class OperandForms : public testing::Test {
 protected:
  OperandForms() : device_(test_settings(), all_units()), forms_(forms()) {
    for (Form& form : forms_) {
      known_.insert(form.text());
      // Sizes of copies, a register count, selectors: one of these numbers fits each form.
      for (const int immediate : {0, 16, 24, 128, 1}) {
        if (is_taken(form)) break;
        form.immediate = immediate;
      }
    }
  }
  bool is_taken(const Form& form) { return refusal(device_, form).empty(); }
  [[nodiscard]] bool is_known(const Form& form) const { return known_.contains(form.text()); }

  Device device_;
  std::vector<Form> forms_;
  std::set<std::string> known_;
};

TEST_F(OperandForms, EveryExampleDecodes) {
  for (const Form& form : forms_) EXPECT_EQ(refusal(device_, form), "") << form.text();
}

/// The record says how many operands are destinations, the bind function which registers the
/// handler writes.
TEST_F(OperandForms, TheRecordNamesTheRegistersThatAreWritten) {
  for (const Form& form : forms_)
    refusal(device_, form, [&](const Kernel& kernel) {
      for (const Instruction& decoded : kernel.code()) {
        const ptx::Instruction& source = kernel.source(decoded);
        if (source.opcode != form.opcode) continue;
        std::set<uint32_t> named;
        ptx::visit_written_registers(source, [&](uint32_t reg) { named.insert(reg); });
        EXPECT_EQ(named.size(), written_by(decoded).size()) << form.text();
      }
    });
}

TEST_F(OperandForms, AnOperandMoreIsRefused) {
  const std::vector<std::string> more = {"R", "I", "D", "P", "[R]", "{R*2}"};
  for (const Form& form : forms_)
    for (const std::string& first : more) {
      Form longer = form;
      longer.operands.push_back(first);
      if (!is_taken(longer)) continue;
      EXPECT_TRUE(is_known(longer) || may_be_appended(form.opcode, first)) << longer.text();
      for (const std::string& second : more) {
        Form longest = longer;
        longest.operands.push_back(second);
        if (is_taken(longest)) {
          EXPECT_TRUE(is_known(longest) || form.opcode.find(".red") != std::string::npos)
              << longest.text();
        }
      }
    }
}

TEST_F(OperandForms, AnAddressStandsInBrackets) {
  for (const Form& form : forms_)
    for (size_t i = 0; i < form.operands.size(); ++i) {
      if (form.operands[i].front() != '[') continue;
      Form bare = form;
      bare.operands[i] = form.operands[i].substr(1, form.operands[i].size() - 2);
      if (bare.operands[i].find(',') != std::string::npos) continue;  // a tensor's coordinates
      EXPECT_TRUE(!is_taken(bare) || is_known(bare)) << bare.text();
    }
}

TEST_F(OperandForms, VectorsHaveTheLengthOfTheForm) {
  for (const Form& form : forms_)
    for (size_t i = 0; i < form.operands.size(); ++i) {
      const std::string& operand = form.operands[i];
      const size_t star = operand.find('*');
      // Which four 8-bit elements make a mov.b32 the declarations of the registers say.
      if (star == std::string::npos || form.opcode == "mov.b32") continue;
      const int count = std::stoi(operand.substr(star + 1));
      for (const int other : {count - 1, count + 1, 2 * count}) {
        Form changed = form;
        changed.operands[i].replace(star + 1, std::to_string(count).size(), std::to_string(other));
        EXPECT_TRUE(!is_taken(changed) || is_known(changed)) << changed.text();
      }
    }
}

/// Bits of the smallest register for a type: "b32", "s8", "e4m3x2".
size_t register_bits(std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  if (type.ends_with("e4m3x2") || type.ends_with("e5m2x2")) return 16;
  return std::max(16, std::atoi(type.data() + digits));
}

/// Whether an operand may be a register of `bits` bits, more than the form's type has (PTX ISA,
/// "Operand Size Exceeding Instruction-Type Size").
bool may_be_wider(std::string_view opcode, size_t operand, size_t bits) {
  const std::string_view name = opcode.substr(0, opcode.find('.'));
  const size_t last = opcode.rfind('.'), before = opcode.rfind('.', last - 1);
  if (name == "ld" || name == "st") return bits >= register_bits(opcode.substr(last + 1));
  if (name != "cvt") return false;
  return bits >= register_bits(operand == 1 ? opcode.substr(last + 1)
                                            : opcode.substr(before + 1, last - before - 1));
}

TEST_F(OperandForms, RegistersHaveTheSizeOfTheForm) {
  const std::pair<char, size_t> kRegisters[] = {
      {'P', 0}, {'H', 16}, {'R', 32}, {'D', 64}, {'Q', 128}};
  for (const Form& form : forms_)
    for (size_t i = 0; i < form.operands.size(); ++i) {
      const std::string& operand = form.operands[i];
      if (operand.size() != 1 || std::string("PHRDQ").find(operand) == std::string::npos) continue;
      for (const auto& [kind, bits] : kRegisters) {
        Form changed = form;
        changed.operands[i] = kind;
        if (is_known(changed) || !is_taken(changed)) continue;
        EXPECT_TRUE(may_be_wider(form.opcode, i, bits)) << changed.text();
      }
    }
}

TEST_F(OperandForms, AnOperandLessIsRefused) {
  for (const Form& form : forms_) {
    if (form.operands.empty()) continue;
    Form shorter = form;
    shorter.operands.pop_back();
    if (!is_taken(shorter) || is_known(shorter)) continue;
    const std::string& last = form.operands.back();
    EXPECT_TRUE(may_be_appended(form.opcode, last.size() == 1 ? last : "I")) << shorter.text();
  }
}

}  // namespace
}  // namespace bw::sim::test::operand_forms_test
