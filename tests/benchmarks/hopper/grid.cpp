#include "tests/benchmarks/hopper/grid.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/host/ceil_div.hpp"
#include "common/host/executable_graph.hpp"
#include "solutions/05_blockwise_fp8_gemm/device_problem.hpp"
#include "tests/benchmarks/hopper/entrants.hpp"

namespace bw {
namespace {

/// A problem with the first `rows` rows of A, C and D.
class FirstRows {
 public:
  FirstRows(const BlockwiseFp8GemmArguments& all, int64_t rows)
      : a_scales_(ceil_div(rows, kScalesPerVector) * kScalesPerVector *
                  ceil_div(all.k, kScaleBlock)),
        arguments_(all) {
    // cuBLASLt wants the A-scales dense.
    arguments_.m = rows;
    arguments_.lda_scales = ceil_div(rows, kScalesPerVector) * kScalesPerVector;
    arguments_.a_scales = a_scales_.data();
    check_cuda(cudaMemcpy2D(a_scales_.data(), arguments_.lda_scales * sizeof(float), all.a_scales,
                            all.lda_scales * sizeof(float), rows * sizeof(float),
                            ceil_div(all.k, kScaleBlock), cudaMemcpyDeviceToDevice),
               "copy the A-scales of ", rows, " rows");
  }
  const BlockwiseFp8GemmArguments& arguments() const { return arguments_; }

 private:
  static constexpr int64_t kScalesPerVector = 4;
  DeviceBuffer<float> a_scales_;
  BlockwiseFp8GemmArguments arguments_;
};

std::vector<WarmAndCold> time_warm_and_cold(const std::vector<Launch>& contestants,
                                            const ContestOptions& options, CacheFlush& flush) {
  const auto warm = time_queued_launches(contestants, options.warm_ups, options.repeats);
  const auto cold = time_queued_launches(contestants, options.warm_ups, options.repeats, &flush);
  std::vector<WarmAndCold> times;
  for (size_t i = 0; i < warm.size(); ++i) times.push_back({warm[i].median(), cold[i].median()});
  return times;
}

GridResult measure_shape(const BlockwiseFp8GemmArguments& gemm, Bf16* peer_d,
                         const ContestOptions& options, CacheFlush& flush) {
  GridResult result;
  result.shape = {gemm.m, gemm.n, gemm.k};
  const CublasLtMatmul peer(gemm, peer_d, options.algorithms);
  const std::vector<hopper::GemmPlan> plans = make_plans(gemm, options.config);
  std::optional<PeerAlgorithm> fastest;
  {
    const DeviceReference reference = float64_reference(gemm);
    for (const hopper::GemmPlan& plan : plans) {
      verify_plan(plan, result.shape, gemm, reference);
    }
    fastest = fastest_queued(peer, usable_algorithms(peer, result.shape, peer_d, gemm, reference));
  }
  std::vector<Launch> contestants;
  contestants.reserve(plans.size() + 1);
  for (const hopper::GemmPlan& plan : plans) contestants.push_back(our_launch(plan));
  std::optional<ExecutableGraph> peer_graph;
  if (fastest) {
    peer_graph.emplace([&](cudaStream_t stream) { peer.run(fastest->place, stream); });
    contestants.push_back([&] { peer_graph->launch(nullptr); });
  }
  const std::vector<WarmAndCold> times = time_warm_and_cold(contestants, options, flush);
  if (fastest) result.cublaslt = times.back();
  size_t best = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    result.configs.emplace_back(plans[i].choice().name(), times[i]);
    if (times[i].warm < times[best].warm) best = i;
  }
  result.config = plans[best].choice().name();
  result.ours = times[best];
  return result;
}

}  // namespace

const std::vector<GridMatrix>& standard_grid() {
  static const std::vector<int64_t> rows = {1,   4,   8,   16,   32,   64,  128,
                                            192, 256, 512, 1024, 2048, 4096};
  static const std::vector<GridMatrix> grid = {{2112, 7168, rows}, {24576, 1536, rows},
                                               {32768, 512, rows}, {7168, 16384, rows},
                                               {4096, 7168, rows}, {7168, 2048, rows}};
  return grid;
}

std::vector<GridMatrix> grid_of(const std::vector<Shape>& shapes) {
  std::vector<GridMatrix> grid;
  for (const Shape& shape : shapes) {
    auto place = std::find_if(grid.begin(), grid.end(), [&](const GridMatrix& matrix) {
      return matrix.n == shape.n && matrix.k == shape.k;
    });
    if (place == grid.end()) place = grid.insert(place, GridMatrix{shape.n, shape.k, {}});
    place->rows.push_back(shape.m);
  }
  return grid;
}

void measure_matrix(const GridMatrix& matrix, const ContestOptions& options,
                    const std::function<void(const GridResult&)>& report) {
  const int64_t most_rows = *std::max_element(matrix.rows.begin(), matrix.rows.end());
  const DeviceProblem all(make_blockwise_problem(most_rows, matrix.n, matrix.k,
                                                 static_cast<float>(options.beta), options.seed,
                                                 Fill::kNormal));
  DeviceBuffer<Bf16> peer_d(most_rows * matrix.n);
  CacheFlush flush;
  for (const int64_t rows : matrix.rows) {
    const FirstRows problem(all.arguments(), rows);
    report(measure_shape(problem.arguments(), peer_d.data(), options, flush));
  }
}

}  // namespace bw
