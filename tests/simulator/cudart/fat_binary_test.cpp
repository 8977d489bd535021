#include "common/simulator/cudart/image/fat_binary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/simulator/base/error.hpp"
#include "tests/simulator/cudart/fat_binaries.hpp"

namespace bw::sim::cudart {
namespace {

using test::FatBinaryBuilder;
using Store = FatBinaryBuilder::Store;

std::string long_text() {
  std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n";
  for (int i = 0; i < 200; ++i) text += "// line " + std::to_string(i % 7) + "\n";
  return text;
}

std::string chosen_text(const FatBinaryBuilder& builder) {
  const std::vector<std::byte> bytes = builder.bytes();
  const auto entries = read_fat_binary(bytes, "test");
  return ptx_text(choose_ptx(entries, machines().front(), "test"), "test");
}

std::string chosen_target(const FatBinaryBuilder& builder) {
  const std::vector<std::byte> bytes = builder.bytes();
  const auto entries = read_fat_binary(bytes, "test");
  return choose_ptx(entries, machines().front(), "test").describe();
}

// Runs `action`, which must throw an error of the kind, and returns its text.
template <class Action>
std::string error_text(FaultKind kind, Action&& action) {
  try {
    action();
  } catch (const SimulationError& error) {
    EXPECT_EQ(error.report().kind(), kind) << error.what();
    EXPECT_FALSE(error.report().fix.empty());
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(FatBinary, ReadsEachWayOfStoringPtx) {
  const std::string text = long_text();
  for (const Store store : {Store::plain, Store::lz4, Store::zstandard}) {
    EXPECT_EQ(chosen_text(FatBinaryBuilder().ptx(text, 100, 'a', store)), text)
        << static_cast<int>(store);
  }
}

TEST(FatBinary, FindsTheMachineCodeBesideThePtx) {
  const std::string code =
      "\x7f"
      "ELF" +
      long_text() + std::string(64, '\0');
  const auto beside = [](const FatBinaryBuilder& builder) {
    const std::vector<std::byte> bytes = builder.bytes();
    const auto entries = read_fat_binary(bytes, "test");
    return matching_machine_code(entries, choose_ptx(entries, machines().front(), "test"));
  };
  for (const Store store : {Store::plain, Store::lz4, Store::zstandard}) {
    const std::string found =
        beside(FatBinaryBuilder().elf(90).elf(100, code, store).ptx("x", 100, 'a').ptx("x", 100));
    EXPECT_EQ(found.substr(0, code.size()), code) << static_cast<int>(store);
  }
  EXPECT_EQ(beside(FatBinaryBuilder().elf(90, code).ptx("x", 100, 'a')), "");
  EXPECT_EQ(beside(FatBinaryBuilder().elf(100, code).ptx("x", 100)), "") << "another target";
}

TEST(FatBinary, PrefersTheClosestTarget) {
  const auto all = [] {
    return FatBinaryBuilder().elf(100).ptx("x", 80).ptx("x", 90).ptx("x", 90, 'a').ptx("x", 120);
  };
  EXPECT_EQ(chosen_target(all()), "compute_90");
  EXPECT_EQ(chosen_target(all().ptx("x", 100)), "compute_100");
  EXPECT_EQ(chosen_target(all().ptx("x", 100).ptx("x", 100, 'f')), "compute_100f");
  EXPECT_EQ(chosen_target(all().ptx("x", 100, 'a').ptx("x", 100, 'f').ptx("x", 100)),
            "compute_100a");
}

TEST(FatBinary, RefusesOtherArchitecturesAndSaysHowToCompile) {
  const auto refusal = [](const FatBinaryBuilder& builder) {
    return error_text(FaultKind::unsupported, [&] { (void)chosen_target(builder); });
  };
  const std::string hopper = refusal(FatBinaryBuilder().ptx("x", 90, 'a').ptx("x", 103, 'a'));
  EXPECT_NE(hopper.find("compute_90a, compute_103a"), std::string::npos) << hopper;
  EXPECT_NE(hopper.find("-gencode arch=compute_100a,code=[compute_100a,sm_100a]"),
            std::string::npos);
  const std::string machine_code = refusal(FatBinaryBuilder().elf(100));
  EXPECT_NE(machine_code.find("no PTX"), std::string::npos) << machine_code;
  EXPECT_NE(machine_code.find("sm_100a"), std::string::npos) << machine_code;
  EXPECT_NE(refusal(FatBinaryBuilder()).find("none"), std::string::npos);
}

// Whatever is cut off: an error, or (between two images) the images before the cut.
TEST(FatBinary, ReportsTruncationAtEveryByte) {
  const std::string text = long_text();
  const std::vector<std::byte> bytes =
      FatBinaryBuilder().ptx(text, 100, 'a', Store::zstandard).ptx(text, 90).bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<long>(size));
    const std::string error =
        error_text(FaultKind::parse, [&] { (void)read_fat_binary(part, "test"); });
    EXPECT_NE(error.find("malformed or cut off"), std::string::npos) << size;
  }
  // The same with a header that states the shorter size.
  for (size_t size = 17; size < bytes.size(); ++size) {
    std::vector<std::byte> part(bytes.begin(), bytes.begin() + static_cast<long>(size));
    FatBinaryBuilder::put(part, 8, uint64_t{size - 16});
    try {
      EXPECT_EQ(read_fat_binary(part, "test").size(), 1u) << size;
    } catch (const SimulationError& error) {
      EXPECT_EQ(error.report().kind(), FaultKind::parse);
    }
  }
}

TEST(FatBinary, ReportsImpossibleSizes) {
  const std::vector<std::byte> good = FatBinaryBuilder().ptx(long_text(), 100, 'a').bytes();
  struct Damage {
    size_t offset;
    uint32_t value;
  };
  constexpr size_t kEntry = 16;
  for (const Damage& damage :
       {Damage{0, 0xBA55ED51u}, Damage{4, 0x00010001u}, Damage{kEntry + 4, 8u},
        Damage{kEntry + 4, 0xffffffffu}, Damage{kEntry + 8, 0xffffffffu},
        Damage{kEntry + 12, 0xffffffffu}, Damage{kEntry + 16, 0xffffffffu}}) {
    std::vector<std::byte> bytes = good;
    FatBinaryBuilder::put(bytes, damage.offset, damage.value);
    error_text(FaultKind::parse, [&] { (void)read_fat_binary(bytes, "test"); });
  }
}

TEST(FatBinary, ReportsDamagedCompression) {
  constexpr size_t kUncompressedBytes = 16 + 56;
  constexpr size_t kPayload = 16 + 64;
  for (const Store store : {Store::lz4, Store::zstandard}) {
    const std::vector<std::byte> good =
        FatBinaryBuilder().ptx(long_text(), 100, 'a', store).bytes();
    const auto decompress = [](const std::vector<std::byte>& bytes) {
      const auto entries = read_fat_binary(bytes, "test");
      return ptx_text(choose_ptx(entries, machines().front(), "test"), "test");
    };
    for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 20, ~uint64_t{0}}) {
      std::vector<std::byte> bytes = good;
      FatBinaryBuilder::put(bytes, kUncompressedBytes, size);
      error_text(FaultKind::parse, [&] { (void)decompress(bytes); });
    }
    std::vector<std::byte> garbage = good;
    std::fill(garbage.begin() + kPayload, garbage.end(), std::byte{0xff});
    error_text(FaultKind::parse, [&] { (void)decompress(garbage); });
  }
}

