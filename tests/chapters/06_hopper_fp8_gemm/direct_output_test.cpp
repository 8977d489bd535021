/// \file
/// What stores of D may touch: the elements, and what fills a row up to 16 bytes.
#include "common/host/ceil_div.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

class Output : public HopperTest {};

/// D in the middle of poisoned memory.
class GuardedOutput {
  static constexpr int64_t kGuard = 4096;  // elements before and after D

 public:
  GuardedOutput(int64_t m, int64_t n, int64_t ldd)
      : m_(m), n_(n), ldd_(ldd), memory_(kGuard + m * ldd + kGuard) {
    memory_.fill_bytes(kPoisonByte);
  }

  Bf16* d() { return memory_.data() + kGuard; }

  /// Fails if anything was written that isn't D's, nor is between a row's last element and the
  /// next multiple of 16 bytes.
  void expect_rest_untouched() const {
    constexpr int64_t kElements = 16 / sizeof(Bf16);
    const int64_t may_end = ceil_div(n_, kElements) * kElements;
    const std::vector<Bf16> all = memory_.download();
    for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) {
      const int64_t place = i - kGuard;
      const bool is_in_rows = place >= 0 && place < m_ * ldd_;
      if (is_in_rows && place % ldd_ < may_end) continue;
      ASSERT_EQ(all[i].bits, kPoison) << "written: element " << place << " from the beginning of D";
    }
  }

 private:
  int64_t m_, n_, ldd_;
  DeviceBuffer<Bf16> memory_;
};

TEST_F(Output, WritesTheElementsAndNothingElse) {
  struct Shape {
    int64_t m, n, k, ldd;
  };
  const std::vector<Shape> on_gpu = {
      {1, 1, 16, 8},          {1, 3, 128, 40},         {77, 131, 272, 136},  {77, 131, 272, 192},
      {200, 261, 400, 304},   {64, 64, 1040, 72},      {65, 129, 2064, 256}, {129, 1021, 272, 1024},
      {300, 522, 4112, 1000}, {2000, 2058, 3600, 2064}};
  const std::vector<Shape> simulated = {{1, 1, 16, 8},       {1, 3, 128, 40},
                                        {77, 131, 272, 192}, {129, 261, 144, 304},
                                        {64, 64, 528, 72},   {5, 1021, 144, 1024}};
  size_t number_of_case = 0;
  for (const Shape& c : by_device(on_gpu, simulated)) {
    for (const float beta : {0.0f, 0.5f}) {
      SCOPED_TRACE(testing::Message() << c.m << " x " << c.n << " x " << c.k << ", ldd " << c.ldd
                                      << ", beta " << beta);
      const BlockwiseProblem problem =
          make_blockwise_problem(c.m, c.n, c.k, beta, /*seed=*/c.n, Fill::kNormal);
      const DeviceProblem on_device(problem);
      const DeviceBuffer<Bf16> residual(c.m * c.ldd);  // a C of zeros
      check_cuda(cudaMemset(const_cast<Bf16*>(residual.data()), 0, residual.bytes()), "clear C");
      BlockwiseFp8GemmArguments arguments = on_device.arguments();
      arguments.c = residual.data();
      arguments.ldc = arguments.ldd = c.ldd;
      const DeviceReference reference = float64_reference(arguments);
      for_configs_of_case(number_of_case++, [&](const hopper::GemmKernel& kernel) {
        GuardedOutput output(c.m, c.n, c.ldd);
        arguments.d = output.d();
        hopper::blockwise_fp8_gemm(arguments, kernel, kDefaultStream);
        expect_verified_or_modelled(arguments, kernel, reference);
        output.expect_rest_untouched();
      });
    }
  }
}

}  // namespace
}  // namespace bw
