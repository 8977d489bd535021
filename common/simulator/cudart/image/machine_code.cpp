#include "common/simulator/cudart/image/machine_code.hpp"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>

namespace bw::sim::cudart {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kInfoSection = ".nv.info";
constexpr uint8_t kFormatBytes = 4;       // bytes follow
constexpr uint8_t kRegisterCount = 0x2f;  // the attribute

/// The value at an offset; nothing beyond the end.
template <class T>
std::optional<T> read_part(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Bytes part(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.subspan(offset, size);
}

std::string_view text_at(Bytes strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const char* const text = reinterpret_cast<const char*>(strings.data() + offset);
  return {text, strnlen(text, strings.size() - offset)};
}

/// The sections of an ELF file.
class Sections {
 public:
  explicit Sections(Bytes file) : file_(file) {
    const auto header = read_part<Elf64_Ehdr>(file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
      return;
    header_ = *header;
    if (const auto names = section(header_.e_shstrndx)) names_ = contents(*names);
  }

  /// One by its number.
  [[nodiscard]] std::optional<Elf64_Shdr> section(uint64_t number) const {
    if (number >= header_.e_shnum) return std::nullopt;
    return read_part<Elf64_Shdr>(file_, header_.e_shoff + number * sizeof(Elf64_Shdr));
  }
  /// The first one of a kind; with a name, of that name.
  [[nodiscard]] std::optional<Elf64_Shdr> find(uint32_t type, std::string_view name) const {
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      const auto one = section(i);
      if (one && one->sh_type == type && (name.empty() || text_at(names_, one->sh_name) == name))
        return one;
    }
    return std::nullopt;
  }
  /// The bytes of one.
  [[nodiscard]] Bytes contents(const Elf64_Shdr& one) const {
    return part(file_, one.sh_offset, one.sh_size);
  }

 private:
  Bytes file_;
  Bytes names_;
  Elf64_Ehdr header_{};
};

}  // namespace

std::map<std::string, uint32_t, std::less<>> registers_of_kernels(Bytes cubin) {
  constexpr uint32_t kInfoType = SHT_LOPROC;
  const Sections sections(cubin);
  const auto info = sections.find(kInfoType, kInfoSection);
  const auto symbols = sections.find(SHT_SYMTAB, {});
  if (!info || !symbols) return {};
  const auto strings = sections.section(symbols->sh_link);
  if (!strings) return {};
  std::map<std::string, uint32_t, std::less<>> result;
  const Bytes list = sections.contents(*info);
  for (uint64_t at = 0; at < list.size();) {
    const auto format = read_part<uint8_t>(list, at);
    const auto attribute = read_part<uint8_t>(list, at + 1);
    const auto bytes = read_part<uint16_t>(list, at + 2);
    if (!bytes) break;
    at += sizeof(uint32_t);
    if (*format != kFormatBytes) continue;
    const auto number = read_part<uint32_t>(list, at);
    const auto registers = read_part<uint32_t>(list, at + sizeof(uint32_t));
    at += *bytes;
    if (*attribute != kRegisterCount || !registers) continue;
    const auto symbol =
        read_part<Elf64_Sym>(sections.contents(*symbols), uint64_t{*number} * sizeof(Elf64_Sym));
    if (!symbol) continue;
    const std::string_view name = text_at(sections.contents(*strings), symbol->st_name);
    if (!name.empty()) result.emplace(name, *registers);
  }
  return result;
}

}  // namespace bw::sim::cudart
