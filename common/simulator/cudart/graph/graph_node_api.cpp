/// \file
/// The nodes of graphs: added, changed in a graph, changed in an executable graph, looked at.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/cudart/graph/graph.hpp"
#include "common/simulator/cudart/graph/graph_node_operations.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

cudaError_t check_dependencies(const char* api, const CUgraph_st& graph,
                               const cudaGraphNode_t* dependencies, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (graph.has(dependencies[i])) continue;
    explain(FaultCode::call_dead_handle, api,
            fmt::format("dependency {} is not a node of the graph", i));
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

template <class Parameters>
cudaError_t add(const char* api, cudaGraphNodeType type, cudaGraphNode_t* node, cudaGraph_t handle,
                const cudaGraphNode_t* dependencies, size_t count, const Parameters& parameters) {
  return device_api([&](Runtime& runtime) {
    CUgraph_st* const graph = find_graph(handle);
    if (graph == nullptr || node == nullptr) return cudaErrorInvalidValue;
    cudaError_t error = check_dependencies(api, *graph, dependencies, count);
    if (error != cudaSuccess) return error;
    Operation operation;
    error = describe(runtime, api, parameters, operation);
    if (error != cudaSuccess) return error;
    *node = &graph->add(type, std::move(operation), {dependencies, dependencies + count});
    return cudaSuccess;
  });
}

cudaError_t add_child(cudaGraphNode_t* node, cudaGraph_t handle,
                      const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  constexpr const char* kApi = "cudaGraphAddChildGraphNode";
  return device_api([&](Runtime&) {
    CUgraph_st* const graph = find_graph(handle);
    const CUgraph_st* const given = find_graph(child);
    if (graph == nullptr || given == nullptr || node == nullptr) return cudaErrorInvalidValue;
    const cudaError_t error = check_dependencies(kApi, *graph, dependencies, count);
    if (error != cudaSuccess) return error;
    CUgraphNode_st& added =
        graph->add(cudaGraphNodeTypeGraph, EmptyOperation{}, {dependencies, dependencies + count});
    added.child = given->clone();
    *node = &added;
    return cudaSuccess;
  });
}

cudaError_t check_type(const char* api, const CUgraphNode_st* node, cudaGraphNodeType type) {
  if (node != nullptr && node->type == type) return cudaSuccess;
  explain(FaultCode::call_dead_handle, api,
          node == nullptr ? "the node does not exist, or is not of this graph"
                          : "the node is of another type");
  return cudaErrorInvalidValue;
}

template <class Parameters>
cudaError_t set(const char* api, cudaGraphNodeType type, cudaGraphNode_t handle,
                const Parameters& parameters) {
  return device_api([&](Runtime& runtime) {
    CUgraphNode_st* const node = find_node(handle);
    const cudaError_t error = check_type(api, node, type);
    return error != cudaSuccess ? error : describe(runtime, api, parameters, node->operation);
  });
}

template <class Parameters>
cudaError_t set_in(const char* api, cudaGraphNodeType type, cudaGraphExec_t handle,
                   cudaGraphNode_t original, const Parameters& parameters) {
  return device_api([&](Runtime& runtime) {
    CUgraphExec_st* const exec = find_exec(handle);
    CUgraphNode_st* const node = exec == nullptr ? nullptr : exec->find_node(original);
    const cudaError_t error = check_type(api, node, type);
    return error != cudaSuccess ? error : describe(runtime, api, parameters, node->operation);
  });
}

// Calls `use` with what a node does, where it is of the type. `argument` is what the caller gave
// for the result, or to set.
template <class Kind, class Use>
cudaError_t look(const char* api, cudaGraphNodeType type, cudaGraphNode_t handle,
                 const void* argument, Use&& use) {
  return device_api([&](Runtime&) {
    if (argument == nullptr) return cudaErrorInvalidValue;
    CUgraphNode_st* const node = find_node(handle);
    const cudaError_t error = check_type(api, node, type);
    if (error != cudaSuccess) return error;
    use(*node, std::get<Kind>(node->operation));
    return cudaSuccess;
  });
}

const char* type_name(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeConditional:
      return "conditional nodes";
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
      return "nodes that allocate or free memory";
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
      return "nodes for external semaphores";
    default:
      return "nodes of this type";
  }
}

