/// \file
/// The forms of the f32 and f64 family (PTX ISA, "Floating Point Instructions" and "Mixed Precision
/// Floating-Point Instructions").
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/units/alu/float_binds.hpp"

namespace bw::sim {
namespace {

using namespace floating;
using costs::kAlu;

constexpr std::string_view kFloat = "PTX ISA, Floating Point Instructions";
constexpr std::string_view kMixed = "PTX ISA, Mixed Precision Floating-Point Instructions";

/// Special-function unit: 16 lanes a cycle and SM quarter, so a warp takes twice as long as on the
/// ALU.
constexpr uint16_t kSpecial = 2 * kAlu;
/// Correctly rounded division and square root are sequences of about ten instructions.
constexpr uint16_t kSequence = 10 * kAlu;

constexpr OpcodeRow kRows[] = {
    {"add", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_add, false, kAlu, kFloat},
    {"add", "[round=rn|rz|rm|rp] type=f64", bind_add, false, kAlu, kFloat},
    {"add", "[round=rn|rz|rm|rp] [ftz] type=f32x2", bind_add, false, kAlu, kFloat},
    {"sub", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_sub, false, kAlu, kFloat},
    {"sub", "[round=rn|rz|rm|rp] type=f64", bind_sub, false, kAlu, kFloat},
    {"sub", "[round=rn|rz|rm|rp] [ftz] type=f32x2", bind_sub, false, kAlu, kFloat},
    {"mul", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_mul, false, kAlu, kFloat},
    {"mul", "[round=rn|rz|rm|rp] type=f64", bind_mul, false, kAlu, kFloat},
    {"mul", "[round=rn|rz|rm|rp] [ftz] type=f32x2", bind_mul, false, kAlu, kFloat},
    {"fma", "round=rn|rz|rm|rp [ftz] [sat] type=f32", bind_fma, false, kAlu, kFloat},
    {"fma", "round=rn|rz|rm|rp type=f64", bind_fma, false, kAlu, kFloat},
    {"fma", "round=rn|rz|rm|rp [ftz] type=f32x2", bind_fma, false, kAlu, kFloat},
    {"mad", "[round=rn|rz|rm|rp] [ftz] [sat] type=f32", bind_fma, false, kAlu, kFloat},
    {"mad", "[round=rn|rz|rm|rp] type=f64", bind_fma, false, kAlu, kFloat},
    {"div", "round=rn|rz|rm|rp [ftz] type=f32", bind_div, false, kSequence, kFloat},
    {"div", "round=rn|rz|rm|rp type=f64", bind_div, false, kSequence, kFloat},
    {"div", "approx [ftz] type=f32", bind_div_approximate, false, kSpecial, kFloat},
    {"div", "full [ftz] type=f32", bind_div_full, false, kSpecial, kFloat},
    {"rcp", "round=rn|rz|rm|rp [ftz] type=f32", bind_rcp, false, kSequence, kFloat},
    {"rcp", "round=rn|rz|rm|rp type=f64", bind_rcp, false, kSequence, kFloat},
    {"rcp", "approx [ftz] type=f32", bind_rcp_approximate, false, kSpecial, kFloat},
    {"rcp", "approx ftz type=f64", bind_rcp_approximate, false, kSpecial, kFloat},
    {"sqrt", "round=rn|rz|rm|rp [ftz] type=f32", bind_sqrt, false, kSequence, kFloat},
    {"sqrt", "round=rn|rz|rm|rp type=f64", bind_sqrt, false, kSequence, kFloat},
    {"sqrt", "approx [ftz] type=f32", bind_sqrt_approximate, false, kSpecial, kFloat},
    {"rsqrt", "approx [ftz] type=f32|f64", bind_rsqrt, false, kSpecial, kFloat},
    {"ex2", "approx [ftz] type=f32", bind_ex2, false, kSpecial, kFloat},
    {"lg2", "approx [ftz] type=f32", bind_lg2, false, kSpecial, kFloat},
    {"sin", "approx [ftz] type=f32", bind_sin, false, kSpecial, kFloat},
    {"cos", "approx [ftz] type=f32", bind_cos, false, kSpecial, kFloat},
    {"tanh", "approx type=f32", bind_tanh, false, kSpecial, kFloat},
    {"abs", "[ftz] type=f32", bind_abs, false, kAlu, kFloat},
    {"abs", "type=f64", bind_abs, false, kAlu, kFloat},
    {"neg", "[ftz] type=f32", bind_neg, false, kAlu, kFloat},
    {"neg", "type=f64", bind_neg, false, kAlu, kFloat},
    {"min", "[ftz] [NaN] [xorsign] [abs] type=f32", bind_min, false, kAlu, kFloat},
    {"min", "type=f64", bind_min, false, kAlu, kFloat},
    {"max", "[ftz] [NaN] [xorsign] [abs] type=f32", bind_max, false, kAlu, kFloat},
    {"max", "type=f64", bind_max, false, kAlu, kFloat},
    {"copysign", "type=f32|f64", bind_copysign, false, kAlu, kFloat},
    {"testp", "test=finite|infinite|number|notanumber|normal|subnormal type=f32|f64", bind_testp,
     false, kAlu, kFloat},

    {"add", "[round=rn|rz|rm|rp] [sat] type=f32 narrow=f16|bf16", bind_add_mixed, false, kAlu,
     kMixed},
    {"sub", "[round=rn|rz|rm|rp] [sat] type=f32 narrow=f16|bf16", bind_sub_mixed, false, kAlu,
     kMixed},
    {"fma", "round=rn|rz|rm|rp [sat] type=f32 narrow=f16|bf16", bind_fma_mixed, false, kAlu,
     kMixed},
};

}  // namespace

std::span<const OpcodeRow> float_rows() { return kRows; }

}  // namespace bw::sim
