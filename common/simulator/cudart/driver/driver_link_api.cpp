/// \file
/// The driver's linker: PTX modules become one, as object files do that are linked when a program
/// is built (-rdc=true).
#include <cuda.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/simulator/cudart/driver/driver.hpp"
#include "common/simulator/cudart/image/image.hpp"

namespace bw::sim::cudart {
namespace {

/// What is linked, and what has become of it.
struct LinkState {
  std::vector<LinkInput> inputs;
  std::string text;  ///< once it is complete
};

std::vector<std::unique_ptr<LinkState>>& link_states() {
  static std::vector<std::unique_ptr<LinkState>> states;
  return states;
}

/// Calls `body(runtime, state)` with a live state.
template <class Body>
CUresult with_state(const char* api, CUlinkState handle, Body&& body) {
  return driver_call(api, [&] {
    return device_api([&](Runtime& runtime) {
      const auto& states = link_states();
      const auto found = std::find_if(states.begin(), states.end(), [&](const auto& state) {
        return reinterpret_cast<CUlinkState>(state.get()) == handle;
      });
      if (found == states.end()) {
        explain(FaultCode::call_dead_handle, api,
                "the link state does not exist: it was destroyed or never created");
        return cudaErrorInvalidResourceHandle;
      }
      return body(runtime, **found);
    });
  });
}

const char* type_name(CUjitInputType type) {
  switch (type) {
    case CU_JIT_INPUT_CUBIN:
      return "CU_JIT_INPUT_CUBIN, machine code";
    case CU_JIT_INPUT_OBJECT:
      return "CU_JIT_INPUT_OBJECT, a host's object file";
    case CU_JIT_INPUT_LIBRARY:
      return "CU_JIT_INPUT_LIBRARY, an archive of object files";
    case CU_JIT_INPUT_NVVM:
      return "CU_JIT_INPUT_NVVM, code for link-time optimisation";
    default:
      return "unknown";
  }
}

cudaError_t add(const char* api, Runtime& runtime, LinkState& state, CUjitInputType type,
                const void* data, size_t bytes, const std::string& name) {
  if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY) {
    explain(
        FaultCode::call_argument, api,
        fmt::format("the type of the input {} is {}; the simulator links PTX and the PTX of fat "
                    "binaries: compile with nvcc -rdc=true -ptx or -fatbin",
                    name, type_name(type)));
    return cudaErrorNoKernelImageForDevice;
  }
  state.inputs.push_back({name, link_input_ptx(data, bytes, type == CU_JIT_INPUT_PTX,
                                               *runtime.device().settings().machine, name)});
  return cudaSuccess;
}

/// Nothing is written to the buffers for messages: reports go where all of them go.
void clear_logs(unsigned count, const CUjit_option* options, void** values) {
  for (unsigned i = 0; i < count; ++i) {
    const bool is_log =
        options[i] == CU_JIT_INFO_LOG_BUFFER || options[i] == CU_JIT_ERROR_LOG_BUFFER;
    if (is_log && values[i] != nullptr) *static_cast<char*>(values[i]) = '\0';
  }
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim;
using namespace bw::sim::cudart;

BW_CUDART_API CUresult cuLinkCreate(unsigned count, CUjit_option* options, void** values,
                                    CUlinkState* state) {
  if (state == nullptr || (count > 0 && (options == nullptr || values == nullptr)))
    return CUDA_ERROR_INVALID_VALUE;
  return driver_call("cuLinkCreate", [&] {
    return device_api([&](Runtime&) {
      clear_logs(count, options, values);
      auto& states = link_states();
      states.push_back(std::make_unique<LinkState>());
      *state = reinterpret_cast<CUlinkState>(states.back().get());
      return cudaSuccess;
    });
  });
}

BW_CUDART_API CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data,
                                     size_t bytes, const char* name, unsigned, CUjit_option*,
                                     void**) {
  constexpr const char* kApi = "cuLinkAddData";
  if (data == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return with_state(kApi, state, [&](Runtime& runtime, LinkState& live) {
    const std::string given = name != nullptr ? name : fmt::format("{}", live.inputs.size() + 1);
    return add(kApi, runtime, live, type, data, bytes, given);
  });
}

BW_CUDART_API CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path,
                                     unsigned, CUjit_option*, void**) {
  constexpr const char* kApi = "cuLinkAddFile";
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_state(kApi, state, [&](Runtime& runtime, LinkState& live) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      explain(FaultCode::call_argument, kApi, fmt::format("the file {} can't be read", path));
      return cudaErrorFileNotFound;
    }
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    return add(kApi, runtime, live, type, bytes.data(), bytes.size(), path);
  });
}

BW_CUDART_API CUresult cuLinkComplete(CUlinkState state, void** cubin, size_t* bytes) {
  return with_state("cuLinkComplete", state, [&](Runtime&, LinkState& live) {
    if (cubin == nullptr) return cudaErrorInvalidValue;
    if (live.inputs.empty()) {
      explain(FaultCode::call_argument, "cuLinkComplete",
              "nothing has been added to the link state; add PTX with cuLinkAddData first");
      return cudaErrorInvalidValue;
    }
    live.text = linked_text(live.inputs);
    *cubin = live.text.data();
    if (bytes != nullptr) *bytes = live.text.size() + 1;  // with the zero byte after it
    return cudaSuccess;
  });
}

BW_CUDART_API CUresult cuLinkDestroy(CUlinkState state) {
  return with_state("cuLinkDestroy", state, [&](Runtime&, LinkState& live) {
    std::erase_if(link_states(), [&](const auto& each) { return each.get() == &live; });
    return cudaSuccess;
  });
}

BW_DRIVER_OLD_NAME(cuLinkCreate_v2, "cuLinkCreate")
BW_DRIVER_OLD_NAME(cuLinkAddData_v2, "cuLinkAddData")
BW_DRIVER_OLD_NAME(cuLinkAddFile_v2, "cuLinkAddFile")
