/// \file
/// The forms of the integer family (PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision
/// Integer Arithmetic Instructions", "Logic and Shift Instructions").
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/units/alu/integer_binds.hpp"

namespace bw::sim {
namespace {

using namespace integer;
using costs::kAlu;

constexpr std::string_view kArithmetic = "PTX ISA, Integer Arithmetic Instructions";
constexpr std::string_view kExtended =
    "PTX ISA, Extended-Precision Integer Arithmetic Instructions";
constexpr std::string_view kLogic = "PTX ISA, Logic and Shift Instructions";

/// A division is a sequence of about twenty instructions on the machine.
constexpr uint16_t kDivide = 20 * kAlu;

constexpr OpcodeRow kRows[] = {
    {"add", "type=u16|u32|u64|s16|s32|s64|u16x2|s16x2", bind_add, false, kAlu, kArithmetic},
    {"add", "sat type=s32", bind_add, false, kAlu, kArithmetic},
    {"sub", "type=u16|u32|u64|s16|s32|s64|u16x2|s16x2", bind_sub, false, kAlu, kArithmetic},
    {"sub", "sat type=s32", bind_sub, false, kAlu, kArithmetic},
    {"mul", "lo type=u16|u32|u64|s16|s32|s64", bind_mul_lo, false, kAlu, kArithmetic},
    {"mul", "hi type=u16|u32|u64|s16|s32|s64", bind_mul_hi, false, kAlu, kArithmetic},
    {"mul", "wide type=u16|u32|s16|s32", bind_mul_wide, false, kAlu, kArithmetic},
    {"mad", "lo type=u16|u32|u64|s16|s32|s64", bind_mad_lo, false, kAlu, kArithmetic},
    {"mad", "hi type=u16|u32|u64|s16|s32|s64", bind_mad_hi, false, kAlu, kArithmetic},
    {"mad", "hi sat type=s32", bind_mad_hi, false, kAlu, kArithmetic},
    {"mad", "wide type=u16|u32|s16|s32", bind_mad_wide, false, kAlu, kArithmetic},
    {"mul24", "part=lo|hi type=u32|s32", bind_mul24, false, kAlu, kArithmetic},
    {"mad24", "part=lo|hi type=u32|s32", bind_mad24, false, kAlu, kArithmetic},
    {"mad24", "part=hi sat type=s32", bind_mad24, false, kAlu, kArithmetic},
    {"sad", "type=u16|u32|u64|s16|s32|s64", bind_sad, false, kAlu, kArithmetic},
    {"div", "type=u16|u32|u64|s16|s32|s64", bind_div, false, kDivide, kArithmetic},
    {"rem", "type=u16|u32|u64|s16|s32|s64", bind_rem, false, kDivide, kArithmetic},
    {"abs", "type=s16|s32|s64", bind_abs, false, kAlu, kArithmetic},
    {"neg", "type=s16|s32|s64", bind_neg, false, kAlu, kArithmetic},
    {"min", "type=u16|u32|u64|u16x2|s16|s64", bind_min, false, kAlu, kArithmetic},
    {"min", "[relu] type=s32|s16x2", bind_min, false, kAlu, kArithmetic},
    {"max", "type=u16|u32|u64|u16x2|s16|s64", bind_max, false, kAlu, kArithmetic},
    {"max", "[relu] type=s32|s16x2", bind_max, false, kAlu, kArithmetic},
    {"dp4a", "type*2=u32|s32", bind_dp4a, false, kAlu, kArithmetic},
    {"dp2a", "part=lo|hi type*2=u32|s32", bind_dp2a, false, kAlu, kArithmetic},

    {"add", "cc type=u32|s32|u64|s64", bind_carry_add, false, kAlu, kExtended},
    {"addc", "[cc] type=u32|s32|u64|s64", bind_carry_add, false, kAlu, kExtended},
    {"sub", "cc type=u32|s32|u64|s64", bind_carry_sub, false, kAlu, kExtended},
    {"subc", "[cc] type=u32|s32|u64|s64", bind_carry_sub, false, kAlu, kExtended},
    {"mad", "part=lo|hi cc type=u32|s32|u64|s64", bind_carry_mad, false, kAlu, kExtended},
    {"madc", "part=lo|hi [cc] type=u32|s32|u64|s64", bind_carry_mad, false, kAlu, kExtended},

    {"and", "type=b16|b32|b64", bind_and, false, kAlu, kLogic},
    {"or", "type=b16|b32|b64", bind_or, false, kAlu, kLogic},
    {"xor", "type=b16|b32|b64", bind_xor, false, kAlu, kLogic},
    {"not", "type=b16|b32|b64", bind_not, false, kAlu, kLogic},
    {"cnot", "type=b16|b32|b64", bind_cnot, false, kAlu, kLogic},
    {"lop3", "type=b32", bind_lop3, false, kAlu, kLogic},
    {"lop3", "bool=or|and type=b32", bind_lop3_predicate, false, kAlu, kLogic},
    {"shl", "type=b16|b32|b64", bind_shl, false, kAlu, kLogic},
    {"shr", "type=b16|b32|b64|u16|u32|u64|s16|s32|s64", bind_shr, false, kAlu, kLogic},
    {"shf", "direction=l|r mode=clamp|wrap type=b32", bind_shf, false, kAlu, kLogic},

    {"bfe", "type=u32|u64|s32|s64", bind_bfe, false, kAlu, kArithmetic},
    {"bfi", "type=b32|b64", bind_bfi, false, kAlu, kArithmetic},
    {"bfind", "[shiftamt] type=u32|u64|s32|s64", bind_bfind, false, kAlu, kArithmetic},
    {"brev", "type=b32|b64", bind_brev, false, kAlu, kArithmetic},
    {"clz", "type=b32|b64", bind_clz, false, kAlu, kArithmetic},
    {"popc", "type=b32|b64", bind_popc, false, kAlu, kArithmetic},
    {"fns", "type=b32", bind_fns, false, kAlu, kArithmetic},
    {"szext", "mode=clamp|wrap type=u32|s32", bind_szext, false, kAlu, kArithmetic},
    {"bmsk", "mode=clamp|wrap type=b32", bind_bmsk, false, kAlu, kArithmetic},
    {"prmt", "type=b32 [mode=f4e|b4e|rc8|ecl|ecr|rc16]", bind_prmt, false, kAlu,
     "PTX ISA, Data Movement and Conversion Instructions: prmt"},
};

}  // namespace

std::span<const OpcodeRow> integer_rows() { return kRows; }

}  // namespace bw::sim
