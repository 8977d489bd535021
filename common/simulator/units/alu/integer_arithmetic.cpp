/// \file
/// Integer arithmetic without carry (PTX ISA, "Integer Arithmetic Instructions").
#include <limits>

#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::integer {
namespace {

using lanewise::by_integer_type;
using lanewise::Wide;
using lanewise::Wrapping;
using ptx::ScalarType;

template <class T>
struct Add {
  static T apply(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
};
template <class T>
struct Sub {
  static T apply(T a, T b) { return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b)); }
};
int32_t clamp_to_s32(int64_t value) {
  constexpr int64_t kLow = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(value < kLow ? kLow : value > kHigh ? kHigh : value);
}
struct AddSaturate {
  static int32_t apply(int32_t a, int32_t b) { return clamp_to_s32(int64_t{a} + b); }
};
struct SubSaturate {
  static int32_t apply(int32_t a, int32_t b) { return clamp_to_s32(int64_t{a} - b); }
};
template <class T>
struct MulLo {
  static T apply(T a, T b) { return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b)); }
};
template <class T>
struct MulHi {
  static T apply(T a, T b) { return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T))); }
};
template <class T>
struct MulWide {
  static Wide<T> apply(T a, T b) { return Wide<T>(a) * Wide<T>(b); }
};
template <class T>
struct MadLo {
  static T apply(T a, T b, T c) { return Add<T>::apply(MulLo<T>::apply(a, b), c); }
};
template <class T>
struct MadHi {
  static T apply(T a, T b, T c) { return Add<T>::apply(MulHi<T>::apply(a, b), c); }
};
struct MadHiSaturate {
  static int32_t apply(int32_t a, int32_t b, int32_t c) {
    return clamp_to_s32(int64_t{MulHi<int32_t>::apply(a, b)} + c);
  }
};
template <class T>
struct MadWide {
  static Wide<T> apply(T a, T b, Wide<T> c) {
    return Add<Wide<T>>::apply(MulWide<T>::apply(a, b), c);
  }
};

/// The low 24 bits of a 32-bit value, sign-extended for signed types.
template <class T>
int64_t low_24_bits(T value) {
  const uint32_t shifted = static_cast<uint32_t>(value) << 8;
  if constexpr (std::is_signed_v<T>) {
    return static_cast<int32_t>(shifted) >> 8;
  } else {
    return shifted >> 8;
  }
}
template <class T, bool is_high>
struct Mul24 {
  // .hi takes bits 47..16 of the 48-bit product, .lo bits 31..0.
  static T apply(T a, T b) {
    const int64_t product = low_24_bits(a) * low_24_bits(b);
    return static_cast<T>(is_high ? product >> 16 : product);
  }
};
template <class T, bool is_high>
struct Mad24 {
  static T apply(T a, T b, T c) { return Add<T>::apply(Mul24<T, is_high>::apply(a, b), c); }
};
struct Mad24HiSaturate {
  static int32_t apply(int32_t a, int32_t b, int32_t c) {
    return AddSaturate::apply(Mul24<int32_t, true>::apply(a, b), c);
  }
};
template <class T>
struct Sad {
  static T apply(T a, T b, T c) {
    return Add<T>::apply(c, a < b ? Sub<T>::apply(b, a) : Sub<T>::apply(a, b));
  }
};
// The ISA leaves a division by zero open; like the usual expansion on the machine, the quotient is
// all ones here, and the remainder the dividend. The quotient of the smallest value by -1 wraps to
// itself.
template <class T>
struct Div {
  static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return Sub<T>::apply(0, a);
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Rem {
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
};
template <class T>
struct Neg {
  static T apply(T a) { return Sub<T>::apply(0, a); }
};
template <class T>
struct Abs {
  static T apply(T a) { return a < 0 ? Neg<T>::apply(a) : a; }
};
template <class T>
struct Min {
  static T apply(T a, T b) { return a < b ? a : b; }
};
template <class T>
struct Max {
  static T apply(T a, T b) { return a > b ? a : b; }
};
template <class T, template <class> class Base>
struct Relu {
  static T apply(T a, T b) { return Max<T>::apply(Base<T>::apply(a, b), 0); }
};

/// Byte `index` of a word, extended as the type says.
template <class T>
int64_t byte_of(uint32_t word, int index) {
  const auto byte = static_cast<uint8_t>(word >> (8 * index));
  if constexpr (std::is_signed_v<T>) {
    return static_cast<int8_t>(byte);
  } else {
    return byte;
  }
}
template <class T>
int64_t half_of(uint32_t word, int index) {
  const auto half = static_cast<uint16_t>(word >> (16 * index));
  if constexpr (std::is_signed_v<T>) {
    return static_cast<int16_t>(half);
  } else {
    return half;
  }
}
template <class A, class B>
struct Dp4a {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    int64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += byte_of<A>(a, i) * byte_of<B>(b, i);
    return c + static_cast<uint32_t>(sum);
  }
};
template <class A, class B, int first_byte>
struct Dp2a {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    int64_t sum = 0;
    for (int i = 0; i < 2; ++i) sum += half_of<A>(a, i) * byte_of<B>(b, first_byte + i);
    return c + static_cast<uint32_t>(sum);
  }
};

