/// \file
/// cudaMemcpy and cudaMemset in all forms that work on plain memory.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "common/simulator/cudart/graph/capture.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

enum class Return { at_once, when_done };

cudaError_t in_order(Runtime& runtime, const char* api, cudaStream_t stream, Operation operation,
                     Return returns) {
  if (returns == Return::when_done) {
    if (const cudaError_t error = refuse_call_in_capture(api); error != cudaSuccess) return error;
  }
  const cudaError_t error = submit(runtime, api, stream, std::move(operation));
  if (error != cudaSuccess || returns == Return::at_once) return error;
  const cudaError_t waited = wait_until(runtime, [&] { return is_done(*find_stream(stream)); });
  if (waited == cudaSuccess) note_wait(runtime, *find_stream(stream));
  return waited;
}

cudaError_t copy_bytes(const char* api, void* destination, const void* source, size_t bytes,
                       cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                       Return returns = Return::when_done) {
  return device_api([&](Runtime& runtime) {
    return in_order(runtime, api, stream,
                    CopyOperation{api, destination, {}, source, {}, {bytes}, kind, nullptr},
                    returns);
  });
}

cudaError_t copy_rows(const char* api, void* destination, size_t destination_pitch,
                      const void* source, size_t source_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind, cudaStream_t stream = nullptr,
                      Return returns = Return::when_done) {
  return device_api([&](Runtime& runtime) {
    return in_order(runtime, api, stream,
                    CopyOperation{api,
                                  destination,
                                  {destination_pitch},
                                  source,
                                  {source_pitch},
                                  {width, height},
                                  kind,
                                  nullptr},
                    returns);
  });
}

cudaError_t copy_boxes(const char* api, const cudaMemcpy3DParms* parameters,
                       cudaStream_t stream = nullptr, Return returns = Return::when_done) {
  return device_api([&](Runtime& runtime) {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    CopyOperation operation;
    const cudaError_t error = describe_copy(api, *parameters, operation);
    return error != cudaSuccess ? error
                                : in_order(runtime, api, stream, std::move(operation), returns);
  });
}

cudaError_t set_bytes(const char* api, void* pointer, size_t pitch, int value, size_t width,
                      size_t height, cudaStream_t stream = nullptr) {
  return device_api([&](Runtime& runtime) {
    return in_order(
        runtime, api, stream,
        FillOperation{api, pointer, {pitch}, {static_cast<uint32_t>(value)}, {width, height}},
        Return::at_once);
  });
}

cudaError_t set_boxes(const char* api, const cudaPitchedPtr& pointer, int value,
                      const cudaExtent& extent, cudaStream_t stream = nullptr) {
  return device_api([&](Runtime& runtime) {
    return in_order(runtime, api, stream,
                    FillOperation{api,
                                  pointer.ptr,
                                  {pointer.pitch, pointer.pitch * pointer.ysize},
                                  {static_cast<uint32_t>(value)},
                                  {extent.width, extent.height, extent.depth}},
                    Return::at_once);
  });
}

cudaError_t copy_to_symbol(const char* api, const void* host_variable, const void* source,
                           size_t count, size_t offset, cudaMemcpyKind kind,
                           cudaStream_t stream = nullptr, Return returns = Return::when_done) {
  return device_api([&](Runtime& runtime) {
    void* place = nullptr;
    const cudaError_t error =
        find_in_symbol(runtime, api, host_variable, count, offset, place, nullptr);
    if (error != cudaSuccess) return error;
    return in_order(runtime, api, stream,
                    CopyOperation{api, place, {}, source, {}, {count}, kind, nullptr}, returns);
  });
}

cudaError_t copy_from_symbol(const char* api, void* destination, const void* host_variable,
                             size_t count, size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream = nullptr, Return returns = Return::when_done) {
  return device_api([&](Runtime& runtime) {
    void* place = nullptr;
    const cudaError_t error =
        find_in_symbol(runtime, api, host_variable, count, offset, place, nullptr);
    if (error != cudaSuccess) return error;
    return in_order(runtime, api, stream,
                    CopyOperation{api, destination, {}, place, {}, {count}, kind, nullptr},
                    returns);
  });
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes,
                                     cudaMemcpyKind kind) {
  return copy_bytes("cudaMemcpy", destination, source, bytes, kind);
}
BW_CUDART_TWIN(cudaMemcpy, _ptds)

