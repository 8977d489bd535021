#pragma once
/// \file
/// Random kernels: PTX that is legal by the opcode table's grammar and that the decoder takes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/simulation.hpp"

namespace bw::sim::fuzz {

/// An instruction form: an opcode and the kinds of its operands, as in "ld.shared.u32 R [R]". R, H,
/// D and Q are registers of 32, 16, 64 and 128 bits, P a predicate, I an integer, F a float, N a
/// variable in shared memory, S a special register, _ no destination; `[ ]` an address, `{R*4}` a
/// vector.
using Shape = std::string_view;

/// The forms that kernels are made of: examples of the opcode table's rows.
[[nodiscard]] const std::vector<Shape>& shapes();

/// Whether the decoder takes an instruction of such a kernel. Remembers what it was asked.
[[nodiscard]] bool decodes(const std::string& instruction);

/// One instruction of a form, its operands chosen; not yet known to decode.
[[nodiscard]] std::string instruction_of(Shape shape, Choices& choices);

/// The text of a kernel of one instruction; `before` and `after` are statements. The registers of
/// addresses hold the same values as in a random_kernel().
[[nodiscard]] std::string one_instruction_kernel(const std::string& before,
                                                 const std::string& instruction,
                                                 const std::string& after);

/// A kernel of some instructions, branches and loops. Threads have addresses of shared memory, of
/// four mbarriers, of Tensor Memory and of global memory in their registers.
[[nodiscard]] Task random_kernel(Choices& choices);

}  // namespace bw::sim::fuzz
