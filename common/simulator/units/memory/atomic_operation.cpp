#include "common/simulator/units/memory/atomic_operation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "common/simulator/units/alu/half_float.hpp"
#include "common/simulator/units/memory/reduction_arithmetic.hpp"

namespace bw::sim {
namespace {

using ptx::ScalarType;

template <class T>
T from_bits(AtomicValue value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(value.words[0]));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(value.words[0]);
  } else {
    return static_cast<T>(value.words[0]);
  }
}

template <class T>
AtomicValue to_bits(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return {{std::bit_cast<uint32_t>(value), 0}};
  } else if constexpr (std::is_same_v<T, double>) {
    return {{std::bit_cast<uint64_t>(value), 0}};
  } else {
    return {{static_cast<uint64_t>(value), 0}};
  }
}

AtomicValue exchange(AtomicValue, AtomicValue first, AtomicValue) { return first; }

template <int num_bytes>
AtomicValue compare_and_swap(AtomicValue old, AtomicValue compare, AtomicValue value) {
  constexpr uint64_t kMask = num_bytes >= 8 ? ~0ull : (1ull << (8 * num_bytes % 64)) - 1;
  const bool low = ((old.words[0] ^ compare.words[0]) & kMask) == 0;
  const bool high = num_bytes < 16 || old.words[1] == compare.words[1];
  return low && high ? value : old;
}

AtomicValue bit_and(AtomicValue old, AtomicValue first, AtomicValue) {
  return {{old.words[0] & first.words[0], 0}};
}
AtomicValue bit_or(AtomicValue old, AtomicValue first, AtomicValue) {
  return {{old.words[0] | first.words[0], 0}};
}
AtomicValue bit_xor(AtomicValue old, AtomicValue first, AtomicValue) {
  return {{old.words[0] ^ first.words[0], 0}};
}

template <class T>
AtomicValue add(AtomicValue old, AtomicValue first, AtomicValue) {
  if constexpr (std::is_same_v<T, float>) {
    return {{canonical_bits(from_bits<T>(old) + from_bits<T>(first)), 0}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return to_bits(from_bits<T>(old) + from_bits<T>(first));
  } else {
    using Unsigned = std::make_unsigned_t<T>;  // to_bits() shall not extend the sign
    return to_bits(wrapping_sum(from_bits<Unsigned>(old), from_bits<Unsigned>(first)));
  }
}

/// add of f32 in global memory: subnormal operands and sums become zeros of their sign.
AtomicValue add_flushed(AtomicValue old, AtomicValue first, AtomicValue) {
  const float sum =
      flush_subnormal(from_bits<float>(old)) + flush_subnormal(from_bits<float>(first));
  return {{canonical_bits(flush_subnormal(sum)), 0}};
}

template <class T>
AtomicValue least(AtomicValue old, AtomicValue first, AtomicValue) {
  if constexpr (std::is_floating_point_v<T>) {
    return to_bits(std::fmin(from_bits<T>(old), from_bits<T>(first)));
  } else {
    return to_bits(std::min(from_bits<T>(old), from_bits<T>(first)));
  }
}

template <class T>
AtomicValue greatest(AtomicValue old, AtomicValue first, AtomicValue) {
  if constexpr (std::is_floating_point_v<T>) {
    return to_bits(std::fmax(from_bits<T>(old), from_bits<T>(first)));
  } else {
    return to_bits(std::max(from_bits<T>(old), from_bits<T>(first)));
  }
}

AtomicValue increment(AtomicValue old, AtomicValue first, AtomicValue) {
  return to_bits(increment_within(from_bits<uint32_t>(old), from_bits<uint32_t>(first)));
}

AtomicValue decrement(AtomicValue old, AtomicValue first, AtomicValue) {
  return to_bits(decrement_within(from_bits<uint32_t>(old), from_bits<uint32_t>(first)));
}

/// Element-wise on `count` 16-bit floats; Convert names the format.
template <class Convert, int count, class Combine>
AtomicValue on_halves(AtomicValue old, AtomicValue first, Combine combine) {
  AtomicValue result{};
  for (int i = 0; i < count; ++i) {
    const auto a = static_cast<uint16_t>(old.words[0] >> (16 * i));
    const auto b = static_cast<uint16_t>(first.words[0] >> (16 * i));
    const float value = combine(Convert::to_float(a), Convert::to_float(b));
    result.words[0] |= uint64_t{Convert::from_float(value)} << (16 * i);
  }
  return result;
}

template <class Convert, int count>
AtomicValue add_halves(AtomicValue old, AtomicValue first, AtomicValue) {
  return on_halves<Convert, count>(old, first, [](float a, float b) { return a + b; });
}
template <class Convert, int count>
AtomicValue least_half(AtomicValue old, AtomicValue first, AtomicValue) {
  return on_halves<Convert, count>(old, first, [](float a, float b) { return std::fmin(a, b); });
}
template <class Convert, int count>
AtomicValue greatest_half(AtomicValue old, AtomicValue first, AtomicValue) {
  return on_halves<Convert, count>(old, first, [](float a, float b) { return std::fmax(a, b); });
}

using Function = AtomicValue (*)(AtomicValue, AtomicValue, AtomicValue);

template <class T>
Function ordered(std::string_view name) {
  if (name == "add") return add<T>;
  if (name == "min") return least<T>;
  if (name == "max") return greatest<T>;
  return nullptr;
}

template <class Convert, int count>
Function halves(std::string_view name) {
  if (name == "add") return add_halves<Convert, count>;
  if (name == "min") return least_half<Convert, count>;
  if (name == "max") return greatest_half<Convert, count>;
  return nullptr;
}

Function bitwise(std::string_view name) {
  if (name == "and") return bit_and;
  if (name == "or") return bit_or;
  if (name == "xor") return bit_xor;
  return nullptr;
}

}  // namespace

