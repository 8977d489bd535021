/// \file
/// Logic, shifts, bit fields and byte permutation (PTX ISA, "Logic and Shift Instructions",
/// "Integer Arithmetic Instructions", "prmt").
#include <array>
#include <bit>
#include <string_view>

#include <fmt/core.h>

#include "common/simulator/units/alu/lanewise.hpp"
#include "common/simulator/units/alu/register_form.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim::integer {
namespace {

using lanewise::by_integer_type;
using lanewise::Wrapping;
using ptx::ScalarType;

constexpr uint32_t kNotFound = 0xffffffffu;

template <class T>
constexpr uint32_t kBits = 8 * sizeof(T);

template <class T>
struct And {
  static T apply(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or {
  static T apply(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Xor {
  static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
template <class T>
struct Not {
  static T apply(T a) { return static_cast<T>(~a); }
};
template <class T>
struct LogicalNot {
  static T apply(T a) { return a == 0; }
};

// Shift amounts beyond the width are clamped to it (shl, shr).
template <class T>
struct Shl {
  static T apply(T a, uint32_t amount) {
    const T shifted = static_cast<T>(Wrapping<T>(a) << (amount & (kBits<Wrapping<T>> - 1)));
    return amount < kBits<T> ? shifted : T{0};
  }
};
template <class T>
struct Shr {
  static T apply(T a, uint32_t amount) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (amount < kBits<T> ? amount : kBits<T> - 1));
    } else {
      const T shifted = static_cast<T>(a >> (amount & (kBits<T> - 1)));
      return amount < kBits<T> ? shifted : T{0};
    }
  }
};

/// Funnel shift of b:a; the left shift gives the upper half, the right shift the lower.
template <bool to_left, bool clamps>
struct FunnelShift {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t amount = clamps ? (c < 32 ? c : 32) : c & 31;
    const uint64_t both = uint64_t{b} << 32 | a;
    return static_cast<uint32_t>(to_left ? both << amount >> 32 : both >> amount);
  }
};

template <class T>
struct BitFieldExtract {
  static T apply(T a, uint32_t position_operand, uint32_t length_operand) {
    using U = std::make_unsigned_t<T>;
    const uint32_t position = position_operand & 0xff, length = length_operand & 0xff;
    if (length == 0) return 0;
    const bool fill = std::is_signed_v<T> && sign_bit(static_cast<U>(a), position, length);
    const U field = position < kBits<T> ? static_cast<U>(static_cast<U>(a) >> position) : U{0};
    const uint32_t available = position < kBits<T> ? kBits<T> - position : 0;
    const uint32_t kept = length < available ? length : available;
    const U mask = kept >= kBits<T> ? ~U{0} : static_cast<U>((U{1} << kept) - 1);
    return static_cast<T>((field & mask) | (fill ? ~mask : U{0}));
  }

