#include "tests/fuzz/random_kernel.hpp"

#include <array>
#include <optional>
#include <random>
#include <unordered_map>

#include <fmt/core.h>

#include "common/simulator/isa/instruction_form.hpp"
#include "common/simulator/machine/device.hpp"
#include "common/simulator/units/units.hpp"

namespace bw::sim::fuzz {
namespace {

constexpr uint32_t kMemoryWords = 4096;
// Registers that hold addresses; instructions write only the others.
constexpr uint32_t kAddress32 = 5;   // %r0 to %r4: thread, area, bar, Tensor Memory, CTA's rank
constexpr uint32_t kAddress64 = 4;   // %d0 to %d3: memory, area, descriptor, tensor map
constexpr uint32_t kRegisters = 16;  // of each width
constexpr uint32_t kPredicates = 6;
constexpr uint32_t kPairRegisters = 4;  // of 128 bits

constexpr std::string_view kDeclarations = R"(
  .reg .pred %p<6>;
  .reg .b16 %h<16>;
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  .reg .b128 %q<4>;
  .reg .b32 %turns;
  .reg .pred %again;
)";
constexpr std::string_view kVariables =
    ".shared .align 1024 .b8 area[8192];\n.shared .align 8 .b64 bar[4];\n"
    ".shared .align 4 .b32 tmem;\n";

/// Gives Tensor Memory back.
constexpr const char* kEnding =
    "  bar.sync 0;\n  setp.ge.u32 %p1, %r0, 32;\n  @%p1 bra END;\n"
    "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;\nEND:\n";

std::string with_entry(const std::string& body) {
  return fmt::format(
      ".version 9.0\n.target sm_100a\n.address_size 64\n{}"
      ".visible .entry k(.param .u64 memory, .param .align 64 .b8 map[128])\n{{\n{}{}  ret;\n}}\n",
      kVariables, kDeclarations, body);
}

/// Addresses in their registers, some values in the others, barriers and Tensor Memory ready.
std::string beginning(Choices& choices, bool with_tensor_memory) {
  std::string text =
      "  ld.param.u64 %d0, [memory];\n"
      "  mov.u32 %r0, %tid.x;\n"
      "  mov.u32 %r1, area;\n"
      "  mov.u32 %r2, bar;\n"
      "  mov.u32 %r3, 0;\n"
      "  mov.u32 %r4, %cluster_ctarank;\n"
      "  cvt.u64.u32 %d1, %r1;\n"
      "  cvta.shared.u64 %d1, %d1;\n"
      "  shr.u32 %r5, %r1, 4;\n"
      "  cvt.u64.u32 %d2, %r5;\n"
      "  or.b64 %d2, %d2, 0x4000404000000000;\n"
      "  mov.b64 %d3, map;\n"
      "  cvta.param.u64 %d3, %d3;\n"
      "  setp.eq.u32 %p0, %r0, 0;\n"
      "  mov.u32 %turns, 0;\n";
  for (uint32_t i = kAddress32; i < kRegisters; ++i)
    text += fmt::format("  mov.u32 %r{}, {};\n", i, static_cast<uint32_t>(choices.word()));
  for (uint32_t i = kAddress64; i < kRegisters; ++i)
    text += fmt::format("  mov.u64 %d{}, {};\n", i, choices.word());
  for (uint32_t i = 0; i < kRegisters; ++i)
    text += fmt::format("  mov.b16 %h{}, {};\n", i, choices.below(65536));
  for (uint32_t i = 0; i < kPairRegisters; ++i)
    text += fmt::format("  mov.b128 %q{}, {{%d{}, %d{}}};\n", i, 4 + i, 5 + i);
  for (uint32_t i = 1; i < kPredicates; ++i)
    text += fmt::format("  setp.lt.u32 %p{}, %r0, {};\n", i, choices.below(64));
  for (int i = 0; i < 4; ++i)
    text += fmt::format("  @%p0 mbarrier.init.shared::cta.b64 [bar+{}], {};\n", 8 * i,
                        1 + choices.below(4));
  text +=
      "  st.shared.u32 [area], %r0;\n"
      "  fence.mbarrier_init.release.cluster;\n"
      "  bar.sync 0;\n";
  if (with_tensor_memory)
    text +=
        "  setp.ge.u32 %p1, %r0, 32;\n  @%p1 bra ALLOCATED;\n"
        "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tmem], 64;\n"
        "ALLOCATED:\n  bar.sync 0;\n  ld.shared.u32 %r3, [tmem];\n";
  return text;
}

std::string register_of(char kind, bool writes, bool is_address, Choices& choices) {
  switch (kind) {
    case 'P':
      return fmt::format("%p{}", choices.below(kPredicates));
    case 'H':
      return fmt::format("%h{}", choices.below(kRegisters));
    case 'Q':
      return fmt::format("%q{}", choices.below(kPairRegisters));
    case 'R':
      if (is_address && choices.below(8) != 7)
        return fmt::format("%r{}", 1 + choices.below(kAddress32 - 1));
      return fmt::format("%r{}", writes ? kAddress32 + choices.below(kRegisters - kAddress32)
                                        : choices.below(kRegisters));
    default:
      if (is_address && choices.below(8) != 7)
        return fmt::format("%d{}", choices.below(kAddress64));
      return fmt::format("%d{}", writes ? kAddress64 + choices.below(kRegisters - kAddress64)
                                        : choices.below(kRegisters));
  }
}

std::string integer(Choices& choices) {
  static constexpr std::array<int64_t, 20> kUsual = {0,   1,    2,  3,  4,          8,         16,
                                                     31,  32,   33, 63, 64,         128,       255,
                                                     256, 1024, -1, -8, 0x7fffffff, 0xffffffff};
  return std::to_string(choices.one_of(kUsual));
}

/// Reads a shape's operand and writes one that fits.
class OperandWriter {
 public:
  OperandWriter(std::string_view kinds, Choices& choices) : kinds_(kinds), choices_(choices) {}

