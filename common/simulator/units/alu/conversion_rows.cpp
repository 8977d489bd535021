/// \file
/// The forms of mov, cvt, cvta and isspacep (PTX ISA, "Data Movement and Conversion Instructions").
#include "common/simulator/machine/costs.hpp"
#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/units/alu/conversion_binds.hpp"

namespace bw::sim {
namespace {

using namespace conversion;
using costs::kAlu;

constexpr std::string_view kMov = "PTX ISA, Data Movement and Conversion Instructions: mov";
constexpr std::string_view kCvt = "PTX ISA, Data Movement and Conversion Instructions: cvt";
constexpr std::string_view kCvtPack =
    "PTX ISA, Data Movement and Conversion Instructions: cvt.pack";
constexpr std::string_view kCvta = "PTX ISA, Data Movement and Conversion Instructions: cvta";
constexpr std::string_view kIsspacep =
    "PTX ISA, Data Movement and Conversion Instructions: isspacep";

/// Conversions other than moves between integers run at a quarter of the ALU's rate or slower.
constexpr uint16_t kConvert = 2 * kAlu;

constexpr OpcodeRow kRows[] = {
    {"mov", "type=b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64", bind_mov, false, kAlu, kMov},
    {"mov", "pred", bind_mov_predicate, false, kAlu, kMov},

    {"cvt", "pack sat target=u16|s16|u8|s8|u4|s4|u2|s2 s32 [b32]", bind_cvt_pack, false, kConvert,
     kCvtPack},
    {"cvt", "round=rn|rz [relu] [satfinite] type=f16x2|bf16x2 f32", bind_cvt_pair, false, kConvert,
     kCvt},
    {"cvt", "round=rn satfinite [relu] type=e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2 f32", bind_cvt_pair,
     false, kConvert, kCvt},
    {"cvt", "round=rn [relu] f16x2 type=e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2", bind_cvt_unpack, false,
     kConvert, kCvt},
    {"cvt", "round=rn satfinite [relu] type=e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2 f16x2",
     bind_cvt_repack, false, kConvert, kCvt},
    {"cvt", "round=rz|rp [satfinite] ue8m0x2 f32", bind_cvt_to_scale, false, kConvert, kCvt},
    {"cvt", "round=rz|rp [satfinite] ue8m0x2 bf16x2", bind_cvt_to_scale, false, kConvert, kCvt},
    {"cvt", "round=rn bf16x2 ue8m0x2", bind_cvt_from_scale, false, kConvert, kCvt},
    {"cvt", "round=rna|rn|rz [satfinite] [relu] tf32 f32", bind_cvt_tf32, false, kConvert, kCvt},
    {"cvt", "round=rn|rz|rm|rp relu [satfinite] type*2=f16|bf16|f32", bind_cvt, false, kConvert,
     kCvt},
    {"cvt", "round=rn|rz|rm|rp satfinite type*2=f16|bf16|f32", bind_cvt, false, kConvert, kCvt},
    {"cvt", "type*2=u8|u16|u32|u64|s8|s16|s32|s64", bind_cvt, false, kAlu, kCvt},
    {"cvt",
     "[round=rn|rz|rm|rp|rni|rzi|rmi|rpi] [ftz] [sat] "
     "type*2=u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64",
     bind_cvt, false, kConvert, kCvt},
    // Stochastic rounding: recognised, refused by name.
    {"cvt", "rs [relu] [satfinite] type=f16x2|bf16x2|e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 f32",
     nullptr, false, kConvert, kCvt},

    {"cvta",
     "space=global|local|shared|shared::cta|shared::cluster|const|param|param::entry type=u64",
     bind_cvta, false, kAlu, kCvta},
    {"cvta",
     "to space=global|local|shared|shared::cta|shared::cluster|const|param|param::entry type=u64",
     bind_cvta_to, false, kAlu, kCvta},
    {"isspacep", "space=global|local|shared|shared::cta|shared::cluster|const|param|param::entry",
     bind_isspacep, false, kAlu, kIsspacep},
};

}  // namespace

std::span<const OpcodeRow> conversion_rows() { return kRows; }

}  // namespace bw::sim
