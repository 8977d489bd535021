#pragma once
/// \file
/// From what a program registers or loads to PTX: fat binaries, linked object files, plain text.

#include <memory>
#include <string>
#include <vector>

#include "common/simulator/cudart/runtime/runtime.hpp"
#include "common/simulator/ptx/ast.hpp"

namespace bw::sim::cudart {

/// The PTX of an image that the machine runs best, parsed; of linked object files, linked. Throws
/// SimulationError.
[[nodiscard]] std::unique_ptr<ptx::Module> parse_image(const Image& image,
                                                       const MachineDescription& machine);

/// Adds what an image's PTX was compiled for; nothing of a damaged one.
void add_targets(const Image& image, std::vector<PtxTarget>& targets);

/// Makes an image of what cuModuleLoadData and cudaLibraryLoadData take: PTX text, a fat binary, or
/// the wrapper that nvcc puts around one. Throws SimulationError{unsupported} for machine code and
/// SimulationError{parse} for anything else.
[[nodiscard]] Image& add_loaded_image(Runtime& runtime, const void* data);
/// The same for a file. cudaErrorFileNotFound where it can't be read.
[[nodiscard]] cudaError_t add_image_of_file(Runtime& runtime, const char* api, const char* path,
                                            Image*& image);

/// PTX of one input of the driver's linker: PTX text of `bytes` bytes, or a fat binary's. Throws
/// SimulationError for anything else.
[[nodiscard]] std::string link_input_ptx(const void* data, size_t bytes, bool is_text,
                                         const MachineDescription& machine,
                                         const std::string& name);
/// A module that the driver's linker gets.
struct LinkInput {
  std::string name;  ///< as the program calls it
  std::string ptx;   ///< its text
};
/// What cuLinkComplete returns and cuModuleLoadData takes: the modules, one after the other, each
/// preceded by a comment with its name. Throws SimulationError where they can't be linked.
[[nodiscard]] std::string linked_text(const std::vector<LinkInput>& inputs);

/// What nvcc puts around a fat binary, in the section .nvFatBinSegment.
struct FatBinaryWrapper {
  int magic;         ///< kWrapperMagic
  int version;       ///< 2: `objects` is a list
  const void* data;  ///< the fat binary
  void*
      objects;  ///< of a linked program: the fat binaries of its object files, then a null pointer
};
inline constexpr int kWrapperMagic = 0x466243b1;  ///< that a wrapper begins with
inline constexpr int kLinkedVersion = 2;          ///< of a wrapper of linked object files

}  // namespace bw::sim::cudart