TEST(FatBinary, NoMoreIsMadeRoomForThanAPayloadCanHold) {
  constexpr size_t kUncompressedBytes = 16 + 56, kLongest = size_t{1} << 22;
  const auto decompress = [](const std::vector<std::byte>& bytes) {
    const auto entries = read_fat_binary(bytes, "test");
    return ptx_text(choose_ptx(entries, machines().front(), "test"), "test");
  };
  for (const Store store : {Store::lz4, Store::zstandard}) {
    // Nothing is compressed better than one character again and again.
    const std::string text(kLongest, 'x');
    EXPECT_EQ(decompress(FatBinaryBuilder().ptx(text, 100, 'a', store).bytes()), text);
    std::vector<std::byte> bytes = FatBinaryBuilder().ptx("abcdefgh", 100, 'a', store).bytes();
    FatBinaryBuilder::put(bytes, kUncompressedBytes, uint64_t{1} << 30);
    const std::string said = error_text(FaultKind::parse, [&] { (void)decompress(bytes); });
    EXPECT_NE(said.find("states 1073741824 uncompressed bytes, of "), std::string::npos) << said;
  }
}

TEST(FatBinary, ReportsAnUnknownCompressionAndAnEmptyImage) {
  std::vector<std::byte> bytes = FatBinaryBuilder().ptx("abcdefgh", 100, 'a').bytes();
  FatBinaryBuilder::put(bytes, 16 + 16, uint32_t{4});  // compressed, but no known flag
  error_text(FaultKind::unsupported, [&] {
    const auto entries = read_fat_binary(bytes, "test");
    (void)ptx_text(choose_ptx(entries, machines().front(), "test"), "test");
  });
  error_text(FaultKind::parse, [] { (void)chosen_text(FatBinaryBuilder().ptx("", 100, 'a')); });
}

TEST(FatBinary, RejectsGarbage) {
  const std::vector<std::byte> garbage(256, std::byte{0x5a});
  error_text(FaultKind::parse, [&] { (void)read_fat_binary(garbage, "test"); });
  error_text(FaultKind::parse, [&] { (void)fat_binary_extent(garbage.data(), "test"); });
}

}  // namespace
}  // namespace bw::sim::cudart
