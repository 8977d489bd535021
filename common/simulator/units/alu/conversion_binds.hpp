#pragma once
/// \file
/// Bind functions of the conversion family: move.cpp, convert_scalar.cpp, convert_packed.cpp,
/// convert_address.cpp; conversion_rows.cpp lists the forms.

#include "common/simulator/machine/opcode_table.hpp"

namespace bw::sim::conversion {

void bind_mov(Binder& binder);
void bind_mov_predicate(Binder& binder);

void bind_cvt(Binder& binder);
void bind_cvt_tf32(Binder& binder);
void bind_cvt_pack(Binder& binder);

void bind_cvt_pair(Binder& binder);
void bind_cvt_unpack(Binder& binder);
void bind_cvt_repack(Binder& binder);
void bind_cvt_to_scale(Binder& binder);
void bind_cvt_from_scale(Binder& binder);

void bind_cvta(Binder& binder);
void bind_cvta_to(Binder& binder);
void bind_isspacep(Binder& binder);

}  // namespace bw::sim::conversion