AtomicOperation in_global_memory(const AtomicOperation& operation) {
  return operation.function == add<float> ? AtomicOperation{add_flushed, operation.bytes}
                                          : operation;
}

AtomicOperation atomic_operation(std::string_view name, ScalarType type) {
  const auto bytes = static_cast<uint8_t>(ptx::size_bytes(type));
  if (name == "exch") return {exchange, bytes};
  if (name == "cas") {
    switch (bytes) {
      case 2:
        return {compare_and_swap<2>, bytes};
      case 4:
        return {compare_and_swap<4>, bytes};
      case 8:
        return {compare_and_swap<8>, bytes};
      case 16:
        return {compare_and_swap<16>, bytes};
      default:
        return {};
    }
  }
  if (name == "inc") return {type == ScalarType::u32 ? increment : nullptr, bytes};
  if (name == "dec") return {type == ScalarType::u32 ? decrement : nullptr, bytes};
  switch (type) {
    case ScalarType::b32:
    case ScalarType::b64:
      return {bitwise(name), bytes};
    case ScalarType::u32:
      return {ordered<uint32_t>(name), bytes};
    case ScalarType::u64:
      return {ordered<uint64_t>(name), bytes};
    case ScalarType::s32:
      return {ordered<int32_t>(name), bytes};
    case ScalarType::s64:
      return {ordered<int64_t>(name), bytes};
    case ScalarType::f32:
      return {ordered<float>(name), bytes};
    case ScalarType::f64:
      return {ordered<double>(name), bytes};
    case ScalarType::f16:
      return {halves<Half, 1>(name), bytes};
    case ScalarType::f16x2:
      return {halves<Half, 2>(name), bytes};
    case ScalarType::bf16:
      return {halves<Bfloat, 1>(name), bytes};
    case ScalarType::bf16x2:
      return {halves<Bfloat, 2>(name), bytes};
    default:
      return {};
  }
}

}  // namespace bw::sim
