/// \file
/// Irregular graph kernels on a graph in compressed rows: who writes what depends on the data. Two
/// CTAs of two warps each, so that lanes, warps and CTAs meet.
#include <cstdint>
#include <random>

#include "tests/simulator/global_races/cases.hpp"

namespace bw::global_races {
namespace {

constexpr int kThreads = 64, kCtas = 2, kVertices = kThreads * kCtas, kDegree = 5;
constexpr int kWarps = kThreads / 32;

/// Neighbours of vertex v: nlist[nindex[v]] .. nlist[nindex[v + 1] - 1].
struct Graph {
  std::vector<int> nindex, nlist;
};

/// Up to kDegree neighbours each, small numbers more often than large ones.
Graph make_graph() {
  std::mt19937 random(5);
  Graph graph;
  for (int vertex = 0; vertex < kVertices; ++vertex) {
    graph.nindex.push_back(static_cast<int>(graph.nlist.size()));
    for (unsigned edge = random() % (kDegree + 1); edge > 0; --edge) {
      const auto range = 1 + random() % kVertices;
      graph.nlist.push_back(static_cast<int>(random() % range));
    }
  }
  graph.nindex.push_back(static_cast<int>(graph.nlist.size()));
  return graph;
}

__device__ int vertex_of_thread() {
  return static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x);
}

// Vertices whose first neighbour has a larger number are counted.
template <bool atomic>
__global__ void count_vertices(const int* nindex, const int* nlist, int* data1, int*) {
  const int v = vertex_of_thread();
  if (nindex[v] == nindex[v + 1] || nlist[nindex[v]] <= v) return;
  if constexpr (atomic) {
    atomicAdd(data1, 1);
  } else {
    data1[0] += 1;  // expect: count_vertices_racy BW-R12
  }
}

// The first edge of each vertex to a larger number is counted.
template <bool atomic>
__global__ void count_edges(const int* nindex, const int* nlist, int* data1, int*) {
  const int v = vertex_of_thread();
  for (int edge = nindex[v]; edge < nindex[v + 1]; ++edge) {
    if (v >= nlist[edge]) continue;
    if constexpr (atomic) {
      atomicAdd(data1, 1);
    } else {
      const int counted = data1[0];  // expect: count_edges_racy BW-R12
      data1[0] = counted + 1;        // expect: count_edges_racy BW-R12
    }
    break;
  }
}

// The maximum of the last neighbours; a look before the atomic races with the others' atomics.
template <bool guarded>
__global__ void edge_maximum(const int* nindex, const int* nlist, int* data1, int* data2) {
  const int v = vertex_of_thread();
  if (nindex[v] == nindex[v + 1]) return;
  const int neighbour = nlist[nindex[v + 1] - 1];
  if (neighbour <= v) return;
  if constexpr (guarded) {
    if (data2[0] >= data1[neighbour]) return;  // expect: edge_maximum_racy BW-R12
  }
  atomicMax(data2, data1[neighbour]);  // expect: edge_maximum_racy BW-R12
}

// Each vertex takes the largest value of its neighbours: from the old values, or in place.
template <bool in_place>
__global__ void pull(const int* nindex, const int* nlist, int* data1, int* data2) {
  const int v = vertex_of_thread();
  int largest = 0;
  for (int edge = nindex[v]; edge < nindex[v + 1]; ++edge) {
    const int neighbour = nlist[edge];
    if constexpr (in_place) {
      largest = max(largest, data1[neighbour]);  // expect: pull_racy BW-R12
    } else {
      largest = max(largest, data2[neighbour]);
    }
  }
  data1[v] = largest;  // expect: pull_racy BW-R12
}

// Each vertex gives its value to its neighbours.
template <bool atomic>
__global__ void push(const int* nindex, const int* nlist, int* data1, int* data2) {
  const int v = vertex_of_thread();
  for (int edge = nindex[v]; edge < nindex[v + 1]; ++edge) {
    const int neighbour = nlist[edge];
    if constexpr (atomic) {
      atomicMax(&data1[neighbour], data2[v]);
    } else {
      data1[neighbour] = max(data1[neighbour], data2[v]);  // expect: push_racy BW-R12
    }
  }
}

// Vertices with neighbours go to a worklist; data2[0] is its length.
template <bool atomic>
__global__ void worklist(const int* nindex, const int*, int* data1, int* data2) {
  const int v = vertex_of_thread();
  if (nindex[v] == nindex[v + 1]) return;
  int place;
  if constexpr (atomic) {
    place = atomicAdd(data2, 1);
  } else {
    place = data2[0]++;  // expect: worklist_racy BW-R12
  }
  if (place < kVertices) data1[place] = v;  // expect: worklist_racy BW-R12
}

// The same with one reservation for a warp: a vote, an elected lane, a shuffle.
template <bool atomic>
__global__ void worklist_by_vote(const int* nindex, const int*, int* data1, int* data2) {
  const int v = vertex_of_thread();
  const bool wanted = nindex[v] != nindex[v + 1];
  const unsigned votes = __ballot_sync(~0u, wanted);
  const int lane = static_cast<int>(threadIdx.x % 32);
  int place = 0;
  if (lane == 0) {
    if constexpr (atomic) {
      place = atomicAdd(data2, __popc(votes));
    } else {
      place = data2[0];                  // expect: worklist_by_vote_racy BW-R12
      data2[0] = place + __popc(votes);  // expect: worklist_by_vote_racy BW-R12
    }
  }
  place = __shfl_sync(~0u, place, 0) + __popc(votes & ((1u << lane) - 1));
  if (wanted) data1[place] = v;  // expect: worklist_by_vote_racy BW-R12
}

// Paths to the smallest vertex are shortened while others follow them.
template <bool atomic>
__global__ void path_compression(const int*, const int*, int* data1, int*) {
  const int start = vertex_of_thread();
  int v = start;
  if constexpr (atomic) {
    for (int next = atomicOr(&data1[v], 0); next < v; next = atomicOr(&data1[v], 0)) v = next;
    atomicExch(&data1[start], v);
  } else {
    // expect: path_compression_racy BW-R12
    for (int next = data1[v]; next < v; next = data1[v])
      v = next;        // expect: path_compression_racy BW-R12
    data1[start] = v;  // expect: path_compression_racy BW-R12
  }
}

// Paths are followed only; the results are elsewhere.
__global__ void traverse(const int*, const int*, int* data1, int* data2) {
  const int start = vertex_of_thread();
  int v = start;
  while (data1[v] < v) v = data1[v];
  data2[start] = v;
}

// "Something has changed": many threads write the same value.
template <bool atomic>
__global__ void changed_flag(const int* nindex, const int* nlist, int* data1, int*) {
  const int v = vertex_of_thread();
  for (int edge = nindex[v]; edge < nindex[v + 1]; ++edge) {
    if (nlist[edge] <= v) continue;
    if constexpr (atomic) {
      atomicExch(data1, 1);
    } else {
      data1[0] = 1;  // expect: changed_flag_racy BW-R12
    }
  }
}

// The degrees of a CTA's vertices summed through a row of global memory.
template <bool synchronised>
__global__ void block_sum(const int* nindex, const int*, int* data1, int* data2) {
  const int v = vertex_of_thread();
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int sum = __reduce_add_sync(~0u, nindex[v + 1] - nindex[v]);
  int* const row = data1 + blockIdx.x * kWarps;
  if (lane == 0) row[warp] = sum;  // expect: block_sum_racy BW-R12
  if constexpr (synchronised) __syncthreads();
  if (threadIdx.x != 0) return;
  int total = 0;
  for (int w = 0; w < kWarps; ++w) total += row[w];  // expect: block_sum_racy BW-R12
  data2[blockIdx.x] = total;
}

// Lanes of a warp hand values on through global memory.
template <bool synchronised>
__global__ void neighbour_lane(const int* nindex, const int*, int* data1, int* data2) {
  const int v = vertex_of_thread();
  data1[v] = nindex[v];  // expect: neighbour_lane_racy BW-R02
  if constexpr (synchronised) __syncwarp();
  data2[v] = data1[v ^ 1];  // expect: neighbour_lane_racy BW-R02
}

// A vote orders the lanes that take part, as __syncwarp does.
__global__ void lane_after_vote(const int* nindex, const int*, int* data1, int* data2) {
  const int v = vertex_of_thread();
  data1[v] = nindex[v];
  data2[v] = __any_sync(~0u, nindex[v] > 0) ? data1[v ^ 1] : 0;
}

// One lane releases what another lane has written, without having synchronised with it.
template <bool synchronised>
__global__ void one_lane_releases(const int* nindex, const int*, int* data1, int* data2) {
  const int v = vertex_of_thread();
  if (blockIdx.x == 0 && threadIdx.x < 32) {
    data1[v] = nindex[v];  // expect: one_lane_releases_racy BW-R02
    if constexpr (synchronised) __syncwarp();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicExch(data2, 1);
    }
  } else if (blockIdx.x == 1 && threadIdx.x == 0) {
    while (atomicAdd(data2, 0) == 0) {
    }
    __threadfence();
    int sum = 0;
    for (int lane = 0; lane < 32; ++lane)
      sum += data1[lane];  // expect: one_lane_releases_racy BW-R02
    data2[1] = sum;
  }
}

