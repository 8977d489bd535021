/// \file
/// The driver's functions for graphs: the runtime's, with the driver's structures.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "common/simulator/cudart/driver/driver.hpp"

namespace bw::sim::cudart {
namespace {

/// One side of the driver's copies as the runtime describes it.
struct Side {
  cudaPitchedPtr pointer;
  cudaPos first;
};

Side side_of(CUmemorytype type, const void* host, CUdeviceptr device, const cudaPos& first,
             size_t pitch, size_t rows, const CUDA_MEMCPY3D& copy) {
  void* const address =
      type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
  return {{address, pitch == 0 ? copy.WidthInBytes : pitch, copy.WidthInBytes,
           rows == 0 ? copy.Height : rows},
          first};
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return driver_call("cuGraphCreate", [&] { return cudaGraphCreate(graph, flags); });
}

BW_CUDART_API CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return driver_call("cuGraphClone", [&] { return cudaGraphClone(clone, original); });
}

BW_CUDART_API CUresult cuGraphDestroy(CUgraph graph) {
  return driver_call("cuGraphDestroy", [&] { return cudaGraphDestroy(graph); });
}

BW_CUDART_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return driver_call("cuGraphGetNodes", [&] { return cudaGraphGetNodes(graph, nodes, count); });
}

BW_CUDART_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                 const CUgraphNode* to,
                                                 const CUgraphEdgeData* edges, size_t count) {
  return driver_call("cuGraphAddDependencies", [&] {
    return cudaGraphAddDependencies(graph, from, to,
                                    reinterpret_cast<const cudaGraphEdgeData*>(edges), count);
  });
}

BW_CUDART_API CUresult cuGraphDestroyNode(CUgraphNode node) {
  return driver_call("cuGraphDestroyNode", [&] { return cudaGraphDestroyNode(node); });
}

BW_CUDART_API CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                               const CUgraphNode* dependencies, size_t count,
                                               const CUDA_KERNEL_NODE_PARAMS* given) {
  return driver_call("cuGraphAddKernelNode", [&] {
    if (given == nullptr) return cudaErrorInvalidValue;
    cudaKernelNodeParams parameters{};
    parameters.func =
        given->func != nullptr ? static_cast<void*>(given->func) : static_cast<void*>(given->kern);
    parameters.gridDim = {given->gridDimX, given->gridDimY, given->gridDimZ};
    parameters.blockDim = {given->blockDimX, given->blockDimY, given->blockDimZ};
    parameters.sharedMemBytes = given->sharedMemBytes;
    parameters.kernelParams = given->kernelParams;
    parameters.extra = given->extra;
    return cudaGraphAddKernelNode(node, graph, dependencies, count, &parameters);
  });
}

BW_CUDART_API CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                                            const CUgraphNode* dependencies, size_t count,
                                            const CUDA_MEMCPY3D* copy, CUcontext) {
  return driver_call("cuGraphAddMemcpyNode", [&] {
    if (copy == nullptr) return cudaErrorInvalidValue;
    if (copy->srcMemoryType == CU_MEMORYTYPE_ARRAY || copy->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
      explain(FaultCode::call_not_supported, "cuGraphAddMemcpyNode",
              "CUDA arrays are not supported; use pitched memory");
      return cudaErrorNotSupported;
    }
    const Side source = side_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice,
                                {copy->srcXInBytes, copy->srcY, copy->srcZ}, copy->srcPitch,
                                copy->srcHeight, *copy);
    const Side destination = side_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice,
                                     {copy->dstXInBytes, copy->dstY, copy->dstZ}, copy->dstPitch,
                                     copy->dstHeight, *copy);
    cudaMemcpy3DParms parameters{};
    parameters.srcPtr = source.pointer;
    parameters.srcPos = source.first;
    parameters.dstPtr = destination.pointer;
    parameters.dstPos = destination.first;
    parameters.extent = {copy->WidthInBytes, copy->Height, copy->Depth};
    parameters.kind = cudaMemcpyDefault;
    return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &parameters);
  });
}

BW_CUDART_API CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                                            const CUgraphNode* dependencies, size_t count,
                                            const CUDA_MEMSET_NODE_PARAMS* given, CUcontext) {
  return driver_call("cuGraphAddMemsetNode", [&] {
    if (given == nullptr) return cudaErrorInvalidValue;
    const cudaMemsetParams parameters{reinterpret_cast<void*>(given->dst),
                                      given->pitch,
                                      given->value,
                                      given->elementSize,
                                      given->width,
                                      given->height};
    return cudaGraphAddMemsetNode(node, graph, dependencies, count, &parameters);
  });
}

BW_CUDART_API CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* dependencies, size_t count,
                                          const CUDA_HOST_NODE_PARAMS* given) {
  return driver_call("cuGraphAddHostNode", [&] {
    if (given == nullptr) return cudaErrorInvalidValue;
    const cudaHostNodeParams parameters{given->fn, given->userData};
    return cudaGraphAddHostNode(node, graph, dependencies, count, &parameters);
  });
}

BW_CUDART_API CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                                const CUgraphNode* dependencies, size_t count,
                                                CUgraph child) {
  return driver_call("cuGraphAddChildGraphNode", [&] {
    return cudaGraphAddChildGraphNode(node, graph, dependencies, count, child);
  });
}

BW_CUDART_API CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                                           const CUgraphNode* dependencies, size_t count) {
  return driver_call("cuGraphAddEmptyNode",
                     [&] { return cudaGraphAddEmptyNode(node, graph, dependencies, count); });
}

BW_CUDART_API CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                                 const CUgraphNode* dependencies, size_t count,
                                                 CUevent event) {
  return driver_call("cuGraphAddEventRecordNode", [&] {
    return cudaGraphAddEventRecordNode(node, graph, dependencies, count, event);
  });
}

BW_CUDART_API CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                               const CUgraphNode* dependencies, size_t count,
                                               CUevent event) {
  return driver_call("cuGraphAddEventWaitNode", [&] {
    return cudaGraphAddEventWaitNode(node, graph, dependencies, count, event);
  });
}

BW_CUDART_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                   unsigned long long flags) {
  return driver_call("cuGraphInstantiateWithFlags",
                     [&] { return cudaGraphInstantiate(exec, graph, flags); });
}

BW_CUDART_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return driver_call("cuGraphLaunch", [&] { return cudaGraphLaunch(exec, stream); });
}
BW_CUDART_TWIN(cuGraphLaunch, _ptsz)

BW_CUDART_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return driver_call("cuGraphUpload", [&] { return cudaGraphUpload(exec, stream); });
}
BW_CUDART_TWIN(cuGraphUpload, _ptsz)

BW_CUDART_API CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return driver_call("cuGraphExecDestroy", [&] { return cudaGraphExecDestroy(exec); });
}
