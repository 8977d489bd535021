/// \file
/// .file, .loc and the debug sections: where the reader's source lines come from.
#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/ptx/parser.hpp"

namespace bw::sim::ptx {
namespace {

constexpr uint32_t kMaximumFiles = 1u << 16;

/// Packs a position so that the newest .loc of it can be found.
constexpr uint64_t position_key(uint32_t file, uint32_t line, uint32_t column) noexcept {
  return (uint64_t{file} << 48) ^ (uint64_t{line} << 16) ^ column;
}

/// Appends to `bytes` what the complete lines `.b8 95` and `.b8 95,90,78` at the beginning of
/// `text` hold, as nvcc writes them. Returns the length of these lines and adds their number to
/// `line`.
size_t read_plain_bytes(std::string_view text, std::string& bytes, uint32_t& line) {
  constexpr std::string_view kBegin = ".b8 ";
  size_t end = 0;
  while (text.substr(end).starts_with(kBegin)) {
    const size_t complete = bytes.size();
    const char* next = text.data() + end + kBegin.size();
    const char* const last = text.data() + text.size();
    char separator = ',';
    while (separator == ',') {
      uint8_t byte = 0;
      const auto [stop, error] = std::from_chars(next, last, byte);
      // A number with a leading zero is octal.
      const bool is_octal = stop - next > 1 && *next == '0';
      if (error != std::errc{} || is_octal || stop == last) break;
      bytes.push_back(static_cast<char>(byte));
      separator = *stop;
      next = stop + 1;
    }
    // An operator in the next line would continue this one.
    constexpr std::string_view kBeginsNext = ".$}";
    const bool is_complete =
        separator == '\n' && next != last && kBeginsNext.find(*next) != std::string_view::npos;
    if (!is_complete) {
      bytes.resize(complete);
      break;
    }
    end = static_cast<size_t>(next - text.data());
    ++line;
  }
  return end;
}

}  // namespace

size_t Parser::LocationKeyHash::operator()(const LocationKey& key) const noexcept {
  // A place is hardly ever in two functions, so that their labels need no hash.
  const uint64_t place = position_key(key.file, key.line, key.column);
  return std::hash<uint64_t>{}(place * 31 + static_cast<uint32_t>(key.inlined_at));
}

// .file N "path" {, timestamp, bytes}
void Parser::parse_file() {
  const Construct construct(*this, "a .file directive");
  advance();
  const uint32_t number = expect_number("the file's number");
  if (number >= kMaximumFiles) {
    fail(fmt::format("the file number {} is too large", number),
         fmt::format("a number below {}", kMaximumFiles));
  }
  const std::string_view path = expect_string("the file's path in quotes");
  if (module_->files.size() <= number) module_->files.resize(number + 1, "<unknown>");
  if (number != 0) module_->files[number] = std::string(path);
  while (accept(",")) (void)expect_number("the file's time stamp or size");
}

// .pragma "name" {, "name"}... ; in modules and in bodies. No pragma changes what code means.
void Parser::parse_pragma() {
  const Construct construct(*this, "a .pragma directive");
  advance();
  do {
    (void)expect_string("a string with the pragma's name");
  } while (accept(","));
  expect(";", "at the end of .pragma");
}

// .loc file line column {, function_name label{+offset}, inlined_at file line column}
void Parser::parse_location() {
  const Construct construct(*this, "a .loc directive");
  const TextPosition position = current_.position;
  advance();
  LocationKey key{};
  key.inlined_at = -1;
  key.file = expect_number("the number of a file");
  key.line = expect_number("a line number");
  key.column = expect_number("a column number");
  uint64_t label_offset = 0;
  uint32_t call_file = 0, call_line = 0, call_column = 0;
  if (accept(",")) {
    expect("function_name", "after the comma of .loc");
    if (current_.kind != TokenKind::word && current_.kind != TokenKind::directive) {
      fail_unexpected("the label of the function's name in .debug_str");
    }
    key.function_label = current_.text;
    advance();
    if (accept("+")) label_offset = parse_unary().value;
    expect(",", "after the function's name");
    expect("inlined_at", "after the function's name");
    call_file = expect_number("the number of the call site's file");
    call_line = expect_number("the call site's line");
    call_column = expect_number("the call site's column");
  }
  for (const uint32_t file : {key.file, call_file}) {
    if (file <= greatest_file_used_) continue;
    greatest_file_used_ = file;
    first_location_with_file_ = position;
  }
  // Line 0 marks compiler-generated code; adjacent lines say more.
  if (key.line == 0 && location_ >= 0) return;

  if (!key.function_label.empty()) {
    // The call site may itself be in an inlined function: its newest .loc has it.
    const auto newest = newest_location_.find(position_key(call_file, call_line, call_column));
    if (newest != newest_location_.end()) {
      key.inlined_at = newest->second;
    } else {
      key.inlined_at = intern_location({call_file, call_line, call_column, -1, {}}, 0);
    }
  }
  location_ = intern_location(key, label_offset);
  newest_location_[position_key(key.file, key.line, key.column)] = location_;
}

int32_t Parser::intern_location(const LocationKey& key, uint64_t label_offset) {
  // Labels that differ in the offset only are distinguished by separate entries.
  if (label_offset == 0) {
    const auto found = location_index_.find(key);
    if (found != location_index_.end()) return found->second;
  }
  const auto index = static_cast<int32_t>(module_->locations.size());
  SourceLocation location;
  location.file = key.file;
  location.line = key.line;
  location.column = key.column;
  location.inlined_at = key.inlined_at;
  module_->locations.push_back(std::move(location));
  if (!key.function_label.empty()) {
    function_labels_.push_back({static_cast<size_t>(index), key.function_label, label_offset});
  }
  if (label_offset == 0) location_index_.emplace(key, index);
  return index;
}

// .section name { lines of data and labels }
void Parser::parse_section() {
  advance();
  if (current_.kind != TokenKind::directive && current_.kind != TokenKind::word) {
    fail_unexpected("the name of a section such as `.debug_str`");
  }
  const std::string_view name = current_.text;
  const Construct construct(*this, "the debug section", name);
  advance();
  expect("{", "at the beginning of the section");
  if (name == ".debug_str") {
    parse_debug_strings();
  } else {
    while (!is("}")) {
      if (current_.kind == TokenKind::end || is("{")) fail_unexpected("data lines or `}`");
      advance();
    }
  }
  expect("}", "at the end of the section");
}

void Parser::parse_debug_strings() {
  constexpr uint64_t kMaximumByte = 255;
  while (!is("}")) {
    if (current_.kind == TokenKind::word && next_.is(":")) {
      debug_string_labels_[current_.text] = debug_strings_.size();
      advance();
      advance();
      continue;
    }
    // A third of a module's text can be these lines; token by token they would take as long as its
    // code.
    const size_t begin = current_.position.offset_bytes;
    uint32_t line = current_.position.line;
    if (const size_t length =
            read_plain_bytes(source_.text().substr(begin), debug_strings_, line)) {
      lexer_.continue_at(begin + length, line);
      advance();
      advance();
      continue;
    }
    expect(".b8", "or a label in .debug_str");
    do {
      const uint64_t byte = parse_constant().value;
      if (byte > kMaximumByte) fail("a byte of .debug_str is too large", "numbers from 0 to 255");
      debug_strings_.push_back(static_cast<char>(byte));
    } while (accept(","));
  }
}

void Parser::name_inlined_functions() {
  for (const FunctionLabel& use : function_labels_) {
    // The section's own name refers to its first byte.
    const auto label = debug_string_labels_.find(use.label);
    if (label == debug_string_labels_.end() && use.label != ".debug_str") continue;
    const size_t base = label == debug_string_labels_.end() ? 0 : label->second;
    if (use.offset > debug_strings_.size() || base + use.offset >= debug_strings_.size()) continue;
    module_->locations[use.location].function = debug_strings_.c_str() + base + use.offset;
  }
}

}  // namespace bw::sim::ptx
