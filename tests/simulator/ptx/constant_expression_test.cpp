/// \file
/// Constant expressions compared with a reference: random trees, written with as few parentheses as
/// C's precedence needs, whose value is known from the tree.
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulator/ptx/parse_helpers.hpp"

namespace bw::sim::ptx::constant_expression_test {
namespace {

/// In 128 bits nothing overflows, and both signs have room.
__extension__ typedef __int128 Wide;

struct Known {
  std::string text;
  uint64_t bits;
  bool is_unsigned;
  int strength;  ///< of its outermost operator; what binds tighter needs no parentheses around it
};
constexpr int kUnary = 11, kConditional = 0;

struct Binary {
  const char* spelling;
  int strength;
};
// C's table of operators, the weakest first.
constexpr std::array<Binary, 18> kBinary = {{{"||", 1},
                                             {"&&", 2},
                                             {"|", 3},
                                             {"^", 4},
                                             {"&", 5},
                                             {"==", 6},
                                             {"!=", 6},
                                             {"<", 7},
                                             {"<=", 7},
                                             {">", 7},
                                             {">=", 7},
                                             {"<<", 8},
                                             {">>", 8},
                                             {"+", 9},
                                             {"-", 9},
                                             {"*", 10},
                                             {"/", 10},
                                             {"%", 10}}};

class Trees {
 public:
  explicit Trees(uint32_t seed) : random_(seed) {}

  Known make(int depth) {
    const uint32_t choice = depth == 0 ? 0 : below(8);
    if (choice == 0) return leaf();
    if (choice == 1) return unary(depth);
    if (choice == 2) return conditional(depth);
    return binary(depth);
  }

 private:
  uint32_t below(uint32_t bound) { return random_() % bound; }

  Known leaf() {
    switch (below(5)) {
      case 0:
        return {"WARP_SZ", 32, false, kUnary};
      case 1: {
        const uint64_t value = uint64_t{random_()} << 32 | random_();
        return {std::to_string(value) + "U", value, true, kUnary};
      }
      default: {
        const uint64_t value = below(2) == 0 ? below(5) : below(70);
        return {std::to_string(value), value, false, kUnary};
      }
    }
  }

  Known unary(int depth) {
    const Known inner = make(depth - 1);
    const std::string text = around(inner, kUnary);
    switch (below(6)) {
      case 0:
        return {"-" + text, 0 - inner.bits, inner.is_unsigned, kUnary};
      case 1:
        return {"+" + text, inner.bits, inner.is_unsigned, kUnary};
      case 2:
        return {"~" + text, ~inner.bits, inner.is_unsigned, kUnary};
      case 3:
        return {"!" + text, inner.bits == 0 ? 1u : 0u, false, kUnary};
      case 4:
        return {"(.s64)" + text, inner.bits, false, kUnary};
      default:
        return {"(.u64)" + text, inner.bits, true, kUnary};
    }
  }

  Known conditional(int depth) {
    const Known condition = make(depth - 1), yes = make(depth - 1), no = make(depth - 1);
    return {around(condition, 1) + " ? " + yes.text + " : " + no.text,
            condition.bits != 0 ? yes.bits : no.bits, yes.is_unsigned || no.is_unsigned,
            kConditional};
  }

  Known binary(int depth) {
    const Known a = make(depth - 1);
    Known b = make(depth - 1);
    const Binary& row = kBinary[below(kBinary.size())];
    const std::string_view op = row.spelling;
    if ((op == "/" || op == "%") && b.bits == 0) b = {"7", 7, false, kUnary};
    const bool is_unsigned = a.is_unsigned || b.is_unsigned;
    // Left-associative: an operator of the same strength needs parentheses on the right alone.
    return {around(a, row.strength) + " " + row.spelling + " " + around(b, row.strength + 1),
            value_of(op, a, b, is_unsigned), is_unsigned_result(op, a, is_unsigned), row.strength};
  }

  static bool is_unsigned_result(std::string_view op, const Known& a, bool is_unsigned) {
    if (op == "<<" || op == ">>") return a.is_unsigned;
    for (const char* truth : {"||", "&&", "==", "!=", "<", "<=", ">", ">="})
      if (op == truth) return false;
    return is_unsigned;
  }

