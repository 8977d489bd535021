#pragma once
/// \file
/// What the simulator takes from machine code that accompanies the PTX: how many registers ptxas
/// has given to each kernel.
///
/// Layout (ELF as System V's ABI has it; the section .nv.info as observed in the output of nvcc
/// 13.0; little endian): .nv.info is a list of attributes {u8 format, u8 attribute, u16 bytes or
/// value}, which that many bytes follow where the format is 4. Attribute 0x2f has two u32: the
/// number of a symbol and its registers.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace bw::sim::cudart {

/// Registers of a thread by a kernel's name, as a cubin states them; nothing where it states none
/// or is damaged, since the simulator can do without.
[[nodiscard]] std::map<std::string, uint32_t, std::less<>> registers_of_kernels(
    std::span<const std::byte> cubin);

}  // namespace bw::sim::cudart
