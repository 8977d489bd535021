#include "common/simulator/schedule/passes.hpp"

#include <algorithm>
#include <cstdint>

#include "common/simulator/ptx/register_usage.hpp"

namespace bw::sim {
namespace {

constexpr uint32_t kNowhere = 0xffffffffu;

/// The instructions that take part.
enum class Form : uint8_t {
  other,
  add_32,
  add_64,
  product_32,
  wide_product,
  shift_32,
  shift_64,
  logic_32,
  logic_64,
  logic_predicate,
  select,
  compare_32,
  sign
};

/// One of two forms by the width of integers, or of bits; `other` for all other types.
Form by_width(const FormMatch& match, Form of_32, Form of_64) {
  if (match.is_integer_of(sizeof(uint32_t))) return of_32;
  return match.is_integer_of(sizeof(uint64_t)) ? of_64 : Form::other;
}

Form form_of(const FormMatch& match) {
  if (match.uses_carry()) return Form::other;
  switch (match.form->operation) {
    case Operation::add:
      return by_width(match, Form::add_32, Form::add_64);
    case Operation::multiply_low:
      return by_width(match, Form::product_32, Form::other);
    case Operation::multiply_wide:
      return Form::wide_product;
    case Operation::shift_left:
      return by_width(match, Form::shift_32, Form::shift_64);
    case Operation::bit_or:
      return by_width(match, Form::logic_32, Form::logic_64);
    case Operation::bit_and:
    case Operation::bit_xor:
    case Operation::bit_not:
      return by_width(match, Form::logic_32, Form::other);
    case Operation::predicate_and:
    case Operation::predicate_or:
    case Operation::predicate_xor:
    case Operation::predicate_not:
      return Form::logic_predicate;
    case Operation::select:
      return ptx::size_bytes(match.modifiers.type()) == sizeof(uint32_t) ? Form::select
                                                                         : Form::other;
    case Operation::compare:
      return by_width(match, Form::compare_32, Form::other);
    case Operation::change_sign:
      return Form::sign;
    default:
      return Form::other;
  }
}

bool is_constant(const ptx::Operand& operand, uint64_t value) {
  return operand.kind == ptx::Operand::Kind::integer && operand.value == value;
}

class Folding {
 public:
  Folding(const ptx::Function& function, std::vector<Cost>& costs)
      : instructions_(function.instructions),
        costs_(costs),
        forms_(instructions_.size()),
        writer_(function.registers.size(), kNowhere),
        writes_(function.registers.size(), 0),
        reads_(function.registers.size(), 0),
        has_three_(instructions_.size(), false) {
    for (uint32_t i = 0; i < instructions_.size(); ++i) {
      forms_[i] = form_of(*instructions_[i].match);
      ptx::visit_written_registers(instructions_[i], [&](uint32_t reg) {
        writer_[reg] = i;
        ++writes_[reg];
      });
      ptx::visit_read_registers(instructions_[i], [&](uint32_t reg) { ++reads_[reg]; });
    }
  }

  void run() {
    for (uint32_t i = 0; i < instructions_.size(); ++i) fold_into(i);
  }

 private:
  /// The only instruction that writes the operand, if nothing else reads its result.
  [[nodiscard]] uint32_t only_source(const ptx::Operand& operand) const {
    if (operand.kind != ptx::Operand::Kind::reg || writes_[operand.reg] != 1 ||
        reads_[operand.reg] != 1)
      return kNowhere;
    const uint32_t writer = writer_[operand.reg];
    return instructions_[writer].has_guard ? kNowhere : writer;
  }

  /// The first source of `user` that is such an instruction of one of these forms and still costs.
  [[nodiscard]] uint32_t source_of(const ptx::Instruction& user,
                                   std::initializer_list<Form> forms) const {
    for (size_t k = 1; k < user.operands.size(); ++k) {
      const uint32_t source = only_source(user.operands[k]);
      if (source != kNowhere && &instructions_[source] != &user &&
          costs_[source].instructions != 0 &&
          std::find(forms.begin(), forms.end(), forms_[source]) != forms.end())
        return source;
    }
    return kNowhere;
  }

  /// IADD3 and LOP3 have three operands: a source that is one already stays.
  [[nodiscard]] uint32_t source_of_two(const ptx::Instruction& user, Form form) const {
    for (size_t k = 1; k < user.operands.size(); ++k) {
      const uint32_t source = only_source(user.operands[k]);
      if (source != kNowhere && &instructions_[source] != &user &&
          costs_[source].instructions != 0 && forms_[source] == form && !has_three_[source])
        return source;
    }
    return kNowhere;
  }