/// The distances of four unsigned bytes, each in its place or all added to c.
template <bool adds>
struct Distances4 {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result = adds ? c : 0;
    for (int i = 0; i < 4; ++i) {
      const int64_t difference = byte_of<uint32_t>(a, i) - byte_of<uint32_t>(b, i);
      const auto distance = static_cast<uint32_t>(difference < 0 ? -difference : difference);
      result += adds ? distance : distance << 8 * i;
    }
    return result;
  }
};

/// Binds `Op` for a scalar integer type or for u16x2 and s16x2.
template <template <class> class Op, int num_sources>
void bind_integer(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, num_sources);
  if (type == ScalarType::u16x2) {
    binder.out.execute = lanewise::packed<Op<uint16_t>, uint16_t, num_sources, 2>();
  } else if (type == ScalarType::s16x2) {
    binder.out.execute = lanewise::packed<Op<int16_t>, int16_t, num_sources, 2>();
  } else {
    binder.out.execute = by_integer_type(
        type, []<class T>() -> Handler { return lanewise::uniform<Op<T>, T, num_sources>(); });
  }
}

template <class Op, int num_sources>
void bind_s32(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::s32, num_sources);
  binder.out.execute = lanewise::uniform<Op, int32_t, num_sources>();
}

ScalarType widened(ScalarType type) {
  switch (type) {
    case ScalarType::u16:
      return ScalarType::u32;
    case ScalarType::s16:
      return ScalarType::s32;
    case ScalarType::u32:
      return ScalarType::u64;
    default:
      return ScalarType::s64;
  }
}

template <template <class> class Op>
void bind_with_relu(Binder& binder) {
  if (!binder.modifiers.has("relu")) return bind_integer<Op, 2>(binder);
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, 2);
  binder.out.execute = type == ScalarType::s32
                           ? lanewise::uniform<Relu<int32_t, Op>, int32_t, 2>()
                           : lanewise::packed<Relu<int16_t, Op>, int16_t, 2, 2>();
}

template <class Make>
Handler by_sign(bool is_signed, Make make) {
  return is_signed ? make.template operator()<int32_t>() : make.template operator()<uint32_t>();
}

void bind_add(Binder& binder) {
  return binder.modifiers.has("sat") ? bind_s32<AddSaturate, 2>(binder)
                                     : bind_integer<Add, 2>(binder);
}
void bind_sub(Binder& binder) {
  return binder.modifiers.has("sat") ? bind_s32<SubSaturate, 2>(binder)
                                     : bind_integer<Sub, 2>(binder);
}
void bind_mul_lo(Binder& binder) { bind_integer<MulLo, 2>(binder); }
void bind_mul_hi(Binder& binder) { bind_integer<MulHi, 2>(binder); }
void bind_mad_lo(Binder& binder) { bind_integer<MadLo, 3>(binder); }
void bind_mad_hi(Binder& binder) {
  return binder.modifiers.has("sat") ? bind_s32<MadHiSaturate, 3>(binder)
                                     : bind_integer<MadHi, 3>(binder);
}

void bind_mul_wide(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, widened(type), {type, type});
  binder.out.execute = by_integer_type(type, []<class T>() -> Handler {
    if constexpr (sizeof(T) == 8) {
      return nullptr;
    } else {
      return lanewise::map2<MulWide<T>, Wide<T>, T, T>;
    }
  });
}

void bind_mad_wide(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, widened(type), {type, type, widened(type)});
  binder.out.execute = by_integer_type(type, []<class T>() -> Handler {
    if constexpr (sizeof(T) == 8) {
      return nullptr;
    } else {
      return lanewise::map3<MadWide<T>, Wide<T>, T, T, Wide<T>>;
    }
  });
}

