/// \file
/// Comparisons and selections (PTX ISA, "Comparison and Selection Instructions", "Half Precision
/// Comparison Instructions").
#include "tests/hardware/instruction_case.cuh"

namespace bw::conformance::comparison {

#define BW_SETP(LETTER, FORM)                        \
  BW_ASSEMBLY(2, w, LETTER, LETTER, w, "setp." FORM, \
              "{.reg .pred p; setp." FORM " p, %1, %2; selp.b32 %0, 1, 0, p;}")

BW_SETP(h, "lt.s16")
BW_SETP(h, "lo.u16")
BW_SETP(h, "eq.b16")
BW_SETP(w, "lt.s32")
BW_SETP(w, "le.s32")
BW_SETP(w, "gt.u32")
BW_SETP(w, "hs.u32")
BW_SETP(w, "ne.b32")
BW_SETP(d, "ge.s64")
BW_SETP(d, "ls.u64")
BW_SETP(w, "eq.f32")
BW_SETP(w, "ne.f32")
BW_SETP(w, "lt.f32")
BW_SETP(w, "ge.f32")
BW_SETP(w, "equ.f32")
BW_SETP(w, "neu.f32")
BW_SETP(w, "ltu.f32")
BW_SETP(w, "leu.f32")
BW_SETP(w, "gtu.f32")
BW_SETP(w, "geu.f32")
BW_SETP(w, "num.f32")
BW_SETP(w, "nan.f32")
BW_SETP(w, "eq.ftz.f32")
BW_SETP(w, "gt.ftz.f32")
BW_SETP(d, "lt.f64")
BW_SETP(d, "neu.f64")
BW_SETP(d, "nan.f64")
BW_SETP(h, "lt.f16")
BW_SETP(h, "geu.f16")
BW_SETP(h, "eq.ftz.f16")
BW_SETP(h, "le.bf16")
BW_SETP(h, "num.bf16")

BW_ASSEMBLY(
    3, w, w, w, w, "setp.lt.and.s32|pair",
    "{.reg .pred p, q, c; .reg .b32 t; setp.gt.s32 c, %3, 0; setp.lt.and.s32 p|q, %1, %2, c;"
    " selp.b32 t, 2, 0, q; selp.b32 %0, 1, 0, p; or.b32 %0, %0, t;}")
BW_ASSEMBLY(
    3, w, w, w, w, "setp.le.xor.f32|pair",
    "{.reg .pred p, q, c; .reg .b32 t; setp.gt.s32 c, %3, 0; setp.le.xor.f32 p|q, %1, %2, c;"
    " selp.b32 t, 2, 0, q; selp.b32 %0, 1, 0, p; or.b32 %0, %0, t;}")
BW_ASSEMBLY(
    3, w, w, w, w, "setp.geu.or.f32|pair.negated",
    "{.reg .pred p, q, c; .reg .b32 t; setp.gt.s32 c, %3, 0; setp.geu.or.f32 p|q, %1, %2, !c;"
    " selp.b32 t, 2, 0, q; selp.b32 %0, 1, 0, p; or.b32 %0, %0, t;}")
BW_ASSEMBLY(2, w, w, w, w, "setp.lt.f16x2",
            "{.reg .pred p, q; .reg .b32 t; setp.lt.f16x2 p|q, %1, %2;"
            " selp.b32 t, 2, 0, q; selp.b32 %0, 1, 0, p; or.b32 %0, %0, t;}")
BW_ASSEMBLY(2, w, w, w, w, "setp.neu.bf16x2",
            "{.reg .pred p, q; .reg .b32 t; setp.neu.bf16x2 p|q, %1, %2;"
            " selp.b32 t, 2, 0, q; selp.b32 %0, 1, 0, p; or.b32 %0, %0, t;}")
BW_BINARY(w, w, w, "set.lt.u32.s32")
BW_BINARY(w, w, w, "set.gtu.f32.f32")
BW_BINARY(w, d, d, "set.eq.s32.f64")
BW_BINARY(w, w, w, "set.lt.f16x2.f16x2")
BW_BINARY(w, w, w, "set.geu.u32.f16x2")
BW_BINARY(h, h, h, "set.le.f16.f16")
BW_BINARY(h, h, h, "set.nan.bf16.bf16")
BW_TERNARY(w, w, w, w, "slct.b32.s32")
BW_TERNARY(w, w, w, w, "slct.u32.f32")
BW_TERNARY(w, w, w, w, "slct.ftz.s32.f32")
BW_TERNARY(d, d, d, w, "slct.b64.s32")
BW_TERNARY(d, d, d, w, "slct.f64.f32")

}  // namespace bw::conformance::comparison
