#include "common/simulator/units/control/device_calls.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/simulator/base/bits.hpp"
#include "common/simulator/machine/address_space.hpp"
#include "common/simulator/machine/grid.hpp"
#include "common/simulator/machine/kernel.hpp"

namespace bw::sim {
namespace {

constexpr size_t kLongestString = size_t{1} << 20;
constexpr const char* kPrintfRule =
    "CUDA C++ Programming Guide, \"Formatted Output\": the format specifiers of device printf";

// Reads device memory on behalf of one lane of a call.
struct Reader {
  Strand& strand;
  const Instruction& instruction;
  int lane;

  template <class T>
  T value(uint64_t address) const {
    T result;
    std::memcpy(&result,
                resolve({strand, instruction, lane_bit(lane)}, AddressSpace::generic, address,
                        sizeof(T), sizeof(T), Access::read),
                sizeof(T));
    return result;
  }

  std::string text(uint64_t address) const {
    std::string result;
    for (char c = value<char>(address); c != '\0'; c = value<char>(++address)) {
      result += c;
      if (result.size() > kLongestString) {
        fail(fmt::format("a string has no terminating zero within {} characters", kLongestString),
             "terminate the string");
      }
    }
    return result;
  }

  [[noreturn]] void fail(std::string what, std::string fix) const {
    Site{strand, instruction, lane_bit(lane)}.fault({.code = FaultCode::printf_arguments,
                                                     .what = std::move(what),
                                                     .rule = kPrintfRule,
                                                     .fix = std::move(fix),
                                                     .section = kNotFromPtxIsa});
  }
};

// One conversion of a format string.
struct Conversion {
  std::string flags;
  std::string width;      // digits, or "*"
  std::string precision;  // with its dot; digits or "*"
  std::string size;       // h, hh, l, ll, j, z, t
  char type = '\0';

  [[nodiscard]] std::string written() const {
    return '%' + flags + width + precision + size + type;
  }
};

std::string take_while(std::string_view format, size_t& at, std::string_view allowed) {
  const size_t end = std::min(format.find_first_not_of(allowed, at), format.size());
  std::string taken(format.substr(at, end - at));
  at = end;
  return taken;
}

std::string take_number(std::string_view format, size_t& at) {
  if (at < format.size() && format[at] == '*') return ++at, "*";
  return take_while(format, at, "0123456789");
}

// Parses the conversion whose '%' is at `at`, and moves past it.
Conversion parse_conversion(std::string_view format, size_t& at) {
  Conversion conversion;
  ++at;
  conversion.flags = take_while(format, at, "#0+- ");
  conversion.width = take_number(format, at);
  if (at < format.size() && format[at] == '.') {
    ++at;
    conversion.precision = '.' + take_number(format, at);
  }
  conversion.size = take_while(format, at, "hljzt");
  if (at < format.size()) conversion.type = format[at++];
  return conversion;
}

// Formats a call's arguments one after the other.
class Formatter {
 public:
  Formatter(const Reader& reader, uint64_t arguments, std::string& text)
      : reader_(reader), next_(arguments), text_(text) {}

  void format(Conversion conversion) {
    const std::string written = conversion.written();
    if (conversion.type == '%') {
      text_ += '%';
      return;
    }
    resolve_stars(conversion);
    const std::string prefix = '%' + conversion.flags + conversion.width + conversion.precision;
    switch (conversion.type) {
      case 'd':
      case 'i':
        return print(prefix + "lld", signed_integer(conversion.size));
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return print(prefix + "ll" + conversion.type, unsigned_integer(conversion.size));
      case 'p':
        return print(prefix + 'p', reinterpret_cast<void*>(take<uint64_t>()));
      case 'c':
        return print(prefix + 'c', take<int32_t>());
      case 's':
        return print(prefix + 's', string(take<uint64_t>()).c_str());
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return print(prefix + conversion.type, take<double>());
      default:
        reader_.fail("printf: the conversion \"" + written + "\" does not exist in device code",
                     "use one of %d %i %u %o %x %X %p %e %E %f %F %g %G %a %A %c %s %%");
    }
  }

