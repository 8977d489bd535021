#pragma once
/// \file
/// Bind functions of the float family, defined in float_arithmetic.cpp, float_functions.cpp and
/// float_minmax.cpp; float_rows.cpp lists the forms.

#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::floating {

void bind_add(Binder& binder);
void bind_sub(Binder& binder);
void bind_mul(Binder& binder);
void bind_fma(Binder& binder);
void bind_div(Binder& binder);
void bind_rcp(Binder& binder);
void bind_sqrt(Binder& binder);
void bind_add_mixed(Binder& binder);
void bind_sub_mixed(Binder& binder);
void bind_fma_mixed(Binder& binder);

void bind_div_approximate(Binder& binder);
void bind_div_full(Binder& binder);
void bind_rcp_approximate(Binder& binder);
void bind_sqrt_approximate(Binder& binder);
void bind_rsqrt(Binder& binder);
void bind_ex2(Binder& binder);
void bind_lg2(Binder& binder);
void bind_sin(Binder& binder);
void bind_cos(Binder& binder);
void bind_tanh(Binder& binder);

void bind_abs(Binder& binder);
void bind_neg(Binder& binder);
void bind_min(Binder& binder);
void bind_max(Binder& binder);
void bind_copysign(Binder& binder);
void bind_testp(Binder& binder);

}  // namespace bw::sim::floating
