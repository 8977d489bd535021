#pragma once
/// \file
/// Options of a program: `--name value` or `--name=value`, and `--help`.

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <ostream>
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
  void add(const std::string& name, int64_t& value, const std::string& help) {
    add_option(name, "integer", help, std::to_string(value), [name, &value](const std::string& s) {
      char* end = nullptr;
      errno = 0;
      const long long parsed = std::strtoll(s.c_str(), &end, 10);
      require(!s.empty() && *end == '\0' && errno == 0, "--", name, " ", s,
              " isn't a 64-bit integer; give a decimal number.");
      value = parsed;
    });
  }

  /// An option with a value: its default is what `value` holds.
  void add(const std::string& name, double& value, const std::string& help) {
    std::ostringstream shown;
    shown << value;
    add_option(name, "number", help, shown.str(), [name, &value](const std::string& s) {
      char* end = nullptr;
      const double parsed = std::strtod(s.c_str(), &end);
      require(!s.empty() && *end == '\0' && std::isfinite(parsed), "--", name, " ", s,
              " isn't a finite number; give one such as 0.5.");
      value = parsed;
    });
  }

  /// An option that takes one of `choices`; `value` is its index.
  void add(const std::string& name, int& value, const std::vector<std::string>& choices,
           const std::string& help) {
    std::string all;
    for (const std::string& choice : choices) all += (all.empty() ? "" : "|") + choice;
    add_option(name, all, help, choices.at(value),
               [name, all, choices, &value](const std::string& s) {
                 for (size_t i = 0; i < choices.size(); ++i) {
                   if (choices[i] == s) {
                     value = static_cast<int>(i);
                     return;
                   }
                 }
                 require(false, "--", name, " ", s, " isn't known; give one of ", all, ".");
               });
  }

  /// An option without a value; `value` becomes true.
  void add_flag(const std::string& name, bool& value, const std::string& help) {
    options_.push_back({name, "", help, "", [name, &value](const std::string& s) {
                          require(s.empty(), "--", name, " takes no value, but got ", s, ".");
                          value = true;
                        }});
  }

  /// An option that takes any text.
  void add(const std::string& name, std::string& value, const std::string& help) {
    add_option(name, "text", help, value, [&value](const std::string& s) { value = s; });
  }

  /// Reads the options; false when `--help` was among them. Throws Error for what it can't read.
  bool parse(int argc, const char* const* argv) const {
    for (int i = 1; i < argc; ++i) {
      std::string argument = argv[i];
      if (argument == "--help" || argument == "-h") return false;
      const Option* option = nullptr;
      const size_t equals = argument.find('=');
      const std::string name = argument.substr(0, equals);
      for (const Option& candidate : options_) {
        if (name == "--" + candidate.name) option = &candidate;
      }
      require(option != nullptr, "The option ", argument,
              " isn't known; --help lists those that are.");
      if (equals != std::string::npos) {
        option->set(argument.substr(equals + 1));
        continue;
      }
      if (option->kind.empty()) {
        option->set("");
        continue;
      }
      require(i + 1 < argc, "The option ", argument, " needs a value after it.");
      option->set(argv[++i]);
    }
    return true;
  }

  /// Writes every option with its default.
  void print_help(std::ostream& out, const std::string& program) const {
    out << summary_ << "\n\nusage: " << program << " [options]\n";
    for (const Option& option : options_) {
      if (option.kind.empty()) {
        out << "  --" << option.name << "\n        " << option.help << "\n";
      } else {
        out << "  --" << option.name << " <" << option.kind << ">\n        " << option.help
            << " (default " << option.shown_default << ")\n";
      }
    }
    out << "  --help\n        this text\n";
  }

 private:
  struct Option {
    std::string name, kind, help, shown_default;
    std::function<void(const std::string&)> set;
  };

  void add_option(const std::string& name, const std::string& kind, const std::string& help,
                  const std::string& shown_default, std::function<void(const std::string&)> set) {
    options_.push_back({name, kind, help, shown_default, std::move(set)});
  }

  std::string summary_;
  std::vector<Option> options_;
};

}  // namespace bw
