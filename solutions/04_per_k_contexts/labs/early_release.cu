/// \file
/// Lab: release early. The A-scale is in a register after one load from shared memory, and the
/// accumulator is in registers after the last load from tensor memory: from there on the other
/// roles needn't wait. Released at the end of the K block, everything is still right, and slower.
///
/// New compared with the A-scales in the ring: only the positions of two arrivals.

#include "solutions/04_per_k_contexts/labs/lab_roles.cuh"

namespace bw {

template <bool early>
struct Release {
  template <int columns, class Stage>
  static __device__ __forceinline__ void promote(float (&sum)[columns], Stage& stage,
                                                 const float* a_scales,
                                                 const BScalePair& b_scales) {
    const float scale = a_scales[threadIdx.x] * b_scales.first;
    if constexpr (early) stage.arrive_input();
#pragma unroll
    for (int first = 0; first < columns; first += kPartColumns) {
      float part[kPartColumns];
      (stage.output_stage.tmem().tensor() + first).load_32x32b(part);
      TmemAddress::wait_load(part);
      if (early && first + kPartColumns == columns) stage.release_accumulator();
      add_scaled(sum, first, part, scale);
    }
    if constexpr (!early) stage.arrive_input();  // and the scope's end releases the accumulator
  }
};

template <class Config, bool early>
constexpr BlockwiseTileKernel release_kernel() {
  return lab_roles_kernel_of<LabRoles<Config, Release<early>>, 128>();
}

}  // namespace bw

int main(int argc, char** argv) {
  using OneAccumulator = bw::BlockwiseTileConfig<128, 1>;
  using FourAccumulators = bw::BlockwiseTileConfig<128, 4>;
  constexpr bw::BlockwiseTileKernel kKernels[][2] = {
      {bw::release_kernel<OneAccumulator, false>(), bw::release_kernel<OneAccumulator, true>()},
      {bw::release_kernel<FourAccumulators, false>(),
       bw::release_kernel<FourAccumulators, true>()}};
  const std::vector<const char*> kReleases = {"late", "early"}, kAccumulators = {"1", "4"};
  int release = 1, accumulators = 1;  // indices
  bw::LabOptions options;
  bw::CommandLine command_line("Late or early release of the A-scales and of the accumulator.");
  options.add_to(command_line);
  command_line.add("release", release, kReleases, "after the arithmetic, or before it");
  command_line.add("accumulators", accumulators, kAccumulators, "stages of the accumulator ring");
  return bw::run_main(command_line, "lab_04_early_release", argc, argv, [&] {
    return bw::run_lab(bw::begin_lab(options, kReleases[release], " release, accumulators ",
                                     kAccumulators[accumulators]),
                       kKernels[accumulators][release]);
  });
}
