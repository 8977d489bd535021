/// \file
/// cudaMemcpy and cudaMemset in all forms that work on plain memory. Streams run in order and at
/// once, so the asynchronous forms copy before they return.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "common/simulator/cudart/api.hpp"
#include "common/simulator/cudart/transfer.hpp"

namespace bw::sim::cudart {
namespace {

cudaError_t copy_bytes(const char* api, void* destination, const void* source, size_t bytes,
                       cudaMemcpyKind kind) {
  return device_api([&](Runtime& runtime) {
    return copy(runtime, api, destination, {}, source, {}, {bytes}, kind);
  });
}

cudaError_t copy_rows(const char* api, void* destination, size_t destination_pitch,
                      const void* source, size_t source_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind) {
  return device_api([&](Runtime& runtime) {
    return copy(runtime, api, destination, {destination_pitch}, source, {source_pitch},
                {width, height}, kind);
  });
}

cudaError_t copy_boxes(const char* api, const cudaMemcpy3DParms* parameters) {
  return device_api([&](Runtime& runtime) {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    if (parameters->srcArray != nullptr || parameters->dstArray != nullptr) {
      explain(api, "CUDA arrays are not supported; use pitched memory");
      return cudaErrorNotSupported;
    }
    const auto first = [](const cudaPitchedPtr& pointer, const cudaPos& position) {
      return static_cast<std::byte*>(pointer.ptr) +
             (position.z * pointer.ysize + position.y) * pointer.pitch + position.x;
    };
    const auto side = [](const cudaPitchedPtr& pointer) {
      return CopySide{pointer.pitch, pointer.pitch * pointer.ysize};
    };
    return copy(runtime, api, first(parameters->dstPtr, parameters->dstPos),
                side(parameters->dstPtr), first(parameters->srcPtr, parameters->srcPos),
                side(parameters->srcPtr),
                {parameters->extent.width, parameters->extent.height, parameters->extent.depth},
                parameters->kind);
  });
}

cudaError_t set_bytes(const char* api, void* pointer, size_t pitch, int value, size_t width,
                      size_t height) {
  return device_api([&](Runtime& runtime) {
    return fill(runtime, api, pointer, {pitch}, value, {width, height});
  });
}

cudaError_t set_boxes(const char* api, const cudaPitchedPtr& pointer, int value,
                      const cudaExtent& extent) {
  return device_api([&](Runtime& runtime) {
    return fill(runtime, api, pointer.ptr, {pointer.pitch, pointer.pitch * pointer.ysize}, value,
                {extent.width, extent.height, extent.depth});
  });
}

// Calls `use` with the address of a registered variable.
template <class Use>
cudaError_t with_symbol(const char* api, const void* host_variable, Use&& use) {
  return device_api([&](Runtime& runtime) {
    const Symbol* const symbol = runtime.find_symbol(host_variable);
    if (symbol == nullptr) {
      explain(api,
              "the symbol is not a __device__, __constant__ or __managed__ variable of this "
              "program; pass the variable itself, not its name or a pointer");
      return cudaErrorInvalidSymbol;
    }
    const uint64_t address = runtime.symbol_address(*symbol);
    if (address == 0) {
      explain(api,
              "the variable `" + symbol->name + "` is not in the PTX of " + symbol->image->name);
      return cudaErrorInvalidSymbol;
    }
    return use(runtime, *symbol, address);
  });
}

cudaError_t check_symbol_range(const char* api, const Symbol& symbol, size_t count, size_t offset) {
  if (offset <= symbol.size_bytes && count <= symbol.size_bytes - offset) return cudaSuccess;
  explain(api, fmt::format("{} bytes from byte {} leave the variable `{}` of {} bytes", count,
                           offset, symbol.name, symbol.size_bytes));
  return cudaErrorInvalidValue;
}

cudaError_t copy_to_symbol(const char* api, const void* host_variable, const void* source,
                           size_t count, size_t offset, cudaMemcpyKind kind) {
  return with_symbol(api, host_variable,
                     [&](Runtime& runtime, const Symbol& symbol, uint64_t address) {
                       const cudaError_t error = check_symbol_range(api, symbol, count, offset);
                       if (error != cudaSuccess) return error;
                       return copy(runtime, api, reinterpret_cast<void*>(address + offset), {},
                                   source, {}, {count}, kind);
                     });
}

cudaError_t copy_from_symbol(const char* api, void* destination, const void* host_variable,
                             size_t count, size_t offset, cudaMemcpyKind kind) {
  return with_symbol(
      api, host_variable, [&](Runtime& runtime, const Symbol& symbol, uint64_t address) {
        const cudaError_t error = check_symbol_range(api, symbol, count, offset);
        if (error != cudaSuccess) return error;
        return copy(runtime, api, destination, {}, reinterpret_cast<const void*>(address + offset),
                    {}, {count}, kind);
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
                                          cudaMemcpyKind kind, cudaStream_t) {
  return copy_bytes("cudaMemcpyAsync", destination, source, bytes, kind);
}
BW_CUDART_TWIN(cudaMemcpyAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpyPeer(void* destination, int, const void* source, int,
                                         size_t bytes) {
  return copy_bytes("cudaMemcpyPeer", destination, source, bytes, cudaMemcpyDeviceToDevice);
}

BW_CUDART_API cudaError_t cudaMemcpyPeerAsync(void* destination, int, const void* source, int,
                                              size_t bytes, cudaStream_t) {
  return copy_bytes("cudaMemcpyPeerAsync", destination, source, bytes, cudaMemcpyDeviceToDevice);
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
                                            size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return copy_rows("cudaMemcpy2DAsync", destination, destination_pitch, source, source_pitch, width,
                   height, kind);
}
BW_CUDART_TWIN(cudaMemcpy2DAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return copy_boxes("cudaMemcpy3D", parameters);
}
BW_CUDART_TWIN(cudaMemcpy3D, _ptds)

BW_CUDART_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t) {
  return copy_boxes("cudaMemcpy3DAsync", parameters);
}
BW_CUDART_TWIN(cudaMemcpy3DAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t count,
                                             size_t offset, cudaMemcpyKind kind) {
  return copy_to_symbol("cudaMemcpyToSymbol", symbol, source, count, offset, kind);
}
BW_CUDART_TWIN(cudaMemcpyToSymbol, _ptds)

BW_CUDART_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source,
                                                  size_t count, size_t offset, cudaMemcpyKind kind,
                                                  cudaStream_t) {
  return copy_to_symbol("cudaMemcpyToSymbolAsync", symbol, source, count, offset, kind);
}
BW_CUDART_TWIN(cudaMemcpyToSymbolAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t count,
                                               size_t offset, cudaMemcpyKind kind) {
  return copy_from_symbol("cudaMemcpyFromSymbol", destination, symbol, count, offset, kind);
}
BW_CUDART_TWIN(cudaMemcpyFromSymbol, _ptds)

BW_CUDART_API cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol,
                                                    size_t count, size_t offset,
                                                    cudaMemcpyKind kind, cudaStream_t) {
  return copy_from_symbol("cudaMemcpyFromSymbolAsync", destination, symbol, count, offset, kind);
}
BW_CUDART_TWIN(cudaMemcpyFromSymbolAsync, _ptsz)

BW_CUDART_API cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return with_symbol("cudaGetSymbolAddress", symbol,
                     [&](Runtime&, const Symbol&, uint64_t device_address) {
                       *address = reinterpret_cast<void*>(device_address);
                       return cudaSuccess;
                     });
}

BW_CUDART_API cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return with_symbol("cudaGetSymbolSize", symbol, [&](Runtime&, const Symbol& found, uint64_t) {
    *size = found.size_bytes;
    return cudaSuccess;
  });
}

BW_CUDART_API cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  return set_bytes("cudaMemset", pointer, 0, value, bytes, 1);
}
BW_CUDART_TWIN(cudaMemset, _ptds)

BW_CUDART_API cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) {
  return set_bytes("cudaMemsetAsync", pointer, 0, value, bytes, 1);
}
BW_CUDART_TWIN(cudaMemsetAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width,
                                       size_t height) {
  return set_bytes("cudaMemset2D", pointer, pitch, value, width, height);
}
BW_CUDART_TWIN(cudaMemset2D, _ptds)

BW_CUDART_API cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width,
                                            size_t height, cudaStream_t) {
  return set_bytes("cudaMemset2DAsync", pointer, pitch, value, width, height);
}
BW_CUDART_TWIN(cudaMemset2DAsync, _ptsz)

BW_CUDART_API cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return set_boxes("cudaMemset3D", pointer, value, extent);
}
BW_CUDART_TWIN(cudaMemset3D, _ptds)

BW_CUDART_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent,
                                            cudaStream_t) {
  return set_boxes("cudaMemset3DAsync", pointer, value, extent);
}
BW_CUDART_TWIN(cudaMemset3DAsync, _ptsz)
