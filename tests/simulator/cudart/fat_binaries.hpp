#pragma once
/// \file
/// Builds fat binaries in memory, as nvcc lays them out.

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bw::sim::test {

/// A fat binary under construction.
class FatBinaryBuilder {
 public:
  enum class Store { plain, lz4, zstandard };

  /// Adds PTX for an architecture; suffix 'a', 'f' or none.
  FatBinaryBuilder& ptx(std::string_view text, uint32_t architecture, char suffix = '\0',
                        Store store = Store::plain) {
    add_stored(1, architecture, suffix, text, store);
    return *this;
  }

  /// Adds machine code (any bytes), architecture-specific.
  FatBinaryBuilder& elf(uint32_t architecture,
                        std::string_view code =
                            "\x7f"
                            "ELF",
                        Store store = Store::plain) {
    add_stored(2, architecture, 'a', code, store);
    return *this;
  }

  /// The whole image, at an address that stays while the builder lives.
  [[nodiscard]] std::vector<std::byte> bytes() const {
    constexpr size_t kFileHeader = 16;
    std::vector<std::byte> image(kFileHeader + entries_.size());
    put(image, 0, uint32_t{0xBA55ED50});
    put(image, 4, uint16_t{1});
    put(image, 6, uint16_t{kFileHeader});
    put(image, 8, uint64_t{entries_.size()});
    std::copy(entries_.begin(), entries_.end(), image.begin() + kFileHeader);
    return image;
  }

  template <class T>
  static void put(std::vector<std::byte>& bytes, size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }

 private:
  void add_stored(uint16_t kind, uint32_t architecture, char suffix, std::string_view contents,
                  Store store) {
    std::string payload(contents);
    uint64_t flags = 0x11;
    if (suffix == 'a') flags |= 0x100000;
    if (suffix == 'f') flags |= 0x200000;
    if (store == Store::lz4) {
      payload.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(contents.size()))));
      payload.resize(static_cast<size_t>(LZ4_compress_default(contents.data(), payload.data(),
                                                              static_cast<int>(contents.size()),
                                                              static_cast<int>(payload.size()))));
      flags |= 0x2000;
    } else if (store == Store::zstandard) {
      payload.resize(ZSTD_compressBound(contents.size()));
      payload.resize(
          ZSTD_compress(payload.data(), payload.size(), contents.data(), contents.size(), 3));
      flags |= 0x8000;
    }
    const bool packed = store != Store::plain;
    add(kind, architecture, flags, payload, packed ? payload.size() : 0,
        packed ? contents.size() : 0);
  }

  void add(uint16_t kind, uint32_t architecture, uint64_t flags, const std::string& payload,
           size_t compressed, size_t uncompressed) {
    constexpr size_t kHeader = 64;
    const size_t padded = (payload.size() + 8) / 8 * 8;  // at least one zero byte
    std::vector<std::byte> entry(kHeader + padded);
    put(entry, 0, kind);
    put(entry, 2, uint16_t{0x101});
    put(entry, 4, uint32_t{kHeader});
    put(entry, 8, uint64_t{padded});
    put(entry, 16, static_cast<uint32_t>(compressed));
    put(entry, 28, architecture);
    put(entry, 40, flags);
    put(entry, 56, uint64_t{uncompressed});
    std::memcpy(entry.data() + kHeader, payload.data(), payload.size());
    entries_.insert(entries_.end(), entry.begin(), entry.end());
  }

  std::vector<std::byte> entries_;
};

}  // namespace bw::sim::test
