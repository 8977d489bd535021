#include "tests/device_cases.hpp"

// The macros of the same names are GoogleTest's here.
#undef TEST
#undef TEST_P
#undef TYPED_TEST
#undef TYPED_TEST_SUITE
#undef EXPECT_TRUE
#undef EXPECT_FALSE
#undef ASSERT_TRUE
#undef EXPECT_EQ
#undef EXPECT_GE
#undef EXPECT_GT
#undef EXPECT_LE
#undef EXPECT_LT
#undef EXPECT_DEATH

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace bw::test {
namespace {

class Case : public testing::Test {
 public:
  explicit Case(void (*body)()) : body_(body) {}

 private:
  void TestBody() override { body_(); }

  void (*body_)();
};

}  // namespace

struct Failure::Text {
  std::ostringstream stream;
};

bool add_case(const char* suite, const char* name, const char* file, int line, void (*body)()) {
  testing::RegisterTest(suite, name, nullptr, nullptr, file, line,
                        [body]() -> testing::Test* { return new Case(body); });
  return true;
}
bool add_case_of_type(const char* suite, int type, const char* name, const char* file, int line,
                      void (*body)()) {
  return add_case((suite + ("/" + std::to_string(type))).c_str(), name, file, line, body);
}
bool add_case_of_value(const char* instance, const char* suite, const char* name, const char* value,
                       const char* file, int line, void (*body)()) {
  return add_case((std::string(instance) + "/" + suite).c_str(),
                  (std::string(name) + "/" + value).c_str(), file, line, body);
}

void expect_death(void (*body)(), const char* pattern, const char* file, int line) {
  const testing::ScopedTrace trace(file, line, "");
  EXPECT_DEATH(body(), pattern);
}

Failure::Failure(const char* file, int line) : file_(file), line_(line), text_(new Text) {}
Failure::~Failure() {
  ADD_FAILURE_AT(file_, line_) << text_->stream.str();
  delete text_;
}
void Failure::add(const char* text) { text_->stream << text; }
void Failure::add(double value) { text_->stream << value; }
void Failure::add(long long value) { text_->stream << value; }
void Failure::add(unsigned long long value) { text_->stream << value; }

}  // namespace bw::test