cudaError_t refuse_type(const char* api, cudaGraphNodeType type) {
  explain(FaultCode::call_not_supported, api,
          fmt::format("{} are not supported: graphs hold kernels, copies, memsets, host "
                      "functions, events, empty nodes and graphs",
                      type_name(type)));
  return record_error(cudaErrorNotSupported);
}

// Calls `use(type, parameters)` with the structure that a cudaGraphNodeParams holds.
template <class Use>
cudaError_t with_parameters(const char* api, const cudaGraphNodeParams& given, Use&& use) {
  switch (given.type) {
    case cudaGraphNodeTypeKernel: {
      cudaKernelNodeParams kernel{};
      kernel.func = given.kernel.func;
      kernel.gridDim = given.kernel.gridDim;
      kernel.blockDim = given.kernel.blockDim;
      kernel.sharedMemBytes = given.kernel.sharedMemBytes;
      kernel.kernelParams = given.kernel.kernelParams;
      kernel.extra = given.kernel.extra;
      return use(static_cast<const cudaKernelNodeParams*>(&kernel));
    }
    case cudaGraphNodeTypeMemcpy:
      return use(&given.memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      cudaMemsetParams memset{};
      memset.dst = given.memset.dst;
      memset.pitch = given.memset.pitch;
      memset.value = given.memset.value;
      memset.elementSize = given.memset.elementSize;
      memset.width = given.memset.width;
      memset.height = given.memset.height;
      return use(static_cast<const cudaMemsetParams*>(&memset));
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams host{given.host.fn, given.host.userData};
      return use(&host);
    }
    case cudaGraphNodeTypeEmpty:
      return use(Nothing{});
    case cudaGraphNodeTypeEventRecord:
      return use(Record{given.eventRecord.event});
    case cudaGraphNodeTypeWaitEvent:
      return use(WaitFor{given.eventWait.event});
    default:
      return refuse_type(api, given.type);
  }
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 const cudaKernelNodeParams* parameters) {
  return add("cudaGraphAddKernelNode", cudaGraphNodeTypeKernel, node, graph, dependencies, count,
             parameters);
}

BW_CUDART_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 const cudaMemcpy3DParms* parameters) {
  return add("cudaGraphAddMemcpyNode", cudaGraphNodeTypeMemcpy, node, graph, dependencies, count,
             parameters);
}

BW_CUDART_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies,
                                                   size_t count, void* destination,
                                                   const void* source, size_t bytes,
                                                   cudaMemcpyKind kind) {
  return add("cudaGraphAddMemcpyNode1D", cudaGraphNodeTypeMemcpy, node, graph, dependencies, count,
             PlainCopy{destination, source, bytes, kind});
}

BW_CUDART_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                         const cudaGraphNode_t* dependencies,
                                                         size_t count, const void* symbol,
                                                         const void* source, size_t bytes,
                                                         size_t offset, cudaMemcpyKind kind) {
  return add("cudaGraphAddMemcpyNodeToSymbol", cudaGraphNodeTypeMemcpy, node, graph, dependencies,
             count, CopyToSymbol{symbol, source, bytes, offset, kind});
}

BW_CUDART_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                           const cudaGraphNode_t* dependencies,
                                                           size_t count, void* destination,
                                                           const void* symbol, size_t bytes,
                                                           size_t offset, cudaMemcpyKind kind) {
  return add("cudaGraphAddMemcpyNodeFromSymbol", cudaGraphNodeTypeMemcpy, node, graph, dependencies,
             count, CopyFromSymbol{destination, symbol, bytes, offset, kind});
}

BW_CUDART_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 const cudaMemsetParams* parameters) {
  return add("cudaGraphAddMemsetNode", cudaGraphNodeTypeMemset, node, graph, dependencies, count,
             parameters);
}

BW_CUDART_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                               const cudaGraphNode_t* dependencies, size_t count,
                                               const cudaHostNodeParams* parameters) {
  return add("cudaGraphAddHostNode", cudaGraphNodeTypeHost, node, graph, dependencies, count,
             parameters);
}

BW_CUDART_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                     const cudaGraphNode_t* dependencies,
                                                     size_t count, cudaGraph_t child) {
  return add_child(node, graph, dependencies, count, child);
}