  std::string write(bool writes) {
    std::string text = one(writes, false);
    while (!kinds_.empty()) {  // "P|P": two destinations
      text += kinds_.front();
      kinds_.remove_prefix(1);
      text += one(writes, false);
    }
    return text;
  }

 private:
  std::string one(bool writes, bool is_address) {
    const char kind = kinds_.front();
    kinds_.remove_prefix(1);
    switch (kind) {
      case '[': {
        std::string text = "[";
        for (bool first = true; kinds_.front() != ']'; first = false) {
          if (kinds_.front() == ',') {
            text += ", ";
            kinds_.remove_prefix(1);
          }
          text += one(false, true);
          if (first && kinds_.front() == ']' && choices_.chance(64))
            text += fmt::format("+{}", 4 * choices_.below(64));
        }
        kinds_.remove_prefix(1);
        return text + "]";
      }
      case '{':
        return vector(writes);
      case 'I':
        return integer(choices_);
      case 'F':
        return choices_.chance(128) ? "0f3F800000" : "0f00000000";
      case 'N': {
        static constexpr std::array<std::string_view, 4> kNames = {"bar", "area", "bar", "tmem"};
        return std::string(choices_.one_of(kNames));
      }
      case 'S': {
        static constexpr std::array<std::string_view, 6> kSpecial = {
            "%tid.x", "%laneid", "%warpid", "%ctaid.x", "%cluster_ctarank", "%clock"};
        return std::string(choices_.one_of(kSpecial));
      }
      case '_':
        return "_";
      default:
        return register_of(kind, writes, is_address, choices_);
    }
  }

  std::string vector(bool writes) {
    const size_t end = kinds_.find('}');
    const std::string_view inside = kinds_.substr(0, end);
    kinds_.remove_prefix(end + 1);
    std::string text;
    const auto add = [&](std::string_view kind) {
      if (!text.empty()) text += ", ";
      text += OperandWriter(kind, choices_).write(writes);
    };
    if (const size_t star = inside.find('*'); star != inside.npos) {
      const int count = std::stoi(std::string(inside.substr(star + 1)));
      for (int i = 0; i < count; ++i) add(inside.substr(0, star));
    } else {
      for (size_t begin = 0; begin < inside.size(); begin += 2) add(inside.substr(begin, 1));
    }
    return "{" + text + "}";
  }

