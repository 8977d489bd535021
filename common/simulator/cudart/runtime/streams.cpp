#include "common/simulator/cudart/runtime/streams.hpp"

#include <cuda_runtime_api.h>
#include <dirent.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/launch_file.hpp"
#include "common/simulator/cudart/runtime/reporting.hpp"
#include "common/simulator/diagnosis/explain.hpp"
#include "common/simulator/machine/grid.hpp"

namespace bw::sim::cudart {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at a kernel that waits: the host's own threads get the lock.
constexpr std::chrono::microseconds kPause{50};
// How long a program that waits for a kernel may have other threads that could still write what the
// kernel waits for.
constexpr std::chrono::seconds kHostPatience{10};

/// Pending work, in addition to the streams' own queues. Guarded by the runtime's mutex.
struct Work {
  uint64_t next_order = 1;
  size_t pending = 0;  ///< operations in all streams
  bool in_background = false;
  bool reports_at_exit = false;
  cudaError_t late_error = cudaSuccess;  ///< of an operation whose call had returned before
};

Work& work() {
  static auto* const all = new Work;
  return *all;
}

bool is_legacy(const CUstream_st& stream) { return &stream == find_stream(nullptr); }

/// Whether operations of one stream come after those of the other that were submitted before: the
/// legacy default stream and the streams that block with it.
bool are_ordered(const CUstream_st& a, const CUstream_st& b) {
  const auto blocks = [](const CUstream_st& stream) {
    return (stream.flags & cudaStreamNonBlocking) == 0;
  };
  return (is_legacy(a) && blocks(b)) || (is_legacy(b) && blocks(a));
}

bool may_run(const CUstream_st& stream, uint64_t order) {
  if (work().pending == 0) return true;
  bool may = stream.pending.empty() || stream.pending.front().order >= order;
  for_each_stream([&](CUstream_st& other) {
    if (&other != &stream && are_ordered(stream, other) && !other.pending.empty() &&
        other.pending.front().order < order)
      may = false;
  });
  return may;
}

/// Threads of the program other than the calling one and the one that works in the background.
size_t other_threads() {
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return 1;
  size_t count = 0;
  while (const dirent* const entry = readdir(tasks))
    if (entry->d_name[0] != '.') ++count;
  closedir(tasks);
  const size_t own = work().in_background ? 2 : 1;
  return count > own ? count - own : 0;
}

const std::shared_ptr<Grid>* waiting_launch(const CUstream_st& stream) {
  if (stream.pending.empty()) return nullptr;
  const auto* const kernel = std::get_if<KernelOperation>(&stream.pending.front().operation);
  return kernel == nullptr || kernel->waiting == nullptr ? nullptr : &kernel->waiting;
}

/// Whether an operation must wait because it would launch a kernel while another one waits, and
/// launches are written to a file: the file holds one launch after the other.
bool is_held_back(Runtime& runtime, const Operation& operation) {
  if (!runtime.records_launches() || work().pending == 0) return false;
  const auto* const kernel = std::get_if<KernelOperation>(&operation);
  if (kernel == nullptr || kernel->waiting != nullptr) return false;
  bool one_waits = false;
  for_each_stream(
      [&](CUstream_st& stream) { one_waits = one_waits || waiting_launch(stream) != nullptr; });
  return one_waits;
}

/// Ends the wait for kernels that can't make progress any more: throws the report of the first.
void report_livelock_if_stuck(Runtime& runtime, Clock::time_point last_progress) {
  std::shared_ptr<Grid> first;
  uint64_t first_order = 0;
  bool hopeless = true;
  for_each_stream([&](CUstream_st& stream) {
    if (!stream.pending.empty() && stream.pending.front().running) hopeless = false;
    const std::shared_ptr<Grid>* const grid = waiting_launch(stream);
    if (grid == nullptr) return;
    if ((*grid)->idle_cycles() <= runtime.device().settings().livelock_cycles) hopeless = false;
    if (first == nullptr || stream.pending.front().order < first_order) {
      first = *grid;
      first_order = stream.pending.front().order;
    }
  });
  if (!hopeless) return;
  if (other_threads() != 0 && Clock::now() - last_progress < kHostPatience) return;
  drop_pending();
  if (first == nullptr) return;  // only waits are left, for events that are never recorded
  LaunchResult result = first->report_livelock();
  result.stuck = first;
  show_warnings(runtime.device().warnings());
  explained(std::move(result));
}

void in_background() {
  Runtime& runtime = Runtime::instance();
  while (true) {
    std::this_thread::sleep_for(kPause);
    const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
    if (work().pending == 0) {
      work().in_background = false;
      return;
    }
    try {
      make_progress(runtime);
    } catch (const SimulationError& error) {
      work().in_background = false;
      drop_pending();
      on_fault(error.report());
      return;
    }
  }
}

/// A program that ends while a kernel waits would hide why.
void finish_at_exit() { cudaDeviceSynchronize(); }

void keep_pending(CUstream_st& stream, uint64_t order, Operation operation) {
  stream.pending.push_back({order, std::move(operation)});
  ++work().pending;
  if (!work().reports_at_exit) {
    work().reports_at_exit = true;
    std::atexit(finish_at_exit);
  }
  if (!work().in_background) {
    work().in_background = true;
    std::thread(in_background).detach();
  }
}

}  // namespace