BW_CUDART_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                const cudaGraphNode_t* dependencies, size_t count) {
  return add("cudaGraphAddEmptyNode", cudaGraphNodeTypeEmpty, node, graph, dependencies, count,
             Nothing{});
}

BW_CUDART_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                      const cudaGraphNode_t* dependencies,
                                                      size_t count, cudaEvent_t event) {
  return add("cudaGraphAddEventRecordNode", cudaGraphNodeTypeEventRecord, node, graph, dependencies,
             count, Record{event});
}

BW_CUDART_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies,
                                                    size_t count, cudaEvent_t event) {
  return add("cudaGraphAddEventWaitNode", cudaGraphNodeTypeWaitEvent, node, graph, dependencies,
             count, WaitFor{event});
}

BW_CUDART_API cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies,
                                           const cudaGraphEdgeData* edges, size_t count,
                                           cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return record_error(cudaErrorInvalidValue);
  const cudaError_t checked = device_api([&](Runtime&) {
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; edges != nullptr && i < count && error == cudaSuccess; ++i)
      if (const CUgraphNode_st* const from = find_node(dependencies[i]))
        error = check_edge("cudaGraphAddNode", *from, parameters->type, edges[i]);
    return error;
  });
  if (checked != cudaSuccess) return checked;
  const auto annotate = [&](cudaError_t error) {
    if (error == cudaSuccess && edges != nullptr) (*node)->edges.assign(edges, edges + count);
    return error;
  };
  if (parameters->type == cudaGraphNodeTypeGraph)
    return annotate(add_child(node, graph, dependencies, count, parameters->graph.graph));
  return with_parameters("cudaGraphAddNode", *parameters, [&](const auto& given) {
    return annotate(
        add("cudaGraphAddNode", parameters->type, node, graph, dependencies, count, given));
  });
}

BW_CUDART_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node,
                                                 cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return record_error(cudaErrorInvalidValue);
  return with_parameters("cudaGraphNodeSetParams", *parameters, [&](const auto& given) {
    return set("cudaGraphNodeSetParams", parameters->type, node, given);
  });
}

BW_CUDART_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                     cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return record_error(cudaErrorInvalidValue);
  return with_parameters("cudaGraphExecNodeSetParams", *parameters, [&](const auto& given) {
    return set_in("cudaGraphExecNodeSetParams", parameters->type, exec, node, given);
  });
}

BW_CUDART_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle,
                                                       cudaKernelNodeParams* parameters) {
  return look<KernelOperation>(
      "cudaGraphKernelNodeGetParams", cudaGraphNodeTypeKernel, handle, parameters,
      [&](CUgraphNode_st& node, const KernelOperation& kernel) {
        *parameters = {};
        parameters->func = kernel.function;
        parameters->gridDim = kernel.grid;
        parameters->blockDim = kernel.block;
        parameters->sharedMemBytes = static_cast<unsigned>(kernel.dynamic_shared_bytes);
        parameters->kernelParams = node.kernel_arguments();
      });
}

BW_CUDART_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                       const cudaKernelNodeParams* parameters) {
  return set("cudaGraphKernelNodeSetParams", cudaGraphNodeTypeKernel, node, parameters);
}

BW_CUDART_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaKernelNodeParams* parameters) {
  return set_in("cudaGraphExecKernelNodeSetParams", cudaGraphNodeTypeKernel, exec, node,
                parameters);
}

BW_CUDART_API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t handle,
                                                          cudaLaunchAttributeID id,
                                                          cudaLaunchAttributeValue* value) {
  return look<KernelOperation>("cudaGraphKernelNodeGetAttribute", cudaGraphNodeTypeKernel, handle,
                               value, [&](CUgraphNode_st&, const KernelOperation& kernel) {
                                 *value = {};
                                 for (const cudaLaunchAttribute& attribute : kernel.attributes)
                                   if (attribute.id == id) *value = attribute.val;
                               });
}

