#include "common/simulator/cudart/graph/graph_node_operations.hpp"

#include <utility>
#include <variant>

#include <fmt/core.h>

#include "common/simulator/cudart/graph/graph.hpp"
#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"

namespace bw::sim::cudart {

cudaError_t describe(Runtime& runtime, const char* api, const cudaKernelNodeParams* parameters,
                     Operation& operation) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  Function* const function = runtime.find_function(parameters->func);
  if (function == nullptr) {
    explain(FaultCode::call_unknown_symbol, api,
            "the function given is not a kernel of this program");
    return cudaErrorInvalidDeviceFunction;
  }
  if (parameters->kernelParams == nullptr && parameters->extra != nullptr) {
    explain(FaultCode::call_not_supported, api,
            "arguments in one buffer (`extra`) are not supported; pass `kernelParams`");
    return cudaErrorNotSupported;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = parameters->gridDim;
  config.blockDim = parameters->blockDim;
  config.dynamicSmemBytes = parameters->sharedMemBytes;
  KernelOperation kernel;
  const cudaError_t error =
      describe_launch(runtime, api, *function, config, parameters->kernelParams, kernel);
  if (error != cudaSuccess) return error;
  // Attributes belong to the node and stay.
  if (auto* const before = std::get_if<KernelOperation>(&operation))
    kernel.attributes = std::move(before->attributes);
  operation = std::move(kernel);
  return cudaSuccess;
}

cudaError_t describe(Runtime&, const char* api, const cudaMemcpy3DParms* parameters,
                     Operation& operation) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  CopyOperation copying;
  const cudaError_t error = describe_copy(api, *parameters, copying);
  if (error == cudaSuccess) operation = std::move(copying);
  return error;
}

cudaError_t describe(Runtime&, const char* api, const PlainCopy& given, Operation& operation) {
  operation = CopyOperation{api, given.destination, {},         given.source,
                            {},  {given.bytes},     given.kind, nullptr};
  return cudaSuccess;
}

cudaError_t describe(Runtime& runtime, const char* api, const CopyToSymbol& given,
                     Operation& operation) {
  void* place = nullptr;
  const cudaError_t error =
      find_in_symbol(runtime, api, given.symbol, given.bytes, given.offset, place, nullptr);
  if (error != cudaSuccess) return error;
  return describe(runtime, api, PlainCopy{place, given.source, given.bytes, given.kind}, operation);
}

cudaError_t describe(Runtime& runtime, const char* api, const CopyFromSymbol& given,
                     Operation& operation) {
  void* place = nullptr;
  const cudaError_t error =
      find_in_symbol(runtime, api, given.symbol, given.bytes, given.offset, place, nullptr);
  if (error != cudaSuccess) return error;
  return describe(runtime, api, PlainCopy{given.destination, place, given.bytes, given.kind},
                  operation);
}

cudaError_t describe(Runtime&, const char* api, const cudaMemsetParams* parameters,
                     Operation& operation) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const size_t element_bytes = parameters->elementSize;
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) {
    explain(FaultCode::call_argument, api,
            fmt::format("an element has {} bytes; 1, 2 and 4 are possible", element_bytes));
    return cudaErrorInvalidValue;
  }
  FillOperation filling{api,
                        parameters->dst,
                        {parameters->pitch},
                        {parameters->value, element_bytes},
                        {parameters->width * element_bytes, parameters->height}};
  operation = filling;
  return cudaSuccess;
}

cudaError_t describe(Runtime&, const char*, const cudaHostNodeParams* parameters,
                     Operation& operation) {
  if (parameters == nullptr || parameters->fn == nullptr) return cudaErrorInvalidValue;
  const auto [function, user_data] = *parameters;
  operation = HostOperation{[function = function, user_data = user_data] { function(user_data); },
                            function, user_data};
  return cudaSuccess;
}

cudaError_t describe(Runtime&, const char*, const Record& given, Operation& operation) {
  if (find_event(given.event) == nullptr) return cudaErrorInvalidResourceHandle;
  operation = RecordOperation{given.event};
  return cudaSuccess;
}

cudaError_t describe(Runtime&, const char*, const WaitFor& given, Operation& operation) {
  if (find_event(given.event) == nullptr) return cudaErrorInvalidResourceHandle;
  operation = WaitOperation{given.event};
  return cudaSuccess;
}

cudaError_t describe(Runtime&, const char*, const Nothing&, Operation& operation) {
  operation = EmptyOperation{};
  return cudaSuccess;
}

}  // namespace bw::sim::cudart
