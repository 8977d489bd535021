#pragma once
/// \file
/// The text of a module, and the wording of parse errors.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bw::sim::ptx {

/// A range of the text: where a token or a construct begins, and its length.
struct TextPosition {
  size_t offset_bytes = 0;  ///< from the beginning of the text
  size_t length_bytes = 0;  ///< of the piece
  uint32_t line = 1;        ///< line of the source
};

/// PTX text with its name. Reports say "name:line" and show the line. Trailing NUL bytes, the
/// padding of a fat binary, do not belong to the text.
class Source {
 public:
  /// A text and the name for messages.
  Source(std::string_view text, std::string name);

  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Throws SimulationError{parse}: `what` is wrong at `position`, `expected` names what is allowed
  /// there.
  [[noreturn]] void fail(const TextPosition& position, const std::string& what,
                         const std::string& expected) const;
  /// Throws SimulationError{parse}: the text ends in the middle of `construct`.
  [[noreturn]] void fail_cut_off(uint32_t line, const std::string& construct,
                                 const std::string& expected) const;
  /// Throws SimulationError{unsupported}: well-formed PTX that the simulator does not handle.
  [[noreturn]] void fail_unsupported(const TextPosition& position, const std::string& what,
                                     const std::string& fix) const;

 private:
  [[nodiscard]] std::string where(const TextPosition& position) const;

  std::string_view text_;
  std::string name_;
};

}  // namespace bw::sim::ptx
