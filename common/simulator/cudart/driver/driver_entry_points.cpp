/// \file
/// The driver's functions by name: cuGetProcAddress and the runtime's cudaGetDriverEntryPoint.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>
#include <string_view>

#include "common/simulator/cudart/driver/driver.hpp"
#include "common/simulator/cudart/runtime/entry_points.hpp"

// The header's macros lead from the names that programs write to the newest versions.
BW_CUDART_API CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                        cuuint64_t flags, CUdriverProcAddressQueryResult* status);
BW_CUDART_API CUresult cuGetExportTable(const void** table, const CUuuid* id);

namespace bw::sim::cudart {
namespace {

struct EntryPoint {
  std::string_view name;
  void* function;
};

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

/// A driver's function, one that only says its name, or nullptr.
void* any_entry_point(std::string_view symbol) {
  if (symbol == "cuGetExportTable") return address_of(cuGetExportTable);
  void* const found = find_entry_point(symbol);
  // As a driver does: a program that requests all functions may never call this one.
  return found != nullptr ? found : find_missing_entry_point(symbol);
}

cudaError_t driver_entry_point(const char* symbol, void** function,
                               cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return record_error(cudaErrorInvalidValue);
  *function = any_entry_point(symbol);
  if (status != nullptr) {
    *status =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  }
  if (*function != nullptr) return record_error(cudaSuccess);
  explain(FaultCode::call_unknown_symbol, "cudaGetDriverEntryPoint",
          "the driver has no function `" + std::string(symbol) + "`");
  return status != nullptr ? cudaSuccess : record_error(cudaErrorSymbolNotFound);
}

}  // namespace

// Programs may still ask for functions that the header calls deprecated.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void* find_entry_point(std::string_view name) {
  static const EntryPoint points[] = {
#define BW_DRIVER_FUNCTION(function) {#function, address_of(function)},
#include "common/simulator/cudart/driver/driver_functions.inc"
#undef BW_DRIVER_FUNCTION
  };
  for (const EntryPoint& point : points)
    if (point.name == name) return point.function;
  return nullptr;
}
#pragma GCC diagnostic pop

}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

// The status is the answer: programs ask for functions that only newer drivers have.
BW_CUDART_API CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                                        CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = any_entry_point(symbol);
  const bool found = *function != nullptr;
  if (status != nullptr)
    *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// What the static runtime asks the driver for: tables of functions without names.
BW_CUDART_API CUresult cuGetExportTable(const void** table, const CUuuid*) {
  static bool told = false;
  if (!told) {
    explain(
        FaultCode::call_not_supported, "cuGetExportTable",
        "the program, or a library that it uses, carries the static CUDA runtime, which talks to "
        "the driver in ways that are not documented; link it with the shared one (nvcc -cudart "
        "shared; in CMake CUDA_RUNTIME_LIBRARY Shared)");
  }
  told = true;
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}

BW_CUDART_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                                  unsigned long long,
                                                  cudaDriverEntryPointQueryResult* status) {
  return driver_entry_point(symbol, function, status);
}
BW_CUDART_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                                       unsigned long long,
                                                       cudaDriverEntryPointQueryResult* status) {
  return driver_entry_point(symbol, function, status);
}

BW_CUDART_API cudaError_t
cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                 cudaDriverEntryPointQueryResult* status) {
  return driver_entry_point(symbol, function, status);
}
BW_CUDART_TWIN(cudaGetDriverEntryPointByVersion, _ptsz)
