/// \file
/// New: the tensor core scales. One K block, four MMAs, in three formats. Each MMA takes its scales
/// from tensor memory: an address names their columns, the instruction descriptor the byte of the
/// columns' words. Three mistakes run next to the right kernel.

#include "solutions/07_block_scaled_gemm/labs/one_block.cuh"

namespace bw {

/// The scales of 128 rows in the order of the plain matrix, row after row, in each atom: a mistake.
std::vector<uint8_t> row_after_row(const BlockScaledMatrix& matrix) {
  std::vector<uint8_t> bytes(scale_bytes(kLabTile, matrix.blocks));
  for (int64_t row = 0; row < kLabTile; ++row) {
    for (int64_t block = 0; block < matrix.blocks; ++block) {
      bytes[block / kScaleAtomBlocks * kScaleAtomBytes + row * kScaleAtomBlocks +
            block % kScaleAtomBlocks] = matrix.scales[row * matrix.blocks + block];
    }
  }
  return bytes;
}

template <BlockFormat format>
class ScaledMmaLab {
 public:
  /// The comparison with float64 of a run with a mistake.
  Comparison run(ScaleMistake mistake, bool in_atoms) {
    const auto laid_out = [&](const char* name, const BlockScaledMatrix& matrix) {
      return in_atoms ? lay_out_scales(name, matrix) : row_after_row(matrix);
    };
    const DeviceBuffer<uint8_t> a(problem_.a.values), b(problem_.b.values);
    const DeviceBuffer<uint8_t> a_scales(laid_out("A", problem_.a));
    const DeviceBuffer<uint8_t> b_scales(laid_out("B", problem_.b));
    DeviceBuffer<float> d = poisoned_floats(size_t{kLabTile} * kLabTile);
    run_one_block<format>(a, a_scales, b, b_scales, problem_.factor(), ToFloats{d.data()}, cycles_,
                          mistake);
    return compare_lab(problem_, d.download());
  }

  ExitStatus run_right() {
    const Comparison right = run({}, true);
    print_own_cycles(cycles_);
    return report(right, "D");
  }

 private:
  BlockScaledProblem problem_ = make_lab_problem(format);
  DeviceBuffer<uint64_t> cycles_{1};
};

/// What each MMA is told.
template <BlockFormat format>
void print_mmas() {
  constexpr int kScales = scales_per_mma(format);
  std::printf("mma      128 x 128 x %d, scale_vec::%dX; a K block is %d of them, %d atom%s\n",
              mma_k(format), kScales, kMmasPerKBlock, scale_atoms_per_k_block(format),
              scale_atoms_per_k_block(format) == 1 ? "" : "s");
  for (int mma = 0; mma < kMmasPerKBlock; ++mma) {
    const int id = scale_id_of_mma(format, mma);
    std::printf("mma %d    scales %2d to %2d: column +%2d, id %d, descriptor 0x%08x\n", mma,
                mma * kScales, mma * kScales + kScales - 1,
                scale_atom_of_mma(format, mma) * kScaleAtomColumns, id,
                make_block_scaled_instruction_descriptor<format, kLabTile, kLabTile, 1>(id));
  }
}

template <BlockFormat format>
ExitStatus run_format(bool other_scales) {
  using Layout = BlockScaledDescriptorLayout;
  constexpr uint32_t kOtherScales = 1u << Layout::kScaleTypeShift;
  constexpr uint32_t kE5m2 = 1u << Layout::kBFormatShift;
  print_mmas<format>();
  ScaledMmaLab<format> lab;
  show_wrong("every MMA takes the first one's scales", lab.run({.first_for_all = true}, true));
  show_wrong("scales laid out row after row", lab.run({}, false));
  if (format == BlockFormat::kMxfp8) {
    show_wrong("B read as e5m2", lab.run({.flipped = kE5m2}, true));
  }
  if (other_scales || format == BlockFormat::kNvfp4) {
    show_wrong("scales read as the other type", lab.run({.flipped = kOtherScales}, true));
  }
  return lab.run_right();
}

}  // namespace bw

int main(int argc, char** argv) {
  int format = 0;
  bool other_scales = false;
  bw::CommandLine command_line("Four block-scaled MMAs, right and with mistakes.");
  command_line.add("format", format, {"mxfp8", "mxfp4", "nvfp4"}, "of the elements and scales");
  command_line.add_flag("other-scales", other_scales, "with the scales' type flipped, too");
  return bw::run_main(command_line, "lab_07_one_scaled_mma", argc, argv, [&] {
    bw::require_blackwell();
    bw::print_machine();
    if (format == 0) return bw::run_format<bw::BlockFormat::kMxfp8>(other_scales);
    if (format == 1) return bw::run_format<bw::BlockFormat::kMxfp4>(other_scales);
    return bw::run_format<bw::BlockFormat::kNvfp4>(other_scales);
  });
}
