#pragma once
/// \file
/// What ptxas may not move an instruction across.

#include <cstdint>

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/schedule/scoreboards.hpp"

namespace bw::sim {

/// Constraints on moving an instruction, beyond the registers that it reads and writes.
struct Motion {
  /// It waits, orders memory or transfers control: memory accesses, waits and collective operations
  /// do not pass it in either direction, and arithmetic only where `lets_pass` says so.
  bool is_fixed = false;
  /// Fixed, except for arithmetic on registers that no MMA writes or reads on its own.
  bool lets_pass = false;
  /// The warp waits here for long: arithmetic independent of later code goes before it.
  bool is_long_wait = false;
  /// Lanes act together: these keep their order among themselves.
  bool is_collective = false;
  bool uses_carry = false;  ///< reads or writes CC.CF
  uint8_t reads = 0;        ///< state spaces of memory that it may read
  uint8_t writes = 0;       ///< state spaces of memory that it may write
  /// An access whose address is its base register plus a constant: another offset from the same
  /// base does not touch it.
  bool is_plain_access = false;
  /// Of a load: its destinations arrive when the memory answers.
  LoadSource loads_from = LoadSource::nothing;
};

/// Of an instruction that matched a row.
[[nodiscard]] Motion motion_of(const FormMatch& match);

}  // namespace bw::sim