// Two steps of a relaxation. Between them, CTAs are ordered by the end of a kernel alone.
__global__ void relax(const int* nindex, const int* nlist, int* to, int* from) {
  const int v = vertex_of_thread();
  int least = from[v];
  for (int edge = nindex[v]; edge < nindex[v + 1]; ++edge) least = min(least, from[nlist[edge]]);
  to[v] = least;
}
__global__ void relax_twice(const int* nindex, const int* nlist, int* to, int* from) {
  const int v = vertex_of_thread();
  int least = from[v];
  for (int edge = nindex[v]; edge < nindex[v + 1]; ++edge) least = min(least, from[nlist[edge]]);
  to[v] = least;  // expect: two_steps_racy BW-R12
  __syncthreads();
  least = to[v];
  for (int edge = nindex[v]; edge < nindex[v + 1]; ++edge) {
    const int there = to[nlist[edge]];  // expect: two_steps_racy BW-R12
    least = min(least, there);
  }
  from[v] = least;  // expect: two_steps_racy BW-R12
}

// One vertex too many; its row's end is not there.
template <bool bounded>
__global__ void last_vertex(const int* nindex, const int*, int* data1, int*) {
  const int v = vertex_of_thread() + (bounded ? 0 : 1);
  data1[v - 1 + bounded] = nindex[v + 1] - nindex[v];  // expect: last_vertex_faulty BW-M02
}

