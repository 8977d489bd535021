#pragma once
/// \file
/// Handlers that compute each lane of the destination from the same lane of the sources.
///
/// An operation is a stateless type with a static `apply`; the handler templates below turn it into
/// an interpreter handler whose full-warp loop the compiler vectorises.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "common/simulator/base/types.hpp"
#include "common/simulator/machine/binder.hpp"
#include "common/simulator/machine/instruction.hpp"
#include "common/simulator/machine/lane_registers.hpp"

namespace bw::sim::lanewise {

/// d = Op(a)
template <class Op, class D, class A>
void map1(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  D* const d = registers.lanes<D>(instruction.operands[0]);
  const A* const a = registers.lanes<A>(instruction.operands[1]);
  for_lanes(active, [=](int lane) { d[lane] = Op::apply(a[lane]); });
}

/// d = Op(a, b)
template <class Op, class D, class A, class B>
void map2(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  D* const d = registers.lanes<D>(instruction.operands[0]);
  const A* const a = registers.lanes<A>(instruction.operands[1]);
  const B* const b = registers.lanes<B>(instruction.operands[2]);
  for_lanes(active, [=](int lane) { d[lane] = Op::apply(a[lane], b[lane]); });
}

/// d = Op(a, b, c)
template <class Op, class D, class A, class B, class C>
void map3(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  D* const d = registers.lanes<D>(instruction.operands[0]);
  const A* const a = registers.lanes<A>(instruction.operands[1]);
  const B* const b = registers.lanes<B>(instruction.operands[2]);
  const C* const c = registers.lanes<C>(instruction.operands[3]);
  for_lanes(active, [=](int lane) { d[lane] = Op::apply(a[lane], b[lane], c[lane]); });
}

/// d = Op(a, b, c, e)
template <class Op, class D, class A, class B, class C, class E>
void map4(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  D* const d = registers.lanes<D>(instruction.operands[0]);
  const A* const a = registers.lanes<A>(instruction.operands[1]);
  const B* const b = registers.lanes<B>(instruction.operands[2]);
  const C* const c = registers.lanes<C>(instruction.operands[3]);
  const E* const e = registers.lanes<E>(instruction.operands[4]);
  for_lanes(active, [=](int lane) { d[lane] = Op::apply(a[lane], b[lane], c[lane], e[lane]); });
}

/// Calls `body(index)` for the num_parts elements of each active lane; one plain loop with all
/// lanes active.
template <int num_parts, class Body>
void for_parts(LaneMask active, Body&& body) {
  if (active == kAllLanes) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety) interleave(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (int part = 0; part < kWarpLanes * num_parts; ++part) body(part);
  } else {
    for_lanes(active, [&](int lane) {
      for (int part = lane * num_parts; part < lane * num_parts + num_parts; ++part) body(part);
    });
  }
}

/// As map1 to map3 for packed types: a lane holds num_parts values of type T.
template <class Op, class T, int num_parts>
void packed1(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  T* const d = registers.lanes<T>(instruction.operands[0]);
  const T* const a = registers.lanes<T>(instruction.operands[1]);
  for_parts<num_parts>(active, [=](int p) { d[p] = Op::apply(a[p]); });
}

/// Two inputs of two 16-bit halves.
template <class Op, class T, int num_parts>
void packed2(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  T* const d = registers.lanes<T>(instruction.operands[0]);
  const T* const a = registers.lanes<T>(instruction.operands[1]);
  const T* const b = registers.lanes<T>(instruction.operands[2]);
  for_parts<num_parts>(active, [=](int p) { d[p] = Op::apply(a[p], b[p]); });
}

/// Three inputs of two 16-bit halves.
template <class Op, class T, int num_parts>
void packed3(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  T* const d = registers.lanes<T>(instruction.operands[0]);
  const T* const a = registers.lanes<T>(instruction.operands[1]);
  const T* const b = registers.lanes<T>(instruction.operands[2]);
  const T* const c = registers.lanes<T>(instruction.operands[3]);
  for_parts<num_parts>(active, [=](int p) { d[p] = Op::apply(a[p], b[p], c[p]); });
}