BW_CUDART_API cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_bytes("cudaMemcpyAsync", destination, source, bytes, kind, stream, Return::at_once);
}
BW_CUDART_TWIN(cudaMemcpyAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpyPeer(void* destination, int, const void* source, int,
                                         size_t bytes) {
  return copy_bytes("cudaMemcpyPeer", destination, source, bytes, cudaMemcpyDeviceToDevice);
}

BW_CUDART_API cudaError_t cudaMemcpyPeerAsync(void* destination, int, const void* source, int,
                                              size_t bytes, cudaStream_t stream) {
  return copy_bytes("cudaMemcpyPeerAsync", destination, source, bytes, cudaMemcpyDeviceToDevice,
                    stream, Return::at_once);
}

BW_CUDART_API cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch,
                                       const void* source, size_t source_pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind) {
  return copy_rows("cudaMemcpy2D", destination, destination_pitch, source, source_pitch, width,
                   height, kind);
}
BW_CUDART_TWIN(cudaMemcpy2D, _ptds)

BW_CUDART_API cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch,
                                            const void* source, size_t source_pitch, size_t width,
                                            size_t height, cudaMemcpyKind kind,
                                            cudaStream_t stream) {
  return copy_rows("cudaMemcpy2DAsync", destination, destination_pitch, source, source_pitch, width,
                   height, kind, stream, Return::at_once);
}
BW_CUDART_TWIN(cudaMemcpy2DAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return copy_boxes("cudaMemcpy3D", parameters);
}
BW_CUDART_TWIN(cudaMemcpy3D, _ptds)

BW_CUDART_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters,
                                            cudaStream_t stream) {
  return copy_boxes("cudaMemcpy3DAsync", parameters, stream, Return::at_once);
}
BW_CUDART_TWIN(cudaMemcpy3DAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t count,
                                             size_t offset, cudaMemcpyKind kind) {
  return copy_to_symbol("cudaMemcpyToSymbol", symbol, source, count, offset, kind);
}
BW_CUDART_TWIN(cudaMemcpyToSymbol, _ptds)

BW_CUDART_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source,
                                                  size_t count, size_t offset, cudaMemcpyKind kind,
                                                  cudaStream_t stream) {
  return copy_to_symbol("cudaMemcpyToSymbolAsync", symbol, source, count, offset, kind, stream,
                        Return::at_once);
}
BW_CUDART_TWIN(cudaMemcpyToSymbolAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t count,
                                               size_t offset, cudaMemcpyKind kind) {
  return copy_from_symbol("cudaMemcpyFromSymbol", destination, symbol, count, offset, kind);
}
BW_CUDART_TWIN(cudaMemcpyFromSymbol, _ptds)

BW_CUDART_API cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol,
                                                    size_t count, size_t offset,
                                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_from_symbol("cudaMemcpyFromSymbolAsync", destination, symbol, count, offset, kind,
                          stream, Return::at_once);
}
BW_CUDART_TWIN(cudaMemcpyFromSymbolAsync, _ptsz)

BW_CUDART_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return device_api([&](Runtime& runtime) {
    return find_in_symbol(runtime, "cudaGetSymbolAddress", symbol, 0, 0, *address, nullptr);
  });
}

BW_CUDART_API cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return device_api([&](Runtime& runtime) {
    void* place = nullptr;
    return find_in_symbol(runtime, "cudaGetSymbolSize", symbol, 0, 0, place, size);
  });
}

BW_CUDART_API cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return set_bytes("cudaMemset", pointer, 0, value, bytes, 1);
}
BW_CUDART_TWIN(cudaMemset, _ptds)

BW_CUDART_API cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes,
                                          cudaStream_t stream) {
  return set_bytes("cudaMemsetAsync", pointer, 0, value, bytes, 1, stream);
}
BW_CUDART_TWIN(cudaMemsetAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width,
                                       size_t height) {
  return set_bytes("cudaMemset2D", pointer, pitch, value, width, height);
}
BW_CUDART_TWIN(cudaMemset2D, _ptds)

BW_CUDART_API cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width,
                                            size_t height, cudaStream_t stream) {
  return set_bytes("cudaMemset2DAsync", pointer, pitch, value, width, height, stream);
}
BW_CUDART_TWIN(cudaMemset2DAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return set_boxes("cudaMemset3D", pointer, value, extent);
}
BW_CUDART_TWIN(cudaMemset3D, _ptds)

BW_CUDART_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent,
                                            cudaStream_t stream) {
  return set_boxes("cudaMemset3DAsync", pointer, value, extent, stream);
}
BW_CUDART_TWIN(cudaMemset3DAsync, _ptsz)
