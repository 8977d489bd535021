/// \file
/// vprintf and __assertfail as nvcc calls them. Written from the CUDA C++ Programming Guide,
/// "Formatted Output" and "Assertion"; the expected text is what C's printf gives for the same
/// values.
#include "common/simulator/units/control/device_calls.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/simulator/harness.hpp"

namespace bw::sim::test::device_calls_test {
namespace {

// A zero-terminated string as a .global variable.
std::string global_string(const std::string& name, const std::string& text) {
  std::string bytes;
  for (const char c : text) bytes += std::to_string(int{static_cast<unsigned char>(c)}) + ", ";
  return ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {" + bytes +
         "0};\n";
}

constexpr const char* kPrintfPrototype =
    ".extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);\n";

// The body of a kernel that copies `bytes` argument bytes from parameter `values` to local memory
// and prints with `format`; the result goes to parameter `out`.
std::string printf_body(size_t bytes) {
  std::string text = R"(
    .local .align 8 .b8 depot[128];
    .reg .b64 %SP, %SPL, %rd<8>;
    .reg .b32 %r<4>;
    mov.u64 %SPL, depot;
    cvta.local.u64 %SP, %SPL;
    ld.param.u64 %rd1, [values];
    ld.param.u64 %rd2, [out];
)";
  for (size_t at = 0; at < bytes; at += 8) {
    const std::string offset = std::to_string(at);
    text +=
        "ld.global.u64 %rd3, [%rd1+" + offset + "]; st.local.u64 [%SPL+" + offset + "], %rd3;\n";
  }
  return text + R"(
    mov.u64 %rd4, format;
    cvta.global.u64 %rd5, %rd4;
    {
    .param .b64 param0;
    st.param.b64 [param0], %rd5;
    .param .b64 param1;
    st.param.b64 [param1], %SP;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r1, [retval0];
    }
    st.global.u32 [%rd2], %r1;
    ret;
)";
}

// Arguments laid out as nvcc does: each at its natural alignment.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
    std::memcpy(bytes_.data() + bytes_.size() - sizeof(T), &value, sizeof(T));
    return *this;
  }
  [[nodiscard]] std::vector<uint64_t> words() const {
    std::vector<uint64_t> words((bytes_.size() + 7) / 8 + 1);
    if (!bytes_.empty()) std::memcpy(words.data(), bytes_.data(), bytes_.size());
    return words;
  }

 private:
  std::vector<std::byte> bytes_;
};

struct Printed {
  std::string text;
  int result = 0;
};

// Prints with one thread.
Printed print(const std::string& format, const Arguments& arguments) {
  Runner runner;
  const auto values = runner.buffer(arguments.words());
  const auto out = runner.buffer(std::vector<int>{-7});
  const std::string text =
      entry(".param .u64 values, .param .u64 out", printf_body(values.values().size() * 8),
            kPrintfPrototype + global_string("format", format));
  testing::internal::CaptureStdout();
  try {
    runner.run(text, threads(1), values, out);
  } catch (...) {
    (void)testing::internal::GetCapturedStdout();
    throw;
  }
  return {testing::internal::GetCapturedStdout(), out[0]};
}

TEST(DeviceCalls, PrintfFormatsIntegers) {
  const Printed printed =
      print("%d|%5d|%-5d|%05d|%+d|%u|%x|%#X|%o|%ld|%lld|%llu|%hd|%hhu|%i\n", Arguments()
                                                                                 .add(-42)
                                                                                 .add(42)
                                                                                 .add(42)
                                                                                 .add(42)
                                                                                 .add(42)
                                                                                 .add(4294967295u)
                                                                                 .add(255)
                                                                                 .add(255)
                                                                                 .add(8)
                                                                                 .add(1ll << 40)
                                                                                 .add(-(1ll << 50))
                                                                                 .add(~0ull)
                                                                                 .add(65535)
                                                                                 .add(257)
                                                                                 .add(7));
  EXPECT_EQ(printed.text,
            "-42|   42|42   |00042|+42|4294967295|ff|0XFF|10|1099511627776|-1125899906842624|"
            "18446744073709551615|-1|1|7\n");
  EXPECT_EQ(printed.result, 15);
}

