#pragma once
/// \file
/// Source locations of the instructions in recordings.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/simulator/machine/kernel.hpp"

namespace bw::sim::trace {

/// The places of one kernel's instructions, by index into its text. Each is built once.
class Places {
 public:
  /// Of a kernel's instructions.
  explicit Places(const Kernel& kernel) : kernel_(kernel) {}

  /// `"file":…,"line":…,"function":…,"stack":…,"opcode":…`: the place that reports name, the lines
  /// of the inlined calls if there is more than one, and the instruction.
  [[nodiscard]] const std::string& fields_of(uint32_t instruction);
  /// "file:line" of the place that reports name.
  [[nodiscard]] std::string name_of(uint32_t instruction) const;
  /// The innermost call in the folder of the kernel's file: the reader's most informative line.
  /// Equal for all instructions of that line and call; nullptr without a .loc.
  [[nodiscard]] const ptx::SourceLocation* detail_of(uint32_t instruction) const;
  /// A JSON object of these instructions. `locations`: a list of `["file",line,"function"]`, the
  /// file with its folder.
  /// `instructions`: by index, `[opcode, place, detail, [locations]]`: the place that reports
  /// name, detail_of, and the inlined calls, innermost first, by index into the locations. An
  /// instruction without a .loc has its line of the PTX text instead.
  [[nodiscard]] std::string table(const std::vector<uint32_t>& instructions) const;

 private:
  [[nodiscard]] std::vector<const ptx::SourceLocation*> chain_of(uint32_t instruction) const;

  const Kernel& kernel_;
  std::map<uint32_t, std::string> fields_;
};

}  // namespace bw::sim::trace
