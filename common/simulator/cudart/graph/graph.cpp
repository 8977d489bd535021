#include "common/simulator/cudart/graph/graph.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

void** CUgraphNode_st::kernel_arguments() {
  using namespace bw::sim::cudart;
  auto* const kernel = std::get_if<KernelOperation>(&operation);
  if (kernel == nullptr || kernel->function->kernel == nullptr) return nullptr;
  argument_pointers.clear();
  for (const auto& parameter : kernel->function->kernel->parameters())
    argument_pointers.push_back(kernel->arguments.data() + parameter.offset_bytes);
  return argument_pointers.data();
}

void CUgraphNode_st::depend_on(CUgraphNode_st* before, const cudaGraphEdgeData* edge) {
  dependencies.push_back(before);
  edges.push_back(edge == nullptr ? cudaGraphEdgeData{} : *edge);
}

bool CUgraphNode_st::release(const CUgraphNode_st* before) {
  const auto found = std::find(dependencies.begin(), dependencies.end(), before);
  if (found == dependencies.end()) return false;
  edges.erase(edges.begin() + (found - dependencies.begin()));
  dependencies.erase(found);
  return true;
}

bool CUgraphNode_st::begins_early() const {
  return std::any_of(edges.begin(), edges.end(), [](const cudaGraphEdgeData& edge) {
    return edge.type == cudaGraphDependencyTypeProgrammatic;
  });
}

CUgraphNode_st& CUgraph_st::add(cudaGraphNodeType type, bw::sim::cudart::Operation operation,
                                std::vector<CUgraphNode_st*> dependencies,
                                std::vector<cudaGraphEdgeData> edges) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->graph = this;
  node->type = type;
  node->operation = std::move(operation);
  node->dependencies = std::move(dependencies);
  node->edges = std::move(edges);
  node->edges.resize(node->dependencies.size());
  nodes.push_back(std::move(node));
  return *nodes.back();
}

bool CUgraph_st::has(const CUgraphNode_st* node) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const auto& own) { return own.get() == node; });
}

std::unique_ptr<CUgraph_st> CUgraph_st::clone() const {
  auto copy = std::make_unique<CUgraph_st>();
  std::unordered_map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  for (const auto& node : nodes) {
    CUgraphNode_st& own = copy->add(node->type, node->operation, {});
    own.original = node.get();
    if (node->child) own.child = node->child->clone();
    copies[node.get()] = &own;
  }
  for (const auto& node : nodes) {
    for (size_t i = 0; i < node->dependencies.size(); ++i)
      copies.at(node.get())->depend_on(copies.at(node->dependencies[i]), &node->edges[i]);
  }
  return copy;
}

std::optional<std::vector<const CUgraphNode_st*>> CUgraph_st::sorted() const {
  std::map<const CUgraphNode_st*, size_t> place;
  std::vector<const CUgraphNode_st*> order;
  while (order.size() < nodes.size()) {
    const size_t before = order.size();
    for (const auto& node : nodes) {
      if (place.count(node.get()) != 0) continue;
      const bool ready = std::all_of(node->dependencies.begin(), node->dependencies.end(),
                                     [&](const auto* other) { return place.count(other) != 0; });
      if (!ready) continue;
      place[node.get()] = order.size();
      order.push_back(node.get());
    }
    if (order.size() == before) return std::nullopt;
  }
  return order;
}

CUgraphExec_st::Step* CUgraphExec_st::find(const CUgraphNode_st* original) {
  for (Step& step : steps)
    if (step.node->original == original) return &step;
  return nullptr;
}

CUgraphNode_st* CUgraphExec_st::find_node(const CUgraphNode_st* original) {
  Step* const step = find(original);
  return step == nullptr ? nullptr : const_cast<CUgraphNode_st*>(step->node);
}