  bool take(uint32_t source) {
    if (source == kNowhere) return false;
    costs_[source] = kNoCost;
    return true;
  }

  /// A shift by a constant becomes part of an address computation (LEA).
  [[nodiscard]] uint32_t constant_shift(const ptx::Instruction& user, Form shift) const {
    const uint32_t source = source_of(user, {shift});
    if (source == kNowhere) return kNowhere;
    return instructions_[source].operands[2].kind == ptx::Operand::Kind::integer ? source
                                                                                 : kNowhere;
  }

  void fold_into(uint32_t i) {
    const ptx::Instruction& user = instructions_[i];
    if (user.operands.size() < 2) return;
    switch (forms_[i]) {
      case Form::add_64:
        // IMAD.WIDE; its upper half comes one cycle later.
        if (take(source_of(user, {Form::wide_product})))
          costs_[i] = {.pipe = Pipe::multiply, .extra_cycles = 1};
        else
          take(constant_shift(user, Form::shift_64));
        return;
      case Form::add_32:
        if (take(source_of(user, {Form::product_32})))
          costs_[i] = {.pipe = Pipe::multiply};
        else if (!take(constant_shift(user, Form::shift_32)))
          has_three_[i] = take(source_of_two(user, Form::add_32));
        return;
      case Form::logic_32:
        has_three_[i] = take(source_of_two(user, Form::logic_32));
        return;
      case Form::logic_64:
        fold_constant_half(i);
        return;
      case Form::logic_predicate:
        costs_[i] = kNoCost;
        return;
      case Form::sign:
        if (reads_[user.operands[0].reg] == 1) costs_[i] = kNoCost;
        return;
      case Form::compare_32:
        fold_comparison(i);
        return;
      default:
        return;
    }
  }

  /// 64 bits are two registers: one that is combined with zeros stays unchanged.
  void fold_constant_half(uint32_t i) {
    const ptx::Instruction& user = instructions_[i];
    if (user.operands.size() != 3 || user.operands[2].kind != ptx::Operand::Kind::integer) return;
    const uint64_t value = user.operands[2].value;
    if (static_cast<uint32_t>(value) == 0 || value >> 32 == 0) costs_[i] = {.pipe = Pipe::alu};
  }

  /// Whether an instruction moves a number into a register.
  [[nodiscard]] bool is_number(uint32_t i) const {
    const ptx::Instruction& instruction = instructions_[i];
    const Operation operation = instruction.form().operation;
    return !instruction.has_guard &&
           (operation == Operation::move || operation == Operation::predicate_move) &&
           instruction.operands.size() == 2 &&
           instruction.operands[1].kind == ptx::Operand::Kind::integer;
  }

  /// A number is compared when the code is made. `selp r, 1, 0, p; setp.ne q, r, 0` is p; `and r,
  /// a, b; setp.eq q, r, 0` one LOP3.
  void fold_comparison(uint32_t i) {
    const ptx::Instruction& user = instructions_[i];
    if (user.operands.size() != 3 || !is_constant(user.operands[2], 0)) return;
    if (user.operands[1].kind != ptx::Operand::Kind::reg || writes_[user.operands[1].reg] != 1)
      return;
    const uint32_t source = writer_[user.operands[1].reg];
    const ptx::Instruction& from = instructions_[source];
    if (is_number(source)) {
      costs_[i] = kNoCost;
    } else if (forms_[source] == Form::select && from.operands.size() == 4 &&
               is_constant(from.operands[1], 1) && is_constant(from.operands[2], 0)) {
      costs_[i] = kNoCost;
      if (reads_[user.operands[1].reg] == 1) costs_[source] = kNoCost;
    } else if (forms_[source] == Form::logic_32) {
      take(only_source(user.operands[1]));
    }
  }

  const std::vector<ptx::Instruction>& instructions_;
  std::vector<Cost>& costs_;
  std::vector<Form> forms_;
  std::vector<uint32_t> writer_, writes_, reads_;
  std::vector<bool> has_three_;  ///< instructions that have taken another one
};

}  // namespace

void fold_costs(const ptx::Function& function, std::vector<Cost>& costs) {
  Folding(function, costs).run();
}

}  // namespace bw::sim