 private:
  template <class U>
  static bool sign_bit(U a, uint32_t position, uint32_t length) {
    const uint32_t last = position + length - 1;
    return (a >> (last < kBits<U> - 1 ? last : kBits<U> - 1) & 1) != 0;
  }
};

template <class T>
struct BitFieldInsert {
  static T apply(T a, T b, uint32_t position_operand, uint32_t length_operand) {
    const uint32_t position = position_operand & 0xff, length = length_operand & 0xff;
    if (position >= kBits<T>) return b;
    const T ones = length >= kBits<T> ? ~T{0} : (T{1} << length) - 1;
    const T mask = ones << position;
    return (b & ~mask) | (a << position & mask);
  }
};

template <class T, bool is_shift_amount>
struct FindLeadingBit {
  static uint32_t apply(T a) {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(a < 0 ? ~a : a);
    if (bits == 0) return kNotFound;
    const auto zeros = static_cast<uint32_t>(std::countl_zero(bits));
    return is_shift_amount ? zeros : kBits<T> - 1 - zeros;
  }
};

template <class T>
struct ReverseBits {
  static T apply(T a) {
    T reversed = 0;
    for (uint32_t i = 0; i < kBits<T>; ++i) reversed |= (a >> i & 1) << (kBits<T> - 1 - i);
    return reversed;
  }
};
template <class T>
struct CountLeadingZeros {
  static uint32_t apply(T a) { return static_cast<uint32_t>(std::countl_zero(a)); }
};
template <class T>
struct CountOnes {
  static uint32_t apply(T a) { return static_cast<uint32_t>(std::popcount(a)); }
};

/// The |offset|-th set bit of `mask` from `base` on, upwards for a positive offset.
struct FindNthSet {
  static uint32_t apply(uint32_t mask, uint32_t base, int32_t offset) {
    if (base >= 32) return kNotFound;
    if (offset == 0) return mask >> base & 1 ? base : kNotFound;
    const int step = offset > 0 ? 1 : -1;
    int64_t missing = offset > 0 ? int64_t{offset} : -int64_t{offset};
    for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step)
      if (mask >> position & 1 && --missing == 0) return static_cast<uint32_t>(position);
    return kNotFound;
  }
};

template <class T, bool clamps>
struct ExtendFromBits {
  static uint32_t apply(uint32_t a, uint32_t b) {
    const uint32_t width = b & 31;
    if (clamps && b >= 32) return a;
    if (width == 0) return 0;
    const uint32_t mask = (1u << width) - 1;
    const bool negative = std::is_signed_v<T> && (a >> (width - 1) & 1) != 0;
    return (a & mask) | (negative ? ~mask : 0);
  }
};

/// `width` ones from bit `start` on; .clamp: beyond 32 is 32, .wrap: modulo 32.
template <bool clamps>
struct BitMask {
  static uint32_t apply(uint32_t start_operand, uint32_t width_operand) {
    const auto limit = [](uint32_t value) {
      return clamps ? (value < 32 ? value : 32) : value & 31;
    };
    const uint32_t start = limit(start_operand), width = limit(width_operand);
    return static_cast<uint32_t>(((uint64_t{1} << width) - 1) << start);
  }
};

/// Any function of three bits: bit k of the table is the result for (a, b, c) = the bits of k.
uint32_t lookup(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t k = 0; k < 8; ++k) {
    const uint32_t chosen = 0u - (table >> k & 1);
    result |= chosen & (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
  }
  return result;
}

void lop3(const LaneRegisters& registers, const Instruction& instruction, LaneMask active) {
  uint32_t* const d = registers.lanes<uint32_t>(instruction.operands[0]);
  const uint32_t* const a = registers.lanes<uint32_t>(instruction.operands[1]);
  const uint32_t* const b = registers.lanes<uint32_t>(instruction.operands[2]);
  const uint32_t* const c = registers.lanes<uint32_t>(instruction.operands[3]);
  const uint32_t table = instruction.flags;
  for_lanes(active, [=](int lane) { d[lane] = lookup(a[lane], b[lane], c[lane], table); });
}

/// d|p = lop3: p = (d != 0) op q; operands d, a, b, c, p, q; `immediate` is 1 for .and.
void lop3_predicate(const LaneRegisters& registers, const Instruction& instruction,
                    LaneMask active) {
  lop3(registers, instruction, active);
  const uint32_t* const d = registers.lanes<uint32_t>(instruction.operands[0]);
  LaneMask nonzero = 0;
  for_lanes(active, [&](int lane) { nonzero |= LaneMask{d[lane] != 0} << lane; });
  const LaneMask q = registers.predicate(instruction.operands[5]);
  registers.set_predicate(instruction.operands[4], active,
                          instruction.immediate != 0 ? nonzero & q : nonzero | q);
}

/// Selects four of the eight bytes of b:a; bit 3 of a selector replicates the byte's sign.
struct Permute {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t selectors) {
    const uint64_t bytes = uint64_t{b} << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t selector = selectors >> (4 * i);
      const auto byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 0xff;
      const uint32_t sign = byte & 0x80 ? 0xffu : 0u;
      result |= (selector & 8 ? sign : byte) << (8 * i);
    }
    return result;
  }
};

/// Selectors of a prmt mode for each value of c[1:0].
using PermuteTable = std::array<uint16_t, 4>;
constexpr PermuteTable kForward4{0x3210, 0x4321, 0x5432, 0x6543};
constexpr PermuteTable kBackward4{0x5670, 0x6701, 0x7012, 0x0123};
constexpr PermuteTable kReplicate8{0x0000, 0x1111, 0x2222, 0x3333};
constexpr PermuteTable kEdgeClampLeft{0x3210, 0x3211, 0x3222, 0x3333};
constexpr PermuteTable kEdgeClampRight{0x0000, 0x1110, 0x2210, 0x3210};
constexpr PermuteTable kReplicate16{0x1010, 0x3232, 0x1010, 0x3232};

template <const PermuteTable& which_table>
struct PermuteMode {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c) {
    return Permute::apply(a, b, which_table[c & 3]);
  }
};

template <template <class> class Op, int num_sources>
void bind_bits(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_uniform_operands(binder, type, num_sources);
  binder.out.execute = by_integer_type(
      type, []<class T>() -> Handler { return lanewise::uniform<Op<T>, T, num_sources>(); });
}

template <template <class> class Op>
void bind_shift(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, type, {type, ScalarType::u32});
  binder.out.execute = by_integer_type(
      type, []<class T>() -> Handler { return lanewise::map2<Op<T>, T, T, uint32_t>; });
}