  static uint64_t value_of(std::string_view op, const Known& left, const Known& right,
                           bool is_unsigned) {
    const auto wide = [&](const Known& one) {
      return is_unsigned ? static_cast<Wide>(one.bits)
                         : static_cast<Wide>(static_cast<int64_t>(one.bits));
    };
    const Wide a = wide(left), b = wide(right);
    const auto low = [](Wide value) { return static_cast<uint64_t>(value); };
    if (op == "||") return a != 0 || b != 0;
    if (op == "&&") return a != 0 && b != 0;
    if (op == "|") return low(a | b);
    if (op == "^") return low(a ^ b);
    if (op == "&") return low(a & b);
    if (op == "==") return a == b;
    if (op == "!=") return a != b;
    if (op == "<") return a < b;
    if (op == "<=") return a <= b;
    if (op == ">") return a > b;
    if (op == ">=") return a >= b;
    if (op == "+") return low(a + b);
    if (op == "-") return low(a - b);
    if (op == "*") return left.bits * right.bits;
    if (op == "/") return low(a / b);
    if (op == "%") return low(a % b);
    if (op == "<<") return right.bits < 64 ? left.bits << right.bits : 0;
    const Wide shifted = left.is_unsigned ? static_cast<Wide>(left.bits)
                                          : static_cast<Wide>(static_cast<int64_t>(left.bits));
    return low(shifted >> (right.bits < 64 ? right.bits : 64));
  }

  static std::string around(const Known& inner, int weakest) {
    return inner.strength < weakest ? "(" + inner.text + ")" : inner.text;
  }

  std::mt19937 random_;
};

uint64_t value_of(const Module& module, size_t index) {
  uint64_t value = 0;
  std::memcpy(&value, module.variables.at(index)->initial.data(), sizeof value);
  return value;
}

TEST(ConstantExpressions, HaveTheValuesOfC) {
  constexpr uint32_t kExpressions = 600;
  Trees trees(1);
  std::string text;
  std::vector<Known> known;
  for (uint32_t i = 0; i < kExpressions; ++i) {
    known.push_back(trees.make(1 + static_cast<int>(i % 5)));
    text += ".global .u64 x" + std::to_string(i) + " = " + known.back().text + ";\n";
  }
  const auto module = parse_text(text);
  ASSERT_EQ(module->variables.size(), kExpressions);
  for (uint32_t i = 0; i < kExpressions; ++i)
    EXPECT_EQ(value_of(*module, i), known[i].bits) << known[i].text;
}

TEST(ConstantExpressions, OnlyNestingIsBounded) {
  std::string many = ".global .u64 x = 0";
  for (int i = 0; i < 200; ++i) many += " + (" + std::to_string(i) + " ? 1 : 2)";
  const auto module = parse_text(many + ";\n");
  EXPECT_EQ(value_of(*module, 0), 2u + 199u);
  const auto nested = [](size_t depth) {
    return ".global .u64 x = " + std::string(depth, '(') + "5" + std::string(depth, ')') + ";\n";
  };
  constexpr size_t kMostParentheses = 63;
  EXPECT_EQ(value_of(*parse_text(nested(kMostParentheses)), 0), 5u);
  EXPECT_EQ(report_of(nested(kMostParentheses + 1)).kind(), FaultKind::parse);
}

/// `x a y b z` without parentheses, for any two operators, is what its parentheses would say.
TEST(ConstantExpressions, AnyTwoOperatorsBindAsInC) {
  const std::array<std::array<const char*, 3>, 4> kValues = {
      {{"6", "3", "2"}, {"1", "0", "0"}, {"0", "1", "1"}, {"0", "0", "1"}}};
  std::string text;
  std::vector<std::string> expressions;
  const auto add = [&](const std::string& expression) {
    text += ".global .u64 x" + std::to_string(expressions.size()) + " = " + expression + ";\n";
    expressions.push_back(expression);
  };
  const auto divides = [](const Binary& one) {
    return one.spelling == std::string("/") || one.spelling == std::string("%");
  };
  for (const Binary& a : kBinary)
    for (const Binary& b : kBinary)
      for (const auto& [x, y, z] : kValues) {
        if (divides(a) || divides(b)) continue;
        const std::string first = std::string(x) + " " + a.spelling + " " + y,
                          second = std::string(y) + " " + b.spelling + " " + z;
        add(first + " " + b.spelling + " " + z);
        add(b.strength > a.strength ? std::string(x) + " " + a.spelling + " (" + second + ")"
                                    : "(" + first + ") " + b.spelling + " " + z);
      }
  const auto module = parse_text(text);
  for (size_t i = 0; i < expressions.size(); i += 2)
    EXPECT_EQ(value_of(*module, i), value_of(*module, i + 1)) << expressions[i];
}

}  // namespace
}  // namespace bw::sim::ptx::constant_expression_test