void bind_mul24(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  const bool high = binder.modifiers.get("part") == "hi";
  lanewise::bind_uniform_operands(binder, type, 2);
  binder.out.execute = by_sign(ptx::is_signed(type), [high]<class T>() -> Handler {
    return high ? lanewise::uniform<Mul24<T, true>, T, 2>()
                : lanewise::uniform<Mul24<T, false>, T, 2>();
  });
}

void bind_mad24(Binder& binder) {
  if (binder.modifiers.has("sat")) return bind_s32<Mad24HiSaturate, 3>(binder);
  const ScalarType type = binder.modifiers.type();
  const bool high = binder.modifiers.get("part") == "hi";
  lanewise::bind_uniform_operands(binder, type, 3);
  binder.out.execute = by_sign(ptx::is_signed(type), [high]<class T>() -> Handler {
    return high ? lanewise::uniform<Mad24<T, true>, T, 3>()
                : lanewise::uniform<Mad24<T, false>, T, 3>();
  });
}

void bind_sad(Binder& binder) { bind_integer<Sad, 3>(binder); }
void bind_div(Binder& binder) { bind_integer<Div, 2>(binder); }
void bind_rem(Binder& binder) { bind_integer<Rem, 2>(binder); }
void bind_abs(Binder& binder) { bind_integer<Abs, 1>(binder); }
void bind_neg(Binder& binder) { bind_integer<Neg, 1>(binder); }
void bind_min(Binder& binder) { bind_with_relu<Min>(binder); }
void bind_max(Binder& binder) { bind_with_relu<Max>(binder); }

/// The lower or upper half of the product of two polynomials over GF(2), plus c.
template <bool is_high>
struct CarrylessMultiplyAdd {
  static uint64_t apply(uint64_t a, uint64_t b, uint64_t c) {
    constexpr int kBits = 64;
    uint64_t product = (b & 1) != 0 && !is_high ? a : 0;
    for (int bit = 1; bit < kBits; ++bit) {
      const uint64_t shifted = is_high ? a >> (kBits - bit) : a << bit;
      product ^= (b >> bit & 1) != 0 ? shifted : 0;
    }
    return product ^ c;
  }
};

void bind_clmad(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b64, 3);
  binder.out.execute = binder.modifiers.get("part") == "hi"
                           ? lanewise::uniform<CarrylessMultiplyAdd<true>, uint64_t, 3>()
                           : lanewise::uniform<CarrylessMultiplyAdd<false>, uint64_t, 3>();
}

void bind_dp4a(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b32, 3);
  binder.out.execute = by_sign(ptx::is_signed(binder.modifiers.type(0)), [&]<class A>() -> Handler {
    return by_sign(ptx::is_signed(binder.modifiers.type(1)), []<class B>() -> Handler {
      return lanewise::uniform<Dp4a<A, B>, uint32_t, 3>();
    });
  });
}

void bind_dp2a(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b32, 3);
  const bool high = binder.modifiers.get("part") == "hi";
  binder.out.execute = by_sign(ptx::is_signed(binder.modifiers.type(0)), [&]<class A>() -> Handler {
    return by_sign(ptx::is_signed(binder.modifiers.type(1)), [high]<class B>() -> Handler {
      return high ? lanewise::uniform<Dp2a<A, B, 2>, uint32_t, 3>()
                  : lanewise::uniform<Dp2a<A, B, 0>, uint32_t, 3>();
    });
  });
}

void bind_vabsdiff4(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b32, 3);
  binder.out.execute = binder.modifiers.has("add")
                           ? lanewise::uniform<Distances4<true>, uint32_t, 3>()
                           : lanewise::uniform<Distances4<false>, uint32_t, 3>();
}

using costs::kAlu;
constexpr std::string_view kSection = "Integer Arithmetic Instructions";
/// A division is a sequence of about twenty instructions on the machine.
constexpr uint16_t kDivide = 20 * kAlu;

/// Quotients go through a reciprocal of the special-function unit; those of 64 bits through a
/// subroutine.
Cost divide(const Modifiers& modifiers, const ptx::Instruction&) {
  const ScalarType type = modifiers.type();
  if (ptx::size_bytes(type) == 8) return {Pipe::special, 95, 2, 400};
  return ptx::is_signed(type) ? Cost{Pipe::special, 25, 3, 110} : Cost{Pipe::special, 18, 3, 90};
}

// What several forms cost.
constexpr CostOf kSum = CostOf(Cost::one(Pipe::add), Cost::chain(Pipe::add, 2, 3));
constexpr CostOf kLowProduct = CostOf(Cost::one(Pipe::multiply), Cost::chain(Pipe::multiply, 4, 6));
constexpr CostOf kHighProduct =
    CostOf(Cost::one(Pipe::multiply), Cost::chain(Pipe::multiply, 7, 12));
