#pragma once
/// \file
/// The part of GoogleTest's macros that tests with device code use, without its headers: nvcc reads
/// the headers of a file three times, and GoogleTest's take it six seconds. The tests are
/// GoogleTest's (device_cases.cpp): their names, options and reports are as usual. A file includes
/// either this header or GoogleTest's.

#include <cstddef>
#include <type_traits>
#include <utility>

namespace bw::test {

/// Adds a test to GoogleTest's. Returns true, to be called by the initialiser of a variable.
bool add_case(const char* suite, const char* name, const char* file, int line, void (*body)());
/// The same for one of a suite's types or values: its number or name is part of the test's.
bool add_case_of_type(const char* suite, int type, const char* name, const char* file, int line,
                      void (*body)());
bool add_case_of_value(const char* instance, const char* suite, const char* name, const char* value,
                       const char* file, int line, void (*body)());

/// What TYPED_TEST_SUITE takes.
template <class...>
struct Types {};
template <template <class> class Case, class... Type>
bool add_cases_of_types(const char* suite, const char* name, const char* file, int line,
                        Types<Type...>) {
  int type = 0;
  return (add_case_of_type(suite, type++, name, file, line, &Case<Type>::body) && ...);
}

/// The suite of a TEST_P, a base class of its tests, has the array `kValues`, whose elements have a
/// `name`, a pointer `value` to one of them, and the instance's name `kInstance`.
template <class Case, size_t index>
void run_with_value() {
  Case test;
  test.value = &Case::kValues[index];
  test.body();
}
template <class Case, size_t... index>
bool add_cases_of_values(const char* suite, const char* name, const char* file, int line,
                         std::index_sequence<index...>) {
  return (add_case_of_value(Case::kInstance, suite, name, Case::kValues[index].name, file, line,
                            &run_with_value<Case, index>) &&
          ...);
}

/// Fails unless `body` ends its process with an output that `pattern` is found in.
void expect_death(void (*body)(), const char* pattern, const char* file, int line);

/// A failure of the test that runs. Its text is what is streamed into it; its end reports it.
class Failure {
 public:
  Failure(const char* file, int line);
  ~Failure();
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;

  /// Appends a number, a text, an enumerator's number or a range of them.
  template <class T>
  Failure& operator<<(const T& value) {
    if constexpr (std::is_convertible_v<const T&, const char*>) {
      add(static_cast<const char*>(value));
    } else if constexpr (std::is_enum_v<T>) {
      *this << static_cast<std::underlying_type_t<T>>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      add(static_cast<double>(value));
    } else if constexpr (std::is_signed_v<T>) {
      add(static_cast<long long>(value));
    } else if constexpr (std::is_unsigned_v<T>) {
      add(static_cast<unsigned long long>(value));
    } else {
      const char* separator = "{ ";
      for (const auto& element : value) {
        *this << separator << element;
        separator = ", ";
      }
      add(" }");
    }
    return *this;
  }

 private:
  void add(const char* text);
  void add(double value);
  void add(long long value);
  void add(unsigned long long value);

  struct Text;
  const char* file_;
  int line_;
  Text* text_;
};

/// `return ReturnAfter{} = failure` leaves a function that returns nothing.
struct ReturnAfter {
  void operator=(const Failure&) const {}
};

/// Copies of what an expectation compares: each side is evaluated once.
template <class Left, class Right>
struct Operands {
  Left left;
  Right right;
  bool holds_so_far;
};
template <class Left, class Right>
Operands<std::decay_t<const Left&>, std::decay_t<const Right&>> operands(const Left& left,
                                                                         const Right& right) {
  return {left, right, true};
}

}  // namespace bw::test

#define TEST(suite, name)                                                           \
  void suite##_##name##_case();                                                     \
  [[maybe_unused]] const bool suite##_##name##_added =                              \
      bw::test::add_case(#suite, #name, __FILE__, __LINE__, suite##_##name##_case); \
  void suite##_##name##_case()

#define TYPED_TEST_SUITE(suite, types) using suite##_types = types
#define TYPED_TEST(suite, name)                                                              \
  template <class TypeParam>                                                                 \
  struct suite##_##name##_case {                                                             \
    static void body();                                                                      \
  };                                                                                         \
  [[maybe_unused]] const bool suite##_##name##_added =                                       \
      bw::test::add_cases_of_types<suite##_##name##_case>(#suite, #name, __FILE__, __LINE__, \
                                                          suite##_types{});                  \
  template <class TypeParam>                                                                 \
  void suite##_##name##_case<TypeParam>::body()

#define TEST_P(suite, name)                                                              \
  struct suite##_##name##_case : suite {                                                 \
    void body() const;                                                                   \
  };                                                                                     \
  [[maybe_unused]] const bool suite##_##name##_added =                                   \
      bw::test::add_cases_of_values<suite##_##name##_case>(                              \
          #suite, #name, __FILE__, __LINE__,                                             \
          std::make_index_sequence<sizeof(suite::kValues) / sizeof(*suite::kValues)>{}); \
  void suite##_##name##_case::body() const

// Loops that end with the first failure: after an `if`, an `else` of the caller stays the caller's.
#define BW_COMPARE_(a, relation, b)                                                        \
  for (auto bw_compared_ = bw::test::operands(a, b);                                       \
       bw_compared_.holds_so_far && !(bw_compared_.left relation bw_compared_.right);      \
       bw_compared_.holds_so_far = false)                                                  \
  bw::test::Failure(__FILE__, __LINE__)                                                    \
      << "Expected " #a " " #relation " " #b "; they are " << bw_compared_.left << " and " \
      << bw_compared_.right << ". "

#define EXPECT_TRUE(condition)                                                      \
  for (bool bw_holds_ = static_cast<bool>(condition); !bw_holds_; bw_holds_ = true) \
  bw::test::Failure(__FILE__, __LINE__) << #condition " is false. "
#define ASSERT_TRUE(condition)                                           \
  while (!(condition))                                                   \
  return bw::test::ReturnAfter{} = bw::test::Failure(__FILE__, __LINE__) \
                                   << #condition << " is false. "
#define EXPECT_FALSE(condition) EXPECT_TRUE(!(condition))
#define EXPECT_EQ(a, b) BW_COMPARE_(a, ==, b)
#define EXPECT_GE(a, b) BW_COMPARE_(a, >=, b)
#define EXPECT_GT(a, b) BW_COMPARE_(a, >, b)
#define EXPECT_LE(a, b) BW_COMPARE_(a, <=, b)
#define EXPECT_LT(a, b) BW_COMPARE_(a, <, b)
#define EXPECT_DEATH(statement, pattern) \
  bw::test::expect_death([] { statement; }, pattern, __FILE__, __LINE__)
