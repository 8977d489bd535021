#pragma once
/// \file
/// Results on disk: one line per case, small cases with all values, large ones with hashes.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/hardware/cases.hpp"

namespace bw::conformance {

/// A case's line. Large cases are cut into `kBlocks` blocks of equal length and each is hashed, so
/// that a difference is at least located.
struct Record {
  size_t count = 0;
  bool complete = false;  ///< `words` are the values, not hashes of the blocks
  std::vector<uint64_t> words;
};

constexpr size_t kBlocks = 16;

/// What is written of `values`: all of them when `complete` is wanted or they are few.
Record make_record(const std::vector<uint64_t>& values, bool complete);

/// A line "name count = words" or "name count # hashes", all in hexadecimal but the count.
std::string to_line(const std::string& name, const Record& record);

/// Reads the records of a file; lines that start with # are remarks. Throws Error.
std::map<std::string, Record> read_records(const std::string& path);

/// Index of the first value that differs, or of the first of the first block that does;
/// `values.size()` when none does. A different number of values is a difference at the shorter's
/// end.
size_t first_difference(const Record& reference, const std::vector<uint64_t>& values);

}  // namespace bw::conformance
