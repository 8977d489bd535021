#include "common/simulator/cudart/runtime/launch.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/host_races.hpp"
#include "common/simulator/cudart/runtime/launch_file.hpp"
#include "common/simulator/cudart/runtime/reporting.hpp"
#include "common/simulator/cudart/runtime/streams.hpp"
#include "common/simulator/diagnosis/explain.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/limits.hpp"

namespace bw::sim::cudart {
namespace {

Dim3 extents(const dim3& d) { return {d.x, d.y, d.z}; }

struct LaunchOptions {
  bool cooperative = false;
  bool begins_early = false;        // programmatic dependent launch
  std::vector<cudaEvent_t> events;  // recorded when the kernel has ended
};

// Attributes that change results are used; those that only guide scheduling or caches are accepted.
cudaError_t read_attributes(const KernelOperation& operation, LaunchOptions& options) {
  for (const cudaLaunchAttribute& attribute : operation.attributes) {
    switch (attribute.id) {
      case cudaLaunchAttributeCooperative:
        options.cooperative = attribute.val.cooperative != 0;
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        options.begins_early = attribute.val.programmaticStreamSerializationAllowed != 0;
        break;
      case cudaLaunchAttributeProgrammaticEvent:
        options.events.push_back(attribute.val.programmaticEvent.event);
        break;
      case cudaLaunchAttributeLaunchCompletionEvent:
        options.events.push_back(attribute.val.launchCompletionEvent.event);
        break;
      case cudaLaunchAttributeDeviceUpdatableKernelNode:
        explain(FaultCode::call_not_supported, "cudaLaunchKernelExC",
                "graph nodes that kernels update are not supported");
        return cudaErrorNotSupported;
      default:
        break;
    }
  }
  return cudaSuccess;
}

Dim3 cluster_in(std::span<const cudaLaunchAttribute> attributes, const Function& function,
                const Kernel& kernel) {
  for (const cudaLaunchAttribute& attribute : attributes) {
    if (attribute.id != cudaLaunchAttributeClusterDimension) continue;
    const auto& given = attribute.val.clusterDim;
    return {given.x, given.y, given.z};
  }
  const Dim3 required = required_cluster(function, kernel);
  return required.x == 0 ? Dim3{} : required;
}

/// Whether the launch or the kernel says how large clusters are.
bool has_clusters(std::span<const cudaLaunchAttribute> attributes, const Function& function,
                  const Kernel& kernel) {
  return required_cluster(function, kernel).x != 0 ||
         std::any_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
           return attribute.id == cudaLaunchAttributeClusterDimension;
         });
}

LaunchResult begin(Runtime& runtime, const KernelOperation& operation,
                   const LaunchOptions& options) {
  Function& function = *operation.function;
  const Kernel& kernel = runtime.kernel(function);
  LaunchConfiguration configuration;
  configuration.grid = extents(operation.grid);
  configuration.block = extents(operation.block);
  configuration.cluster = cluster_in(operation.attributes, function, kernel);
  configuration.in_clusters = has_clusters(operation.attributes, function, kernel);
  configuration.dynamic_shared_bytes = operation.dynamic_shared_bytes;
  configuration.dynamic_shared_limit_bytes = dynamic_shared_limit(function, kernel);
  configuration.non_portable_cluster = function.non_portable_cluster;
  configuration.cooperative = options.cooperative;
  configuration.may_wait = true;
  configuration.is_dependent = options.begins_early && !operation.has_full_edges &&
                               runtime.last_launch_stream == operation.stream;
  std::vector<const void*> arguments;
  for (const ParameterLayout& parameter : kernel.parameters())
    arguments.push_back(operation.arguments.data() + parameter.offset_bytes);
  runtime.replacement().note_launch(kernel, function.replaced);
  note_launch(runtime, operation);
  if (LaunchFile* const file = LaunchFile::instance())
    file->begin_launch(kernel, configuration, operation.arguments);
  return runtime.device().launch(kernel, configuration, arguments);
}

cudaError_t launch_api(const void* host_function, const cudaLaunchConfig_t* config,
                       void** arguments) {
  return device_api([&](Runtime& runtime) {
    if (config == nullptr) return cudaErrorInvalidValue;
    Function* const function = runtime.find_function(host_function);
    if (function == nullptr) {
      explain(FaultCode::call_unknown_symbol, "kernel launch",
              "the function given is not a kernel of this program");
      return cudaErrorInvalidDeviceFunction;
    }
    KernelOperation operation;
    const cudaError_t error =
        describe_launch(runtime, "kernel launch", *function, *config, arguments, operation);
    if (error != cudaSuccess) return error;
    return submit(runtime, "kernel launch", config->stream, std::move(operation));
  });
}

}  // namespace

cudaError_t launch(Runtime& runtime, KernelOperation& operation) {
  // A report of this launch follows the warnings that it has let pass.
  struct WarningsAtExit {
    Device& device;
    ~WarningsAtExit() { show_warnings(device.warnings()); }
  } const warnings_at_exit{runtime.device()};
  LaunchOptions options;
  const cudaError_t attributes_error = read_attributes(operation, options);
  if (attributes_error != cudaSuccess) return attributes_error;
  const LaunchResult result = operation.waiting != nullptr
                                  ? runtime.device().resume(operation.waiting)
                                  : begin(runtime, operation, options);
  if (LaunchFile* const file = LaunchFile::instance()) file->end_launch(result);
  operation.waiting = result.status == RunStatus::waiting ? result.stuck : nullptr;
  runtime.last_launch_stream = operation.waiting != nullptr ? nullptr : operation.stream;
  if (operation.waiting != nullptr) return cudaSuccess;
  explained(result);
  for (const cudaEvent_t event : options.events) {
    Operation recording = RecordOperation{event};
    (void)perform(runtime, recording);
  }
  return cudaSuccess;
}

size_t dynamic_shared_limit(const Function& function, const Kernel& kernel) {
  if (function.max_dynamic_shared_bytes >= 0)
    return static_cast<size_t>(function.max_dynamic_shared_bytes);
  const size_t static_bytes = kernel.static_shared_bytes() - kReservedSharedBytes;
  return kSharedBytesDefault - std::min(kSharedBytesDefault, static_bytes);
}

Dim3 required_cluster(const Function& function, const Kernel& kernel) {
  const uint32_t* const compiled = kernel.function().directives.required_cluster;
  if (compiled[0] != 0) return {compiled[0], std::max(1u, compiled[1]), std::max(1u, compiled[2])};
  const Dim3& chosen = function.required_cluster;
  if (chosen.x == 0 && chosen.y == 0 && chosen.z == 0) return {0, 0, 0};
  return {std::max(1u, chosen.x), std::max(1u, chosen.y), std::max(1u, chosen.z)};
}

Dim3 cluster_of(const cudaLaunchConfig_t& config, const Function& function, const Kernel& kernel) {
  return cluster_in({config.attrs, config.numAttrs}, function, kernel);
}

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                              const void* function, void** arguments) {
  return launch_api(function, config, arguments);
}
BW_CUDART_TWIN(cudaLaunchKernelExC, _ptsz)

BW_CUDART_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block,
                                           void** arguments, size_t dynamic_shared_bytes,
                                           cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_shared_bytes;
  config.stream = stream;
  return launch_api(function, &config, arguments);
}
BW_CUDART_TWIN(cudaLaunchKernel, _ptsz)

BW_CUDART_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                                      void** arguments, size_t dynamic_shared_bytes,
                                                      cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return launch_api(function, &config, arguments);
}
BW_CUDART_TWIN(cudaLaunchCooperativeKernel, _ptsz)
