#pragma once
/// \file
/// What synchronisation objects carry for Tensor Memory in addition to a View: the order of tcgen05
/// operations has its own rules and fences (PTX ISA, "tcgen05 Memory Consistency Model").
///
/// Operations of one kind by one warp (of the tensor core: by one thread) form a stream; they are
/// numbered from 1 and complete in order. A clock says for each stream up to which number.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/simulator/machine/observer.hpp"

namespace bw::sim::races {

/// For each stream the last operation that counts; 0: none.
class TensorClock {
 public:
  /// Everything that either has.
  void merge(const TensorClock& other) {
    if (epochs_.size() < other.epochs_.size()) epochs_.resize(other.epochs_.size());
    for (size_t i = 0; i < other.epochs_.size(); ++i)
      epochs_[i] = std::max(epochs_[i], other.epochs_[i]);
  }
  /// Also the stream's operations up to `epoch`.
  void advance(uint32_t stream, uint32_t epoch) {
    if (epochs_.size() <= stream) epochs_.resize(stream + 1);
    epochs_[stream] = std::max(epochs_[stream], epoch);
  }
  /// Whether an operation is among them.
  [[nodiscard]] bool covers(uint32_t stream, uint32_t epoch) const {
    return stream < epochs_.size() && epochs_[stream] >= epoch;
  }

 private:
  std::vector<uint32_t> epochs_;
};

/// What a synchronisation object hands on.
struct TensorView {
  /// Complete operations, ordered as threads are: what counts where no tcgen05.fence is asked for.
  TensorClock plain;
  /// Complete operations that were followed by a tcgen05.fence::before_thread_sync (or by a commit,
  /// which implies one).
  TensorClock fenced;
  /// Operations of the tensor core that were issued before, complete or not.
  TensorClock issued;
  /// The same after a fence.
  TensorClock issued_fenced;

  /// Everything that either has.
  void merge(const TensorView& other) {
    plain.merge(other.plain);
    fenced.merge(other.fenced);
    issued.merge(other.issued);
    issued_fenced.merge(other.issued_fenced);
  }
};

/// The order of Tensor Memory that each warp holds. The detector queries it wherever threads
/// synchronise, whatever the order and scope of the instruction.
class TensorOrder {
 public:
  TensorOrder() = default;
  virtual ~TensorOrder() = default;
  TensorOrder(const TensorOrder&) = delete;
  TensorOrder& operator=(const TensorOrder&) = delete;

  /// What the lanes hand on when they arrive somewhere.
  [[nodiscard]] virtual const TensorView& released(const Origin& origin) = 0;
  /// What the arrival of a tcgen05.commit (GroupEvent::id) hands on; asked for once for each target
  /// of the commit. Good until the next call.
  [[nodiscard]] virtual const TensorView& committed(uint64_t operation_id) = 0;
  /// The lanes have waited for what `view` was handed to.
  virtual void acquired(const Origin& origin, const TensorView& view) = 0;
};

}  // namespace bw::sim::races
