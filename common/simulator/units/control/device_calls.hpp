#pragma once
/// \file
/// The functions that device code may call without defining them: vprintf and __assertfail, as nvcc
/// emits them for printf() and assert() (CUDA C++ Programming Guide, "Formatted Output" and
/// "Assertion"). The call instruction itself belongs to the control family.

#include <cstdint>
#include <string>

#include "common/simulator/base/error.hpp"
#include "common/simulator/machine/execution.hpp"

namespace bw::sim {

class Binder;

/// Executes vprintf for one lane and appends the text to `text`.
///
/// Conversions are those of the Programming Guide: flags `#`, ` `, `0`, `+`, `-`, width and
/// precision
/// (`*` too), sizes h, hh, l, ll, j, z, t, types d i u o x X p e E f F g G a A c s %. `arguments`
/// points to values at their natural alignment: 4 bytes for int, 8 for long, pointers and double.
/// Returns the number of arguments parsed, -1 for a null format (as CUDA does).
/// Throws SimulationError{contract} for addresses that cannot be read and for conversions that do
/// not exist.
int32_t device_vprintf(Strand& strand, const Instruction& instruction, int lane, uint64_t format,
                       uint64_t arguments, std::string& text);

/// The operands of __assertfail: generic addresses of strings, a line number.
struct AssertionCall {
  uint64_t message = 0;   ///< address of the text
  uint64_t file = 0;      ///< address of the name
  uint32_t line = 0;      ///< line of the source
  uint64_t function = 0;  ///< address of the name
};

/// Executes __assertfail for one lane: throws SimulationError{trap} with CUDA's wording,
/// "file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `message` failed."
[[noreturn]] void device_assert_fail(Strand& strand, const Instruction& instruction, int lane,
                                     const AssertionCall& call);

/// Binds `call` of an external function, for the control family: vprintf prints to the cluster's
/// output in the order of execution (lanes ascending), __assertfail ends the kernel. Refuses every
/// other function by its name (malloc, free, device-side launches, ...).
void bind_device_call(Binder& binder);

}  // namespace bw::sim
