#pragma once
/// \file
/// Tables of comma-separated values: a line of column names, then a line for each row. Empty lines,
/// and those that begin with #, don't count; quotes are not supported.

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <istream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/host/error.hpp"

namespace bw {

/// A table that was read. Every Error names the file and the line.
class CsvTable {
 public:
  /// Reads a file. Throws Error when it can't be read, has no column names, or a row has another
  /// number of fields.
  static CsvTable read(const std::string& path) {
    std::ifstream file(path);
    require(file.good(), "Could not read ", path, "; give a file of comma-separated values.");
    return CsvTable(file, path);
  }

  /// The same from text, which errors call `name`.
  static CsvTable parse(const std::string& text, const std::string& name) {
    std::istringstream stream(text);
    return CsvTable(stream, name);
  }

  /// Rows without the column names.
  size_t rows() const { return rows_.size(); }
  /// The columns' names.
  const std::vector<std::string>& columns() const { return columns_; }

  /// The number of a column. Throws Error, with those that there are, when none is called so.
  size_t column(const std::string& name) const {
    std::string all;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == name) return i;
      all += (i == 0 ? "" : ", ") + columns_[i];
    }
    throw Error(name_ + " has no column " + name + ", only " + all + ".");
  }

  /// A field as text.
  const std::string& text(size_t row, size_t column) const { return rows_[row].fields[column]; }

  /// A field as a positive finite number. Throws Error for anything else.
  double positive(size_t row, size_t column) const {
    return positive_number<double>(row, column, "a positive number");
  }
  /// A field as a positive whole number. Throws Error for anything else.
  int64_t positive_integer(size_t row, size_t column) const {
    return positive_number<int64_t>(row, column, "a positive whole number");
  }

  /// "FILE:LINE" of a row.
  std::string place(size_t row) const { return name_ + ":" + std::to_string(rows_[row].line); }

 private:
  struct Row {
    size_t line;
    std::vector<std::string> fields;
  };

  CsvTable(std::istream& stream, const std::string& name) : name_(name) {
    size_t number = 0;
    for (std::string line; std::getline(stream, line);) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty() || line.front() == '#') continue;
      std::vector<std::string> fields = split(line);
      if (columns_.empty()) {
        columns_ = std::move(fields);
        continue;
      }
      require(fields.size() == columns_.size(), name, ":", number, " has ", fields.size(),
              " fields where there are ", columns_.size(), " columns: ", line);
      rows_.push_back({number, std::move(fields)});
    }
    require(!columns_.empty(), name, " has no line of column names.");
  }

  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ',') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    return fields;
  }

  template <class Number>
  Number positive_number(size_t row, size_t column, const char* wanted) const {
    const std::string& field = text(row, column);
    Number value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    require(error == std::errc() && end == field.data() + field.size() && value > 0 &&
                std::isfinite(static_cast<double>(value)),
            place(row), ": ", columns_[column], " is \"", field, "\"; give ", wanted, ".");
    return value;
  }

  std::string name_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace bw
