/// \file
/// Matrix multiplication of a warp from memory to memory (PTX ISA, "wmma.load", "wmma.mma",
/// "wmma.store"), in every shape and type. Which element a register holds is left open by the ISA.
#include <mma.h>

#include <string>
#include <type_traits>
#include <utility>

#include "tests/hardware/cases.hpp"
#include "tests/hardware/hopper/wgmma_inputs.hpp"
#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance::wmma {

namespace nv = nvcuda::wmma;
using wgmma::Element;
using wgmma::Spread;

/// One form: types of A and B, of C and D, extents and the order of rows and columns.
template <class InputType, class SumType, int rows, int columns, int depth, class ALayout,
          class BLayout>
struct Form {
  using Input = InputType;
  using Sum = SumType;
  static constexpr int kM = rows, kN = columns, kK = depth;
  using A = nv::fragment<nv::matrix_a, kM, kN, kK, Input, ALayout>;
  using B = nv::fragment<nv::matrix_b, kM, kN, kK, Input, BLayout>;
  using C = nv::fragment<nv::accumulator, kM, kN, kK, Sum>;
  static constexpr bool kARows = std::is_same_v<ALayout, nv::row_major>;
  static constexpr bool kBRows = std::is_same_v<BLayout, nv::row_major>;
};

enum class Operation { plain, saturating, bits_and, bits_xor };

template <class T>
struct StorageOf {
  using Type = T;
};
template <>
struct StorageOf<nv::precision::tf32> {
  using Type = float;
};
template <>
struct StorageOf<nv::experimental::precision::s4> {
  using Type = int32_t;
};
template <>
struct StorageOf<nv::experimental::precision::u4> {
  using Type = uint32_t;
};
template <>
struct StorageOf<nv::experimental::precision::b1> {
  using Type = uint32_t;
};

/// Elements from one row or column to the next: a multiple of 16 bytes of every type.
__device__ constexpr unsigned leading_elements(int extent) { return extent < 16 ? 16 : extent; }

template <class F, Operation operation>
__global__ void multiply(const void* a, const void* b, const void* c, void* d) {
  using Stored = typename StorageOf<typename F::Input>::Type;
  typename F::A a_fragment;
  typename F::B b_fragment;
  typename F::C sum;
  nv::load_matrix_sync(a_fragment, static_cast<const Stored*>(a),
                       leading_elements(F::kARows ? F::kK : F::kM));
  nv::load_matrix_sync(b_fragment, static_cast<const Stored*>(b),
                       leading_elements(F::kBRows ? F::kN : F::kK));
  nv::load_matrix_sync(sum, static_cast<const typename F::Sum*>(c), F::kN, nv::mem_row_major);
  if constexpr (operation == Operation::bits_and) {
    nv::bmma_sync(sum, a_fragment, b_fragment, sum, nv::experimental::bmmaBitOpAND);
  } else if constexpr (operation == Operation::bits_xor) {
    nv::bmma_sync(sum, a_fragment, b_fragment, sum, nv::experimental::bmmaBitOpXOR);
  } else if constexpr (operation == Operation::saturating) {
    nv::mma_sync(sum, a_fragment, b_fragment, sum, true);
  } else {
    nv::mma_sync(sum, a_fragment, b_fragment, sum);
  }
  nv::store_matrix_sync(static_cast<typename F::Sum*>(d), sum, F::kM, nv::mem_col_major);
}

struct Types {
  Element input, sum;
};