  [[nodiscard]] int32_t count() const { return count_; }

 private:
  template <class T>
  T take() {
    next_ = align_up(next_, sizeof(T));
    const T value = reader_.value<T>(next_);
    next_ += sizeof(T);
    ++count_;
    return value;
  }

  void resolve_stars(Conversion& conversion) {
    if (conversion.width == "*") {
      const auto width = take<int32_t>();
      if (width < 0) conversion.flags += '-';
      conversion.width = std::to_string(width < 0 ? -int64_t{width} : width);
    }
    if (conversion.precision == ".*") {
      const auto precision = take<int32_t>();
      conversion.precision = precision < 0 ? "" : fmt::format(".{}", precision);
    }
  }

  static bool is_wide(const std::string& size) { return !size.empty() && size[0] != 'h'; }

  long long signed_integer(const std::string& size) {
    if (is_wide(size)) return take<int64_t>();
    const auto value = take<int32_t>();
    if (size == "h") return static_cast<int16_t>(value);
    if (size == "hh") return static_cast<int8_t>(value);
    return value;
  }

  unsigned long long unsigned_integer(const std::string& size) {
    if (is_wide(size)) return take<uint64_t>();
    const auto value = take<uint32_t>();
    if (size == "h") return static_cast<uint16_t>(value);
    if (size == "hh") return static_cast<uint8_t>(value);
    return value;
  }

  std::string string(uint64_t address) const {
    return address == 0 ? "(null)" : reader_.text(address);
  }

  // `format` consists of checked parts only and fits `value`.
  template <class T>
  void print(const std::string& format, T value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int length = std::snprintf(nullptr, 0, format.c_str(), value);
    if (length < 0) return;
    const size_t before = text_.size();
    text_.resize(before + static_cast<size_t>(length) + 1);  // room for the closing zero
    std::snprintf(text_.data() + before, static_cast<size_t>(length) + 1, format.c_str(), value);
    text_.pop_back();
#pragma GCC diagnostic pop
  }

  const Reader& reader_;
  uint64_t next_;
  std::string& text_;
  int32_t count_ = 0;
};

std::string bracketed(Dim3 index) { return fmt::format("[{},{},{}]", index.x, index.y, index.z); }

}  // namespace

int32_t device_vprintf(Strand& strand, const Instruction& instruction, int lane, uint64_t format,
                       uint64_t arguments, std::string& text) {
  if (format == 0) return -1;
  const Reader reader{strand, instruction, lane};
  const std::string format_text = reader.text(format);
  Formatter formatter(reader, arguments, text);
  for (size_t at = 0; at < format_text.size();) {
    const size_t percent = std::min(format_text.find('%', at), format_text.size());
    text.append(format_text, at, percent - at);
    at = percent;
    if (at < format_text.size()) formatter.format(parse_conversion(format_text, at));
  }
  return formatter.count();
}

void device_assert_fail(Strand& strand, const Instruction& instruction, int lane,
                        const AssertionCall& call) {
  const Reader reader{strand, instruction, lane};
  const auto text = [&](uint64_t address) {
    return address == 0 ? std::string("(null)") : reader.text(address);
  };
  const Dim3 thread =
      delinearize(strand.thread_index(lane), strand.cluster->grid().configuration().block);
  std::string what = fmt::format(
      "{}:{}: {}: block: {}, thread: {} Assertion `{}` failed.", text(call.file), call.line,
      text(call.function), bracketed(strand.cta->index), bracketed(thread), text(call.message));
  Site{strand, instruction, lane_bit(lane)}.fault(
      {.code = FaultCode::assertion_failed,
       .what = std::move(what),
       .rule = "CUDA C++ Programming Guide, \"Assertion\": a failed assert() ends the kernel",
       .fix = "look at the values in the condition; printf() works in kernels here",
       .section = kNotFromPtxIsa});
}

}  // namespace bw::sim
