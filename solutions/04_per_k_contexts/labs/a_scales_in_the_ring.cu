/// \file
/// Lab: the A-scales travel with A and B. An input stage now has two readers, the tensor core and
/// the epilogue, and each says when it is done: five arrivals instead of one. Both rings turn once
/// a K block.
///
/// New compared with scales that threads load: EpilogueKContext, and `arrive_input`.

#include "solutions/04_per_k_contexts/labs/lab_roles.cuh"

namespace bw {

/// Everything is released at the end of the K block's scope, or as late as that.
struct ScalesFromTheRing {
  template <int columns, class Stage>
  static __device__ __forceinline__ void promote(float (&sum)[columns], Stage& stage,
                                                 const float* a_scales,
                                                 const BScalePair& b_scales) {
    const float scale = a_scales[threadIdx.x] * b_scales.first;
#pragma unroll
    for (int first = 0; first < columns; first += kPartColumns) {
      float part[kPartColumns];
      (stage.output_stage.tmem().tensor() + first).load_32x32b(part);
      TmemAddress::wait_load(part);
      add_scaled(sum, first, part, scale);
    }
    stage.arrive_input();  // the accumulator is released by the end of the scope
  }
};

}  // namespace bw

int main(int argc, char** argv) {
  using Roles = bw::LabRoles<bw::BlockwiseTileConfig<128>, bw::ScalesFromTheRing>;
  bw::LabOptions options;
  bw::CommandLine command_line("A-scales through the input ring, which two roles then release.");
  options.add_to(command_line);
  return bw::run_main(command_line, "lab_04_a_scales_in_the_ring", argc, argv, [&] {
    return bw::run_lab(bw::begin_lab(options, "4 accumulators"),
                       bw::lab_roles_kernel_of<Roles, 128>());
  });
}