namespace bw::sim::cudart {
namespace {

using GraphMap = std::unordered_map<cudaGraph_t, std::unique_ptr<CUgraph_st>>;
using ExecMap = std::unordered_map<cudaGraphExec_t, std::unique_ptr<CUgraphExec_st>>;

// Guarded by the runtime's mutex.
GraphMap& graphs() {
  static auto* const live = new GraphMap;
  return *live;
}

ExecMap& execs() {
  static auto* const live = new ExecMap;
  return *live;
}

CUgraphNode_st* find_node_in(CUgraph_st& graph, cudaGraphNode_t node) {
  for (const auto& own : graph.nodes) {
    if (own.get() == node) return own.get();
    if (own->child == nullptr) continue;
    if (CUgraphNode_st* const found = find_node_in(*own->child, node)) return found;
  }
  return nullptr;
}

CUgraph_st* find_child(CUgraph_st& graph, cudaGraph_t wanted) {
  for (const auto& node : graph.nodes) {
    if (node->child == nullptr) continue;
    if (node->child.get() == wanted) return wanted;
    if (CUgraph_st* const found = find_child(*node->child, wanted)) return found;
  }
  return nullptr;
}

/// The edges decide whether a kernel begins early, not the attribute that it was captured with.
void set_early_start(KernelOperation& kernel, const CUgraphNode_st& node) {
  const bool begins_early = node.begins_early();
  std::erase_if(kernel.attributes, [](const cudaLaunchAttribute& attribute) {
    return attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization;
  });
  if (!begins_early) return;
  kernel.has_full_edges = std::any_of(node.edges.begin(), node.edges.end(), [](const auto& edge) {
    return edge.type != cudaGraphDependencyTypeProgrammatic;
  });
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  kernel.attributes.push_back(attribute);
}

bool add_steps(const CUgraph_st& graph, std::vector<CUgraphExec_st::Step>& steps) {
  const auto order = graph.sorted();
  if (!order) return false;
  for (const CUgraphNode_st* const node : *order) {
    if (node->child != nullptr && !add_steps(*node->child, steps)) return false;
    steps.push_back({node});
  }
  return true;
}

}  // namespace

CUgraph_st* find_graph(cudaGraph_t graph) {
  if (graphs().count(graph) != 0) return graph;
  for (const auto& [handle, live] : graphs())
    if (CUgraph_st* const child = find_child(*live, graph)) return child;
  return nullptr;
}

CUgraphNode_st* find_node(cudaGraphNode_t node) {
  for (const auto& [handle, live] : graphs())
    if (CUgraphNode_st* const found = find_node_in(*live, node)) return found;
  return nullptr;
}

CUgraphExec_st* find_exec(cudaGraphExec_t exec) {
  return execs().count(exec) != 0 ? exec : nullptr;
}

CUgraph_st& keep_graph(std::unique_ptr<CUgraph_st> graph) {
  CUgraph_st* const handle = graph.get();
  graphs().emplace(handle, std::move(graph));
  return *handle;
}

bool destroy_graph(cudaGraph_t graph) { return graphs().erase(graph) != 0; }

CUgraphExec_st& keep_exec(std::unique_ptr<CUgraphExec_st> exec) {
  CUgraphExec_st* const handle = exec.get();
  execs().emplace(handle, std::move(exec));
  return *handle;
}

bool destroy_exec(cudaGraphExec_t exec) { return execs().erase(exec) != 0; }

cudaError_t check_edge(const char* api, const CUgraphNode_st& from, cudaGraphNodeType to,
                       const cudaGraphEdgeData& edge) {
  const bool is_programmatic = edge.type == cudaGraphDependencyTypeProgrammatic;
  const bool between_kernels =
      from.type == cudaGraphNodeTypeKernel && to == cudaGraphNodeTypeKernel;
  const char* wrong = nullptr;
  if (edge.type > cudaGraphDependencyTypeProgrammatic)
    wrong = "the edge's type is neither cudaGraphDependencyTypeDefault nor ...Programmatic";
  else if (edge.to_port != 0)
    wrong = "no node has an incoming port but 0";
  else if (edge.from_port > cudaGraphKernelNodePortLaunchCompletion ||
           (edge.from_port != 0 && from.type != cudaGraphNodeTypeKernel))
    wrong = "only kernel nodes have the outgoing ports 1 and 2, and no node has higher ones";
  else if (is_programmatic && (!between_kernels || edge.from_port == 0))
    wrong = "a programmatic edge leads from a kernel node's port 1 or 2 to a kernel node";
  else if (edge.from_port == cudaGraphKernelNodePortProgrammatic && !is_programmatic)
    wrong =
        "an edge from cudaGraphKernelNodePortProgrammatic has the type "
        "cudaGraphDependencyTypeProgrammatic";
  if (wrong == nullptr) return cudaSuccess;
  explain(FaultCode::call_argument, api, wrong);
  return cudaErrorInvalidValue;
}

cudaError_t instantiate(const CUgraph_st& graph, unsigned long long flags,
                        std::unique_ptr<CUgraphExec_st>& exec) {
  auto made = std::make_unique<CUgraphExec_st>();
  made->graph = graph.clone();
  made->flags = flags;
  if (!add_steps(*made->graph, made->steps)) {
    explain(FaultCode::call_capture, "cudaGraphInstantiate",
            "the dependencies of the graph's nodes form a cycle");
    return cudaErrorInvalidValue;
  }
  exec = std::move(made);
  return cudaSuccess;
}

cudaError_t launch_graph(Runtime& runtime, CUgraphExec_st& exec, cudaStream_t stream) {
  if (CUstream_st* const captured = find_stream(stream);
      captured != nullptr && captured->capture != nullptr)
    return capture_graph("cudaGraphLaunch", *captured, *exec.graph);
  for (const CUgraphExec_st::Step& step : exec.steps) {
    if (!step.enabled || step.node->child != nullptr) continue;
    Operation operation = step.node->operation;
    if (auto* const recording = std::get_if<RecordOperation>(&operation)) {
      if (CUevent_st* const event = find_event(recording->event))
        recording->record = ++event->records;
    }
    if (auto* const kernel = std::get_if<KernelOperation>(&operation))
      set_early_start(*kernel, *step.node);
    const cudaError_t error = submit(runtime, "cudaGraphLaunch", stream, std::move(operation));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace bw::sim::cudart