  std::string_view kinds_;
  Choices& choices_;
};

/// The opcode with other modifiers of its row, now and then.
std::string varied(std::string_view opcode, Choices& choices) {
  if (!choices.chance(64)) return std::string(opcode);
  const std::optional<FormMatch> match = find_form(opcode);
  if (!match || match->form->modifiers == kAnyModifiers) return std::string(opcode);
  std::string text(match->form->base);
  for (const ModifierGroup& group : parse_grammar(match->form->modifiers)) {
    if (!group.required && choices.chance(128)) continue;
    for (size_t i = 0; i < (group.required ? group.most : 1); ++i)
      text += "." + std::string(choices.one_of(group.alternatives));
  }
  return text;
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> list = {
#include "tests/fuzz/shapes.inc"
  };
  return list;
}

bool decodes(const std::string& instruction) {
  static Device device(short_settings(), all_units());
  static std::unordered_map<std::string, bool> known;
  constexpr size_t kMostKnown = 200'000;
  if (const auto found = known.find(instruction); found != known.end()) return found->second;
  bool is_taken = true;
  const LoadedModule* module = nullptr;
  try {
    module = &device.load(with_entry("  " + instruction + "\n"), "fuzz.ptx");
    (void)device.kernel(*module, "k");
  } catch (const SimulationError&) {
    is_taken = false;
  }
  if (module != nullptr) device.unload(*module);
  if (known.size() >= kMostKnown) known.clear();
  return known[instruction] = is_taken;
}

std::string instruction_of(Shape shape, Choices& choices) {
  const size_t space = shape.find(' ');
  std::string text = varied(shape.substr(0, space), choices);
  bool first = true;
  for (size_t begin = space; begin < shape.size(); first = false) {
    const size_t end = std::min(shape.find(' ', begin + 1), shape.size());
    const std::string_view kinds = shape.substr(begin + 1, end - begin - 1);
    text += first ? " " : ", ";
    text += OperandWriter(kinds, choices).write(first);
    begin = end;
  }
  return text + ";";
}

std::string one_instruction_kernel(const std::string& before, const std::string& instruction,
                                   const std::string& after) {
  const bool with_tensor_memory = instruction.starts_with("tcgen05.");
  Choices first({});
  return with_entry(beginning(first, with_tensor_memory) + before + "  " + instruction + "\n" +
                    after + (with_tensor_memory ? kEnding : ""));
}

Task random_kernel(Choices& choices) {
  Task task;
  static constexpr std::array<uint32_t, 4> kThreads = {32, 64, 128, 40};
  static constexpr std::array<uint32_t, 4> kClusters = {1, 1, 1, 2};
  const uint32_t cluster = choices.one_of(kClusters);
  task.configuration.block = {choices.one_of(kThreads), 1, 1};
  task.configuration.cluster = {cluster, 1, 1};
  task.configuration.grid = {cluster * (1 + choices.below(2)), 1, 1};
  task.memory.resize(kMemoryWords);
  for (uint32_t i = 0; i < kMemoryWords; ++i) task.memory[i] = i;
  const bool with_tensor_memory = choices.chance(96);
  // The registers' first values take one number of the input, not a byte each.
  std::mt19937_64 random(choices.word());
  std::array<uint8_t, 1024> values{};
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  Choices of_values(values);
  std::string body = beginning(of_values, with_tensor_memory);
  constexpr uint32_t kMostInstructions = 48;
  constexpr uint32_t kBlock = 6;  // instructions between two labels
  const uint32_t count = 1 + choices.below(kMostInstructions);
  const uint32_t labels = (count + kBlock - 1) / kBlock;
  for (uint32_t i = 0; i < count; ++i) {
    if (i % kBlock == 0) body += fmt::format("L{}:\n", i / kBlock);
    std::string guard = "  ";
    if (choices.chance(80))
      guard += fmt::format("@{}%p{} ", choices.chance(128) ? "!" : "", choices.below(kPredicates));
    if (choices.chance(12)) {
      // Backwards a few times only: tensor-core forms without end take long.
      const uint32_t label = choices.below(labels);
      if (label <= i / kBlock) {
        body += fmt::format(
            "  add.u32 %turns, %turns, 1;\n  setp.lt.u32 %again, %turns, 8;\n"
            "  @%again bra L{};\n",
            label);
      } else {
        body += fmt::format("{}bra L{};\n", guard, label);
      }
      continue;
    }
    const std::string instruction = instruction_of(choices.one_of(shapes()), choices);
    if (decodes(instruction)) body += guard + instruction + "\n";
  }
  if (with_tensor_memory) body += kEnding;
  task.text = with_entry(body);
  return task;
}

}  // namespace bw::sim::fuzz