BW_CUDART_API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t handle,
                                                          cudaLaunchAttributeID id,
                                                          const cudaLaunchAttributeValue* value) {
  return look<KernelOperation>(
      "cudaGraphKernelNodeSetAttribute", cudaGraphNodeTypeKernel, handle, value,
      [&](CUgraphNode_st&, KernelOperation& kernel) {
        std::erase_if(kernel.attributes, [&](const auto& attribute) { return attribute.id == id; });
        cudaLaunchAttribute attribute{};
        attribute.id = id;
        attribute.val = *value;
        kernel.attributes.push_back(attribute);
      });
}

BW_CUDART_API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t destination,
                                                            cudaGraphNode_t source) {
  std::vector<cudaLaunchAttribute> attributes;
  const cudaError_t error = look<KernelOperation>(
      "cudaGraphKernelNodeCopyAttributes", cudaGraphNodeTypeKernel, source, &attributes,
      [&](CUgraphNode_st&, const KernelOperation& kernel) { attributes = kernel.attributes; });
  if (error != cudaSuccess) return error;
  return look<KernelOperation>(
      "cudaGraphKernelNodeCopyAttributes", cudaGraphNodeTypeKernel, destination, &attributes,
      [&](CUgraphNode_st&, KernelOperation& kernel) { kernel.attributes = attributes; });
}

BW_CUDART_API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t handle,
                                                       cudaMemcpy3DParms* parameters) {
  return look<CopyOperation>(
      "cudaGraphMemcpyNodeGetParams", cudaGraphNodeTypeMemcpy, handle, parameters,
      [&](CUgraphNode_st&, const CopyOperation& copying) {
        const auto pitched = [&](const void* pointer, CopySide side) {
          const size_t pitch = side.pitch_bytes != 0 ? side.pitch_bytes : copying.shape.row_bytes;
          const size_t rows = side.slice_bytes != 0 ? side.slice_bytes / pitch : copying.shape.rows;
          return cudaPitchedPtr{const_cast<void*>(pointer), pitch, copying.shape.row_bytes, rows};
        };
        *parameters = {};
        parameters->dstPtr = pitched(copying.destination, copying.destination_side);
        parameters->srcPtr = pitched(copying.source, copying.source_side);
        parameters->extent = {copying.shape.row_bytes, copying.shape.rows, copying.shape.slices};
        parameters->kind = copying.kind;
      });
}

BW_CUDART_API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                       const cudaMemcpy3DParms* parameters) {
  return set("cudaGraphMemcpyNodeSetParams", cudaGraphNodeTypeMemcpy, node, parameters);
}

BW_CUDART_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination,
                                                         const void* source, size_t bytes,
                                                         cudaMemcpyKind kind) {
  return set("cudaGraphMemcpyNodeSetParams1D", cudaGraphNodeTypeMemcpy, node,
             PlainCopy{destination, source, bytes, kind});
}

BW_CUDART_API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node,
                                                               const void* symbol,
                                                               const void* source, size_t bytes,
                                                               size_t offset, cudaMemcpyKind kind) {
  return set("cudaGraphMemcpyNodeSetParamsToSymbol", cudaGraphNodeTypeMemcpy, node,
             CopyToSymbol{symbol, source, bytes, offset, kind});
}

BW_CUDART_API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node,
                                                                 void* destination,
                                                                 const void* symbol, size_t bytes,
                                                                 size_t offset,
                                                                 cudaMemcpyKind kind) {
  return set("cudaGraphMemcpyNodeSetParamsFromSymbol", cudaGraphNodeTypeMemcpy, node,
             CopyFromSymbol{destination, symbol, bytes, offset, kind});
}

BW_CUDART_API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaMemcpy3DParms* parameters) {
  return set_in("cudaGraphExecMemcpyNodeSetParams", cudaGraphNodeTypeMemcpy, exec, node,
                parameters);
}

BW_CUDART_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec,
                                                             cudaGraphNode_t node,
                                                             void* destination, const void* source,
                                                             size_t bytes, cudaMemcpyKind kind) {
  return set_in("cudaGraphExecMemcpyNodeSetParams1D", cudaGraphNodeTypeMemcpy, exec, node,
                PlainCopy{destination, source, bytes, kind});
}

BW_CUDART_API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* source,
    size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return set_in("cudaGraphExecMemcpyNodeSetParamsToSymbol", cudaGraphNodeTypeMemcpy, exec, node,
                CopyToSymbol{symbol, source, bytes, offset, kind});
}

