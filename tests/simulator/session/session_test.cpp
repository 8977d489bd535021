/// \file
/// A session: what pages and programs without CUDA's runtime use.
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "common/simulator/base/device_address.hpp"
#include "common/simulator/base/error.hpp"
#include "common/simulator/session/contents.hpp"
#include "common/simulator/session/requested_observers.hpp"
#include "common/simulator/session/session.hpp"

namespace bw::sim::test::session_test {
namespace {

using session::LaunchRequest;
using session::Session;

constexpr const char* kAdd = R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry add(.param .u64 data, .param .u32 value)
.reqntid 32
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r3, [%rd1];
  add.u32 %r3, %r3, %r1;
  st.global.u32 [%rd1], %r3;
  ret;
}
)";

LaunchRequest request(uint64_t address, uint32_t value) {
  LaunchRequest request;
  request.kernel = "add";
  request.configuration.block = {32, 1, 1};
  request.arguments.resize(12);
  std::memcpy(request.arguments.data(), &address, sizeof address);
  std::memcpy(request.arguments.data() + sizeof address, &value, sizeof value);
  return request;
}

TEST(Session, RunsAKernelOnItsMemory) {
  Session session("", kAdd);
  ASSERT_EQ(session.load(kAdd, "add.ptx", {{"add", 16}}), 0u);
  const uint64_t address = session.allocate(128, "numbers");
  auto* const numbers = reinterpret_cast<uint32_t*>(host_pointer(address));
  for (uint32_t i = 0; i < 32; ++i) numbers[i] = i;
  session.note_write(address, 128, true);
  const std::string result = session.launch(request(address, 5));
  EXPECT_NE(result.find("\"status\":\"finished\""), std::string::npos) << result;
  EXPECT_NE(result.find("\"reports\":[]"), std::string::npos) << result;
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(numbers[i], i + 5);
  EXPECT_TRUE(session.free(address));
  EXPECT_FALSE(session.free(address));
}

TEST(Session, ListsKernels) {
  Session session("", kAdd);
  session.load(kAdd, "add.ptx", {});
  ASSERT_EQ(session.load(R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry shaped(.param .u8 a, .param .b64 b)
.maxntid 8, 4
.explicitcluster
.reqnctapercluster 2
{
  .shared .align 4 .b8 tile[512];
  ret;
}
.func inner() { ret; }
.visible .entry refused() { wgmma.fence.sync.aligned; ret; }
)",
                         "more.ptx", {}),
            1u);
  EXPECT_EQ(session.kernels(0), R"([{"name":"add","shown":"add","parameters":[)"
                                R"({"name":"data","offset":0,"bytes":8,"type":"u64"},)"
                                R"({"name":"value","offset":8,"bytes":4,"type":"u32"}],)"
                                R"("threads":[32,1,1],"cluster":[],"shared":1024}])");
  // Blocks have a kilobyte of shared memory that is the system's.
  const std::string more = session.kernels(1);
  EXPECT_TRUE(more.starts_with(R"([{"name":"shaped","shown":"shaped","parameters":[)"
                               R"({"name":"a","offset":0,"bytes":1,"type":"u8"},)"
                               R"({"name":"b","offset":8,"bytes":8,"type":"b64"}],)"
                               R"("threads":[8,4,1],"cluster":[2,1,1],"shared":1536},)"
                               R"({"name":"refused","shown":"refused","refused":{"code":"BW-)"))
      << more;
  EXPECT_EQ(more.find("inner"), std::string::npos) << more;
}

TEST(Session, AnswersWithTheReportOfAFault) {
  Session session("", kAdd);
  session.load(kAdd, "add.ptx", {});
  const std::string wild = session.launch(request(0x7000'1234'5678ull, 1));
  EXPECT_NE(wild.find("\"status\":\"failed\""), std::string::npos) << wild;
  for (const char* const part :
       {R"("code":"BW-M0)", R"("file":"add.ptx","line":14)", R"("opcode":"ld.global.u32")",
        R"("kernel":"add")", R"("cta":[0,0,0])", R"("warp":0)", R"("count":1)"})
    EXPECT_NE(wild.find(part), std::string::npos) << part << " in " << wild;
  LaunchRequest short_one = request(0, 1);
  short_one.arguments.resize(8);
  const std::string text = session.launch(short_one);
  EXPECT_NE(text.find("takes 12 bytes of parameters, 8 were given"), std::string::npos) << text;
}