/// For results that are a position or a count: always 32 bits wide.
template <template <class> class Op>
void bind_count(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, ScalarType::u32, {type});
  binder.out.execute = ptx::size_bytes(type) == 8
                           ? lanewise::map1<Op<uint64_t>, uint32_t, uint64_t>
                           : lanewise::map1<Op<uint32_t>, uint32_t, uint32_t>;
}

template <class Clamp, class Wrap, int num_sources>
void bind_clamp_or_wrap(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b32, num_sources);
  binder.out.execute = binder.modifiers.get("mode") == "clamp"
                           ? lanewise::uniform<Clamp, uint32_t, num_sources>()
                           : lanewise::uniform<Wrap, uint32_t, num_sources>();
}

uint8_t lookup_table_operand(Binder& binder, size_t index) {
  const int64_t table = binder.immediate(binder.ptx_operand(index));
  if (table < 0 || table > 0xff)
    binder.refuse(fmt::format("has the lookup table {}", table),
                  "give a table in 0 to 255, an immediate");
  return static_cast<uint8_t>(table);
}

void bind_and(Binder& binder) { bind_bits<And, 2>(binder); }
void bind_or(Binder& binder) { bind_bits<Or, 2>(binder); }
void bind_xor(Binder& binder) { bind_bits<Xor, 2>(binder); }
void bind_not(Binder& binder) { bind_bits<Not, 1>(binder); }
void bind_cnot(Binder& binder) { bind_bits<LogicalNot, 1>(binder); }
void bind_shl(Binder& binder) { bind_shift<Shl>(binder); }
void bind_shr(Binder& binder) { bind_shift<Shr>(binder); }
void bind_clz(Binder& binder) { bind_count<CountLeadingZeros>(binder); }
void bind_popc(Binder& binder) { bind_count<CountOnes>(binder); }

void bind_lop3(Binder& binder) {
  binder.expect_count(5, 5);
  binder.destination(binder.ptx_operand(0), 4);
  for (size_t i = 1; i <= 3; ++i) binder.source_value(binder.ptx_operand(i), ScalarType::b32);
  binder.out.flags = lookup_table_operand(binder, 4);
  binder.out.execute = lop3;
}

void bind_lop3_predicate(Binder& binder) {
  binder.expect_count(6, 6);
  const ptx::Operand& destinations = binder.ptx_operand(0);
  if (destinations.kind != ptx::Operand::Kind::pair)
    binder.refuse("has no predicate destination", "write both destinations, as in d|p");
  binder.destination(destinations.elements[0], 4);
  for (size_t i = 1; i <= 3; ++i) binder.source_value(binder.ptx_operand(i), ScalarType::b32);
  binder.destination(destinations.elements[1], 0);
  binder.source_predicate(binder.ptx_operand(5));
  binder.out.flags = lookup_table_operand(binder, 4);
  binder.out.immediate = binder.modifiers.get("bool") == "and";
  binder.out.execute = lop3_predicate;
}

void bind_shf(Binder& binder) {
  if (binder.modifiers.get("direction") == "l") {
    bind_clamp_or_wrap<FunnelShift<true, true>, FunnelShift<true, false>, 3>(binder);
  } else {
    bind_clamp_or_wrap<FunnelShift<false, true>, FunnelShift<false, false>, 3>(binder);
  }
}

void bind_bfe(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, type, {type, ScalarType::u32, ScalarType::u32});
  binder.out.execute = by_integer_type(type, []<class T>() -> Handler {
    return lanewise::map3<BitFieldExtract<T>, T, T, uint32_t, uint32_t>;
  });
}

void bind_bfi(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, type, {type, type, ScalarType::u32, ScalarType::u32});
  using U32 = uint32_t;
  using U64 = uint64_t;
  binder.out.execute = ptx::size_bytes(type) == 8
                           ? lanewise::map4<BitFieldInsert<U64>, U64, U64, U64, U32, U32>
                           : lanewise::map4<BitFieldInsert<U32>, U32, U32, U32, U32, U32>;
}

void bind_bfind(Binder& binder) {
  const ScalarType type = binder.modifiers.type();
  lanewise::bind_operands(binder, ScalarType::u32, {type});
  const bool shift_amount = binder.modifiers.has("shiftamt");
  binder.out.execute = by_integer_type(type, [=]<class T>() -> Handler {
    return shift_amount ? lanewise::map1<FindLeadingBit<T, true>, uint32_t, T>
                        : lanewise::map1<FindLeadingBit<T, false>, uint32_t, T>;
  });
}

void bind_brev(Binder& binder) { bind_bits<ReverseBits, 1>(binder); }

void bind_fns(Binder& binder) {
  lanewise::bind_operands(binder, ScalarType::b32,
                          {ScalarType::b32, ScalarType::b32, ScalarType::s32});
  binder.out.execute = lanewise::map3<FindNthSet, uint32_t, uint32_t, uint32_t, int32_t>;
}

