/// \file
/// Instruction forms that this simulator knows and does not execute: a kernel that has one is
/// refused at launch, by name, instead of with "unknown instruction". Rows of executed families
/// come before these.
#include <array>

#include "common/simulator/machine/binder.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim {
namespace {

constexpr InstructionForm refused(std::string_view base, std::string_view modifiers,
                                  std::string_view section, uint8_t destinations = 1) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = nullptr,
          .effect = Effect::lane,
          .cycles = 0,
          .section = section,
          .destinations = destinations};
}

constexpr std::array kUnexecutedRows = {
    // Of mma.sync only what sm_120 has is left: kind::f8f6f4 and block scaling.
    refused("mma", "*", "mma"),
    // Loads through the read-only proxy.
    refused("ld",
            "[global] type=b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64 proxy::readonly",
            "ld"),
    // Textures and surfaces.
    refused("tex", "*", "tex"),
    refused("tld4", "*", "tld4"),
    refused("txq", "*", "txq"),
    refused("suld", "*", "suld"),
    refused("sust", "*", "sust", 0),
    refused("sured", "*", "sured", 0),
    refused("suq", "*", "suq"),
    refused("istypep", "*", "istypep"),
    // Memory of several devices, tensor-map modification, tile modes of tensor copies.
    refused("multimem.ld_reduce", "*", "multimem.ld_reduce"),
    refused("multimem.st", "*", "multimem.st", 0),
    refused("multimem.red", "*", "multimem.red", 0),
    refused("multimem.cp.async.bulk", "*", "multimem.cp.async.bulk", 0),
    refused("multimem.cp.reduce.async.bulk", "*", "multimem.cp.reduce.async.bulk", 0),
    refused("cp.async.bulk.tensor", "*", "cp.async.bulk.tensor", 0),
    refused("cp.reduce.async.bulk.tensor", "*", "cp.reduce.async.bulk.tensor", 0),
    refused("cp.async.bulk.prefetch.tensor", "*", "cp.async.bulk.prefetch.tensor", 0),
    refused("fabric", "*", "fabric", 0),
    // Stack, profiling and video instructions.
    refused("stacksave", "*", "stacksave"),
    refused("stackrestore", "*", "stackrestore", 0),
    refused("alloca", "*", "alloca"),
    refused("vadd", "*", "scalar video instructions"),
    refused("vsub", "*", "scalar video instructions"),
    refused("vabsdiff", "*", "scalar video instructions"),
    refused("vmin", "*", "scalar video instructions"),
    refused("vmax", "*", "scalar video instructions"),
    refused("vshl", "*", "scalar video instructions"),
    refused("vshr", "*", "scalar video instructions"),
    refused("vmad", "*", "scalar video instructions"),
    refused("vset", "*", "scalar video instructions"),
    refused("vadd2", "*", "SIMD video instructions"),
    refused("vsub2", "*", "SIMD video instructions"),
    refused("vavrg2", "*", "SIMD video instructions"),
    refused("vabsdiff2", "*", "SIMD video instructions"),
    refused("vmin2", "*", "SIMD video instructions"),
    refused("vmax2", "*", "SIMD video instructions"),
    refused("vset2", "*", "SIMD video instructions"),
    refused("vadd4", "*", "SIMD video instructions"),
    refused("vsub4", "*", "SIMD video instructions"),
    refused("vavrg4", "*", "SIMD video instructions"),
    refused("vabsdiff4", "*", "SIMD video instructions"),
    refused("vmin4", "*", "SIMD video instructions"),
    refused("vmax4", "*", "SIMD video instructions"),
    refused("vset4", "*", "SIMD video instructions"),
};

}  // namespace

Rows unexecuted_rows() { return kUnexecutedRows; }

}  // namespace bw::sim
