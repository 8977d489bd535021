/// \file
/// The forms of f16, f16x2, bf16 and bf16x2 arithmetic (PTX ISA, "Half Precision Floating Point
/// Instructions" and "Half Precision Comparison Instructions").
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/units/alu/half_binds.hpp"

namespace bw::sim {
namespace {

using namespace half;
using costs::kAlu;

constexpr std::string_view kSection = "PTX ISA, Half Precision Floating Point Instructions";
constexpr uint16_t kSpecial = 2 * kAlu;  // special-function unit

constexpr OpcodeRow kRows[] = {
    {"add", "[rn] [ftz] [sat] type=f16|f16x2", bind_add, false, kAlu, kSection},
    {"add", "[rn] type=bf16|bf16x2", bind_add, false, kAlu, kSection},
    {"sub", "[rn] [ftz] [sat] type=f16|f16x2", bind_sub, false, kAlu, kSection},
    {"sub", "[rn] type=bf16|bf16x2", bind_sub, false, kAlu, kSection},
    {"mul", "[rn] [ftz] [sat] type=f16|f16x2", bind_mul, false, kAlu, kSection},
    {"mul", "[rn] type=bf16|bf16x2", bind_mul, false, kAlu, kSection},
    {"fma", "rn [ftz] [sat] type=f16|f16x2", bind_fma, false, kAlu, kSection},
    {"fma", "rn [ftz] relu type=f16|f16x2", bind_fma, false, kAlu, kSection},
    {"fma", "rn [relu] type=bf16|bf16x2", bind_fma, false, kAlu, kSection},
    {"fma", "rn oob [relu] type=f16|f16x2|bf16|bf16x2", nullptr, false, kAlu, kSection},
    {"abs", "[ftz] type=f16|f16x2", bind_abs, false, kAlu, kSection},
    {"abs", "type=bf16|bf16x2", bind_abs, false, kAlu, kSection},
    {"neg", "[ftz] type=f16|f16x2", bind_neg, false, kAlu, kSection},
    {"neg", "type=bf16|bf16x2", bind_neg, false, kAlu, kSection},
    {"min", "[ftz] [NaN] [xorsign] [abs] type=f16|f16x2", bind_min, false, kAlu, kSection},
    {"min", "[NaN] [xorsign] [abs] type=bf16|bf16x2", bind_min, false, kAlu, kSection},
    {"max", "[ftz] [NaN] [xorsign] [abs] type=f16|f16x2", bind_max, false, kAlu, kSection},
    {"max", "[NaN] [xorsign] [abs] type=bf16|bf16x2", bind_max, false, kAlu, kSection},
    {"ex2", "approx type=f16|f16x2", bind_ex2, false, kSpecial, kSection},
    {"ex2", "approx ftz type=bf16|bf16x2", bind_ex2, false, kSpecial, kSection},
    {"tanh", "approx type=f16|f16x2|bf16|bf16x2", bind_tanh, false, kSpecial, kSection},
};

}  // namespace

std::span<const OpcodeRow> half_rows() { return kRows; }

}  // namespace bw::sim