/// As packed for two parts, each in a register of its own: operands are d's low and high part, then
/// those of each source.
template <class Op, class T, int num_sources>
void halves(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  struct Source {
    const T *low, *high;
  };
  const auto lanes_at = [&](size_t index) {
    return registers.lanes<T>(instruction.operands[index]);
  };
  const auto apply = [=](T* low, T* high, auto... sources) {
    for_lanes(active, [=](int lane) {
      const T first = Op::apply(sources.low[lane]...), second = Op::apply(sources.high[lane]...);
      low[lane] = first;
      high[lane] = second;
    });
  };
  [&]<size_t... index>(std::index_sequence<index...>) {
    apply(lanes_at(0), lanes_at(1), Source{lanes_at(2 * index + 2), lanes_at(2 * index + 3)}...);
  }
  (std::make_index_sequence<num_sources>());
}

/// The handler with one, two or three sources of the destination's type.
template <class Op, class T, int num_sources>
constexpr LaneHandler uniform() {
  if constexpr (num_sources == 1) {
    return map1<Op, T, T>;
  } else if constexpr (num_sources == 2) {
    return map2<Op, T, T, T>;
  } else {
    static_assert(num_sources == 3, "lane-wise handlers take one to three sources of one type");
    return map3<Op, T, T, T, T>;
  }
}

/// A handler for packed halves.
template <class Op, class T, int num_sources, int num_parts>
constexpr LaneHandler packed() {
  if constexpr (num_sources == 1) {
    return packed1<Op, T, num_parts>;
  } else if constexpr (num_sources == 2) {
    return packed2<Op, T, num_parts>;
  } else {
    static_assert(num_sources == 3, "lane-wise handlers take one to three sources of one type");
    return packed3<Op, T, num_parts>;
  }
}

/// Binds operands in order: a destination of type `destination`, then one source per type.
inline void bind_operands(Binder& binder, ptx::ScalarType destination,
                          std::initializer_list<ptx::ScalarType> sources) {
  binder.expect_count(sources.size() + 1, sources.size() + 1);
  binder.destination(binder.ptx_operand(0), ptx::size_bytes(destination));
  size_t index = 1;
  for (const ptx::ScalarType source : sources)
    binder.source_value(binder.ptx_operand(index++), source);
}

/// Binds a destination and `sources` sources of one type.
inline void bind_uniform_operands(Binder& binder, ptx::ScalarType type, size_t sources) {
  binder.expect_count(sources + 1, sources + 1);
  binder.destination(binder.ptx_operand(0), ptx::size_bytes(type));
  for (size_t index = 1; index <= sources; ++index)
    binder.source_value(binder.ptx_operand(index), type);
}

/// Calls `make.template operator()<T>()` with the C++ type of a PTX integer or bit type.
template <class Make>
auto by_integer_type(ptx::ScalarType type, Make make)
    -> decltype(make.template operator()<uint32_t>()) {
  using ptx::ScalarType;
  switch (type) {
    case ScalarType::u16:
    case ScalarType::b16:
      return make.template operator()<uint16_t>();
    case ScalarType::s16:
      return make.template operator()<int16_t>();
    case ScalarType::u32:
    case ScalarType::b32:
      return make.template operator()<uint32_t>();
    case ScalarType::s32:
      return make.template operator()<int32_t>();
    case ScalarType::u64:
    case ScalarType::b64:
      return make.template operator()<uint64_t>();
    case ScalarType::s64:
      return make.template operator()<int64_t>();
    default:
      return {};
  }
}

/// Unsigned arithmetic type that wraps without undefined behaviour for T.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

__extension__ typedef unsigned __int128 UnsignedWide128;  ///< 128 bits
__extension__ typedef __int128 SignedWide128;             ///< 128 bits

/// Twice as wide as T, same signedness.
template <class T>
struct Widened;
/// Of uint16_t.
template <>
struct Widened<uint16_t> {
  using Type = uint32_t;  ///< the wider type
};
/// Of int16_t.
template <>
struct Widened<int16_t> {
  using Type = int32_t;  ///< the wider type
};
/// Of uint32_t.
template <>
struct Widened<uint32_t> {
  using Type = uint64_t;  ///< the wider type
};
/// Of int32_t.
template <>
struct Widened<int32_t> {
  using Type = int64_t;  ///< the wider type
};
/// Of uint64_t.
template <>
struct Widened<uint64_t> {
  using Type = UnsignedWide128;  ///< the wider type
};
/// Of int64_t.
template <>
struct Widened<int64_t> {
  using Type = SignedWide128;  ///< the wider type
};
template <class T>
using Wide = typename Widened<T>::Type;  ///< the wider type

}  // namespace bw::sim::lanewise
