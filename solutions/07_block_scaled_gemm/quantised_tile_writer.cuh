#pragma once
/// \file
/// The way of a finished tile to global memory as codes and scales, for the next GEMM.

#include <cstdint>

#include "common/device/fence.cuh"
#include "common/device/scale_atom.cuh"
#include "solutions/05_blockwise_fp8_gemm/output_tile_writer.cuh"
#include "solutions/07_block_scaled_gemm/block_quantiser.cuh"
#include "solutions/07_block_scaled_gemm/block_scaled_cta.cuh"

namespace bw {

/// Writes tiles of D = accumulator + beta · C in a block-scaled format. All epilogue threads use it
/// together, each for the columns of its row; a block of columns is in one thread. Codes and scales
/// go straight to global memory: they are a half or a quarter of what bf16 takes.
template <class Config>
class QuantisedTileWriter : OutputTileWriter<Config> {
  using Base = OutputTileWriter<Config>;
  using Accumulator = typename Config::Accumulator;
  using Layout = typename Accumulator::Layout;
  using Slice = typename Config::Slice;
  static_assert(Accumulator::kColumns % 32 == 0, "no block of columns is divided between threads");

 public:
  /// For one thread of the epilogue.
  __device__ __forceinline__ explicit QuantisedTileWriter(const BlockScaledCta<Config>& cta)
      : Base(cta), cta_(cta) {}

  /// Writes the CTA's tile whose first element is (`row`, `column`). Adds beta · C to `accumulator`
  /// before, and takes the slices of C as OutputTileWriter does.
  template <BlockFormat format>
  __device__ __forceinline__ void write(Accumulator& accumulator, int32_t row, int32_t column,
                                        typename Config::EpiLoad& epi_load) {
    if (cta_.args.has_residual) add_c(accumulator, epi_load);
    using Quantiser = BlockQuantiser<format>;
    const Quantiser quantiser(cta_.scaled.quantised.inverse_factor);
    const uint32_t own_row = row + Layout::row();
    const uint32_t first_block = (column + Layout::first_column()) / Quantiser::kBlock;
#pragma unroll
    for (int block = 0; block < Accumulator::kColumns / Quantiser::kBlock; ++block) {
      float values[Quantiser::kBlock];
#pragma unroll
      for (int i = 0; i < Quantiser::kBlock; ++i) {
        values[i] = accumulator[block * Quantiser::kBlock + i];
      }
      uint32_t words[Quantiser::kWords];
      const uint32_t scale = quantiser.quantise(values, words);
      store<format>(own_row, first_block + block, words, scale);
    }
    // Lanes whose rows D doesn't have stored less, and the next tile's loads are .aligned.
    __syncwarp();
  }

 private:
  /// accumulator += beta · C, slice by slice.
  __device__ __forceinline__ void add_c(Accumulator& accumulator,
                                        typename Config::EpiLoad& epi_load) const {
    constexpr int kGroup = Base::kGroup;
#pragma unroll
    for (int slice = 0; slice < Slice::kPerTile; ++slice) {
      auto c_stage = epi_load.consume();
#pragma unroll
      for (int group = 0; group < Slice::kColumns / kGroup; ++group) {
        const int first = slice * Slice::kColumns + group * kGroup;
        float values[kGroup];
#pragma unroll
        for (int i = 0; i < kGroup; ++i) values[i] = accumulator[first + i];
        this->add_residual(values, cta_.shared.c_slices[c_stage.index()], group);
#pragma unroll
        for (int i = 0; i < kGroup; ++i) accumulator[first + i] = values[i];
      }
      ptx::fence_proxy_async_shared();  // C was read, TMA will overwrite it
    }
  }

  /// Stores a block of `row`, if D has it. Scales of rows that only the last atom has are stored
  /// too, and zeros follow the last scale of a row to the end of its atom: the next GEMM reads
  /// whole atoms, and what nothing has written could be NaN.
  template <BlockFormat format>
  __device__ __forceinline__ void store(uint32_t row, uint32_t block,
                                        const uint32_t (&words)[BlockQuantiser<format>::kWords],
                                        uint32_t scale) const {
    const QuantisedOutputArguments& out = cta_.scaled.quantised;
    if (block >= out.blocks || row / kScaleAtomRows >= out.atoms_along_rows) return;
    out.scales[scale_offset(row, block, out.atoms_along_k)] = scale;
    if (block + 1 == out.blocks) {
      for (uint32_t padding = block + 1; padding % kScaleAtomBlocks != 0; ++padding) {
        out.scales[scale_offset(row, padding, out.atoms_along_k)] = 0;
      }
    }
    if (row >= out.rows) return;
    constexpr int kBlockBytes = sizeof words;
    uint8_t* const codes = out.values + row * out.stride + block * kBlockBytes;
    if constexpr (kBlockBytes == sizeof(uint2)) {
      *reinterpret_cast<uint2*>(codes) = make_uint2(words[0], words[1]);
    } else {
#pragma unroll
      for (int i = 0; i < BlockQuantiser<format>::kWords; i += 4) {
        *reinterpret_cast<uint4*>(codes + i * sizeof(uint32_t)) =
            make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
      }
    }
  }

  const BlockScaledCta<Config>& cta_;
};

}  // namespace bw
