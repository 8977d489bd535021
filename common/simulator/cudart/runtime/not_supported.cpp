/// \file
/// Every function of the runtime and the driver that the simulator does not provide exists, so that
/// programs link and load; calling one says its name and returns cudaErrorNotSupported (in the
/// driver CUDA_ERROR_NOT_SUPPORTED, the same number).
#include <set>
#include <string>
#include <string_view>

#include "common/simulator/cudart/runtime/api.hpp"
#include "common/simulator/cudart/runtime/entry_points.hpp"

namespace bw::sim::cudart {
namespace {

cudaError_t not_supported(const char* name) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard<std::recursive_mutex> lock(runtime.mutex());
  // A program may ask again and again; it is told once.
  static auto* const told = new std::set<std::string_view>;
  if (told->insert(name).second) {
    explain(FaultCode::call_not_supported, name,
            find_entry_point(name) == nullptr
                ? "this function is not supported by the simulator"
                : "this is the interface with 32-bit addresses of CUDA 3; call the newest "
                  "version of it (`nm -D libcuda.so.1` lists them: " +
                      std::string(name) + "_v2, ...)");
  }
  return record_error(cudaErrorNotSupported);
}

}  // namespace
}  // namespace bw::sim::cudart

// The parameters do not matter: nothing reads them.
#define BW_NOT_SUPPORTED(name) \
  BW_CUDART_API cudaError_t name() { return bw::sim::cudart::not_supported(#name); }
#include "common/simulator/cudart/driver/not_supported_driver.inc"
#include "common/simulator/cudart/runtime/not_supported.inc"
#undef BW_NOT_SUPPORTED

namespace bw::sim::cudart {

void* find_missing_entry_point(std::string_view name) {
  struct Missing {
    std::string_view name;
    cudaError_t (*function)();
  };
  static const Missing functions[] = {
#define BW_NOT_SUPPORTED(function) {#function, function},
#include "common/simulator/cudart/driver/not_supported_driver.inc"
#undef BW_NOT_SUPPORTED
  };
  for (const Missing& missing : functions)
    if (missing.name == name) return reinterpret_cast<void*>(missing.function);
  return nullptr;
}

}  // namespace bw::sim::cudart
