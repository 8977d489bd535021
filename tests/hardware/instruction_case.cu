#include "tests/hardware/instruction_case.cuh"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/hardware/inputs.hpp"
#include "tests/hardware/raw_memory.hpp"

namespace bw::conformance {
namespace {

/// Elements of a form; a form of one 16-bit operand gets every value there is.
constexpr size_t kElements = 2048;
constexpr size_t kAllHalves = 65536;

/// Every NaN of the format as one.
uint64_t without_payload(uint64_t bits, AnyNan format) {
  constexpr uint64_t kInfinities[] = {0, 0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000};
  constexpr uint64_t kMagnitudes[] = {0, 0x7fff, 0x7fff, 0x7fffffff, 0x7fffffffffffffff};
  const auto f = static_cast<size_t>(format);
  const uint64_t magnitude = bits & kMagnitudes[f];
  return magnitude > kInfinities[f] ? kMagnitudes[f] : bits;
}

}  // namespace

Result measure_form(const FormKernel& form) {
  const bool exhaustive = form.shape.used == 1 && form.operand_bytes[0] == 2;
  const size_t count = exhaustive ? kAllHalves : kElements;
  auto inputs = std::make_shared<std::array<std::vector<uint64_t>, 3>>();
  std::array<DeviceBuffer<uint8_t>, 3> device_inputs;
  for (unsigned operand = 0; operand < 3; ++operand) {
    const unsigned bytes = form.operand_bytes[operand];
    std::vector<uint64_t>& values = (*inputs)[operand];
    values = operands(bytes, operand, count);
    if (exhaustive && operand == 0)
      for (size_t i = 0; i < count; ++i) values[i] = i;
    device_inputs[operand] = to_device(values, bytes);
  }
  DeviceBuffer<uint8_t> result(count * form.result_bytes);
  result.fill_bytes(0xcd);
  launch(form.kernel, static_cast<unsigned>(count / kThreads), kThreads, device_inputs[0].data(),
         device_inputs[1].data(), device_inputs[2].data(), result.data());
  std::vector<uint64_t> values = from_device(result, form.result_bytes);
  if (form.shape.any_nan != AnyNan::none)
    for (uint64_t& value : values) value = without_payload(value, form.shape.any_nan);
  return {std::move(values), [=](size_t i) {
            std::string text;
            for (unsigned operand = 0; operand < form.shape.used; ++operand)
              text += (operand == 0 ? "" : ", ") +
                      hexadecimal((*inputs)[operand][i], form.operand_bytes[operand]);
            return text;
          }};
}

}  // namespace bw::conformance
