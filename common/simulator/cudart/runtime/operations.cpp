#include "common/simulator/cudart/runtime/operations.hpp"

#include <cuda_runtime_api.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/launch.hpp"
#include "common/simulator/cudart/runtime/launch_file.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {
namespace {

Outcome run(Runtime&, EmptyOperation&) { return {}; }

Outcome run(Runtime& runtime, KernelOperation& kernel) {
  Outcome outcome;
  outcome.error = launch(runtime, kernel);
  outcome.waits = kernel.waiting != nullptr;
  return outcome;
}

Outcome run(Runtime& runtime, CopyOperation& copying) {
  const cudaError_t error =
      copy(runtime, copying.api, copying.destination, copying.destination_side, copying.source,
           copying.source_side, copying.shape, copying.kind);
  if (error == cudaSuccess) note_copy(runtime, copying);
  return {error};
}

Outcome run(Runtime& runtime, FillOperation& filling) {
  const cudaError_t error =
      fill(runtime, filling.api, filling.destination, filling.side, filling.value, filling.shape);
  if (error == cudaSuccess) note_fill(runtime, filling);
  return {error};
}

// The function may take locks that another thread holds while it calls the runtime.
Outcome run(Runtime& runtime, HostOperation& host) {
  runtime.mutex().unlock();
  host.call();
  runtime.mutex().lock();
  return {};
}

Outcome run(Runtime& runtime, RecordOperation& recording) {
  CUevent_st* const event = find_event(recording.event);
  if (event == nullptr) return {};  // destroyed since: it can't be queried any more
  if (recording.record == 0) recording.record = ++event->records;  // a graph's node, launched again
  event->reached = recording.record;
  event->time = runtime.device().clock();
  runtime.device().take_time();
  if (LaunchFile* const file = LaunchFile::instance()) file->note_timestamp();
  return {};
}

Outcome run(Runtime&, WaitOperation& waiting) {
  const CUevent_st* const event = find_event(waiting.event);
  if (event == nullptr) return {};
  if (waiting.record == 0) waiting.record = event->records;
  return {cudaSuccess, event->reached < waiting.record};
}

Outcome run(Runtime& runtime, FreeOperation& freeing) {
  const auto address = reinterpret_cast<uint64_t>(freeing.pointer);
  if (const ProgramAllocation* const allocation = runtime.find_allocation(address))
    note_free(runtime, address, allocation->size_bytes);
  runtime.release(address, /*host_memory=*/false);
  return {};
}

}  // namespace

void CopyOperation::stage(Runtime& runtime) {
  if (runtime.device().memory().in_arena(reinterpret_cast<uint64_t>(source))) return;
  if (source == nullptr) return;
  const size_t bytes = extent_bytes(source_side, shape);
  const auto* const first = static_cast<const std::byte*>(source);
  staged = std::make_shared<std::vector<std::byte>>(first, first + bytes);
  source = staged->data();
}

Outcome perform(Runtime& runtime, Operation& operation) {
  const bool keeps_last = std::holds_alternative<KernelOperation>(operation) ||
                          std::holds_alternative<WaitOperation>(operation);
  if (!keeps_last) runtime.last_launch_stream = nullptr;
  return std::visit([&](auto& one) { return run(runtime, one); }, operation);
}

cudaError_t describe_launch(Runtime& runtime, const char* api, Function& function,
                            const cudaLaunchConfig_t& config, void** arguments,
                            KernelOperation& operation) {
  const Kernel& kernel = runtime.kernel(function);
  const auto& parameters = kernel.parameters();
  if (!parameters.empty() && arguments == nullptr) {
    explain(FaultCode::call_argument, api,
            fmt::format("{} takes {} parameters, but no arguments were given", kernel.name(),
                        parameters.size()));
    return cudaErrorInvalidValue;
  }
  operation.function = &function;
  operation.grid = config.gridDim;
  operation.block = config.blockDim;
  operation.dynamic_shared_bytes = config.dynamicSmemBytes;
  operation.attributes.assign(config.attrs, config.attrs + config.numAttrs);
  operation.arguments.resize(kernel.parameter_bytes());
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::memcpy(operation.arguments.data() + parameters[i].offset_bytes, arguments[i],
                parameters[i].size_bytes);
  }
  return cudaSuccess;
}

cudaError_t describe_copy(const char* api, const cudaMemcpy3DParms& parameters,
                          CopyOperation& operation) {
  if (parameters.srcArray != nullptr || parameters.dstArray != nullptr) {
    explain(FaultCode::call_not_supported, api,
            "CUDA arrays are not supported; use pitched memory");
    return cudaErrorNotSupported;
  }
  const auto first = [](const cudaPitchedPtr& pointer, const cudaPos& position) {
    return static_cast<std::byte*>(pointer.ptr) +
           (position.z * pointer.ysize + position.y) * pointer.pitch + position.x;
  };
  const auto side = [](const cudaPitchedPtr& pointer) {
    return CopySide{pointer.pitch, pointer.pitch * pointer.ysize};
  };
  operation.api = api;
  operation.destination = first(parameters.dstPtr, parameters.dstPos);
  operation.destination_side = side(parameters.dstPtr);
  operation.source = first(parameters.srcPtr, parameters.srcPos);
  operation.source_side = side(parameters.srcPtr);
  operation.shape = {parameters.extent.width, parameters.extent.height, parameters.extent.depth};
  operation.kind = parameters.kind;
  return cudaSuccess;
}

cudaError_t find_in_symbol(Runtime& runtime, const char* api, const void* host_variable,
                           size_t count, size_t offset, void*& place, size_t* size) {
  const Symbol* const symbol = runtime.find_symbol(host_variable);
  if (symbol == nullptr) {
    explain(FaultCode::call_unknown_symbol, api,
            "the symbol is not a __device__, __constant__ or __managed__ variable of this program; "
            "pass the variable itself, not its name or a pointer");
    return cudaErrorInvalidSymbol;
  }
  const uint64_t address = runtime.symbol_address(*symbol);
  if (address == 0) {
    explain(FaultCode::call_unknown_symbol, api,
            "the variable `" + symbol->name + "` is not in the PTX of " + symbol->image->name);
    return cudaErrorInvalidSymbol;
  }
  if (offset > symbol->size_bytes || count > symbol->size_bytes - offset) {
    explain(FaultCode::call_memory_range, api,
            fmt::format("{} bytes from byte {} leave the variable `{}` of {} bytes", count, offset,
                        symbol->name, symbol->size_bytes));
    return cudaErrorInvalidValue;
  }
  place = reinterpret_cast<void*>(address + offset);
  if (size != nullptr) *size = symbol->size_bytes;
  return cudaSuccess;
}

}  // namespace bw::sim::cudart