using GraphKernel = void (*)(const int*, const int*, int*, int*);

/// Runs a kernel on the graph, with two arrays of a number for each vertex.
template <GraphKernel kernel, int launches = 1>
void on_graph() {
  const Graph graph = make_graph();
  const DeviceBuffer<int> nindex(graph.nindex), nlist(graph.nlist);
  std::vector<int> values(kVertices);
  for (int v = 0; v < kVertices; ++v) values[static_cast<size_t>(v)] = v / 2;
  DeviceBuffer<int> data1(values);
  values.assign(kVertices, 0);
  DeviceBuffer<int> data2(values);
  for (int launch = 0; launch < launches; ++launch) {
    int* const first = launch % 2 == 0 ? data1.data() : data2.data();
    int* const second = launch % 2 == 0 ? data2.data() : data1.data();
    kernel<<<kCtas, kThreads>>>(nindex.data(), nlist.data(), first, second);
  }
  finish("a graph kernel");
}

}  // namespace

std::vector<Case> irregular_cases() {
  return {
      {"count_vertices", on_graph<count_vertices<true>>},
      {"count_vertices_racy", on_graph<count_vertices<false>>},
      {"count_edges", on_graph<count_edges<true>>},
      {"count_edges_racy", on_graph<count_edges<false>>},
      {"edge_maximum", on_graph<edge_maximum<false>>},
      {"edge_maximum_racy", on_graph<edge_maximum<true>>},
      {"pull", on_graph<pull<false>>},
      {"pull_racy", on_graph<pull<true>>},
      {"push", on_graph<push<true>>},
      {"push_racy", on_graph<push<false>>},
      {"worklist", on_graph<worklist<true>>},
      {"worklist_racy", on_graph<worklist<false>>},
      {"worklist_by_vote", on_graph<worklist_by_vote<true>>},
      {"worklist_by_vote_racy", on_graph<worklist_by_vote<false>>},
      {"path_compression", on_graph<path_compression<true>>},
      {"path_compression_racy", on_graph<path_compression<false>>},
      {"traverse", on_graph<traverse>},
      {"changed_flag", on_graph<changed_flag<true>>},
      {"changed_flag_racy", on_graph<changed_flag<false>>},
      {"block_sum", on_graph<block_sum<true>>},
      {"block_sum_racy", on_graph<block_sum<false>>},
      {"neighbour_lane", on_graph<neighbour_lane<true>>},
      {"neighbour_lane_racy", on_graph<neighbour_lane<false>>},
      {"lane_after_vote", on_graph<lane_after_vote>},
      {"one_lane_releases", on_graph<one_lane_releases<true>>},
      {"one_lane_releases_racy", on_graph<one_lane_releases<false>>},
      {"two_steps", on_graph<relax, 2>},
      {"two_steps_racy", on_graph<relax_twice>},
      {"last_vertex", on_graph<last_vertex<true>>},
      {"last_vertex_faulty", on_graph<last_vertex<false>>},
  };
}

}  // namespace bw::global_races
