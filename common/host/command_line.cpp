#include "common/host/command_line.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "common/host/require.hpp"

namespace bw {

/// An option, and how its variable is set.
struct CommandLine::Option {
  const char* name;
  std::string kind;  ///< the choices, or what its value is
  const char* help;
  std::string shown_default;
  std::vector<const char*> choices;
  void* value;  ///< the variable, of a type that `set` knows
  void (*set)(const Option& option, const char* given);

  static void set_integer(const Option& option, const char* given);
  static void set_number(const Option& option, const char* given);
  static void set_choice(const Option& option, const char* given);
  static void set_flag(const Option& option, const char* given);
  static void set_text(const Option& option, const char* given);
};

void CommandLine::Option::set_integer(const Option& option, const char* given) {
  char* end = nullptr;
  errno = 0;
  const long long parsed = std::strtoll(given, &end, 10);
  require(*given != '\0' && *end == '\0' && errno == 0, "--", option.name, " ", given,
          " isn't a 64-bit integer; give a decimal number.");
  *static_cast<int64_t*>(option.value) = parsed;
}

void CommandLine::Option::set_number(const Option& option, const char* given) {
  char* end = nullptr;
  const double parsed = std::strtod(given, &end);
  require(*given != '\0' && *end == '\0' && std::isfinite(parsed), "--", option.name, " ", given,
          " isn't a finite number; give one such as 0.5.");
  *static_cast<double*>(option.value) = parsed;
}

void CommandLine::Option::set_choice(const Option& option, const char* given) {
  for (size_t i = 0; i < option.choices.size(); ++i) {
    if (std::string_view(option.choices[i]) == given) {
      *static_cast<int*>(option.value) = static_cast<int>(i);
      return;
    }
  }
  require(false, "--", option.name, " ", given, " isn't known; give one of ", option.kind, ".");
}

void CommandLine::Option::set_flag(const Option& option, const char* given) {
  require(*given == '\0', "--", option.name, " takes no value, but got ", given, ".");
  *static_cast<bool*>(option.value) = true;
}

void CommandLine::Option::set_text(const Option& option, const char* given) {
  *static_cast<const char**>(option.value) = given;
}

CommandLine::CommandLine(const char* summary) : summary_(summary) {}

CommandLine::~CommandLine() = default;

void CommandLine::add(const char* name, int64_t& value, const char* help) {
  options_.push_back(
      {name, "integer", help, std::to_string(value), {}, &value, Option::set_integer});
}

void CommandLine::add(const char* name, double& value, const char* help) {
  std::ostringstream shown;
  shown << value;
  options_.push_back({name, "number", help, shown.str(), {}, &value, Option::set_number});
}

void CommandLine::add(const char* name, int& value, const std::vector<const char*>& choices,
                      const char* help) {
  std::string all;
  for (const char* choice : choices) all += (all.empty() ? "" : "|") + std::string(choice);
  options_.push_back({name, all, help, choices.at(value), choices, &value, Option::set_choice});
}

void CommandLine::add_flag(const char* name, bool& value, const char* help) {
  options_.push_back({name, "", help, "", {}, &value, Option::set_flag});
}

void CommandLine::add(const char* name, const char*& value, const char* help) {
  options_.push_back({name, "text", help, value, {}, &value, Option::set_text});
}

bool CommandLine::parse(int argc, const char* const* argv) const {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") return false;
    const Option* option = nullptr;
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    for (const Option& candidate : options_) {
      if (name == std::string("--") + candidate.name) option = &candidate;
    }
    require(option != nullptr, "The option ", argument,
            " isn't known; --help lists those that are.");
    if (equals != std::string_view::npos) {
      option->set(*option, argv[i] + equals + 1);
      continue;
    }
    if (option->kind.empty()) {
      option->set(*option, "");
      continue;
    }
    require(i + 1 < argc, "The option ", argument, " needs a value after it.");
    option->set(*option, argv[++i]);
  }
  return true;
}

void CommandLine::print_help(std::ostream& out, const char* program) const {
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

}  // namespace bw
