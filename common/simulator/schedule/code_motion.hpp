#pragma once
/// \file
/// What ptxas may not move an instruction across.

#include <cstdint>

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/schedule/scoreboards.hpp"

namespace bw::sim {

/// How an instruction is bound to its place, beyond the registers that it reads and writes.
struct Motion {
  /// It waits, orders memory or hands control on: what accesses memory, waits or acts together does
  /// not pass it in either direction, and arithmetic only where `lets_pass` says so.
  bool is_fixed = false;
  /// Fixed, but arithmetic passes it whose registers no MMA writes or reads on its own.
  bool lets_pass = false;
  /// The warp stands here for long: arithmetic that does not need what comes behind goes before.
  bool is_long_wait = false;
  /// Lanes act together: these keep their order among themselves.
  bool is_collective = false;
  bool uses_carry = false;  ///< reads or writes CC.CF
  uint8_t reads = 0;        ///< state spaces of memory that it may read
  uint8_t writes = 0;       ///< state spaces of memory that it may write
  /// An access whose address is its base register plus a constant: one of another place of the same
  /// base does not touch it.
  bool is_plain_access = false;
  /// Of a load: its destinations arrive when the memory answers.
  LoadedFrom loads_from = LoadedFrom::nothing;
};

/// Of an instruction that matched a row.
[[nodiscard]] Motion motion_of(const FormMatch& match);

}  // namespace bw::sim