constexpr CostOf kWideProduct = Cost::chain(Pipe::multiply, 1, 1);
constexpr CostOf kProductOf24 = Cost::two(Pipe::multiply);
constexpr CostOf kSign = CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu));
constexpr CostOf kExtreme = CostOf(Cost::one(Pipe::alu), Cost::chain(Pipe::alu, 4, 8));

constexpr InstructionForm kArithmeticRows[] = {
    computing(Operation::add,
              costing(kSum, register_form("add", "type=u16|u32|u64|s16|s32|s64|u16x2|s16x2",
                                          bind_add, kSection))),
    register_form("add", "sat type=s32", bind_add, kSection),
    computing(Operation::subtract,
              costing(kSum, register_form("sub", "type=u16|u32|u64|s16|s32|s64|u16x2|s16x2",
                                          bind_sub, kSection))),
    register_form("sub", "sat type=s32", bind_sub, kSection),
    computing(Operation::multiply_low,
              costing(kLowProduct, register_form("mul", "lo type=u16|u32|u64|s16|s32|s64",
                                                 bind_mul_lo, kSection))),
    costing(kHighProduct,
            register_form("mul", "hi type=u16|u32|u64|s16|s32|s64", bind_mul_hi, kSection)),
    computing(Operation::multiply_wide,
              costing(kWideProduct,
                      register_form("mul", "wide type=u16|u32|s16|s32", bind_mul_wide, kSection))),
    computing(Operation::multiply_add_low,
              costing(kLowProduct, register_form("mad", "lo type=u16|u32|u64|s16|s32|s64",
                                                 bind_mad_lo, kSection))),
    costing(kHighProduct,
            register_form("mad", "hi type=u16|u32|u64|s16|s32|s64", bind_mad_hi, kSection)),
    costing(Cost::one(Pipe::multiply),
            register_form("mad", "hi sat type=s32", bind_mad_hi, kSection)),
    computing(Operation::multiply_add_wide,
              costing(kWideProduct,
                      register_form("mad", "wide type=u16|u32|s16|s32", bind_mad_wide, kSection))),
    costing(kProductOf24, register_form("mul24", "part=lo|hi type=u32|s32", bind_mul24, kSection)),
    costing(kProductOf24, register_form("mad24", "part=lo|hi type=u32|s32", bind_mad24, kSection)),
    costing(kProductOf24, register_form("mad24", "part=hi sat type=s32", bind_mad24, kSection)),
    costing(Cost::chain(Pipe::alu, 2, 4),
            register_form("sad", "type=u16|u32|u64|s16|s32|s64", bind_sad, kSection)),
    costing(divide,
            register_form("div", "type=u16|u32|u64|s16|s32|s64", bind_div, kSection, kDivide)),
    costing(divide,
            register_form("rem", "type=u16|u32|u64|s16|s32|s64", bind_rem, kSection, kDivide)),
    costing(kSign, register_form("abs", "type=s16|s32|s64", bind_abs, kSection)),
    costing(kSign, register_form("neg", "type=s16|s32|s64", bind_neg, kSection)),
    computing(Operation::minimum,
              costing(kExtreme,
                      register_form("min", "type=u16|u32|u64|u16x2|s16|s64", bind_min, kSection))),
    computing(Operation::minimum,
              register_form("min", "[relu] type=s32|s16x2", bind_min, kSection)),
    computing(Operation::maximum,
              costing(kExtreme,
                      register_form("max", "type=u16|u32|u64|u16x2|s16|s64", bind_max, kSection))),
    computing(Operation::maximum,
              register_form("max", "[relu] type=s32|s16x2", bind_max, kSection)),
    register_form("clmad", "part=lo|hi type=u64", bind_clmad, kSection),
    costing(Cost::one(Pipe::multiply),
            register_form("dp4a", "type*2=u32|s32", bind_dp4a, kSection)),
    costing(Cost::one(Pipe::multiply),
            register_form("dp2a", "part=lo|hi type*2=u32|s32", bind_dp2a, kSection)),
    // What nvcc makes of __vabsdiffu4 and __vsadu4; one machine instruction.
    register_form("vabsdiff4", "u32 u32 u32 [add]", bind_vabsdiff4, "SIMD video instructions"),
};

}  // namespace

Rows arithmetic_rows() { return kArithmeticRows; }

}  // namespace bw::sim::integer
