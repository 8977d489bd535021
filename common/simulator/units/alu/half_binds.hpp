#pragma once
/// \file
/// Bind functions of the f16 and bf16 family, defined in half_arithmetic.cpp; half_rows.cpp lists
/// the forms.

#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::half {

void bind_add(Binder& binder);
void bind_sub(Binder& binder);
void bind_mul(Binder& binder);
void bind_fma(Binder& binder);
void bind_abs(Binder& binder);
void bind_neg(Binder& binder);
void bind_min(Binder& binder);
void bind_max(Binder& binder);
void bind_ex2(Binder& binder);
void bind_tanh(Binder& binder);

}  // namespace bw::sim::half
