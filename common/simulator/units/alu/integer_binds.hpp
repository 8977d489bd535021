#pragma once
/// \file
/// Bind functions of the integer family, defined in integer_arithmetic.cpp, integer_carry.cpp and
/// integer_bits.cpp; integer_rows.cpp lists the forms.

#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::integer {

void bind_add(Binder& binder);
void bind_sub(Binder& binder);
void bind_mul_lo(Binder& binder);
void bind_mul_hi(Binder& binder);
void bind_mul_wide(Binder& binder);
void bind_mad_lo(Binder& binder);
void bind_mad_hi(Binder& binder);
void bind_mad_wide(Binder& binder);
void bind_mul24(Binder& binder);
void bind_mad24(Binder& binder);
void bind_sad(Binder& binder);
void bind_div(Binder& binder);
void bind_rem(Binder& binder);
void bind_abs(Binder& binder);
void bind_neg(Binder& binder);
void bind_min(Binder& binder);
void bind_max(Binder& binder);
void bind_dp4a(Binder& binder);
void bind_dp2a(Binder& binder);

void bind_carry_add(Binder& binder);
void bind_carry_sub(Binder& binder);
void bind_carry_mad(Binder& binder);

void bind_and(Binder& binder);
void bind_or(Binder& binder);
void bind_xor(Binder& binder);
void bind_not(Binder& binder);
void bind_cnot(Binder& binder);
void bind_lop3(Binder& binder);
void bind_lop3_predicate(Binder& binder);
void bind_shl(Binder& binder);
void bind_shr(Binder& binder);
void bind_shf(Binder& binder);
void bind_bfe(Binder& binder);
void bind_bfi(Binder& binder);
void bind_bfind(Binder& binder);
void bind_brev(Binder& binder);
void bind_clz(Binder& binder);
void bind_popc(Binder& binder);
void bind_fns(Binder& binder);
void bind_prmt(Binder& binder);
void bind_szext(Binder& binder);
void bind_bmsk(Binder& binder);

}  // namespace bw::sim::integer
