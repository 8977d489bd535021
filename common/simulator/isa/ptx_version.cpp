#include "common/simulator/isa/ptx_version.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace bw::sim {
namespace {

/// Words of opcodes and the version that introduced them: the newest one of an opcode counts. A
/// word that is older in other instructions has the beginning of its opcode.
struct NewWord {
  std::string_view word;     ///< a modifier, or the first part of an opcode
  std::string_view version;  ///< of the PTX ISA
  std::string_view base{};   ///< where it is new; empty: everywhere
};
constexpr NewWord kNewWords[] = {
    {"s2f6x2", "9.1"},
    {"async", "9.1", "multimem.cp"},
    {"async", "9.1", "multimem.cp.reduce"},
    {"ignore_oob", "9.2"},
    {"scaled::n2::ue8m0", "9.1"},
    {"u8x4", "9.2"},
    {"s8x4", "9.2"},
    {"clmad", "9.3"},
    {"fabric", "9.3"},
    {"async", "9.3", "multimem.st"},
    {"async", "9.3", "multimem.red"},
    {"weak", "9.3", "cp.async.bulk"},
    {"relaxed", "9.3", "cp.async.bulk"},
    {"relaxed", "9.3", "cp.reduce.async.bulk"},
    {"layout::v0", "9.3"},
    {"layout::v1", "9.3"},
    {"check_layout", "9.3"},
    {"phase_type::primary", "9.3"},
    {"phase_type::conditional", "9.3"},
    {"valid_addr", "9.4"},
    {"exclusive", "9.4", "tcgen05"},
    {"sync_restrict::shared::cluster::read", "9.4"},
    {"proxy::readonly", "9.4"},
    {"ue5m3x2", "9.4"},
    {"multicast::cluster::32b", "9.4"},
    {"2pi", "9.5"},
    {"commit_group", "9.5", "fabric"},
    {"sync_restrict::read", "9.5"},
    {"sync_restrict::proxy::async", "9.5"},
    {"alloc_class_large", "9.5"},
};

bool has_word(std::string_view opcode, std::string_view word) {
  for (size_t begin = 0; begin <= opcode.size();) {
    const size_t end = std::min(opcode.find('.', begin), opcode.size());
    if (opcode.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::string_view introduced_in(std::string_view opcode) {
  std::string_view newest;
  for (const NewWord& each : kNewWords)
    if (opcode.starts_with(each.base) && has_word(opcode, each.word))
      newest = std::max(newest, each.version);
  return newest;
}

std::string version_note(std::string_view opcode, const PtxVersion& of_module) {
  if (const std::string_view version = introduced_in(opcode); !version.empty())
    return fmt::format(" (it came with PTX {})", version);
  if (of_module > kNewestPtxVersion)
    return fmt::format(
        " (the module is written in PTX {}.{}, and the newest version known here is {}.{})",
        of_module.major, of_module.minor, kNewestPtxVersion.major, kNewestPtxVersion.minor);
  return {};
}

}  // namespace bw::sim
