#pragma once
/// \file
/// What streams carry and graphs are made of: one operation each, described so that it can run now,
/// later, or again and again.

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "common/simulator/cudart/runtime/runtime.hpp"
#include "common/simulator/cudart/runtime/transfer.hpp"

namespace bw::sim::races {
struct StreamOperation;
}

namespace bw::sim::cudart {

/// A kernel with its configuration and its arguments.
struct KernelOperation {
  Function* function = nullptr;                 ///< its function in the module
  dim3 grid{0, 0, 0};                           ///< the launch
  dim3 block{0, 0, 0};                          ///< in threads
  size_t dynamic_shared_bytes = 0;              ///< of each CTA
  std::vector<cudaLaunchAttribute> attributes;  ///< of the launch
  std::vector<std::byte> arguments;             ///< in the layout of the kernel's parameters
  std::shared_ptr<Grid> waiting;                ///< a launch that has begun and waits
  const void* stream = nullptr;                 ///< the record of its stream
  /// A graph's node of which some edges are not programmatic: it begins after all before it.
  bool has_full_edges = false;
  std::shared_ptr<races::StreamOperation> order = {};  ///< its place among others, for races
};

/// Memory is copied.
struct CopyOperation {
  const char* api = "";  ///< who asked, for messages
  void* destination = nullptr;
  CopySide destination_side;                           ///< where the destination is
  const void* source = nullptr;                        ///< where it comes from
  CopySide source_side;                                ///< where the source is
  CopyShape shape;                                     ///< M, N, K and formats
  cudaMemcpyKind kind = cudaMemcpyDefault;             ///< which one it is
  std::shared_ptr<std::vector<std::byte>> staged;      ///< what `source` was when it had to wait
  std::shared_ptr<races::StreamOperation> order = {};  ///< its place among others, for races

  /// Keeps the source's bytes where they are pageable host memory: such a copy has read them when
  /// the call returns.
  void stage(Runtime& runtime);
};

/// Memory is set.
struct FillOperation {
  const char* api = "";  ///< the runtime's function, for messages
  void* destination = nullptr;
  CopySide side;                                       ///< where
  FillValue value;                                     ///< what is written
  CopyShape shape;                                     ///< M, N, K and formats
  std::shared_ptr<races::StreamOperation> order = {};  ///< its place among others, for races
};

/// A function of the host's. It runs without the runtime's lock.
struct HostOperation {
  /// What is called.
  std::function<void()> call;
  cudaHostFn_t function = nullptr;  ///< as a graph's node was given it
  void* user_data = nullptr;        ///< handed to the function
};

/// Marks an event as reached.
struct RecordOperation {
  cudaEvent_t event = nullptr;  ///< the name in the event log
  uint64_t record = 0;          ///< which of its records, counted from 1
};

/// Holds its stream until an event's record is reached.
struct WaitOperation {
  cudaEvent_t event = nullptr;  ///< the name in the event log
  uint64_t record = 0;          ///< 0: the last one asked for when this runs
};

/// Frees memory in the order of a stream.
struct FreeOperation {
  void* pointer = nullptr;  ///< what is freed
};

struct EmptyOperation {};

/// What can be done.
using Operation = std::variant<EmptyOperation, KernelOperation, CopyOperation, FillOperation,
                               HostOperation, RecordOperation, WaitOperation, FreeOperation>;

/// How far an operation has come.
struct Outcome {
  cudaError_t error = cudaSuccess;  ///< what the call answers
  bool waits = false;               ///< it is not done and is to be performed again
};

/// Performs an operation, or goes on with one that waits. Throws SimulationError for a kernel's
/// fault. The runtime is locked once.
[[nodiscard]] Outcome perform(Runtime& runtime, Operation& operation);

/// The launch of a kernel as an operation: attributes and arguments are copied. Explains on stderr
/// what is wrong before it returns an error. `api` is the caller's name.
cudaError_t describe_launch(Runtime& runtime, const char* api, Function& function,
                            const cudaLaunchConfig_t& config, void** arguments,
                            KernelOperation& operation);

/// A copy between pitched memory as an operation; CUDA arrays are refused.
cudaError_t describe_copy(const char* api, const cudaMemcpy3DParms& parameters,
                          CopyOperation& operation);

/// The place of `count` bytes from byte `offset` of a registered variable, and its size where
/// `size` is given. Explains on stderr before it returns cudaErrorInvalidSymbol, or
/// cudaErrorInvalidValue for bytes that leave the variable.
cudaError_t find_in_symbol(Runtime& runtime, const char* api, const void* host_variable,
                           size_t count, size_t offset, void*& place, size_t* size);

}  // namespace bw::sim::cudart
