#include "common/simulator/units/copies/element_reduction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/memory/reduction_arithmetic.hpp"

namespace bw::sim {
namespace {

/// How a type is stored, computed in, and rounded back.
template <class Stored>
struct PlainElement {
  using Storage = Stored;
  static Stored load(Stored bits) { return bits; }
  static Stored round(Stored value) { return value; }
};

struct F32Element {
  using Storage = uint32_t;
  static float load(Storage bits) { return std::bit_cast<float>(bits); }
  static Storage round(float value) { return canonical_bits(value); }
};

struct F32FlushedElement {
  using Storage = uint32_t;
  static float load(Storage bits) { return flush_subnormal(F32Element::load(bits)); }
  static Storage round(float value) { return F32Element::round(flush_subnormal(value)); }
};

struct F64Element {
  using Storage = uint64_t;
  static constexpr Storage kNan = 0x7fffffffffffffffull;
  static double load(Storage bits) { return std::bit_cast<double>(bits); }
  static Storage round(double value) {
    return std::isnan(value) ? kNan : std::bit_cast<Storage>(value);
  }
};

// A sum of two 8- or 11-bit significands that is rounded to 24 bits and then to 8 or 11 is rounded
// correctly (24 >= 2 * 11 + 2), so float serves for both half types.
template <class Format>
struct HalfElement {
  using Storage = uint16_t;
  static float load(Storage bits) { return Format::to_float(bits); }
  static Storage round(float value) { return Format::from_float(value); }
};

/// NaN loses against a number; of two zeros the negative one is the smaller.
template <class T>
T minimum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}

template <class T>
T maximum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

template <class Element, class Operation>
void for_elements(std::byte* destination, const std::byte* source, size_t size_bytes,
                  Operation operation) {
  using Storage = typename Element::Storage;
  for (size_t at = 0; at < size_bytes; at += sizeof(Storage)) {
    Storage old_bits, new_bits;
    std::memcpy(&old_bits, destination + at, sizeof(Storage));
    std::memcpy(&new_bits, source + at, sizeof(Storage));
    const Storage result =
        Element::round(operation(Element::load(old_bits), Element::load(new_bits)));
    std::memcpy(destination + at, &result, sizeof(Storage));
  }
}

template <class Element>
void reduce_as(Reduction reduction, std::byte* destination, const std::byte* source,
               size_t size_bytes) {
  using Storage = typename Element::Storage;
  using Value = decltype(Element::load(Storage{}));
  const auto apply = [&](auto operation) {
    for_elements<Element>(destination, source, size_bytes, operation);
  };
  switch (reduction) {
    case Reduction::add:
      if constexpr (std::is_integral_v<Value>) {
        apply(wrapping_sum<Value>);
      } else {
        apply([](Value a, Value b) { return a + b; });
      }
      return;
    case Reduction::min:
      apply([](Value a, Value b) { return minimum(a, b); });
      return;
    case Reduction::max:
      apply([](Value a, Value b) { return maximum(a, b); });
      return;
    default:
      break;
  }
  if constexpr (std::is_integral_v<Value>) {
    switch (reduction) {
      case Reduction::inc:
        apply(increment_within<Value>);
        return;
      case Reduction::dec:
        apply(decrement_within<Value>);
        return;
      case Reduction::bit_and:
        apply([](Value a, Value b) { return a & b; });
        return;
      case Reduction::bit_or:
        apply([](Value a, Value b) { return a | b; });
        return;
      case Reduction::bit_xor:
        apply([](Value a, Value b) { return a ^ b; });
        return;
      default:
        return;
    }
  }
}

bool is_one_of(ReductionType type, std::initializer_list<ReductionType> allowed) {
  return std::find(allowed.begin(), allowed.end(), type) != allowed.end();
}

}  // namespace

const char* reduction_name(Reduction reduction) noexcept {
  constexpr const char* kNames[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  return kNames[static_cast<size_t>(reduction)];
}

bool reduction_in_global(Reduction reduction, ReductionType type) noexcept {
  using enum ReductionType;
  switch (reduction) {
    case Reduction::add:
      return is_one_of(type, {u32, s32, u64, f16, bf16, f32, f32_ftz, f64});
    case Reduction::min:
    case Reduction::max:
      return is_one_of(type, {u32, s32, u64, s64, f16, bf16});
    case Reduction::inc:
    case Reduction::dec:
      return type == u32;
    default:
      return is_one_of(type, {u32, s32, u64, s64});
  }
}

bool reduction_in_shared(Reduction reduction, ReductionType type) noexcept {
  using enum ReductionType;
  switch (reduction) {
    case Reduction::add:
      return is_one_of(type, {u32, s32, u64});
    case Reduction::min:
    case Reduction::max:
      return is_one_of(type, {u32, s32});
    default:
      return type == u32;
  }
}

void reduce_elements(Reduction reduction, ReductionType type, std::byte* destination,
                     const std::byte* source, size_t size_bytes) {
  const auto as = [&]<class Element>(Element) {
    reduce_as<Element>(reduction, destination, source, size_bytes);
  };
  switch (type) {
    case ReductionType::u32:
      return as(PlainElement<uint32_t>{});
    case ReductionType::s32:
      return as(PlainElement<int32_t>{});
    case ReductionType::u64:
      return as(PlainElement<uint64_t>{});
    case ReductionType::s64:
      return as(PlainElement<int64_t>{});
    case ReductionType::f16:
      return as(HalfElement<Half>{});
    case ReductionType::bf16:
      return as(HalfElement<Bfloat>{});
    case ReductionType::f32:
      return as(F32Element{});
    case ReductionType::f32_ftz:
      return as(F32FlushedElement{});
    case ReductionType::f64:
      return as(F64Element{});
    case ReductionType::none:
      return;
  }
}

}  // namespace bw::sim
