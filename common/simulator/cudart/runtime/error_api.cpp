#include <cuda_runtime_api.h>

#include "common/simulator/cudart/runtime/api.hpp"

namespace bw::sim::cudart {
namespace {

struct ErrorRow {
  cudaError_t error;
  const char* name;
  const char* description;
};

constexpr ErrorRow kErrors[] = {
#define BW_CUDA_ERROR(error, description) {error, #error, description},
#include "common/simulator/cudart/runtime/error_table.inc"
#undef BW_CUDA_ERROR
};

const ErrorRow* find(cudaError_t error) {
  for (const ErrorRow& row : kErrors)
    if (row.error == error) return &row;
  return nullptr;
}

}  // namespace
}  // namespace bw::sim::cudart

using namespace bw::sim::cudart;

BW_CUDART_API const char* cudaGetErrorName(cudaError_t error) {
  const ErrorRow* const row = find(error);
  return row == nullptr ? "unrecognized error code" : row->name;
}

BW_CUDART_API const char* cudaGetErrorString(cudaError_t error) {
  const ErrorRow* const row = find(error);
  return row == nullptr ? "unrecognized error code" : row->description;
}

BW_CUDART_API cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error();
  // A fault of the device stays until cudaDeviceReset.
  const cudaError_t sticky = Runtime::instance().sticky_error;
  if (sticky != cudaSuccess) return sticky;
  clear_last_error();
  return error;
}

BW_CUDART_API cudaError_t cudaPeekAtLastError() {
  const cudaError_t sticky = Runtime::instance().sticky_error;
  return sticky != cudaSuccess ? sticky : last_error();
}
