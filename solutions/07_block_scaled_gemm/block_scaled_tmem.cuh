#pragma once
/// \file
/// The 512 columns of tensor memory: accumulators first, scales at the end.

#include <cstdint>

#include "common/device/block_format.cuh"
#include "common/device/min_max.cuh"
#include "common/device/scale_atom.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_traits.hpp"

namespace bw {

/// Columns of one CTA:
///
///     | accumulator 0 | accumulator 1 | … | set 0: SFA, SFB | set 1 | … | 512
///
/// A set has the scales of a K block: for each atom along K four columns of A's, then four for
/// every 128 rows of B. tcgen05.cp and a later tcgen05.mma of one thread are ordered, an MMA and a
/// later copy are not (PTX ISA, "tcgen05 memory consistency model": pipelined instructions). So a
/// set is written again only when the MMAs that read it have been committed, and there are at least
/// two.
///
/// Overlapping accumulators: the second one begins where it ends at the scales, and shares
/// `kSharedColumns` with the first. One stage of the ring then is both, in turn.
template <BlockScaledTraits traits, int b_scale_parts, int num_input_stages>
struct BlockScaledTmem {
  static constexpr int kColumns = 512;                                     ///< of a CTA
  static constexpr int kAtoms = scale_atoms_per_k_block(traits.format);    ///< along K
  static constexpr int kBAtomColumns = b_scale_parts * kScaleAtomColumns;  ///< of an atom along K
  static constexpr int kAScaleColumns = kAtoms * kScaleAtomColumns;        ///< SFA of a set
  static constexpr int kBScaleColumns = kAtoms * kBAtomColumns;            ///< SFB of a set
  static constexpr int kSetColumns = kAScaleColumns + kBScaleColumns;      ///< of a set
  static constexpr int kAccumulatorColumns = traits.gemm.mma_n;            ///< fp32, 128 lanes
  static constexpr int kLeastSets = 2;  ///< one is read while the other is written
  /// Whether there are two accumulators that share columns.
  static constexpr bool kOverlaps = traits.accumulators == AccumulatorPlan::kOverlapping;

  /// Accumulators of the ring: as many as leave room for two sets, at most four.
  static constexpr int kNumAccumulators =
      kOverlaps ? 1 : min_of(4, (kColumns - kLeastSets * kSetColumns) / kAccumulatorColumns);
  static_assert(kNumAccumulators >= 1, "an accumulator and two sets of scales fit");
  /// Sets: with overlapping accumulators no more than needed, else one for each input stage if they
  /// fit.
  static constexpr int kNumSets =
      kOverlaps ? kLeastSets
                : min_of(num_input_stages,
                         (kColumns - kNumAccumulators * kAccumulatorColumns) / kSetColumns);
  static constexpr int kScalesBegin = kColumns - kNumSets * kSetColumns;  ///< first column of set 0
  /// First column of the second of two overlapping accumulators.
  static constexpr int kSecondAccumulator = kOverlaps ? kScalesBegin - kAccumulatorColumns : 0;
  /// Columns that overlapping accumulators share.
  static constexpr int kSharedColumns = kOverlaps ? kAccumulatorColumns - kSecondAccumulator : 0;
  static_assert(!kOverlaps || (kSecondAccumulator > 0 && kSharedColumns > 0),
                "accumulators of this width fit side by side, or not at all: use a ring");

  /// Where the accumulator of a CTA's `tile`-th tile begins, from the stage's own column on.
  static constexpr __device__ uint32_t accumulator_offset(uint32_t tile) {
    return kOverlaps && tile % 2 == 1 ? kSecondAccumulator : 0;
  }
  /// SFA of `set`, from the allocation's first column on.
  static constexpr __device__ uint32_t sfa(uint32_t set) {
    return kScalesBegin + set * kSetColumns;
  }
  /// SFB of `set`.
  static constexpr __device__ uint32_t sfb(uint32_t set) { return sfa(set) + kAScaleColumns; }
};

}  // namespace bw