TEST(DeviceCalls, PrintfFormatsFloatingPoint) {
  const Printed printed =
      print("%f %.2f %8.3e %g %G %a %.0f",
            Arguments().add(1.5).add(-2.345).add(12345.678).add(1e-10).add(1e20).add(1.0).add(2.5));
  EXPECT_EQ(printed.text, "1.500000 -2.35 1.235e+04 1e-10 1E+20 0x1p+0 2");
  EXPECT_EQ(printed.result, 7);
}

TEST(DeviceCalls, PrintfTakesWidthsAndPrecisionsFromArguments) {
  const Printed printed =
      print("[%*d] [%-*d] [%.*f] [%*d]",
            Arguments().add(5).add(1).add(4).add(2).add(3).add(3.14159).add(-4).add(9));
  EXPECT_EQ(printed.text, "[    1] [2   ] [3.142] [9   ]");
}

TEST(DeviceCalls, PrintfFormatsCharactersPointersAndPercent) {
  const Printed printed =
      print("%c%c%% %p %s", Arguments().add(int{'o'}).add(int{'k'}).add(0x7000'1234ull).add(0ull));
  EXPECT_EQ(printed.text, "ok% 0x70001234 (null)");
}

TEST(DeviceCalls, PrintfReadsStringsFromDeviceMemory) {
  Runner runner;
  const auto text = runner.buffer(std::vector<char>{'a', 'b', 'c', '\0'});
  const auto values = runner.buffer(std::vector<uint64_t>{text.address(), text.address()});
  const auto out = runner.buffer(std::vector<int>{0});
  testing::internal::CaptureStdout();
  runner.run(entry(".param .u64 values, .param .u64 out", printf_body(16),
                   kPrintfPrototype + global_string("format", "%5s|%.2s\n")),
             threads(1), values, out);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "  abc|ab\n");
}

TEST(DeviceCalls, PrintfPrintsLanesAndClustersInOrder) {
  std::string expected;
  for (int cta = 0; cta < 20; ++cta)
    for (int lane = 0; lane < 3; ++lane)
      expected += std::to_string(cta) + "," + std::to_string(lane) + "\n";
  const std::string text = entry("", R"(
    .local .align 8 .b8 depot[8];
    .reg .b64 %SP, %SPL, %rd<4>;
    .reg .b32 %r<4>;
    mov.u64 %SPL, depot;
    cvta.local.u64 %SP, %SPL;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    st.local.v2.u32 [%SPL], {%r1, %r2};
    mov.u64 %rd1, format;
    cvta.global.u64 %rd2, %rd1;
    {
    .param .b64 param0;
    st.param.b64 [param0], %rd2;
    .param .b64 param1;
    st.param.b64 [param1], %SP;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    }
    ret;
)",
                                 kPrintfPrototype + global_string("format", "%d,%d\n"));
  for (const uint32_t host_threads : {1u, 4u}) {
    Settings settings = test_settings(3);
    settings.host_threads = host_threads;
    Runner runner(settings);
    testing::internal::CaptureStdout();
    runner.run(text, grid(20, 3));
    EXPECT_EQ(testing::internal::GetCapturedStdout(), expected) << host_threads;
  }
}

