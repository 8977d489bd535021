/// \file
/// The effect of each instruction form on registers and memory with random values, its duration,
/// or the reason for its refusal; "unobserved" where a write is not observed:
///
///     instruction_outcomes            a line for each form of shapes.inc
///     instruction_outcomes TEXT       of those whose form holds this, with every instruction
///
/// tests/simulator/kept compares the lines with the last reviewed ones.
#include <array>
#include <cstdio>
#include <random>
#include <regex>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/simulator/base/fault_code.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/random_kernel.hpp"
#include "tests/fuzz/simulation.hpp"

namespace bw::sim::fuzz {
namespace {

constexpr uint32_t kThreads = 32;
constexpr uint32_t kInstructions = 3;  ///< of a form: itself, and with other modifiers
constexpr uint32_t kTrials = 12;       ///< to make them
constexpr uint32_t kMemoryWords = 4096;
// Registers that an instruction may write, as random_kernel.hpp has them.
constexpr uint32_t kFirst32 = 5, kFirst64 = 4, kRegisters = 16, kPairs = 4, kPredicates = 6;
constexpr uint32_t kWordsOfThread = 64;  ///< of global memory that its registers go to
constexpr uint32_t kFirstWord = kMemoryWords - kThreads * kWordsOfThread;

/// Every register gets another value in each lane: random bits, small numbers, numbers around 1.
/// Where an instruction has no address, the address registers do, too.
std::string values(bool keeps_addresses) {
  std::string text =
      "  mad.lo.u32 %turns, %r0, 0x9e3779b1, 0x7f4a7c15;\n"
      "  st.shared.u32 [area], %r0;\n";
  const auto next = [&] {
    text +=
        "  shr.u32 %r15, %turns, 15;\n  xor.b32 %turns, %turns, %r15;\n"
        "  mul.lo.u32 %turns, %turns, 0x2c1b3c6d;\n";
  };
  for (uint32_t i = kFirst32; i < kRegisters; ++i) {
    next();
    switch (i % 3) {
      case 0:
        text += fmt::format("  mov.b32 %r{}, %turns;\n", i);
        break;
      case 1:
        text += fmt::format("  shr.u32 %r{}, %turns, 27;\n", i);
        break;
      default:
        text +=
            fmt::format("  shr.u32 %r{0}, %turns, 5;\n  add.u32 %r{0}, %r{0}, 0x3c000000;\n", i);
    }
  }
  for (uint32_t i = keeps_addresses ? kFirst64 : 0; i < kRegisters; ++i) {
    next();
    text += i % 2 == 0 ? fmt::format("  mov.b64 %d{}, {{%turns, %r{}}};\n", i, i)
                       : fmt::format("  cvt.u64.u32 %d{}, %r{};\n", i, i);
  }
  for (uint32_t i = 0; i < kRegisters; ++i) {
    next();
    text += fmt::format("  cvt.u16.u32 %h{}, %turns;\n", i);
  }
  for (uint32_t i = 0; i < kPairs; ++i)
    text += fmt::format("  mov.b128 %q{}, {{%d{}, %d{}}};\n", i, 4 + i, 9 + i);
  for (uint32_t i = 1; i < kPredicates; ++i)
    text += fmt::format("  setp.gt.u32 %p{}, %r{}, %r{};\n", i, 4 + i, 9 + i);
  // Shared memory that loads read.
  text += "  mad.lo.u32 %turns, %r0, 16, %r1;\n";
  for (uint32_t i = 0; i < 8; ++i)
    text += fmt::format("  st.shared.v4.u32 [%turns+{}], {{%r{}, %r{}, %r{}, %r{}}};\n", 512 * i,
                        5 + i, 6 + i, 7 + i, 8 + i);
  return text + "  bar.sync 0;\n";
}

/// All registers go to global memory.
std::string results() {
  std::string text = fmt::format(
      "  mad.lo.u32 %turns, %r0, {}, {};\n  cvt.u64.u32 %d3, %turns;\n"
      "  ld.param.u64 %d0, [memory];\n  add.u64 %d3, %d3, %d0;\n",
      4 * kWordsOfThread, 4 * kFirstWord);
  uint32_t offset = 0;
  const auto store = [&](const std::string& type, const std::string& value, uint32_t bytes) {
    text += fmt::format("  st.global.{} [%d3+{}], {};\n", type, offset, value);
    offset += bytes;
  };
  for (uint32_t i = kFirst64; i < kRegisters; ++i) store("u64", fmt::format("%d{}", i), 8);
  for (uint32_t i = 0; i < kPairs; ++i) {
    text += fmt::format("  mov.b128 {{%d4, %d5}}, %q{};\n", i);
    store("u64", "%d4", 8);
    store("u64", "%d5", 8);
  }
  for (uint32_t i = kFirst32; i < kRegisters; ++i) store("u32", fmt::format("%r{}", i), 4);
  for (uint32_t i = 0; i < kRegisters; ++i) store("u16", fmt::format("%h{}", i), 2);
  text += "  mov.u32 %r5, 0;\n";
  for (uint32_t i = 0; i < kPredicates; ++i)
    text += fmt::format("  selp.u32 %r6, {}, 0, %p{};\n  or.b32 %r5, %r5, %r6;\n", 1u << i, i);
  store("u32", "%r5", 4);
  // Contents of shared memory, as far as it was written above.
  text += "  mad.lo.u32 %turns, %r0, 16, %r1;\n  mov.u32 %r5, 0;\n";
  for (uint32_t i = 0; i < 8; ++i)
    text += fmt::format(
        "  ld.shared.v4.u32 {{%r6, %r7, %r8, %r9}}, [%turns+{}];\n"
        "  mad.lo.u32 %r5, %r5, 31, %r6;\n  mad.lo.u32 %r5, %r5, 31, %r7;\n"
        "  mad.lo.u32 %r5, %r5, 31, %r8;\n  mad.lo.u32 %r5, %r5, 31, %r9;\n",
        512 * i);
  store("u32", "%r5", 4);
  return text;
}

class Digest {
 public:
  void add(uint64_t value) {
    hash_ ^= value;
    hash_ *= 0x100000001b3ull;
    hash_ ^= hash_ >> 29;
  }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<uint8_t>(c));
  }
  [[nodiscard]] uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325ull;
};

