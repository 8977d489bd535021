#pragma once
/// \file
/// Options of a program: `--name value` or `--name=value`, and `--help`.

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace bw {

/// The options that a program understands. Variables passed to `add` hold the defaults and get
/// the values; they must outlive `parse`, and so must all texts.
class CommandLine {
 public:
  /// `summary` heads the help text.
  explicit CommandLine(const char* summary);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// An option with a value: its default is what `value` holds.
  void add(const char* name, int64_t& value, const char* help);

  /// An option with a value: its default is what `value` holds.
  void add(const char* name, double& value, const char* help);

  /// An option that takes one of `choices`; `value` is its index.
  void add(const char* name, int& value, const std::vector<const char*>& choices, const char* help);

  /// An option without a value; `value` becomes true.
  void add_flag(const char* name, bool& value, const char* help);

  /// An option that takes any text: `value` will point to the program's argument.
  void add(const char* name, const char*& value, const char* help);

  /// Reads the options; false when `--help` was among them. Throws Error for what it can't read.
  bool parse(int argc, const char* const* argv) const;

  /// Writes every option with its default.
  void print_help(std::ostream& out, const char* program) const;

 private:
  struct Option;

  const char* summary_;
  std::vector<Option> options_;
};

}  // namespace bw
