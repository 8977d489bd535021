#pragma once
/// \file
/// Writes one JSON object field by field.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace bw::sim::trace {

/// A text as a JSON string. Invalid UTF-8 in it becomes U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

/// The inside of an object: `"name":value` pairs, separated by commas.
class Fields {
 public:
  /// Adds an element.
  template <class Value>
  Fields& add(std::string_view name, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
      return add_raw(name, value ? "true" : "false");
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return add_raw(name, std::to_string(value));
    } else {
      return add_raw(name, json_string(value));
    }
  }
  /// `json` is a value in the syntax of the file.
  Fields& add_raw(std::string_view name, std::string_view json) {
    if (!text_.empty()) text_ += ',';
    text_.append("\"").append(name).append("\":").append(json);
    return *this;
  }
  /// Fields that were built before.
  Fields& add_all(std::string_view fields) {
    if (fields.empty()) return *this;
    if (!text_.empty()) text_ += ',';
    text_ += fields;
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The text of the object.
  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

/// A list of values that are already JSON.
class List {
 public:
  /// Adds an element.
  void add(std::string_view json) {
    if (!text_.empty()) text_ += ',';
    text_ += json;
  }
  /// The text of the array.
  [[nodiscard]] std::string json() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

}  // namespace bw::sim::trace
