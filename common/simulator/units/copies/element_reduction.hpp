#pragma once
/// \file
/// Element-wise reductions of the bulk and tensor copies (PTX ISA, "cp.reduce.async.bulk").

#include <cstddef>
#include <cstdint>

namespace bw::sim {

/// What is done with both values.
enum class Reduction : uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor };

/// Element types of a reduction; b32 and b64 are u32 and u64.
enum class ReductionType : uint8_t { u32, s32, u64, s64, f16, bf16, f32, f32_ftz, f64, none };

/// "add", "and", ...
[[nodiscard]] const char* reduction_name(Reduction reduction) noexcept;

/// Whether the ISA's table for reductions in global memory has this combination.
[[nodiscard]] bool reduction_in_global(Reduction reduction, ReductionType type) noexcept;
/// The same for reductions in the shared memory of another CTA.
[[nodiscard]] bool reduction_in_shared(Reduction reduction, ReductionType type) noexcept;

/// destination[i] = destination[i] op source[i] for `size_bytes` bytes of elements. `inc` and `dec`
/// wrap at the source value as atom.inc and atom.dec do; floating point rounds to nearest even, a
/// NaN result is the canonical one, min and max prefer the number when one side is NaN. f32_ftz
/// flushes subnormal inputs and results to zero with their sign.
void reduce_elements(Reduction reduction, ReductionType type, std::byte* destination,
                     const std::byte* source, size_t size_bytes);

}  // namespace bw::sim