BW_CUDART_API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(
    cudaGraphExec_t exec, cudaGraphNode_t node, void* destination, const void* symbol, size_t bytes,
    size_t offset, cudaMemcpyKind kind) {
  return set_in("cudaGraphExecMemcpyNodeSetParamsFromSymbol", cudaGraphNodeTypeMemcpy, exec, node,
                CopyFromSymbol{destination, symbol, bytes, offset, kind});
}

BW_CUDART_API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t handle,
                                                       cudaMemsetParams* parameters) {
  return look<FillOperation>(
      "cudaGraphMemsetNodeGetParams", cudaGraphNodeTypeMemset, handle, parameters,
      [&](CUgraphNode_st&, const FillOperation& filling) {
        *parameters = {};
        parameters->dst = filling.destination;
        parameters->pitch = filling.side.pitch_bytes;
        parameters->value = filling.value.bits;
        parameters->elementSize = static_cast<unsigned>(filling.value.element_bytes);
        parameters->width = filling.shape.row_bytes / filling.value.element_bytes;
        parameters->height = filling.shape.rows;
      });
}

BW_CUDART_API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                       const cudaMemsetParams* parameters) {
  return set("cudaGraphMemsetNodeSetParams", cudaGraphNodeTypeMemset, node, parameters);
}

BW_CUDART_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec,
                                                           cudaGraphNode_t node,
                                                           const cudaMemsetParams* parameters) {
  return set_in("cudaGraphExecMemsetNodeSetParams", cudaGraphNodeTypeMemset, exec, node,
                parameters);
}

BW_CUDART_API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t handle,
                                                     cudaHostNodeParams* parameters) {
  return look<HostOperation>("cudaGraphHostNodeGetParams", cudaGraphNodeTypeHost, handle,
                             parameters, [&](CUgraphNode_st&, const HostOperation& host) {
                               *parameters = {host.function, host.user_data};
                             });
}

BW_CUDART_API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                                     const cudaHostNodeParams* parameters) {
  return set("cudaGraphHostNodeSetParams", cudaGraphNodeTypeHost, node, parameters);
}

BW_CUDART_API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                         const cudaHostNodeParams* parameters) {
  return set_in("cudaGraphExecHostNodeSetParams", cudaGraphNodeTypeHost, exec, node, parameters);
}

BW_CUDART_API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t handle,
                                                           cudaEvent_t* event) {
  return look<RecordOperation>(
      "cudaGraphEventRecordNodeGetEvent", cudaGraphNodeTypeEventRecord, handle, event,
      [&](CUgraphNode_st&, const RecordOperation& recording) { *event = recording.event; });
}

BW_CUDART_API cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node,
                                                           cudaEvent_t event) {
  return set("cudaGraphEventRecordNodeSetEvent", cudaGraphNodeTypeEventRecord, node, Record{event});
}

BW_CUDART_API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec,
                                                               cudaGraphNode_t node,
                                                               cudaEvent_t event) {
  return set_in("cudaGraphExecEventRecordNodeSetEvent", cudaGraphNodeTypeEventRecord, exec, node,
                Record{event});
}

BW_CUDART_API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t handle,
                                                         cudaEvent_t* event) {
  return look<WaitOperation>(
      "cudaGraphEventWaitNodeGetEvent", cudaGraphNodeTypeWaitEvent, handle, event,
      [&](CUgraphNode_st&, const WaitOperation& waiting) { *event = waiting.event; });
}

BW_CUDART_API cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set("cudaGraphEventWaitNodeSetEvent", cudaGraphNodeTypeWaitEvent, node, WaitFor{event});
}

BW_CUDART_API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec,
                                                             cudaGraphNode_t node,
                                                             cudaEvent_t event) {
  return set_in("cudaGraphExecEventWaitNodeSetEvent", cudaGraphNodeTypeWaitEvent, exec, node,
                WaitFor{event});
}

BW_CUDART_API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t handle,
                                                          cudaGraph_t* graph) {
  return device_api([&](Runtime&) {
    const CUgraphNode_st* const node = find_node(handle);
    if (node == nullptr || node->child == nullptr || graph == nullptr) return cudaErrorInvalidValue;
    *graph = node->child.get();
    return cudaSuccess;
  });
}
