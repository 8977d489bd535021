#pragma once
/// \file
/// What a graph's node does, made from the structures that describe it to the runtime.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "common/simulator/cudart/runtime/operations.hpp"

namespace bw::sim::cudart {

/// A copy of bytes in a row.
struct PlainCopy {
  void* destination;   ///< on the device or the host
  const void* source;  ///< likewise
  size_t bytes;
  cudaMemcpyKind kind;  ///< from where to where
};
/// A copy to a place of a device variable.
struct CopyToSymbol {
  const void* symbol;  ///< the variable
  const void* source;  ///< on the device or the host
  size_t bytes;
  size_t offset;        ///< in the variable, in bytes
  cudaMemcpyKind kind;  ///< from where to where
};
/// A copy from such a place.
struct CopyFromSymbol {
  void* destination;   ///< on the device or the host
  const void* symbol;  ///< the variable
  size_t bytes;
  size_t offset;        ///< in the variable, in bytes
  cudaMemcpyKind kind;  ///< from where to where
};
/// An event is recorded.
struct Record {
  cudaEvent_t event;  ///< which one
};
/// What follows waits for an event.
struct WaitFor {
  cudaEvent_t event;  ///< which one
};
/// Others are ordered by the node, no more.
struct Nothing {};

// Each of these sets `operation`, which holds what the node did before, or nothing, to what is
// given. Where that can't be done it returns the error that the function `api` gives.

/// A launch; the attributes of the one before stay.
cudaError_t describe(Runtime& runtime, const char* api, const cudaKernelNodeParams* parameters,
                     Operation& operation);
/// A copy in up to three dimensions.
cudaError_t describe(Runtime& runtime, const char* api, const cudaMemcpy3DParms* parameters,
                     Operation& operation);
/// A copy.
cudaError_t describe(Runtime& runtime, const char* api, const PlainCopy& given,
                     Operation& operation);
/// A copy.
cudaError_t describe(Runtime& runtime, const char* api, const CopyToSymbol& given,
                     Operation& operation);
/// A copy.
cudaError_t describe(Runtime& runtime, const char* api, const CopyFromSymbol& given,
                     Operation& operation);
/// Memory is filled.
cudaError_t describe(Runtime& runtime, const char* api, const cudaMemsetParams* parameters,
                     Operation& operation);
/// A function of the host.
cudaError_t describe(Runtime& runtime, const char* api, const cudaHostNodeParams* parameters,
                     Operation& operation);
/// An event.
cudaError_t describe(Runtime& runtime, const char* api, const Record& given, Operation& operation);
/// An event.
cudaError_t describe(Runtime& runtime, const char* api, const WaitFor& given, Operation& operation);
/// An empty node.
cudaError_t describe(Runtime& runtime, const char* api, const Nothing& given, Operation& operation);

}  // namespace bw::sim::cudart