/// "BW-M04" of a report's text.
std::string code_of(const std::string& report) {
  const size_t at = report.find("BW-");
  constexpr size_t kLength = 6;
  return at == report.npos ? "?" : report.substr(at, kLength);
}

/// The first line of a report: what happened, with its numbers, but no addresses of host memory.
std::string what_of(const std::string& report) {
  static const std::regex address("0x[0-9a-f]{9,}");
  return std::regex_replace(report.substr(0, report.find('\n')), address, "ADDRESS");
}

/// Whether an address of host memory, which is another one in each run, gets into the results: used
/// as a number, or read out of the tensor map.
bool shows_addresses(const std::string& instruction) {
  if (instruction.find("tensor") == instruction.npos && instruction.find("%d3") != instruction.npos)
    return true;
  static const std::regex in_brackets("\\[[^\\]]*\\]"), address("%d[03]\\b");
  return std::regex_search(std::regex_replace(instruction, in_brackets, ""), address);
}

void print_form(Shape shape, uint32_t number, bool shows_all) {
  Digest digest;
  std::string codes;
  Cycle simple = 0, model = 0;
  uint32_t taken = 0, finished = 0;
  std::mt19937_64 random(number + 1);
  const bool has_address = shape.find('[') != Shape::npos;
  for (uint32_t i = 0; taken < kInstructions && i < kTrials; ++i) {
    std::array<uint8_t, 256> bytes{};
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    Choices choices(bytes);
    const std::string instruction = instruction_of(shape, choices);
    if ((has_address && shows_addresses(instruction)) || !decodes(instruction)) continue;
    ++taken;
    Task task;
    task.configuration.block = {kThreads, 1, 1};
    task.configuration.grid = {1, 1, 1};
    task.memory.resize(kMemoryWords);
    for (uint32_t k = 0; k < kMemoryWords; ++k) task.memory[k] = k * 0x9e3779b1u;
    task.text = one_instruction_kernel(values(has_address), instruction, results());
    std::array<Outcome, 2> outcomes;
    for (size_t k = 0; k < outcomes.size(); ++k) {
      Settings settings = short_settings();
      settings.timing = k == 0 ? TimingModel::simple : TimingModel::model;
      outcomes[k] = k == 0 ? simulate(task, settings) : simulate_observed(task, settings);
    }
    if (!outcomes[1].unobserved.empty()) codes += " unobserved";
    const Outcome& outcome = outcomes[0];
    digest.add(outcome.fault ? what_of(outcome.report) : "finished");
    for (const uint32_t word : outcome.memory) digest.add(word);
    if (outcome.fault) {
      codes += " " + code_of(outcome.report);
    } else {
      ++finished;
      simple += outcome.cycles;
      model += outcomes[1].cycles;
    }
    if (shows_all)
      std::printf("  %s %s, %llu and %llu cycles%s%s\n", instruction.c_str(),
                  outcome.fault ? what_of(outcome.report).c_str() : "finished",
                  static_cast<unsigned long long>(outcome.cycles),
                  static_cast<unsigned long long>(outcomes[1].cycles),
                  outcomes[1].unobserved.empty() ? "" : ", writes unobserved ",
                  outcomes[1].unobserved.c_str());
  }
  std::printf("%.*s: %u taken, %u finished%s, %llu and %llu cycles, %016llx\n",
              static_cast<int>(shape.size()), shape.data(), taken, finished, codes.c_str(),
              static_cast<unsigned long long>(simple), static_cast<unsigned long long>(model),
              static_cast<unsigned long long>(digest.value()));
}

}  // namespace
}  // namespace bw::sim::fuzz

int main(int count, char** words) {
  using namespace bw::sim::fuzz;
  const std::string_view wanted = count > 1 ? words[1] : "";
  for (uint32_t i = 0; i < shapes().size(); ++i)
    if (shapes()[i].find(wanted) != Shape::npos) print_form(shapes()[i], i, count > 1);
  return 0;
}
