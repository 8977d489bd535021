/// \file
/// Graphs as a whole: made, looked at, instantiated, updated, launched. The nodes' parameters are
/// in graph_node_api.cpp.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/graph/graph.hpp"
#include "common/simulator/cudart/runtime/api.hpp"

namespace bw::sim::cudart {
namespace {

constexpr const char* kNodeTypes[] = {"kernel", "memcpy", "memset",     "host",
                                      "graph",  "empty",  "wait event", "record event",
                                      "signal", "wait",   "malloc",     "free"};

template <class Use>
cudaError_t with_graph(const char* api, cudaGraph_t handle, Use&& use) {
  return device_api([&](Runtime& runtime) {
    CUgraph_st* const graph = find_graph(handle);
    if (graph == nullptr) {
      explain(FaultCode::call_dead_handle, api,
              "the graph does not exist: it was destroyed or never made");
      return cudaErrorInvalidValue;
    }
    return use(runtime, *graph);
  });
}

template <class Use>
cudaError_t with_node(const char* api, cudaGraphNode_t handle, Use&& use) {
  return device_api([&](Runtime&) {
    CUgraphNode_st* const node = find_node(handle);
    if (node == nullptr) {
      explain(FaultCode::call_dead_handle, api,
              "the node does not exist: it or its graph was destroyed");
      return cudaErrorInvalidValue;
    }
    return use(*node);
  });
}

template <class Use>
cudaError_t with_exec(const char* api, cudaGraphExec_t handle, Use&& use) {
  return device_api([&](Runtime& runtime) {
    CUgraphExec_st* const exec = find_exec(handle);
    if (exec == nullptr) {
      explain(FaultCode::call_dead_handle, api,
              "the executable graph does not exist: it was destroyed or never made");
      return cudaErrorInvalidValue;
    }
    return use(runtime, *exec);
  });
}

/// Returns a list as the API does: only its length if the caller gives no room, else what fits.
template <class Item>
cudaError_t give(const std::vector<Item>& items, Item* to, size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  if (to != nullptr) {
    const size_t fitting = std::min(*count, items.size());
    std::copy_n(items.begin(), fitting, to);
    std::fill(to + fitting, to + *count, Item{});
  }
  *count = items.size();
  return cudaSuccess;
}

struct Edge {
  cudaGraphNode_t from = nullptr;
  cudaGraphNode_t to = nullptr;
  cudaGraphEdgeData data{};
};

std::vector<Edge> edges_of(const CUgraph_st& graph) {
  std::vector<Edge> edges;
  for (const auto& node : graph.nodes)
    for (size_t i = 0; i < node->dependencies.size(); ++i)
      edges.push_back({node->dependencies[i], node.get(), node->edges[i]});
  return edges;
}

cudaError_t make_exec(cudaGraphExec_t* exec, cudaGraph_t handle, unsigned long long flags) {
  return with_graph("cudaGraphInstantiate", handle, [&](Runtime&, CUgraph_st& graph) {
    if (exec == nullptr) return cudaErrorInvalidValue;
    std::unique_ptr<CUgraphExec_st> made;
    const cudaError_t error = instantiate(graph, flags, made);
    if (error == cudaSuccess) *exec = &keep_exec(std::move(made));
    return error;
  });
}

/// Whether one graph has the shape of another: the same nodes in the same order, the same edges.
cudaGraphExecUpdateResult compare_graphs(const CUgraph_st& now, const CUgraph_st& then,
                                         cudaGraphNode_t& different) {
  for (size_t i = 0; i < now.nodes.size() && i < then.nodes.size(); ++i) {
    const CUgraphNode_st& a = *now.nodes[i];
    const CUgraphNode_st& b = *then.nodes[i];
    different = now.nodes[i].get();
    if (a.type != b.type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (a.dependencies.size() != b.dependencies.size())
      return cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t edge = 0; edge < a.dependencies.size(); ++edge) {
      if (a.edges[edge].type != b.edges[edge].type ||
          a.edges[edge].from_port != b.edges[edge].from_port)
        return cudaGraphExecUpdateErrorTopologyChanged;
      const auto place = [](const CUgraph_st& graph, const CUgraphNode_st* node) {
        return std::find_if(graph.nodes.begin(), graph.nodes.end(),
                            [&](const auto& own) { return own.get() == node; }) -
               graph.nodes.begin();
      };
      if (place(now, a.dependencies[edge]) != place(then, b.dependencies[edge]))
        return cudaGraphExecUpdateErrorTopologyChanged;
    }
    if (a.child != nullptr) {
      const cudaGraphExecUpdateResult result = compare_graphs(*a.child, *b.child, different);
      if (result != cudaGraphExecUpdateSuccess) return result;
    }
  }
  different = nullptr;
  return now.nodes.size() == then.nodes.size() ? cudaGraphExecUpdateSuccess
                                               : cudaGraphExecUpdateErrorTopologyChanged;
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return device_api([&](Runtime&) {
    if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
    *graph = &keep_graph(std::make_unique<CUgraph_st>());
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return with_graph("cudaGraphDestroy", handle, [&](Runtime&, CUgraph_st&) {
    return destroy_graph(handle) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

BW_CUDART_API cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return with_graph("cudaGraphClone", original, [&](Runtime&, CUgraph_st& graph) {
    if (clone == nullptr) return cudaErrorInvalidValue;
    *clone = &keep_graph(graph.clone());
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original,
                                                   cudaGraph_t clone) {
  return with_graph("cudaGraphNodeFindInClone", clone, [&](Runtime&, CUgraph_st& graph) {
    if (node == nullptr) return cudaErrorInvalidValue;
    for (const auto& own : graph.nodes) {
      if (own->original != original) continue;
      *node = own.get();
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

BW_CUDART_API cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes,
                                            size_t* count) {
  return with_graph("cudaGraphGetNodes", handle, [&](Runtime&, CUgraph_st& graph) {
    std::vector<cudaGraphNode_t> all;
    for (const auto& node : graph.nodes) all.push_back(node.get());
    return give(all, nodes, count);
  });
}

BW_CUDART_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes,
                                                size_t* count) {
  return with_graph("cudaGraphGetRootNodes", handle, [&](Runtime&, CUgraph_st& graph) {
    std::vector<cudaGraphNode_t> roots;
    for (const auto& node : graph.nodes)
      if (node->dependencies.empty()) roots.push_back(node.get());
    return give(roots, nodes, count);
  });
}

BW_CUDART_API cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from,
                                            cudaGraphNode_t* to, cudaGraphEdgeData* data,
                                            size_t* count) {
  return with_graph("cudaGraphGetEdges", handle, [&](Runtime&, CUgraph_st& graph) {
    if (count == nullptr) return cudaErrorInvalidValue;
    std::vector<cudaGraphNode_t> froms;
    std::vector<cudaGraphNode_t> tos;
    std::vector<cudaGraphEdgeData> annotations;
    for (const Edge& edge : edges_of(graph)) {
      froms.push_back(edge.from);
      tos.push_back(edge.to);
      annotations.push_back(edge.data);
    }
    size_t again = *count, and_again = *count;
    (void)give(annotations, data, &and_again);
    (void)give(tos, to, &again);
    return give(froms, from, count);
  });
}

BW_CUDART_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle,
                                                       cudaGraphNode_t* dependencies,
                                                       cudaGraphEdgeData* data, size_t* count) {
  return with_node("cudaGraphNodeGetDependencies", handle, [&](CUgraphNode_st& node) {
    if (count == nullptr) return cudaErrorInvalidValue;
    size_t again = *count;
    (void)give(node.edges, data, &again);
    return give(node.dependencies, dependencies, count);
  });
}

BW_CUDART_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle,
                                                         cudaGraphNode_t* dependents,
                                                         cudaGraphEdgeData* data, size_t* count) {
  return with_node("cudaGraphNodeGetDependentNodes", handle, [&](CUgraphNode_st& node) {
    std::vector<cudaGraphNode_t> found;
    std::vector<cudaGraphEdgeData> annotations;
    for (const Edge& edge : edges_of(*node.graph))
      if (edge.from == &node) {
        found.push_back(edge.to);
        annotations.push_back(edge.data);
      }
    if (count == nullptr) return cudaErrorInvalidValue;
    size_t again = *count;
    (void)give(annotations, data, &again);
    return give(found, dependents, count);
  });
}

BW_CUDART_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return with_node("cudaGraphNodeGetType", handle, [&](CUgraphNode_st& node) {
    if (type == nullptr) return cudaErrorInvalidValue;
    *type = node.type;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to,
                                                   const cudaGraphEdgeData* edges, size_t count) {
  return with_graph("cudaGraphAddDependencies", handle, [&](Runtime&, CUgraph_st& graph) {
    for (size_t i = 0; i < count; ++i) {
      if (!graph.has(from[i]) || !graph.has(to[i]) || from[i] == to[i])
        return cudaErrorInvalidValue;
      auto& known = to[i]->dependencies;
      if (std::find(known.begin(), known.end(), from[i]) != known.end())
        return cudaErrorInvalidValue;  // the edge is there already
      if (edges != nullptr)
        if (const cudaError_t error =
                check_edge("cudaGraphAddDependencies", *from[i], to[i]->type, edges[i]);
            error != cudaSuccess)
          return error;
    }
    for (size_t i = 0; i < count; ++i)
      to[i]->depend_on(from[i], edges == nullptr ? nullptr : &edges[i]);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t handle,
                                                      const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to,
                                                      const cudaGraphEdgeData*, size_t count) {
  return with_graph("cudaGraphRemoveDependencies", handle, [&](Runtime&, CUgraph_st& graph) {
    for (size_t i = 0; i < count; ++i) {
      if (!graph.has(to[i]) || !to[i]->release(from[i])) return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return with_node("cudaGraphDestroyNode", handle, [&](CUgraphNode_st& node) {
    CUgraph_st& graph = *node.graph;
    for (const auto& other : graph.nodes) other->release(&node);
    std::erase_if(graph.nodes, [&](const auto& own) { return own.get() == &node; });
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                               unsigned long long flags) {
  return make_exec(exec, graph, flags);
}

BW_CUDART_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                        unsigned long long flags) {
  return make_exec(exec, graph, flags);
}

BW_CUDART_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                         cudaGraphInstantiateParams* parameters) {
  if (parameters == nullptr) return record_error(cudaErrorInvalidValue);
  const cudaError_t error = make_exec(exec, graph, parameters->flags);
  parameters->errNode_out = nullptr;
  parameters->result_out =
      error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateInvalidStructure;
  return error;
}
BW_CUDART_TWIN(cudaGraphInstantiateWithParams, _ptsz)

BW_CUDART_API cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  return with_exec("cudaGraphExecGetFlags", handle, [&](Runtime&, CUgraphExec_st& exec) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = exec.flags;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return with_exec("cudaGraphExecDestroy", handle, [&](Runtime&, CUgraphExec_st&) {
    return destroy_exec(handle) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

BW_CUDART_API cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream) {
  return with_exec("cudaGraphLaunch", handle, [&](Runtime& runtime, CUgraphExec_st& exec) {
    return launch_graph(runtime, exec, stream);
  });
}
BW_CUDART_TWIN(cudaGraphLaunch, _ptsz)

BW_CUDART_API cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t) {
  return with_exec("cudaGraphUpload", handle,
                   [](Runtime&, CUgraphExec_st&) { return cudaSuccess; });
}
BW_CUDART_TWIN(cudaGraphUpload, _ptsz)

BW_CUDART_API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t graph_handle,
                                              cudaGraphExecUpdateResultInfo* info) {
  return with_exec("cudaGraphExecUpdate", handle, [&](Runtime&, CUgraphExec_st& exec) {
    CUgraph_st* const graph = find_graph(graph_handle);
    if (graph == nullptr) return cudaErrorInvalidValue;
    cudaGraphNode_t different = nullptr;
    const cudaGraphExecUpdateResult result = compare_graphs(*graph, *exec.graph, different);
    if (info != nullptr) *info = {result, different, nullptr};
    if (result != cudaGraphExecUpdateSuccess) {
      explain(FaultCode::call_capture, "cudaGraphExecUpdate",
              "the graph has other nodes or dependencies than the one that was instantiated; "
              "instantiate it again");
      return cudaErrorGraphExecUpdateFailure;
    }
    std::unique_ptr<CUgraphExec_st> made;
    const cudaError_t error = instantiate(*graph, exec.flags, made);
    if (error != cudaSuccess) return error;
    for (size_t i = 0; i < made->steps.size(); ++i) made->steps[i].enabled = exec.steps[i].enabled;
    exec = std::move(*made);
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node,
                                                  unsigned enabled) {
  return with_exec("cudaGraphNodeSetEnabled", handle, [&](Runtime&, CUgraphExec_st& exec) {
    CUgraphExec_st::Step* const step = exec.find(node);
    if (step == nullptr) return cudaErrorInvalidValue;
    step->enabled = enabled != 0;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t handle, cudaGraphNode_t node,
                                                  unsigned* enabled) {
  return with_exec("cudaGraphNodeGetEnabled", handle, [&](Runtime&, CUgraphExec_st& exec) {
    const CUgraphExec_st::Step* const step = exec.find(node);
    if (step == nullptr || enabled == nullptr) return cudaErrorInvalidValue;
    *enabled = step->enabled ? 1 : 0;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char* path, unsigned) {
  return with_graph("cudaGraphDebugDotPrint", handle, [&](Runtime&, CUgraph_st& graph) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        path == nullptr ? nullptr : std::fopen(path, "w"), std::fclose);
    if (file == nullptr) return cudaErrorOperatingSystem;
    std::fprintf(file.get(), "digraph graph_1 {\n");
    for (const auto& node : graph.nodes)
      std::fprintf(file.get(), "  \"%p\" [label=\"%s\"];\n", static_cast<void*>(node.get()),
                   kNodeTypes[node->type]);
    for (const Edge& edge : edges_of(graph))
      std::fprintf(file.get(), "  \"%p\" -> \"%p\";\n", static_cast<void*>(edge.from),
                   static_cast<void*>(edge.to));
    std::fprintf(file.get(), "}\n");
    return cudaSuccess;
  });
}
