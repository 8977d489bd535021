#pragma once
/// \file
/// What a cluster finds in the L2 cache, and how long it waits for the chip's bandwidth.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>

#include "common/simulator/base/types.hpp"

namespace bw::sim {

class Demand;
class L2Launch;
struct L2ClusterState;

/// The unit that moves the bytes of an access, and the direction.
enum class L2Path : uint8_t {
  tma_load,     ///< a copy to shared memory
  tma_store,    ///< a copy from shared memory, reductions too
  thread_load,  ///< a load that the first-level cache does not serve
  thread_store  ///< a store or an atomic of threads
};
inline constexpr size_t kL2Paths = 4;  ///< how many there are

/// Whether an access writes.
constexpr bool is_write(L2Path path) {
  return path == L2Path::tma_store || path == L2Path::thread_store;
}

/// Bytes of accesses by path: those that were in the L2 cache, and those that were not.
struct L2Traffic {
  std::array<uint64_t, kL2Paths> hit_bytes{};   ///< by L2Path
  std::array<uint64_t, kL2Paths> miss_bytes{};  ///< likewise

  /// Of all paths.
  [[nodiscard]] uint64_t hits() const {
    return std::accumulate(hit_bytes.begin(), hit_bytes.end(), uint64_t{0});
  }
  /// Of all paths.
  [[nodiscard]] uint64_t misses() const {
    return std::accumulate(miss_bytes.begin(), miss_bytes.end(), uint64_t{0});
  }
};

/// What an access asks for.
struct L2Rows {
  uint64_t first = 0;        ///< address of the first byte
  uint64_t row_bytes = 0;    ///< of a row
  uint64_t pitch_bytes = 0;  ///< from one row to the next
  uint64_t rows = 1;
  /// Size of the block whose other lines a missing line brings along (tensor maps' L2 promotion);
  /// 0: none.
  uint32_t promotion_bytes = 0;
  /// When the copy engine has moved all earlier copies: it asks for the bytes then, if that is
  /// later than the copy's issue.
  Cycle engine_free_at = 0;

  /// Of all rows.
  [[nodiscard]] uint64_t bytes() const { return row_bytes * rows; }
};

/// What an access met.
struct L2Touch {
  uint64_t hit_bytes = 0;   ///< were in the L2 cache
  uint64_t miss_bytes = 0;  ///< came from the memory
  /// Delay of its last byte compared with an access that hits the cache on an otherwise idle chip.
  Cycle extra = 0;
  Cycle waited = 0;  ///< of that, for bandwidth that others use too
  Cycle queued = 0;  ///< of `extra`, for the cluster's earlier requests
};

/// The L2 cache as one cluster sees it. Until `begin` everything is there at once.
class L2View {
 public:
  L2View();
  ~L2View();
  L2View(const L2View&) = delete;
  L2View& operator=(const L2View&) = delete;

  /// For a cluster of a launch that starts in a slot of the machine; `demand` records what it takes
  /// of the chip's bandwidth.
  void begin(L2Launch& launch, Demand& demand, uint64_t cluster, uint64_t place, Cycle at);

  /// An access to `bytes` bytes of device memory. Times may go back a little.
  L2Touch touch(uint64_t address, uint64_t bytes, Cycle at, L2Path path) {
    return touch_rows({.first = address, .row_bytes = bytes, .pitch_bytes = bytes}, at, path);
  }
  /// Rows of a box. A copy to several CTAs counts once.
  L2Touch touch_rows(const L2Rows& rows, Cycle at, L2Path path);

  /// When this cluster has to pause, in a launch whose clusters pause. It has waited for the chip's
  /// bandwidth or memory both in a step and after it; further waits depend on what others did in
  /// that step. kNever if it need not pause.
  [[nodiscard]] Cycle pauses_at() const { return pauses_at_; }
  /// The end of that step, at the pause or before it.
  [[nodiscard]] Cycle pauses_after() const { return step_end_; }
  /// It resumes, after its pause or without one.
  void resume() {
    if (pauses_at_ == kNever) return;
    resumed_after_ = step_end_;
    step_end_ = pauses_at_ = kNever;
  }

  /// For the launch: what is known of the cluster. Null before `begin`.
  [[nodiscard]] L2ClusterState* state() { return state_.get(); }
  /// The cluster has ended: the launch takes what is known of it.
  [[nodiscard]] std::unique_ptr<L2ClusterState> end();

 private:
  std::unique_ptr<L2ClusterState> state_;
  Cycle step_end_ = kNever;  ///< of the step in which it has waited
  Cycle pauses_at_ = kNever;
  Cycle resumed_after_ = 0;
};

}  // namespace bw::sim
