/// \file
/// Directives of the module.
#include <utility>

#include <fmt/core.h>

#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

/// PTX with other than 64-bit addresses can't come from nvcc 13.
constexpr uint32_t kAddressBits = 64;

/// The first major version whose modules are refused, since it is unknown.
constexpr uint32_t kFirstUnknownMajor = 10;

constexpr std::pair<std::string_view, Linkage> kLinkingDirectives[] = {
    {".extern", Linkage::external},
    {".visible", Linkage::visible},
    {".weak", Linkage::weak},
    {".common", Linkage::common}};

constexpr std::string_view kTextureDirectives[] = {".tex", ".texref", ".surfref", ".samplerref"};

}  // namespace

std::unique_ptr<Module> Parser::run() {
  parse_version();
  parse_target();
  while (current_.kind != TokenKind::end) parse_module_directive();
  finish_module();
  return std::move(module_);
}

void Parser::parse_version() {
  const Construct construct(*this, "the header (.version, .target, .address_size)");
  if (!is(".version")) {
    fail_unexpected("`.version major.minor`, with which every PTX module begins");
  }
  advance();
  // "9.0" is lexed as a decimal literal; its spelling holds the two numbers.
  const std::string_view text = current_.text;
  const size_t dot = text.find('.');
  uint32_t numbers[2] = {0, 0};
  bool is_valid = current_.kind == TokenKind::f64_literal && dot != std::string_view::npos &&
                  dot > 0 && dot + 1 < text.size() && text.size() <= 5;
  for (size_t i = 0; is_valid && i < text.size(); ++i) {
    if (i == dot) continue;
    if (text[i] < '0' || text[i] > '9') is_valid = false;
    uint32_t& number = numbers[i > dot ? 1 : 0];
    number = number * 10 + static_cast<uint32_t>(text[i] - '0');
  }
  if (!is_valid) fail_unexpected("a version such as `9.0`");
  if (numbers[0] >= kFirstUnknownMajor) {
    source_.fail_unsupported(
        current_.position,
        fmt::format("the module is written in PTX {}.{}, which is newer than what the simulator "
                    "knows (PTX 9)",
                    numbers[0], numbers[1]),
        "build the program with a CUDA Toolkit 13");
  }
  module_->version_major = numbers[0];
  module_->version_minor = numbers[1];
  has_version_ = true;
  advance();
}

void Parser::parse_target() {
  const Construct construct(*this, "the header (.version, .target, .address_size)");
  if (!is(".target")) fail_unexpected("`.target`, the second line of every PTX module");
  advance();
  const Token token = current_;
  const std::string_view target = expect_name("a target such as `sm_100a`");
  if (!target.starts_with("sm_")) {
    fail_at(token, "the target `" + std::string(target) + "` is not an architecture",
            "a target such as `sm_100a`");
  }
  module_->target = std::string(target);
  while (accept(",")) (void)expect_name("a target option such as `debug`");
  has_target_ = true;
}

void Parser::parse_module_directive() {
  if (accept(";")) return;
  if (current_.kind != TokenKind::directive) {
    fail_unexpected("a directive such as `.global`, `.func`, `.visible .entry` or `.file`");
  }
  if (is(".address_size")) {
    const Construct construct(*this, "the header (.version, .target, .address_size)");
    advance();
    if (current_.kind != TokenKind::integer || current_.value != kAddressBits) {
      fail_unexpected("`64`: only 64-bit addresses are executed");
    }
    advance();
    return;
  }
  if (is(".file")) return parse_file();
  if (is(".section")) return parse_section();
  if (is(".loc")) return parse_location();
  if (is(".pragma")) return parse_pragma();

  const Construct construct(*this, "a declaration");
  Linkage linkage = Linkage::local;
  for (bool is_known = true; is_known;) {
    is_known = false;
    for (const auto& [directive, meaning] : kLinkingDirectives) {
      if (!accept(directive)) continue;
      if (linkage != Linkage::external) linkage = meaning;
      is_known = true;
    }
  }
  if (is(".func") || is(".entry")) return parse_function(linkage);
  if (is(".global")) return parse_variables(StateSpace::global, linkage);
  if (is(".const")) return parse_variables(StateSpace::constant, linkage);
  if (is(".shared") || is(".shared::cta")) {
    return parse_variables(StateSpace::shared, linkage);
  }
  for (const std::string_view directive : kTextureDirectives) {
    if (is(directive)) {
      source_.fail_unsupported(current_.position,
                               "the module declares a texture, surface or sampler (" +
                                   std::string(directive) + "), which the simulator doesn't have",
                               "read the data through global memory");
    }
  }
  if (is(".alias")) {
    source_.fail_unsupported(current_.position,
                             "the module gives a function a second name (.alias)",
                             "call the function by the name that it is defined with");
  }
  fail("the directive " + quote_current() + " is unknown",
       ".func, .entry, .global, .const or .shared (with .extern, .visible, .weak or .common before "
       "it), .file, .section or .pragma");
}

void Parser::finish_module() {
  check_initialiser_symbols();
  name_inlined_functions();
  if (greatest_file_used_ >= module_->files.size()) {
    source_.fail(first_location_with_file_,
                 fmt::format("a .loc names file {}, but the module has no .file {}",
                             greatest_file_used_, greatest_file_used_),
                 "a .file line for every file number (the text may be cut off before it: nvcc "
                 "writes .file at the end)");
  }
}

void Parser::check_initialiser_symbols() const {
  for (const InitialiserSymbol& use : initialiser_symbols_) {
    if (find_module_variable(use.symbol) == nullptr &&
        find_declared_function(use.symbol) == nullptr) {
      source_.fail(use.position,
                   "an initialiser takes the address of `" + std::string(use.symbol) +
                       "`, which the module doesn't declare",
                   "the name of a variable or function of this module");
    }
  }
}

Variable* Parser::find_module_variable(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : found->second;
}

Function* Parser::find_declared_function(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace bw::sim::ptx
