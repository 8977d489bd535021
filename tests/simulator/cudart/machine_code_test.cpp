#include "common/simulator/cudart/image/machine_code.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bw::sim::cudart {
namespace {

/// A cubin under construction: sections of names, symbols and attributes, as nvcc writes them.
class Cubin {
 public:
  /// A kernel, whose symbol the attributes name by its number.
  uint32_t kernel(std::string_view name) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(strings_.size());
    strings_.append(name).push_back('\0');
    symbols_.push_back(symbol);
    return static_cast<uint32_t>(symbols_.size() - 1);
  }
  /// An attribute of two words.
  void attribute(uint8_t number, uint32_t first, uint32_t second) {
    const uint16_t bytes = 2 * sizeof(uint32_t);
    info_ += {kFormatBytes, static_cast<char>(number)};
    put(info_, bytes);
    put(info_, first);
    put(info_, second);
  }
  /// An attribute whose value is in its head.
  void short_attribute(uint8_t number, uint16_t value) {
    info_ += {3, static_cast<char>(number)};
    put(info_, value);
  }

  [[nodiscard]] std::string file() const {
    std::string symbols;
    for (const Elf64_Sym& symbol : symbols_) put(symbols, symbol);
    std::string names(1, '\0');
    std::vector<Elf64_Shdr> sections(1);
    std::string body(sizeof(Elf64_Ehdr), '\0');
    const auto add = [&](std::string_view name, uint32_t type, std::string_view contents,
                         uint32_t link) {
      Elf64_Shdr section{};
      section.sh_name = static_cast<uint32_t>(names.size());
      section.sh_type = type;
      section.sh_offset = body.size();
      section.sh_size = contents.size();
      section.sh_link = link;
      names.append(name).push_back('\0');
      body += contents;
      sections.push_back(section);
    };
    add(".strtab", SHT_STRTAB, strings_, 0);
    add(".symtab", SHT_SYMTAB, symbols, 1);
    add(".nv.info.other", SHT_LOPROC, "\4\x2f", 2);
    add(".nv.info", SHT_LOPROC, info_, 2);
    names += ".shstrtab";
    names.push_back('\0');
    add(".shstrtab", SHT_STRTAB, names, 0);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(sections.size());
    header.e_shstrndx = static_cast<uint16_t>(sections.size() - 1);
    header.e_shoff = body.size();
    std::memcpy(body.data(), &header, sizeof header);
    for (const Elf64_Shdr& section : sections) put(body, section);
    return body;
  }

 private:
  static constexpr char kFormatBytes = 4;

  template <class T>
  static void put(std::string& bytes, const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::string strings_ = std::string(1, '\0');
  std::vector<Elf64_Sym> symbols_ = {{}};
  std::string info_;
};

constexpr uint8_t kFrameBytes = 0x11;
constexpr uint8_t kRegisterCount = 0x2f;

auto registers_in(const std::string& file) {
  return registers_of_kernels(std::as_bytes(std::span(file)));
}

Cubin two_kernels() {
  Cubin cubin;
  const uint32_t first = cubin.kernel("_Z5firstv");
  const uint32_t second = cubin.kernel("second");
  cubin.attribute(kRegisterCount, second, 168);
  cubin.attribute(kFrameBytes, second, 7);
  cubin.short_attribute(kRegisterCount, 5);
  cubin.attribute(kRegisterCount, first, 96);
  return cubin;
}

TEST(MachineCode, SaysHowManyRegistersKernelsTake) {
  const auto registers = registers_in(two_kernels().file());
  ASSERT_EQ(registers.size(), 2u);
  EXPECT_EQ(registers.find("_Z5firstv")->second, 96u);
  EXPECT_EQ(registers.find("second")->second, 168u);
}

TEST(MachineCode, OfWhatIsNoCubinNothingIsKnown) {
  EXPECT_TRUE(registers_in("").empty());
  EXPECT_TRUE(registers_in("\x7f"
                           "ELF")
                  .empty());
  EXPECT_TRUE(registers_in(std::string(4096, 'x')).empty());
  for (const size_t at :
       {size_t{EI_MAG0}, size_t{EI_MAG3}, size_t{EI_CLASS}, offsetof(Elf64_Ehdr, e_shentsize)}) {
    std::string other_kind = two_kernels().file();
    ++other_kind[at];
    EXPECT_TRUE(registers_in(other_kind).empty()) << at;
  }
  Cubin unknown_symbol;
  unknown_symbol.attribute(kRegisterCount, 1000, 96);
  EXPECT_TRUE(registers_in(unknown_symbol.file()).empty());
}

TEST(MachineCode, DamageIsNotRead) {
  const std::string file = two_kernels().file();
  // Cut off anywhere and with any byte wrong: what is read stays inside (a sanitizer's build
  // tells).
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_LE(registers_in(file.substr(0, size)).size(), 2u) << size;
  for (size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(~damaged[at]);
    EXPECT_LE(registers_in(damaged).size(), 2u) << at;
  }
}

}  // namespace
}  // namespace bw::sim::cudart
