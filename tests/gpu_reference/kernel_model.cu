#include "tests/gpu_reference/kernel_model.hpp"

#include "common/host/error.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_launch.hpp"

namespace bw {
namespace {

/// The parts in which the sum of a split piece is formed: its owner's, then its helpers'.
KParts parts_of_piece(const hopper::StreamKSchedule& schedule, uint32_t piece) {
  KParts parts;
  int64_t end = schedule.owned;
  schedule.for_each_helper(piece, [&](uint32_t helper) {
    schedule.for_each_split_part(helper, [&](const hopper::PiecePart& part) {
      if (part.piece != piece) return;
      require(part.first == end, "Helper ", helper, "'s part of piece ", piece,
              " begins at K block ", part.first, ", but the one before it ends at ", end, ".");
      require(parts.count() < KParts::kMost, "Piece ", piece, " is split into more than ",
              KParts::kMost, " parts: raise KParts::kMost.");
      parts.split_at(end);
      end = part.end;
    });
  });
  return parts;
}

}  // namespace

hopper::StreamKSchedule schedule_of(const BlockwiseFp8GemmArguments& gemm,
                                    const hopper::GemmKernel& kernel) {
  return hopper::prepare_gemm(gemm, kernel).arguments.stream_k.schedule;
}

DeviceBuffer<Bf16> model_of_kernel(const BlockwiseFp8GemmArguments& gemm,
                                   const hopper::GemmKernel& kernel) {
  const hopper::GemmTraits& traits = kernel.traits;
  const hopper::HopperGemmArguments arguments = hopper::prepare_gemm(gemm, kernel).arguments;
  const hopper::StreamKSchedule& schedule = arguments.stream_k.schedule;
  DeviceBuffer<Bf16> d = tensor_core_model(gemm, equal_k_parts(gemm.k, traits.split_k));
  for (uint32_t piece = schedule.whole; piece < schedule.whole + schedule.split; ++piece) {
    const WorkTile tile = arguments.raster.tile(piece);
    const OutputWindow window{int64_t{tile.m} * traits.cluster_rows(),
                              int64_t{tile.n} * traits.cluster_columns(), traits.cluster_rows(),
                              traits.cluster_columns()};
    overwrite_with_model(gemm, parts_of_piece(schedule, piece), window, d);
  }
  return d;
}

}  // namespace bw
