/// \file
/// Instruction forms that this simulator knows and does not execute: a kernel that has one is
/// refused at launch, by name, instead of with "unknown instruction". Rows of executed families
/// come before these.
#include <array>

#include "common/simulator/machine/opcode_table.hpp"
#include "common/simulator/units/families.hpp"

namespace bw::sim {
namespace {

constexpr OpcodeRow refused(std::string_view base, std::string_view modifiers,
                            std::string_view section) {
  return {.base = base,
          .modifiers = modifiers,
          .bind = nullptr,
          .effect = Effect::lane,
          .cycles = 0,
          .section = section};
}

constexpr std::array kRows = {
    // Of mma.sync only what sm_120 has is left: kind::f8f6f4 and block scaling.
    refused("mma", "*", "mma"),
    // Textures and surfaces.
    refused("tex", "*", "tex"),
    refused("tld4", "*", "tld4"),
    refused("txq", "*", "txq"),
    refused("suld", "*", "suld"),
    refused("sust", "*", "sust"),
    refused("sured", "*", "sured"),
    refused("suq", "*", "suq"),
    refused("istypep", "*", "istypep"),
    // Memory of several devices, tensor-map modification, tile modes of tensor copies.
    refused("multimem.ld_reduce", "*", "multimem.ld_reduce"),
    refused("multimem.st", "*", "multimem.st"),
    refused("multimem.red", "*", "multimem.red"),
    refused("multimem.cp.async.bulk", "*", "multimem.cp.async.bulk"),
    refused("multimem.cp.reduce.async.bulk", "*", "multimem.cp.reduce.async.bulk"),
    refused("cp.async.bulk.tensor", "*", "cp.async.bulk.tensor"),
    refused("cp.reduce.async.bulk.tensor", "*", "cp.reduce.async.bulk.tensor"),
    refused("cp.async.bulk.prefetch.tensor", "*", "cp.async.bulk.prefetch.tensor"),
    // Stack, profiling and video instructions.
    refused("stacksave", "*", "stacksave"),
    refused("stackrestore", "*", "stackrestore"),
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

Rows unexecuted_rows() { return kRows; }

}  // namespace bw::sim
