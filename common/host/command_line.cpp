#include "common/host/command_line.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <sstream>

namespace bw {

void CommandLine::set_integer(const Option& option, const std::string& given) {
  char* end = nullptr;
  errno = 0;
  const long long parsed = std::strtoll(given.c_str(), &end, 10);
  require(!given.empty() && *end == '\0' && errno == 0, "--", option.name, " ", given,
          " isn't a 64-bit integer; give a decimal number.");
  *static_cast<int64_t*>(option.value) = parsed;
}

void CommandLine::set_number(const Option& option, const std::string& given) {
  char* end = nullptr;
  const double parsed = std::strtod(given.c_str(), &end);
  require(!given.empty() && *end == '\0' && std::isfinite(parsed), "--", option.name, " ", given,
          " isn't a finite number; give one such as 0.5.");
  *static_cast<double*>(option.value) = parsed;
}

void CommandLine::set_choice(const Option& option, const std::string& given) {
  for (size_t i = 0; i < option.choices.size(); ++i) {
    if (option.choices[i] == given) {
      *static_cast<int*>(option.value) = static_cast<int>(i);
      return;
    }
  }
  require(false, "--", option.name, " ", given, " isn't known; give one of ", option.kind, ".");
}

void CommandLine::set_flag(const Option& option, const std::string& given) {
  require(given.empty(), "--", option.name, " takes no value, but got ", given, ".");
  *static_cast<bool*>(option.value) = true;
}

void CommandLine::set_text(const Option& option, const std::string& given) {
  *static_cast<std::string*>(option.value) = given;
}

void CommandLine::add(const std::string& name, int64_t& value, const std::string& help) {
  options_.push_back({name, "integer", help, std::to_string(value), {}, &value, set_integer});
}

void CommandLine::add(const std::string& name, double& value, const std::string& help) {
  std::ostringstream shown;
  shown << value;
  options_.push_back({name, "number", help, shown.str(), {}, &value, set_number});
}

void CommandLine::add(const std::string& name, int& value, const std::vector<std::string>& choices,
                      const std::string& help) {
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : "|") + choice;
  options_.push_back({name, all, help, choices.at(value), choices, &value, set_choice});
}

void CommandLine::add_flag(const std::string& name, bool& value, const std::string& help) {
  options_.push_back({name, "", help, "", {}, &value, set_flag});
}

void CommandLine::add(const std::string& name, std::string& value, const std::string& help) {
  options_.push_back({name, "text", help, value, {}, &value, set_text});
}

bool CommandLine::parse(int argc, const char* const* argv) const {
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
      option->set(*option, argument.substr(equals + 1));
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

void CommandLine::print_help(std::ostream& out, const std::string& program) const {
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
