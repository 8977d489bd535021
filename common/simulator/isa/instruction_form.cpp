#include "common/simulator/isa/instruction_form.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

namespace bw::sim {
namespace {

bool has_base(std::string_view opcode, std::string_view base) {
  return opcode.starts_with(base) && (opcode.size() == base.size() || opcode[base.size()] == '.');
}

/// Hashes an opcode in whatever type holds its text.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

constexpr InstructionForm kNoForm = {.base = "",
                                     .modifiers = kAnyModifiers,
                                     .bind = nullptr,
                                     .effect = Effect::lane,
                                     .cycles = 0,
                                     .section = "",
                                     .crossing = Crossing::closed};

/// Of each form: a match that is not exact.
const FormMatch& inexact_match(std::string_view opcode) {
  static const std::unordered_map<const InstructionForm*, FormMatch> matches = [] {
    std::unordered_map<const InstructionForm*, FormMatch> all;
    for (const FormFamily& family : instruction_forms())
      for (const InstructionForm& form : family) all[&form] = {.form = &form, .is_exact = false};
    return all;
  }();
  for (const FormFamily& family : instruction_forms())
    for (const InstructionForm& form : family)
      if (has_base(opcode, form.base)) return matches.at(&form);
  return no_match();
}

}  // namespace

Cost CostOf::operator()(const Modifiers& modifiers, const ptx::Instruction& instruction) const {
  if (of_ != nullptr) return of_(modifiers, instruction);
  return is_by_width_ && ptx::size_bytes(modifiers.type()) == sizeof(uint64_t) ? wide_ : narrow_;
}

std::optional<FormMatch> find_form(std::string_view opcode) {
  for (const FormFamily& family : instruction_forms()) {
    for (const InstructionForm& form : family) {
      if (!has_base(opcode, form.base)) continue;
      FormMatch match{.form = &form};
      const std::string_view modifiers = opcode.size() == form.base.size()
                                             ? std::string_view{}
                                             : opcode.substr(form.base.size() + 1);
      if (match_modifiers(modifiers, form.modifiers, match.modifiers)) return match;
    }
  }
  return std::nullopt;
}

const FormMatch& match_of(std::string_view opcode) {
  static std::mutex mutex;
  static std::unordered_map<std::string, FormMatch, TextHash, std::equal_to<>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(opcode); found != known.end()) return found->second;
  // Unknown opcodes are not cached: their number is unlimited.
  std::optional<FormMatch> match = find_form(opcode);
  if (!match.has_value()) return inexact_match(opcode);
  return known.emplace(opcode, std::move(*match)).first->second;
}

const FormMatch& no_match() {
  static const FormMatch none{.form = &kNoForm, .is_exact = false};
  return none;
}

bool FormMatch::uses_carry() const { return form->carry == Carry::reads || writes_carry(); }

bool FormMatch::writes_carry() const { return form->carry != Carry::none && modifiers.has("cc"); }

uint8_t FormMatch::accessed_spaces() const {
  const std::string_view space = modifiers.get("space");
  if (form->spaces == Spaces::shared || space.starts_with("shared")) return kSharedSpace;
  if (space == "global") return kGlobalSpace;
  if (space == "local" || space.starts_with("param")) return kLocalSpace;
  if (space == "const") return 0;
  return kAllSpaces;  // a generic address
}

bool FormMatch::reads_constants() const { return modifiers.has("nc"); }

bool FormMatch::is_plain_shared_load() const {
  constexpr size_t kSpaceAndType = 2;
  return form->memory == Memory::load && modifiers.get("space") == "shared" &&
         modifiers.matches.size() == kSpaceAndType;
}

uint32_t FormMatch::access_bytes() const {
  const std::string_view vector = modifiers.get("vector");
  const auto elements = vector.empty() ? 1u : static_cast<uint32_t>(vector.back() - '0');
  return static_cast<uint32_t>(ptx::size_bytes(modifiers.type())) * elements;
}

bool FormMatch::compares_equal() const { return modifiers.get("compare") == "eq"; }

bool FormMatch::compares_unequal() const { return modifiers.get("compare") == "ne"; }

bool FormMatch::copies_with_mbarrier() const {
  return form->memory == Memory::copy && modifiers.has("mbarrier::complete_tx::bytes");
}

bool FormMatch::copies_word() const {
  constexpr size_t kWordBytes = 4;
  return is_exact && form->operation == Operation::move &&
         ptx::size_bytes(modifiers.type()) == kWordBytes;
}

bool FormMatch::is_integer_of(size_t bytes) const {
  using ptx::ScalarType;
  const ScalarType type = modifiers.type();
  const bool is_packed = type == ScalarType::u16x2 || type == ScalarType::s16x2;
  return ptx::size_bytes(type) == bytes && !ptx::is_float(type) && !is_packed;
}

}  // namespace bw::sim