TEST(Session, ReadsOfWhatNothingHasWrittenAreFaultsWhereThatIsAskedFor) {
  setenv("BW_SIM_MEMORY_CHECKS", "unwritten", 1);
  Session session("", kAdd);
  unsetenv("BW_SIM_MEMORY_CHECKS");
  session.load(kAdd, "add.ptx", {});
  const uint64_t address = session.allocate(128, "numbers");
  session.note_write(address, 124, true);
  const std::string before = session.launch(request(address, 1));
  EXPECT_EQ(before.find("\"reports\":[]"), std::string::npos) << before;
  session.note_write(address + 124, 4, false);
  const std::string after = session.launch(request(address, 1));
  EXPECT_NE(after.find("\"reports\":[]"), std::string::npos) << after;
}

TEST(Session, AKernelThatWaitsForTheHostIsALivelock) {
  constexpr const char* kWait = R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry await(.param .u64 data)
{
  .reg .pred %p;
  .reg .b32 %r;
  .reg .b64 %rd;
  ld.param.u64 %rd, [data];
AGAIN:
  ld.volatile.global.u32 %r, [%rd];
  setp.eq.u32 %p, %r, 0;
  @%p bra AGAIN;
  ret;
}
)";
  setenv("BW_SIM_LIVELOCK_CYCLES", "3000000", 1);
  Session session("", kWait);
  unsetenv("BW_SIM_LIVELOCK_CYCLES");
  session.load(kWait, "await.ptx", {});
  const uint64_t address = session.allocate(4, "flag");
  *reinterpret_cast<uint32_t*>(host_pointer(address)) = 0;
  session.note_write(address, 4, true);
  LaunchRequest waiting;
  waiting.kernel = "await";
  waiting.arguments.resize(8);
  std::memcpy(waiting.arguments.data(), &address, sizeof address);
  const std::string text = session.launch(waiting);
  EXPECT_NE(text.find("\"status\":\"failed\""), std::string::npos) << text;
  EXPECT_NE(text.find("livelock"), std::string::npos) << text;
}

TEST(Session, ChoosesTheMachineByNameOrByItsPtx) {
  std::string for_hopper = kAdd;
  for_hopper.replace(for_hopper.find("sm_100a"), 7, "sm_90a");
  EXPECT_EQ(std::string(Session("", for_hopper).device().settings().machine->name), "h100");
  EXPECT_EQ(std::string(Session("", kAdd).device().settings().machine->name),
            machines().front().name);
  Session session("h100", "");
  EXPECT_EQ(std::string(session.device().settings().machine->name), "h100");
  EXPECT_THROW(Session("GTX", ""), SimulationError);
}

TEST(Session, OnlyWhatASettingAsksForIsLoaded) {
  Settings settings;
  EXPECT_EQ(session::request_for_observers(settings), nullptr);
  for (const char* const name :
       {"BW_SIM_EVENTS", "BW_SIM_RECORDING", "BW_SIM_STATISTICS", "BW_SIM_EXPLORE"}) {
    setenv(name, "", 1);
    EXPECT_EQ(session::request_for_observers(settings), nullptr) << name;
    setenv(name, "1", 1);
    EXPECT_STREQ(session::request_for_observers(settings), name);
    unsetenv(name);
  }
  settings.checks = Checks::races;
  EXPECT_STREQ(session::request_for_observers(settings), "BW_SIM_CHECKS=races");
}

TEST(Session, HashesAreFnv1a) {
  const auto hash_of = [](const std::string& text) {
    return session::contents_hash(std::as_bytes(std::span(text)));
  };
  // The published test vectors of FNV-1a with 64 bits (Fowler, Noll, Vo; IETF draft).
  EXPECT_EQ(hash_of(""), "cbf29ce484222325");
  EXPECT_EQ(hash_of("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(hash_of("foobar"), "85944171f73967e8");
}

}  // namespace
}  // namespace bw::sim::test::session_test