template <class F, Operation operation>
Result measure(const Types& types, Spread operands, Spread accumulator) {
  constexpr size_t kMostWords = 32 * 32;
  RandomBits random(F::kM * 100 + static_cast<uint64_t>(operands));
  const DeviceBuffer<uint32_t> a(wgmma::elements(types.input, operands, kMostWords, random));
  const DeviceBuffer<uint32_t> b(wgmma::elements(types.input, operands, kMostWords, random));
  const DeviceBuffer<uint32_t> c(wgmma::elements(types.sum, accumulator, kMostWords, random));
  constexpr size_t kBytes = sizeof(typename F::Sum) * F::kM * F::kN;
  DeviceBuffer<uint8_t> d(kBytes);
  launch(reinterpret_cast<const void*>(&multiply<F, operation>), 1, 32,
         static_cast<const void*>(a.data()), static_cast<const void*>(b.data()),
         static_cast<const void*>(c.data()), static_cast<void*>(d.data()));
  return {from_device(d, sizeof(typename F::Sum)), [](size_t i) {
            return "row " + std::to_string(i % F::kM) + ", column " + std::to_string(i / F::kM);
          }};
}

template <class F, Operation operation = Operation::plain>
void add(const std::string& name, const Types& types) {
  const std::string form = "wmma.m" + std::to_string(F::kM) + "n" + std::to_string(F::kN) + "k" +
                           std::to_string(F::kK) + "." + name + (F::kARows ? ".row" : ".col") +
                           (F::kBRows ? ".row" : ".col");
  constexpr bool kIsFloat = !std::is_same_v<typename F::Sum, int>;
  for (const auto& [operands, accumulator] :
       {std::pair(Spread::normal, Spread::wide), std::pair(Spread::wide, Spread::wide),
        std::pair(Spread::cancelling, Spread::wide), std::pair(Spread::tiny, Spread::tiny),
        std::pair(Spread::special, Spread::special)}) {
    Registration(form + "." + wgmma::name_of(operands) + "." + wgmma::name_of(accumulator),
                 [types, operands = operands, accumulator = accumulator] {
                   return measure<F, operation>(types, operands, accumulator);
                 });
    if (!kIsFloat) break;
  }
}

template <class Input, class Sum, int m, int n, int k>
void add_orders(const std::string& name, const Types& types) {
  using Row = nv::row_major;
  using Column = nv::col_major;
  add<Form<Input, Sum, m, n, k, Row, Column>>(name, types);
  add<Form<Input, Sum, m, n, k, Column, Row>>(name, types);
}

template <class Input, class Sum>
void add_shapes(const std::string& name, const Types& types) {
  add_orders<Input, Sum, 16, 16, 16>(name, types);
  add_orders<Input, Sum, 8, 32, 16>(name, types);
  add_orders<Input, Sum, 32, 8, 16>(name, types);
}

const bool kRegistered = [] {
  using Row = nv::row_major;
  using Column = nv::col_major;
  add_shapes<__half, float>("f32.f16", {Element::f16, Element::f32});
  add_shapes<__half, __half>("f16.f16", {Element::f16, Element::f16});
  add_shapes<__nv_bfloat16, float>("f32.bf16", {Element::bf16, Element::f32});
  add_orders<nv::precision::tf32, float, 16, 16, 8>("f32.tf32", {Element::tf32, Element::f32});
  add_shapes<signed char, int>("s32.s8", {Element::s8, Element::s32});
  add_shapes<unsigned char, int>("s32.u8", {Element::u8, Element::s32});
  add<Form<signed char, int, 16, 16, 16, Row, Column>, Operation::saturating>(
      "s32.s8.satfinite", {Element::s8, Element::s32});
  add<Form<nv::experimental::precision::s4, int, 8, 8, 32, Row, Column>>(
      "s32.s4", {Element::s8, Element::s32});
  add<Form<nv::experimental::precision::u4, int, 8, 8, 32, Row, Column>>(
      "s32.u4", {Element::u8, Element::s32});
  add<Form<nv::experimental::precision::b1, int, 8, 8, 128, Row, Column>, Operation::bits_and>(
      "s32.b1.and", {Element::b1, Element::s32});
  add<Form<nv::experimental::precision::b1, int, 8, 8, 128, Row, Column>, Operation::bits_xor>(
      "s32.b1.xor", {Element::b1, Element::s32});
  add_orders<double, double, 8, 8, 4>("f64.f64", {Element::f32, Element::f32});
  return true;
}();

}  // namespace bw::conformance::wmma
