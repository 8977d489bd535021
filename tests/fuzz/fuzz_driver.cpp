/// \file
/// Runs a fuzz target without libFuzzer: over kept inputs, and over inputs made at random. The same
/// arguments give the same inputs, so it serves as a test and under GCC's sanitizers.
///
///   TARGET [FILE | FOLDER]... [--runs N] [--seed S] [--seconds T] [--length MOST_BYTES] [--save
///   FILE]
///
/// FILE: one input; a name that ends in `.inputs` is a file of many (tests/fuzz/corpus.py).
///
/// The input that runs is kept in --save's file (default: none) before it runs, so that one that
/// ends the process can be run again.
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/choices.hpp"

namespace {

using Bytes = std::vector<uint8_t>;

struct Arguments {
  std::vector<Bytes> inputs;
  uint64_t runs = 0;
  uint64_t seed = 1;
  double seconds = 0;
  size_t most_bytes = 256;
  std::string save;
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr,
               "%s\nusage: [FILE | FOLDER]... [--runs N] [--seed S] [--seconds T] [--length BYTES] "
               "[--save FILE]\n",
               what.c_str());
  std::exit(2);
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("There is no input " + path.string() + " that can be read.");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file of inputs: how many they are, then one a line between quotes.
class PackedInputs {
 public:
  explicit PackedInputs(const std::filesystem::path& path) : path_(path.string()) {
    const Bytes bytes = read(path);
    const std::string text(bytes.begin(), bytes.end());
    std::istringstream lines(text);
    size_t announced = 0;
    std::string line, word;
    std::getline(lines, line);
    if (!(std::istringstream(line) >> announced >> word) || !word.starts_with("input") ||
        !text.ends_with('\n')) {
      refuse_line("a file of inputs begins with `N inputs` and ends with the end of a line");
    }
    for (line_ = 2; std::getline(lines, line); ++line_) inputs_.push_back(unescaped(line));
    if (inputs_.size() != announced) {
      line_ = 1;
      refuse_line("it announces " + std::to_string(announced) + " inputs and holds " +
                  std::to_string(inputs_.size()));
    }
  }
  const std::vector<Bytes>& inputs() const { return inputs_; }

 private:
  [[noreturn]] void refuse_line(const std::string& what) const {
    refuse(path_ + ":" + std::to_string(line_) + ": " + what + ".");
  }

  /// The input between the quotes of a line; a name may precede them.
  Bytes unescaped(const std::string& line) const {
    const size_t begin = line.find('"');
    if (begin == std::string::npos || line.size() < begin + 2 || line.back() != '"') {
      refuse_line("an input must be in quotes");
    }
    Bytes bytes;
    for (size_t i = begin + 1; i + 1 < line.size(); ++i) {
      bytes.push_back(static_cast<uint8_t>(line[i] == '\\' ? escape(line, i) : line[i]));
    }
    return bytes;
  }

  /// The byte of the escape that begins at `i`, which then is its last character.
  char escape(const std::string& line, size_t& i) const {
    const std::string kLetters = "\\\"nt", kMeanings = "\\\"\n\t";
    const char letter = line[++i];
    if (const size_t found = kLetters.find(letter); found != std::string::npos) {
      return kMeanings[found];
    }
    unsigned value = 0;
    const char* const digits = line.data() + i + 1;
    if (letter != 'x' || i + 3 >= line.size() ||
        std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) {
      refuse_line("there is an escape that is not \\\\, \\\", \\n, \\t or \\xNN");
    }
    i += 2;
    return static_cast<char>(value);
  }

  std::string path_;
  size_t line_ = 1;
  std::vector<Bytes> inputs_;
};

/// The inputs of a file or folder that was named.
std::vector<Bytes> inputs_of(const std::filesystem::path& path) {
  if (path.extension() == ".inputs") return PackedInputs(path).inputs();
  if (!std::filesystem::is_directory(path)) return {read(path)};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Bytes> inputs;
  for (const auto& file : files) inputs.push_back(read(file));
  return inputs;
}

Arguments parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      for (Bytes& input : inputs_of(word)) arguments.inputs.push_back(std::move(input));
      continue;
    }
    if (i + 1 == count) refuse(word + " needs a value.");
    const char* const value = words[++i];
    if (word == "--save") {
      arguments.save = value;
      continue;
    }
    char* end = nullptr;
    const double number = std::strtod(value, &end);
    if (*end != '\0' || number < 0) refuse(word + " needs a number, not " + value + ".");
    if (word == "--runs") {
      arguments.runs = static_cast<uint64_t>(number);
    } else if (word == "--seed") {
      arguments.seed = static_cast<uint64_t>(number);
    } else if (word == "--seconds") {
      arguments.seconds = number;
    } else if (word == "--length") {
      arguments.most_bytes = static_cast<size_t>(number);
    } else {
      refuse("There is no option " + word + ".");
    }
  }
  return arguments;
}

/// A new input: at random, or one of the given with some of its bytes changed.
Bytes make(const Arguments& arguments, std::mt19937_64& random) {
  const auto below = [&](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  constexpr int kKept = 3;  // of four inputs that many are made of a given one
  Bytes bytes;
  if (!arguments.inputs.empty() && below(4) < kKept) {
    bytes = arguments.inputs[below(arguments.inputs.size())];
    for (size_t changes = 1 + below(6); changes > 0; --changes) {
      const size_t at = below(bytes.size());
      const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      switch (below(4)) {
        case 0:
          bytes.insert(place, static_cast<uint8_t>(random()));
          break;
        case 1:
          if (!bytes.empty()) bytes.erase(place);
          break;
        case 2: {  // a piece of another input
          const Bytes& other = arguments.inputs[below(arguments.inputs.size())];
          const size_t from = below(other.size());
          const size_t length = below(other.size() - from);
          bytes.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                       other.begin() + static_cast<std::ptrdiff_t>(from + length));
          break;
        }
        default:
          if (!bytes.empty()) *place ^= static_cast<uint8_t>(1u << below(8));
      }
    }
    return bytes;
  }
  bytes.resize(below(arguments.most_bytes));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

}  // namespace

int main(int count, char** words) {
  const Arguments arguments = parse(count, words);
  const auto begin = std::chrono::steady_clock::now();
  const auto run = [&](const Bytes& bytes) {
    if (!arguments.save.empty())
      std::ofstream(arguments.save, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  };
  for (const Bytes& bytes : arguments.inputs) run(bytes);
  std::mt19937_64 random(arguments.seed);
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  uint64_t runs = 0;
  while (runs < arguments.runs || seconds() < arguments.seconds) {
    run(make(arguments, random));
    ++runs;
  }
  std::printf("%zu given and %llu made inputs in %.1f s, nothing found\n", arguments.inputs.size(),
              static_cast<unsigned long long>(runs), seconds());
  return 0;
}
