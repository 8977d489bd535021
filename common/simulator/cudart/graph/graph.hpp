#pragma once
/// \file
/// CUDA graphs: nodes with dependencies, and the list of operations that an executable graph runs.

#include <driver_types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "common/simulator/cudart/runtime/operations.hpp"

// The runtime's headers declare these structures without defining them.
/// A node of a graph.
struct CUgraphNode_st {
  CUgraph_st* graph = nullptr;  ///< the graph that it belongs to
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  bw::sim::cudart::Operation operation;
  std::vector<CUgraphNode_st*> dependencies;  ///< nodes that come before
  std::vector<cudaGraphEdgeData> edges;       ///< how each of these edges is annotated
  std::unique_ptr<CUgraph_st> child;          ///< of a child graph's node
  const CUgraphNode_st* original = nullptr;   ///< what a clone's node was made from
  std::vector<void*> argument_pointers;  ///< of a kernel's node, for cudaGraphKernelNodeGetParams

  /// An edge from a node; `edge` null: an ordinary one.
  void depend_on(CUgraphNode_st* before, const cudaGraphEdgeData* edge);
  /// Removes the edge from a node; false if it does not exist.
  bool release(const CUgraphNode_st* before);
  /// Whether a kernel's node may begin before a kernel that it depends on has ended.
  [[nodiscard]] bool begins_early() const;
  /// A place for the node's own cudaKernelNodeParams::kernelParams.
  void** kernel_arguments();
};

/// A graph.
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  ///< in the order of their creation

  /// Adds a member.
  CUgraphNode_st& add(cudaGraphNodeType type, bw::sim::cudart::Operation operation,
                      std::vector<CUgraphNode_st*> dependencies,
                      std::vector<cudaGraphEdgeData> edges = {});
  /// Whether a node is its.
  [[nodiscard]] bool has(const CUgraphNode_st* node) const;
  /// A copy whose nodes know what they were made from.
  [[nodiscard]] std::unique_ptr<CUgraph_st> clone() const;
  /// The nodes so that each comes after those that it depends on, else in the order of their
  /// creation; nullopt when they depend on each other in a circle.
  [[nodiscard]] std::optional<std::vector<const CUgraphNode_st*>> sorted() const;
};

/// An executable graph.
struct CUgraphExec_st {
  /// A node with what it waits for.
  struct Step {
    const CUgraphNode_st* node = nullptr;  ///< of `graph`
    bool enabled = true;                   ///< whether it is run
  };
  std::unique_ptr<CUgraph_st> graph;  ///< a clone: the original may change or go
  unsigned long long flags = 0;       ///< as the runtime was given them
  std::vector<Step> steps;            ///< every node, those of child graphs in their place

  /// The step of a node of the graph that this was made from, or nullptr.
  [[nodiscard]] Step* find(const CUgraphNode_st* original);
  /// The node of a handle, or nullptr.
  [[nodiscard]] CUgraphNode_st* find_node(const CUgraphNode_st* original);
};

namespace bw::sim::cudart {

/// A live graph, node of a live graph, or executable graph; nullptr for another handle.
[[nodiscard]] CUgraph_st* find_graph(cudaGraph_t graph);
/// The node of a handle, or nullptr.
[[nodiscard]] CUgraphNode_st* find_node(cudaGraphNode_t node);
/// The executable graph of a handle, or nullptr.
[[nodiscard]] CUgraphExec_st* find_exec(cudaGraphExec_t exec);
/// Makes a graph, or takes one over; it lives until it is destroyed.
CUgraph_st& keep_graph(std::unique_ptr<CUgraph_st> graph);
/// False if it does not exist.
bool destroy_graph(cudaGraph_t graph);
/// Takes an executable graph into keeping.
CUgraphExec_st& keep_exec(std::unique_ptr<CUgraphExec_st> exec);
/// False if it does not exist.
bool destroy_exec(cudaGraphExec_t exec);

/// Whether an edge from a node to one of a type may be annotated so: says why not and returns
/// cudaErrorInvalidValue.
cudaError_t check_edge(const char* api, const CUgraphNode_st& from, cudaGraphNodeType to,
                       const cudaGraphEdgeData& edge);

/// Makes an executable graph; cudaErrorInvalidValue for nodes that depend on each other in a
/// circle.
cudaError_t instantiate(const CUgraph_st& graph, unsigned long long flags,
                        std::unique_ptr<CUgraphExec_st>& exec);

/// Hands the steps to a stream.
cudaError_t launch_graph(Runtime& runtime, CUgraphExec_st& exec, cudaStream_t stream);

}  // namespace bw::sim::cudart
