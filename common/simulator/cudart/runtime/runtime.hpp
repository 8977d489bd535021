#pragma once
/// \file
/// What the CUDA runtime replacement knows: the device, the program's images, kernels and
/// variables, allocations, errors. The API functions (the *_api.cpp files) are thin layers over it.

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "common/simulator/cudart/image/replacement.hpp"
#include "common/simulator/machine/device.hpp"

namespace bw::sim {
class WrittenBytes;
}

namespace bw::sim::cudart {

/// What cudaDriverGetVersion reports; CUTLASS patches tensor maps for drivers up to 13010.
inline constexpr int kDriverVersion = 13020;

/// One registered fat binary; its PTX is read when it is first needed.
struct Image {
  /// A variable of managed memory and its place on the host.
  struct ManagedVariable {
    void** host_pointer;  ///< receives the variable's address
    std::string name;
  };
  std::string name;            ///< "saxpy (embedded PTX 1)"
  const void* data = nullptr;  ///< the fat binary
  std::string text;            ///< PTX text, of a library or module that was given as such
  /// The fat binaries of object files that were linked with each other (-rdc=true).
  std::vector<const void*> objects;
  bool registered = true;                ///< false after it was unregistered
  LoadedModule* module = nullptr;        ///< once it has been loaded
  std::vector<ManagedVariable> managed;  ///< variables of managed memory
};

/// A kernel of the program; its address serves as cudaFunction_t and cudaKernel_t.
struct Function {
  Image* image = nullptr;  ///< the code that it comes from
  std::string name;        ///< in the PTX
  const Kernel* kernel = nullptr;
  bool replaced = false;  ///< the kernel comes from a file of BW_SIM_PTX
  // What cudaFuncSetAttribute chooses; -1: not set.
  int max_dynamic_shared_bytes = -1;  ///< as the program has set it; -1: not set
  int shared_carveout = -1;           ///< as the program has set it; -1: not set
  bool non_portable_cluster = false;  ///< whether clusters of more than 8 are allowed
  Dim3 required_cluster{0, 0, 0};     ///< as the program has set it; 0: not set
  int cluster_scheduling_policy = 0;  ///< as the program has set it
};

/// A __device__, __constant__ or __managed__ variable of the program.
struct Symbol {
  Image* image = nullptr;  ///< the code that it comes from
  std::string name;        ///< in the PTX
  size_t size_bytes = 0;
};

/// An allocation that the program made.
struct ProgramAllocation {
  uint64_t address = 0;
  size_t size_bytes = 0;
  cudaMemoryType type = cudaMemoryTypeDevice;  ///< of memory, as the runtime names it
  unsigned flags = 0;                          ///< of cudaHostAlloc or cudaHostRegister
  bool is_registered = false;                  ///< the host's own, of cudaHostRegister
};

/// The CUDA runtime's state: devices, images, functions, memory.
class Runtime {
 public:
  /// The process's only one; made on first use and never destroyed, because programs call the
  /// runtime from their own exit handlers.
  static Runtime& instance();

  /// Held during each API call.
  [[nodiscard]] std::recursive_mutex& mutex() { return mutex_; }
  /// The device, made on first use: the machine that BW_SIM_MACHINE names, or the first of the
  /// table that runs architecture-specific PTX of the program.
  Device& device();
  /// Whether there is a device already.
  [[nodiscard]] bool has_device() const { return device_ != nullptr; }
  /// Whether launches are written to a file, which holds one launch after the other.
  [[nodiscard]] bool records_launches() const { return records_launches_; }

  // Registration.
  /// Registers the code of a fat binary.
  Image& add_image(const void* fat_binary);
  /// Registers PTX text.
  Image& add_text_image(std::string ptx);
  /// Ends a live library or module: its kernels, variables and handles are gone.
  void remove_image(Image& image);
  /// Whether a handle is a live image's.
  [[nodiscard]] bool has_image(const void* handle) const;
  /// Registers a kernel by its host address.
  Function& add_function(Image& image, const void* host_address, std::string name);
  /// Registers a device variable by its host address.
  void add_symbol(Image& image, const void* host_address, std::string name, size_t size_bytes);

  /// The kernel of a host function or of a cudaKernel_t; nullptr when it is neither.
  [[nodiscard]] Function* find_function(const void* host_address_or_handle);
  /// The variable of a host address, or nullptr.
  [[nodiscard]] const Symbol* find_symbol(const void* host_address) const;
  /// The kernel of this name in an image's PTX, made known on first use; nullptr when there is
  /// none. Throws SimulationError.
  Function* find_function(Image& image, const std::string& name);

  /// Reads, parses and places the image's PTX once. Throws SimulationError.
  LoadedModule& module(Image& image);
  /// Decodes the kernel once; one that BW_SIM_PTX holds comes from there. Throws SimulationError.
  const Kernel& kernel(Function& function);
  /// Device address of a symbol; 0 when the PTX does not hold it. Throws SimulationError.
  uint64_t symbol_address(const Symbol& symbol);
  /// The kernels that take the place of the program's.
  [[nodiscard]] ReplacementPtx& replacement() { return replacement_; }

  // Allocations of the program.
  /// The address, or 0 when memory is used up.
  uint64_t allocate(size_t size_bytes, cudaMemoryType type, unsigned flags,
                    const std::string& description);
  /// False when no allocation of the type starts there.
  bool release(uint64_t address, bool host_memory);
  /// Lets kernels reach memory of the host's; false where it overlaps an allocation.
  bool register_host(uint64_t address, size_t size_bytes, unsigned flags);
  /// False when no such memory starts there.
  bool unregister_host(uint64_t address);
  /// The program's allocation that holds the address, or nullptr.
  [[nodiscard]] const ProgramAllocation* find_allocation(uint64_t address) const;
  /// Frees what the process holds.
  void release_all();
  /// Descriptions of the device memory that the program has not freed, if leaks are checked.
  [[nodiscard]] std::vector<std::string> leaks() const;
  /// What of the program's device memory was written, if that is checked; else nullptr.
  [[nodiscard]] WrittenBytes* written() { return written_; }

  /// An error that ends the use of the device (cudaErrorLaunchFailure, ...), or cudaSuccess.
  cudaError_t sticky_error = cudaSuccess;
  /// The record of the stream of the last launch, if no operation of any stream has followed it.
  const void* last_launch_stream = nullptr;

 private:
  Runtime();
  /// The machine for what the program carries.
  [[nodiscard]] const MachineDescription& fitting_machine() const;

  std::recursive_mutex mutex_;
  std::unique_ptr<Device> device_;
  bool records_launches_ = false;
  ReplacementPtx replacement_;
  std::deque<Image> images_;  // deques: records keep their addresses
  std::deque<Function> functions_;
  std::unordered_map<const void*, Function*> functions_by_address_;
  std::unordered_map<const void*, Symbol> symbols_;
  std::map<uint64_t, ProgramAllocation> allocations_;
  WrittenBytes* written_ = nullptr;  ///< of an observer that the device owns
};

using sim::FaultCode;  // the C interface is outside of these namespaces

/// Shows a report "<api>: <text>": why a call is about to return an error.
void explain(FaultCode code, const char* api, const std::string& text);

}  // namespace bw::sim::cudart
