/// \file
/// Every way in which an address can be wrong is a fault that says what is wrong.
#include "tests/simulator/harness.hpp"

namespace bw::sim::test::memory_fault_test {
namespace {

std::string access(const std::string& body, const std::string& module_text = "") {
  return entry(".param .u64 p",
               ".reg .b32 %r<8>; .reg .b64 %d<8>;\nld.param.u64 %d1, [p];\n" + body + "\nret;",
               module_text);
}

TEST(MemoryFault, GlobalOutOfBoundsNamesTheAllocation) {
  Runner runner;
  const auto buffer = runner.buffer(std::vector<uint32_t>(16));
  const Report report =
      expect_fault(FaultKind::contract,
                   {"global memory access of 4 bytes", "out of bounds", "test buffer",
                    "64 bytes into it", "test.ptx:", "ld.global.u32", "CTA (0,0,0), warp 0"},
                   [&] { runner.run(access("ld.global.u32 %r1, [%d1+64];"), threads(1), buffer); });
  EXPECT_EQ(report.rule, "an access stays inside one allocation");  // not a rule of the PTX ISA's
}

TEST(MemoryFault, WideAccessAcrossTheEnd) {
  Runner runner;
  const auto buffer = runner.buffer(std::vector<uint32_t>(18));
  expect_fault(FaultKind::contract, {"16 bytes", "out of bounds"}, [&] {
    runner.run(access("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d1+64];"), threads(1), buffer);
  });
}

TEST(MemoryFault, HostMemoryIsReachedAsLongAsItIsAdopted) {
  Runner runner;
  DeviceMemory& memory = runner.device().memory();
  alignas(16) uint32_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto address = reinterpret_cast<uint64_t>(words);
  const std::string text = access("ld.global.u32 %r1, [%d1+28];\nst.global.u32 [%d1], %r1;");
  EXPECT_TRUE(memory.adopt(address, sizeof words, "host words"));
  for (const uint64_t overlapping : {address - 4, address, address + 28})
    EXPECT_FALSE(memory.adopt(overlapping, 8, "again"));
  runner.run(text, threads(1), address);
  EXPECT_EQ(words[0], 8u);
  EXPECT_TRUE(memory.forget(address));
  EXPECT_FALSE(memory.forget(address));
  expect_fault(FaultKind::contract, {"not device memory"},
               [&] { runner.run(text, threads(1), address); });
  const auto buffer = runner.buffer(std::vector<uint32_t>(4));
  EXPECT_FALSE(memory.forget(buffer.address())) << "that was allocated, not adopted";
  EXPECT_FALSE(memory.adopt(buffer.address(), 4, "the device's own"));
}

TEST(MemoryFault, HostPointer) {
  Runner runner;
  expect_fault(FaultKind::contract, {"not device memory", "cudaMalloc"}, [&] {
    runner.run(access("ld.global.u32 %r1, [%d1];"), threads(1), uint64_t{0x5000'0000'0000ull});
  });
}

TEST(MemoryFault, Misaligned) {
  Runner runner;
  const auto buffer = runner.buffer(std::vector<uint32_t>(16));
  expect_fault(FaultKind::contract, {"misaligned", "multiple of 8 bytes"},
               [&] { runner.run(access("ld.global.u64 %d2, [%d1+4];"), threads(1), buffer); });
}

TEST(MemoryFault, WriteToParameters) {
  Runner runner;
  expect_fault(FaultKind::contract, {"read-only", "kernel parameters"}, [&] {
    runner.run(access("cvta.param.u64 %d2, p; st.u32 [%d2], 1;"), threads(1), uint64_t{0});
  });
}

TEST(MemoryFault, SharedOutOfBoundsAndTheSystemsBytes) {
  Runner runner;
  const char* shared = ".shared .align 4 .b8 tile[64];";
  expect_fault(
      FaultKind::contract, {"shared memory access of 4 bytes", "out of bounds", "stage count"},
      [&] { runner.run(access("st.shared.u32 [tile+64], 1;", shared), threads(1), uint64_t{0}); });
  expect_fault(FaultKind::contract, {"the bytes before are the system's"}, [&] {
    runner.run(access("mov.u32 %r1, 0; st.shared.u32 [%r1], 1; st.shared.u32 [tile], 1;", shared),
               threads(1), uint64_t{0});
  });
}

TEST(MemoryFault, SharedAddressOfACtaThatIsNotThere) {
  Runner runner;
  expect_fault(FaultKind::contract, {"names CTA rank 3", "cluster of 2"}, [&] {
    runner.run(
        access("mov.u32 %r1, 0x03000400; st.shared::cluster.u32 [%r1], 1; st.shared.u32 [tile], 1;",
               ".shared .align 4 .b8 tile[64];"),
        grid(2, 32, 2), uint64_t{0});
  });
}

TEST(MemoryFault, LocalOutOfBounds) {
  Runner runner;
  expect_fault(FaultKind::contract, {"local memory access", "16 bytes of local memory"}, [&] {
    runner.run(entry(".param .u64 p",
                     ".local .align 4 .b8 depot[16]; .reg .b32 %r<8>;\n"
                     "ld.local.u32 %r1, [depot+16]; ret;"),
               threads(1), uint64_t{0});
  });
}

TEST(MemoryFault, FreedMemory) {
  Runner runner;
  uint64_t address = 0;
  {
    const auto buffer = runner.buffer(std::vector<uint32_t>(16));
    address = buffer.address();
  }
  const Report report =
      expect_fault(FaultKind::contract, {"in memory that has been freed", "it was test buffer at"},
                   [&] { runner.run(access("ld.global.u32 %r1, [%d1+8];"), threads(1), address); });
  EXPECT_EQ(report.device_error, DeviceError::illegal_address);
  EXPECT_EQ(std::string_view(report.format()).find("kernel parameters"), std::string_view::npos);
}

TEST(MemoryFault, MemoryThatAnotherAllocationTookOver) {
  Runner runner;
  uint64_t address = 0;
  {
    const auto buffer = runner.buffer(std::vector<uint32_t>(16));
    address = buffer.address();
  }
  const auto second = runner.buffer(std::vector<uint32_t>(16));
  ASSERT_EQ(second.address(), address);
  EXPECT_NO_THROW(runner.run(access("ld.global.u32 %r1, [%d1];"), threads(1), address));
  // Behind its end it is an overrun of the new one.
  expect_fault(FaultKind::contract, {"out of bounds", "64 bytes into it"},
               [&] { runner.run(access("ld.global.u32 %r1, [%d1+64];"), threads(1), address); });
}

TEST(MemoryFault, AddressesBelowFourGigabytesThatAreNoSharedMemory) {
  Runner runner;
  const auto expect_wild = [&](uint64_t address, const std::string& text) {
    for (const char* const instruction :
         {"ld.u32 %r1, [%d1];", "st.u32 [%d1], 1;", "atom.add.u32 %r1, [%d1], 1;"}) {
      const Report report = expect_fault(FaultKind::contract, {text}, [&] {
        runner.run(access(std::string(instruction) + " st.shared.u32 [tile], 1;",
                          ".shared .align 4 .b8 tile[64];"),
                   threads(32), address);
      });
      EXPECT_EQ(report.device_error, DeviceError::illegal_address);
      EXPECT_EQ(std::string_view(report.format()).find("CTA rank"), std::string_view::npos);
    }
  };
  expect_wild(0, "a null pointer");
  expect_wild(24, "a null pointer plus 24 bytes");
  expect_wild(0x87654320, "0x87654320: no memory of the program is at this address");
  expect_wild(0x00012344, "no memory of the program is at this address");
  // The first CTA rank that the cluster has not; the last word of the system's and the first after
  // the kernel's shared memory.
  expect_wild(0x01000400, "no memory of the program is at this address");
  expect_wild(1020, "a null pointer plus 1020 bytes");
  expect_wild(1024 + 64, "a null pointer plus 1088 bytes");
  expect_wild(4096, "no memory of the program is at this address");
}

TEST(MemoryFault, CudasErrors) {
  Runner runner;
  const auto buffer = runner.buffer(std::vector<uint32_t>(16));
  const auto error_of = [&](const std::string& body) {
    return expect_fault(FaultKind::contract, {},
                        [&] {
                          runner.run(access(body + "st.shared.u32 [tile], 1;",
                                            ".shared .align 4 .b8 tile[64];"),
                                     threads(1), buffer);
                        })
        .device_error;
  };
  EXPECT_EQ(error_of("ld.global.u32 %r1, [%d1+64];"), DeviceError::illegal_address);
  EXPECT_EQ(error_of("cvta.param.u64 %d2, p; st.u32 [%d2], 1;"), DeviceError::illegal_address);
  EXPECT_EQ(error_of("ld.global.u64 %d2, [%d1+4];"), DeviceError::misaligned_address);
  EXPECT_EQ(error_of("st.shared.u64 [tile+4], 1;"), DeviceError::misaligned_address);
  EXPECT_EQ(error_of("ld.shared.u32 %r1, [tile+64];"), DeviceError::launch_failure);
  EXPECT_EQ(error_of("mbarrier.inval.b64 [%d1];"), DeviceError::invalid_address_space);
}

TEST(MemoryFault, ZeroExtendedSharedAddressIsGeneric) {
  Runner runner;
  const auto out = runner.buffer(std::vector<uint32_t>(1));
  runner.run(
      access("mov.u32 %r1, tile; cvt.u64.u32 %d2, %r1; st.u32 [%d2], 41; ld.shared.u32 %r2, [tile];"
             "st.global.u32 [%d1], %r2;",
             ".shared .align 4 .b8 tile[64];"),
      threads(1), out);
  EXPECT_EQ(out[0], 41u);
}

}  // namespace
}  // namespace bw::sim::test::memory_fault_test