void bind_prmt(Binder& binder) {
  lanewise::bind_uniform_operands(binder, ScalarType::b32, 3);
  using U32 = uint32_t;
  const std::string_view mode = binder.modifiers.get("mode");
  binder.out.execute = mode == "f4e"    ? lanewise::uniform<PermuteMode<kForward4>, U32, 3>()
                       : mode == "b4e"  ? lanewise::uniform<PermuteMode<kBackward4>, U32, 3>()
                       : mode == "rc8"  ? lanewise::uniform<PermuteMode<kReplicate8>, U32, 3>()
                       : mode == "ecl"  ? lanewise::uniform<PermuteMode<kEdgeClampLeft>, U32, 3>()
                       : mode == "ecr"  ? lanewise::uniform<PermuteMode<kEdgeClampRight>, U32, 3>()
                       : mode == "rc16" ? lanewise::uniform<PermuteMode<kReplicate16>, U32, 3>()
                                        : lanewise::uniform<Permute, U32, 3>();
}

void bind_szext(Binder& binder) {
  if (ptx::is_signed(binder.modifiers.type())) {
    bind_clamp_or_wrap<ExtendFromBits<int32_t, true>, ExtendFromBits<int32_t, false>, 2>(binder);
  } else {
    bind_clamp_or_wrap<ExtendFromBits<uint32_t, true>, ExtendFromBits<uint32_t, false>, 2>(binder);
  }
}

void bind_bmsk(Binder& binder) { bind_clamp_or_wrap<BitMask<true>, BitMask<false>, 2>(binder); }

using costs::kAlu;
constexpr std::string_view kLogic = "Logic and Shift Instructions";
constexpr std::string_view kArithmetic = "Integer Arithmetic Instructions";

constexpr InstructionForm kBitRows[] = {
    computing(Operation::bit_and,
              costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
                      register_form("and", "type=b16|b32|b64", bind_and, kLogic))),
    computing(Operation::bit_or, costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
                                         register_form("or", "type=b16|b32|b64", bind_or, kLogic))),
    computing(Operation::bit_xor,
              costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
                      register_form("xor", "type=b16|b32|b64", bind_xor, kLogic))),
    computing(Operation::bit_not,
              costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
                      register_form("not", "type=b16|b32|b64", bind_not, kLogic))),
    costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
            register_form("cnot", "type=b16|b32|b64", bind_cnot, kLogic)),
    register_form("lop3", "type=b32", bind_lop3, kLogic),
    register_form("lop3", "bool=or|and type=b32", bind_lop3_predicate, kLogic),
    computing(Operation::shift_left,
              costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
                      register_form("shl", "type=b16|b32|b64", bind_shl, kLogic))),
    costing(CostOf(Cost::one(Pipe::alu), Cost::two(Pipe::alu)),
            register_form("shr", "type=b16|b32|b64|u16|u32|u64|s16|s32|s64", bind_shr, kLogic)),
    register_form("shf", "direction=l|r mode=clamp|wrap type=b32", bind_shf, kLogic),
    costing(CostOf(Cost::chain(Pipe::alu, 2, 4), Cost::chain(Pipe::alu, 6, 12)),
            register_form("bfe", "type=u32|u64|s32|s64", bind_bfe, kArithmetic)),
    costing(CostOf(Cost::chain(Pipe::alu, 3, 8), Cost::chain(Pipe::alu, 8, 16)),
            register_form("bfi", "type=b32|b64", bind_bfi, kArithmetic)),
    costing(CostOf(Cost::one(Pipe::special), Cost::chain(Pipe::special, 2, 4)),
            register_form("bfind", "[shiftamt] type=u32|u64|s32|s64", bind_bfind, kArithmetic)),
    costing(CostOf(Cost::one(Pipe::special), Cost::chain(Pipe::special, 2, 4)),
            register_form("brev", "type=b32|b64", bind_brev, kArithmetic)),
    costing(CostOf(Cost::around(2, 4), Cost::around(4, 12)),
            register_form("clz", "type=b32|b64", bind_clz, kArithmetic)),
    costing(CostOf(Cost::one(Pipe::special), Cost::chain(Pipe::special, 2, 4)),
            register_form("popc", "type=b32|b64", bind_popc, kArithmetic)),
    costing(Cost::chain(Pipe::alu, 30, 120),
            register_form("fns", "type=b32", bind_fns, kArithmetic)),
    register_form("szext", "mode=clamp|wrap type=u32|s32", bind_szext, kArithmetic),
    register_form("bmsk", "mode=clamp|wrap type=b32", bind_bmsk, kArithmetic),
    register_form("prmt", "type=b32 [mode=f4e|b4e|rc8|ecl|ecr|rc16]", bind_prmt, "prmt"),
};

}  // namespace

Rows bit_rows() { return kBitRows; }

}  // namespace bw::sim::integer