cudaError_t submit(Runtime& runtime, const char* api, cudaStream_t handle, Operation operation) {
  CUstream_st* const stream = find_stream(handle);
  if (stream == nullptr) {
    explain(FaultCode::call_dead_handle, api,
            "the stream does not exist: it was destroyed or never created");
    return cudaErrorInvalidResourceHandle;
  }
  if (stream->capture != nullptr) return capture_operation(api, *stream, std::move(operation));
  if (const cudaError_t error = refuse_legacy_in_capture(api, *stream); error != cudaSuccess)
    return error;
  if (auto* const kernel = std::get_if<KernelOperation>(&operation)) kernel->stream = stream;
  note_submission(runtime, *stream, operation);
  const uint64_t order = work().next_order++;
  if (may_run(*stream, order) && !is_held_back(runtime, operation)) {
    const Outcome outcome = perform(runtime, operation);
    if (!outcome.waits) return outcome.error;
  } else if (auto* const copying = std::get_if<CopyOperation>(&operation)) {
    copying->stage(runtime);
  }
  keep_pending(*stream, order, std::move(operation));
  return cudaSuccess;
}

bool is_done(const CUstream_st& stream) { return stream.pending.empty(); }

bool all_done() { return work().pending == 0; }

bool make_progress(Runtime& runtime) {
  // Those whose turn it is, the oldest first.
  std::vector<std::pair<uint64_t, CUstream_st*>> turns;
  for_each_stream([&](CUstream_st& stream) {
    if (stream.pending.empty()) return;
    const uint64_t order = stream.pending.front().order;
    if (may_run(stream, order)) turns.emplace_back(order, &stream);
  });
  std::sort(turns.begin(), turns.end());
  bool progress = false;
  for (const auto& [order, stream] : turns) {
    // A host function that ran in between, without the lock, may have changed the queues.
    const auto is_first = [&, wanted = order, queue = stream] {
      return !queue->pending.empty() && queue->pending.front().order == wanted;
    };
    if (!is_first() || stream->pending.front().running) continue;
    if (is_held_back(runtime, stream->pending.front().operation)) continue;
    stream->pending.front().running = true;
    Operation operation = std::exchange(stream->pending.front().operation, EmptyOperation{});
    const Outcome outcome = perform(runtime, operation);
    if (!is_first()) continue;  // everything was dropped
    stream->pending.front().running = false;
    if (outcome.waits) {
      stream->pending.front().operation = std::move(operation);
      continue;
    }
    if (outcome.error != cudaSuccess) work().late_error = outcome.error;
    stream->pending.pop_front();
    --work().pending;
    progress = true;
  }
  return progress;
}

cudaError_t wait_until(Runtime& runtime, const std::function<bool()>& done) {
  Clock::time_point last_progress = Clock::now();
  while (!done()) {
    if (make_progress(runtime)) {
      last_progress = Clock::now();
    } else if (!done()) {
      report_livelock_if_stuck(runtime, last_progress);
      runtime.mutex().unlock();
      std::this_thread::sleep_for(kPause);
      runtime.mutex().lock();
    }
    if (runtime.sticky_error != cudaSuccess) return runtime.sticky_error;
  }
  runtime.device().become_idle();
  if (LaunchFile* const file = LaunchFile::instance()) file->note_idle();
  return std::exchange(work().late_error, cudaSuccess);
}

void drop_pending() {
  for_each_stream([](CUstream_st& stream) { stream.pending.clear(); });
  work().pending = 0;
}

}  // namespace bw::sim::cudart
