#pragma once
/// \file
/// Options of a program: `--name value` or `--name=value`, and `--help`.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "common/host/error.hpp"

namespace bw {

/// The options that a program understands. Variables passed to `add` hold the defaults and get
/// the values; they must outlive `parse`.
class CommandLine {
 public:
  /// `summary` heads the help text.
  explicit CommandLine(std::string summary) : summary_(std::move(summary)) {}

  /// An option with a value: its default is what `value` holds.
  void add(const std::string& name, int64_t& value, const std::string& help);

  /// An option with a value: its default is what `value` holds.
  void add(const std::string& name, double& value, const std::string& help);

  /// An option that takes one of `choices`; `value` is its index.
  void add(const std::string& name, int& value, const std::vector<std::string>& choices,
           const std::string& help);

  /// An option without a value; `value` becomes true.
  void add_flag(const std::string& name, bool& value, const std::string& help);

  /// An option that takes any text.
  void add(const std::string& name, std::string& value, const std::string& help);

  /// Reads the options; false when `--help` was among them. Throws Error for what it can't read.
  bool parse(int argc, const char* const* argv) const;

  /// Writes every option with its default.
  void print_help(std::ostream& out, const std::string& program) const;

 private:
  struct Option {
    std::string name, kind, help, shown_default;
    std::vector<std::string> choices;
    void* value;  ///< the variable, of a type that `set` knows
    void (*set)(const Option& option, const std::string& given);
  };

  static void set_integer(const Option& option, const std::string& given);
  static void set_number(const Option& option, const std::string& given);
  static void set_choice(const Option& option, const std::string& given);
  static void set_flag(const Option& option, const std::string& given);
  static void set_text(const Option& option, const std::string& given);

  std::string summary_;
  std::vector<Option> options_;
};

}  // namespace bw
