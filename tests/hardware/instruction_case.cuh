#pragma once
/// \file
/// One case per instruction form: a kernel applies the form to a list of operands, one element
/// each thread, in full warps.

#include "tests/hardware/cases.hpp"

namespace bw::conformance {

constexpr unsigned kThreads = 128;

/// `Form::run(a, b, c)` of each element; the number of elements is that of the grid's threads.
template <class Form>
__global__ void __launch_bounds__(kThreads)
    apply(const typename Form::A* a, const typename Form::B* b, const typename Form::C* c,
          typename Form::R* result) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  result[i] = Form::run(a[i], b[i], c[i]);
}

/// Formats whose NaNs are one value to a case: the ISA leaves their sign and payload open.
enum class AnyNan { none, f16, bf16, f32, f64 };

/// How many operands an instruction has (they are named in messages), and how NaN is compared.
struct Shape {
  unsigned used;
  AnyNan any_nan = AnyNan::none;
  constexpr Shape(unsigned count) : used(count) {}
  constexpr Shape(unsigned count, AnyNan nan) : used(count), any_nan(nan) {}
};

/// A form without its types, so that the host code of hundreds of forms is compiled once.
struct FormKernel {
  const void* kernel;  ///< an `apply`
  Shape shape;
  unsigned operand_bytes[3];
  unsigned result_bytes;
};

/// Runs the form on the operands of `inputs.hpp`.
Result measure_form(const FormKernel& form);

template <class Form>
Result measure_form(Shape shape) {
  return measure_form(
      {reinterpret_cast<const void*>(&apply<Form>),
       shape,
       {sizeof(typename Form::A), sizeof(typename Form::B), sizeof(typename Form::C)},
       sizeof(typename Form::R)});
}

}  // namespace bw::conformance

// Operand widths and the constraint letters that nvcc knows them by: h 16, w 32, d 64 bits.
#define BW_TYPE_h uint16_t
#define BW_TYPE_w uint32_t
#define BW_TYPE_d uint64_t
#define BW_LETTER_h "h"
#define BW_LETTER_w "r"
#define BW_LETTER_d "l"

/// A case: result and operand widths, a name, and the text of the inline assembly, in which %0 is
/// the result and %1 to %3 the operands. (A macro: assembly must be a string literal.)
#define BW_ASSEMBLY_AT(LINE, USED, R_, A_, B_, C_, NAME, TEXT)                 \
  struct Form##LINE {                                                          \
    using R = BW_TYPE_##R_;                                                    \
    using A = BW_TYPE_##A_;                                                    \
    using B = BW_TYPE_##B_;                                                    \
    using C = BW_TYPE_##C_;                                                    \
    static __device__ R run(A a, B b, C c) {                                   \
      R result;                                                                \
      asm volatile(TEXT                                                        \
                   : "=" BW_LETTER_##R_(result)                                \
                   : BW_LETTER_##A_(a), BW_LETTER_##B_(b), BW_LETTER_##C_(c)); \
      return result;                                                           \
    }                                                                          \
  };                                                                           \
  const Registration registration##LINE(NAME, [] { return measure_form<Form##LINE>(USED); });
#define BW_ASSEMBLY_LINE(LINE, ...) BW_ASSEMBLY_AT(LINE, __VA_ARGS__)
#define BW_ASSEMBLY(...) BW_ASSEMBLY_LINE(__LINE__, __VA_ARGS__)

/// Cases of an instruction whose operands are just listed.
#define BW_UNARY(R_, A_, PTX) BW_ASSEMBLY(1, R_, A_, w, w, PTX, PTX " %0, %1;")
#define BW_BINARY(R_, A_, B_, PTX) BW_ASSEMBLY(2, R_, A_, B_, w, PTX, PTX " %0, %1, %2;")
#define BW_TERNARY(R_, A_, B_, C_, PTX) BW_ASSEMBLY(3, R_, A_, B_, C_, PTX, PTX " %0, %1, %2, %3;")
/// The same for results whose NaNs are compared as one.
#define BW_UNARY_NAN(NAN_, R_, A_, PTX) \
  BW_ASSEMBLY(Shape(1, AnyNan::NAN_), R_, A_, w, w, PTX, PTX " %0, %1;")
#define BW_BINARY_NAN(NAN_, R_, A_, B_, PTX) \
  BW_ASSEMBLY(Shape(2, AnyNan::NAN_), R_, A_, B_, w, PTX, PTX " %0, %1, %2;")
#define BW_TERNARY_NAN(NAN_, R_, A_, B_, C_, PTX) \
  BW_ASSEMBLY(Shape(3, AnyNan::NAN_), R_, A_, B_, C_, PTX, PTX " %0, %1, %2, %3;")
/// Cases of an instruction that ends with an immediate.
#define BW_BINARY_IMMEDIATE(R_, A_, B_, PTX, VALUE) \
  BW_ASSEMBLY(2, R_, A_, B_, w, PTX "." VALUE, PTX " %0, %1, %2, " VALUE ";")
#define BW_TERNARY_IMMEDIATE(R_, A_, B_, C_, PTX, VALUE) \
  BW_ASSEMBLY(3, R_, A_, B_, C_, PTX "." VALUE, PTX " %0, %1, %2, %3, " VALUE ";")
