/// \file
/// Work that is recorded once, on the device.
#include "common/host/executable_graph.hpp"

#include <utility>

#include "common/host/error.hpp"
#include "tests/chapters/06_hopper_fp8_gemm/hopper_testing.hpp"

namespace bw {
namespace {

class Graph : public HopperTest {
 protected:
  static constexpr int kByte = 0x5a;
  static constexpr uint32_t kWord = 0x5a5a5a5a;

  void SetUp() override {
    HopperTest::SetUp();
    if (!IsSkipped()) words_ = DeviceBuffer<uint32_t>(std::vector<uint32_t>(1, 0));
  }
  /// Enqueues what can be seen afterwards.
  void mark(cudaStream_t stream) {
    check_cuda(cudaMemsetAsync(words_.data(), kByte, words_.bytes(), stream), "mark");
  }
  uint32_t word() {
    check_cuda(cudaDeviceSynchronize(), "finish");
    return words_.download().front();
  }

  DeviceBuffer<uint32_t> words_;
};

TEST_F(Graph, IsRecordedNotExecutedAndLaunchedAsOftenAsOneLikes) {
  const Stream stream;
  const ExecutableGraph graph([&](cudaStream_t captured) {
    EXPECT_TRUE(is_being_captured(captured));
    mark(captured);
  });
  EXPECT_FALSE(is_being_captured(stream.get()));
  EXPECT_EQ(word(), 0u);
  for (const cudaStream_t where : {stream.get(), kDefaultStream}) {
    words_.upload({0});
    // Such a copy may return before its bytes have arrived, and `stream` waits for no other one.
    check_cuda(cudaDeviceSynchronize(), "finish the copy");
    graph.launch(where);
    EXPECT_EQ(word(), kWord);
  }
}

TEST_F(Graph, Moves) {
  ExecutableGraph first([&](cudaStream_t captured) { mark(captured); });
  ExecutableGraph second(std::move(first));
  ExecutableGraph third([](cudaStream_t) {});
  third = std::move(second);
  third.launch(kDefaultStream);
  EXPECT_EQ(word(), kWord);
}

TEST_F(Graph, AnErrorWhileItIsRecordedEndsTheCapture) {
  EXPECT_THROW(ExecutableGraph([&](cudaStream_t captured) {
                 mark(captured);
                 require(false, "no more");
               }),
               Error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(word(), 0u);
  // What may not be captured makes the capture invalid.
  EXPECT_THROW(ExecutableGraph([&](cudaStream_t captured) {
                 check_cuda(cudaStreamSynchronize(captured), "wait for a captured stream");
               }),
               Error);
  static_cast<void>(cudaGetLastError());
  const ExecutableGraph graph([&](cudaStream_t captured) { mark(captured); });
  graph.launch(kDefaultStream);
  EXPECT_EQ(word(), kWord);
}

}  // namespace
}  // namespace bw
