#pragma once
/// \file
/// Runs one PTX fragment per element of some vectors: with all lanes active, and again with every
/// other lane masked off, where the masked lanes must keep what they had.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test {

inline constexpr uint32_t kEvaluationThreads = 256;

template <class T>
std::string bits_of_type() {
  return ".b" + std::to_string(8 * sizeof(T));
}

/// A kernel that loads %a, %b, %c, %e (as many as there are sources), runs `text`, and stores %d.
/// %p and %q are predicates, %x0 to %x7 32-bit, %h0 to %h7 16-bit, %l0 to %l7 64-bit registers for
/// the fragment's own use.
template <class D, class... S>
std::string evaluation_kernel(const std::string& text, bool masked) {
  const char* const names[] = {"a", "b", "c", "e"};
  const std::string types[] = {bits_of_type<S>()...};
  const size_t sizes[] = {sizeof(S)...};
  std::string parameters = ".param .u64 out, .param .u32 n";
  std::string body =
      ".reg .pred %p, %q, %guard;\n.reg .b32 %i, %j, %n, %x<8>;\n.reg .b16 %h<8>;\n"
      ".reg .b64 %at, %offset, %l<8>;\n.reg " +
      bits_of_type<D>() + " %d;\n";
  for (size_t k = 0; k < sizeof...(S); ++k) {
    parameters += std::string(", .param .u64 in_") + names[k];
    body += ".reg " + types[k] + " %" + names[k] + ";\n";
  }
  body +=
      "mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mov.u32 %n, %tid.x;\n"
      "mad.lo.u32 %i, %i, %j, %n;\nld.param.u32 %n, [n];\n"
      "setp.ge.u32 %guard, %i, %n;\n@%guard ret;\n";
  for (size_t k = 0; k < sizeof...(S); ++k)
    body += std::string("ld.param.u64 %at, [in_") + names[k] + "];\nmul.wide.u32 %offset, %i, " +
            std::to_string(sizes[k]) + ";\nadd.u64 %at, %at, %offset;\nld.global" + types[k] +
            " %" + names[k] + ", [%at];\n";
  body += "mov" + bits_of_type<D>() + " %d, 0;\n";
  if (masked) body += "and.b32 %j, %i, 1;\nsetp.eq.u32 %guard, %j, 0;\n@%guard bra SKIP;\n";
  body += text + "\nSKIP:\nld.param.u64 %at, [out];\nmul.wide.u32 %offset, %i, " +
          std::to_string(sizeof(D)) + ";\nadd.u64 %at, %at, %offset;\nst.global" +
          bits_of_type<D>() + " [%at], %d;\nret;";
  return entry(parameters, body);
}

template <class D, class... S>
std::vector<D> evaluate_once(const std::string& text, bool masked, size_t count,
                             const std::vector<S>&... sources) {
  static Runner runner;
  const auto out = runner.buffer(std::vector<D>(count));
  const auto ctas = static_cast<uint32_t>((count + kEvaluationThreads - 1) / kEvaluationThreads);
  runner.run(evaluation_kernel<D, S...>(text, masked), grid(ctas, kEvaluationThreads), out,
             static_cast<uint32_t>(count), runner.buffer(sources)...);
  return out.values();
}

/// %d for each element.
template <class D, class First, class... S>
std::vector<D> evaluate(const std::string& text, const std::vector<First>& first,
                        const std::vector<S>&... more) {
  std::vector<D> all = evaluate_once<D>(text, false, first.size(), first, more...);
  const std::vector<D> half = evaluate_once<D>(text, true, first.size(), first, more...);
  for (size_t i = 0; i < all.size(); ++i) {
    const D expected = i % 2 == 1 ? all[i] : D{};
    if (std::memcmp(&half[i], &expected, sizeof(D)) != 0) {
      ADD_FAILURE() << "element " << i << " differs under a partial mask: " << text;
      break;
    }
  }
  return all;
}

/// Edge values of an integer or floating-point type, then random bits, `count` in all.
template <class T>
std::vector<T> interesting(size_t count, uint32_t seed) {
  std::vector<T> values;
  std::mt19937_64 random(seed);
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  const auto push = [&](Bits bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  };
  for (const uint64_t edge : {0ull, 1ull, 2ull, 31ull, 32ull, 33ull, 63ull, 64ull, ~0ull, ~1ull})
    push(static_cast<Bits>(edge));
  const Bits top = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  push(top);
  push(static_cast<Bits>(top - 1));
  push(static_cast<Bits>(top + 1));
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    for (const T value :
         {T{0}, T{1}, T{0.5}, T{1.5}, T{2.5}, T{3}, Limits::min(), Limits::denorm_min(),
          Limits::max(), Limits::infinity(), Limits::quiet_NaN(), T{2147483647.0}, T{2147483648.0},
          T{4294967295.0}, T{4294967296.0}, T{65504}, T{65520}, T{448}})
      for (const T sign : {T{1}, T{-1}}) values.push_back(std::copysign(value, sign));
  }
  std::shuffle(values.begin(), values.end(), random);
  while (values.size() < count) {
    // Mostly values of moderate size, so that sums, quotients and conversions do not all overflow.
    if (std::is_floating_point_v<T> && random() % 4 != 0) {
      const double mantissa = std::ldexp(static_cast<double>(random() >> 11), -53) * 2 - 1;
      values.push_back(static_cast<T>(std::ldexp(mantissa, static_cast<int>(random() % 40) - 20)));
    } else {
      push(static_cast<Bits>(random() >> (random() % 2 == 0 ? 0 : random() % (8 * sizeof(T)))));
    }
  }
  values.resize(count);
  return values;
}

}  // namespace bw::sim::test
