#include "tests/hardware/records.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/host/error.hpp"

namespace bw::conformance {
namespace {

/// Up to this many values are written in full.
constexpr size_t kFewValues = 24;

/// FNV-1a over the bytes of the values, folded to 32 bits.
uint64_t hash_of(const uint64_t* first, const uint64_t* last) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (; first != last; ++first)
    for (unsigned shift = 0; shift < 64; shift += 8)
      hash = (hash ^ (*first >> shift & 0xff)) * 0x100000001b3ull;
  return (hash ^ hash >> 32) & 0xffffffffull;
}

size_t block_begin(size_t block, size_t count) { return block * count / kBlocks; }

}  // namespace

Record make_record(const std::vector<uint64_t>& values, bool complete) {
  Record record{values.size(), complete || values.size() <= kFewValues, {}};
  if (record.complete) {
    record.words = values;
    return record;
  }
  for (size_t block = 0; block < kBlocks; ++block)
    record.words.push_back(hash_of(values.data() + block_begin(block, values.size()),
                                   values.data() + block_begin(block + 1, values.size())));
  return record;
}

std::string to_line(const std::string& name, const Record& record) {
  std::ostringstream line;
  line << name << ' ' << record.count << (record.complete ? " =" : " #") << std::hex;
  for (const uint64_t word : record.words) line << ' ' << word;
  return line.str();
}

std::map<std::string, Record> read_records(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "Could not read the results file ", path, ".");
  std::map<std::string, Record> records;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::string mark;
    Record record;
    words >> name >> record.count >> mark >> std::hex;
    record.complete = mark == "=";
    for (uint64_t word = 0; words >> word;) record.words.push_back(word);
    const size_t expected = record.complete ? record.count : kBlocks;
    require((mark == "=" || mark == "#") && words.eof() && record.words.size() == expected, path,
            " has a line that is not a record: '", line.substr(0, 80), "'; write the file again.");
    require(records.emplace(name, record).second, path, " has the case ", name, " twice.");
  }
  return records;
}

size_t first_difference(const Record& reference, const std::vector<uint64_t>& values) {
  if (reference.complete || reference.count != values.size()) {
    const size_t common = reference.complete ? std::min(reference.words.size(), values.size()) : 0;
    for (size_t i = 0; i < common; ++i)
      if (reference.words[i] != values[i]) return i;
    return reference.count == values.size() ? values.size() : common;
  }
  const Record own = make_record(values, false);
  for (size_t block = 0; block < kBlocks; ++block)
    if (own.words[block] != reference.words[block]) return block_begin(block, values.size());
  return values.size();
}

}  // namespace bw::conformance
