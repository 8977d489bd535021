#pragma once
/// \file
/// Device time of work by events.

#include <cuda_runtime_api.h>

#include <vector>

#include "common/host/event_timer.hpp"
#include "common/host/executable_graph.hpp"
#include "common/host/program.hpp"
#include "common/host/stream.hpp"
#include "tests/hardware/timing/spans.hpp"

namespace bw::timing {

/// The median time of what `enqueue` puts into a stream, captured in a graph and launched on an
/// idle device, in microseconds.
template <class Enqueue>
double graph_microseconds(const Enqueue& enqueue) {
  const int launches = is_simulated() ? 1 : 15;
  const int warm_ups = is_simulated() ? 1 : 3;  // in the simulator the second is as all that follow
  const Stream stream;
  const ExecutableGraph graph(enqueue);
  EventTimer timer;
  std::vector<double> times;
  for (int i = 0; i < warm_ups + launches; ++i) {
    check_cuda(cudaStreamSynchronize(stream.get()), "wait until the device is idle");
    timer.start(stream.get());
    graph.launch(stream.get());
    const double microseconds = timer.stop(stream.get()) * 1e3;
    if (i >= warm_ups) times.push_back(microseconds);
  }
  return median(times);
}

}  // namespace bw::timing