TEST(DeviceCalls, ACallWithoutAResultStoresNone) {
  // The arguments are the first variable in local memory, and are unchanged afterwards.
  Runner runner;
  const auto out = runner.buffer(std::vector<int>{0, 0});
  const std::string body = R"(
    .local .align 8 .b8 depot[8];
    .reg .b64 %rd<4>;
    .reg .b32 %r<3>;
    mov.u64 %rd1, depot;
    st.local.u32 [%rd1], 1234;
    st.local.u32 [%rd1+4], 5678;
    cvta.local.u64 %rd1, %rd1;
    mov.u64 %rd2, format;
    cvta.global.u64 %rd2, %rd2;
    call.uni vprintf, (%rd2, %rd1);
    ld.param.u64 %rd3, [out];
    ld.local.u32 %r1, [depot];
    ld.local.u32 %r2, [depot+4];
    st.global.u32 [%rd3], %r1;
    st.global.u32 [%rd3+4], %r2;
    ret;
)";
  testing::internal::CaptureStdout();
  runner.run(entry(".param .u64 out", body,
                   ".extern .func vprintf (.param .b64 a, .param .b64 b);\n" +
                       global_string("format", "%d %d")),
             threads(1), out);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "1234 5678");
  EXPECT_EQ(out[0], 1234);
  EXPECT_EQ(out[1], 5678);
}

TEST(DeviceCalls, PrintfRefusesUnknownConversionsAndBadAddresses) {
  expect_fault(FaultKind::contract, {"%y", "does not exist", "%d"},
               [] { (void)print("%y", Arguments().add(1)); });
  expect_fault(FaultKind::contract, {"%n"}, [] { (void)print("%n", Arguments().add(1ll)); });
  expect_fault(FaultKind::contract, {"out of bounds"},
               [] { (void)print("%s", Arguments().add(0x6000'0000'0000ull)); });
}

constexpr const char* kAssertPrototype =
    ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
    ".param .b64 e);\n";

TEST(DeviceCalls, AssertFailReportsInCudasWords) {
  const std::string text =
      entry("", R"(
    .reg .pred %p1;
    .reg .b32 %r1;
    .reg .b64 %rd<5>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 37;
    @%p1 bra done;
    mov.u64 %rd1, message;
    mov.u64 %rd2, file;
    mov.u64 %rd3, function;
    {
    .param .b64 param0;
    st.param.b64 [param0], %rd1;
    .param .b64 param1;
    st.param.b64 [param1], %rd2;
    .param .b32 param2;
    st.param.b32 [param2], 12;
    .param .b64 param3;
    st.param.b64 [param3], %rd3;
    .param .b64 param4;
    st.param.b64 [param4], 1;
    call.uni __assertfail, (param0, param1, param2, param3, param4);
    }
done:
    ret;
)",
            kAssertPrototype + global_string("message", "n > 0") +
                global_string("file", "kernel.cu") + global_string("function", "void k(int)"));
  const Report report = expect_fault(
      FaultKind::trap,
      {"kernel.cu:12: void k(int): block: [0,0,0], thread: [37,0,0] Assertion `n > 0` failed."},
      [&] { Runner().run(text, threads(64)); });
  EXPECT_EQ(report.code, FaultCode::assertion_failed);
}

std::string call_body(const std::string& call) {
  return ".reg .b64 %rd<3>;\n{\n.param .b64 param0;\n.param .b64 retval0;\n" + call + "\n}\nret;\n";
}

TEST(DeviceCalls, RefusesOtherFunctionsByName) {
  expect_fault(FaultKind::unsupported, {"malloc", "cudaMalloc"}, [] {
    Runner().run(entry("", call_body("call.uni (retval0), malloc, (param0);"),
                       ".extern .func (.param .b64 r) malloc (.param .b64 a);\n"),
                 threads(1));
  });
  expect_fault(FaultKind::unsupported, {"helper"}, [] {
    Runner().run(entry("", call_body("call.uni helper, (param0);"),
                       ".extern .func helper (.param .b64 a);\n"),
                 threads(1));
  });
}

TEST(DeviceCalls, RefusesArgumentsThatDoNotFit) {
  expect_fault(FaultKind::unsupported, {"vprintf", "takes 2"}, [] {
    Runner().run(entry("", call_body("call.uni vprintf, (param0);"),
                       ".extern .func vprintf (.param .b64 a);\n"),
                 threads(1));
  });
}

}  // namespace
}  // namespace bw::sim::test::device_calls_test
