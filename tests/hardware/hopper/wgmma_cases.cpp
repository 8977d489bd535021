/// \file
/// Asynchronous matrix multiplication of a warpgroup (PTX ISA, "wgmma.mma_async",
/// "wgmma.mma_async.sp"): each form once in every shape, layout and format that it has, and sums
/// that show how the tensor cores form them.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/host/cuda_check.hpp"
#include "common/host/error.hpp"
#include "tests/hardware/cases.hpp"
#include "tests/hardware/hopper/wgmma_form.hpp"
#include "tests/hardware/hopper/wgmma_inputs.hpp"

namespace bw::conformance::wgmma {
namespace {

struct Measurement {
  Form form;
  Spread operands = Spread::normal, accumulator = Spread::normal;
};

constexpr unsigned kSumColumns = 64;

struct Formats {
  Element a, b, d;
};
constexpr Formats kFloats[] = {
    {Element::f16, Element::f16, Element::f32},   {Element::f16, Element::f16, Element::f16},
    {Element::bf16, Element::bf16, Element::f32}, {Element::tf32, Element::tf32, Element::f32},
    {Element::e4m3, Element::e4m3, Element::f32}, {Element::e4m3, Element::e4m3, Element::f16},
    {Element::e4m3, Element::e5m2, Element::f32}, {Element::e4m3, Element::e5m2, Element::f16},
    {Element::e5m2, Element::e4m3, Element::f32}, {Element::e5m2, Element::e4m3, Element::f16},
    {Element::e5m2, Element::e5m2, Element::f32}, {Element::e5m2, Element::e5m2, Element::f16}};
constexpr Formats kIntegers[] = {{Element::s8, Element::s8, Element::s32},
                                 {Element::s8, Element::u8, Element::s32},
                                 {Element::u8, Element::s8, Element::s32},
                                 {Element::u8, Element::u8, Element::s32}};
constexpr Formats kBits = {Element::b1, Element::b1, Element::s32};

Form form_of(const Formats& formats, unsigned n) {
  Form form;
  form.a = formats.a;
  form.b = formats.b;
  form.d = formats.d;
  form.n = n;
  return form;
}

/// Every N that a format has.
std::vector<unsigned> widths(const Formats& formats) {
  std::vector<unsigned> found;
  const bool has_all = formats.d != Element::s32;
  for (unsigned n = 8; n <= kMostColumns; n += 8)
    if (has_all || n % 16 == 0 || n == 8 || n == 24) found.push_back(n);
  return found;
}

void add_sums(std::vector<Measurement>& all) {
  constexpr std::pair<Spread, Spread> kSpreads[] = {
      {Spread::normal, Spread::normal},   {Spread::wide, Spread::wide},
      {Spread::cancelling, Spread::wide}, {Spread::cancelling, Spread::cancelling},
      {Spread::tiny, Spread::tiny},       {Spread::special, Spread::special},
      {Spread::normal, Spread::tiny}};
  for (const Formats& formats : kFloats)
    for (const auto& [operands, accumulator] : kSpreads)
      all.push_back({form_of(formats, kSumColumns), operands, accumulator});
  for (const Formats& formats : kIntegers)
    for (const bool saturate : {false, true}) {
      Form form = form_of(formats, kSumColumns);
      form.saturate = saturate;
      all.push_back({form, Spread::normal, Spread::wide});
    }
}

void add_shapes(std::vector<Measurement>& all) {
  for (const Formats& formats : {kFloats[0], kFloats[1], kFloats[2], kFloats[3], kFloats[4],
                                 kFloats[9], kIntegers[1], kBits})
    for (const unsigned n : widths(formats)) {
      Form form = form_of(formats, n);
      form.accumulate = n % 16 != 0;
      form.a_in_registers = n % 3 == 0;
      all.push_back({form});
    }
}

void add_layouts(std::vector<Measurement>& all) {
  constexpr unsigned kColumns = 136;  // not a multiple of any pattern's width
  for (unsigned swizzle = 0; swizzle <= 3; ++swizzle) {
    for (const bool mn_major : {false, true}) {
      const Layout layout{swizzle, mn_major};
      Form of_b = form_of(kFloats[0], mn_major ? kMostColumns : kColumns);
      of_b.b_layout = layout;
      all.push_back({of_b});
      Form of_a = form_of(kFloats[2], kSumColumns);
      of_a.a_layout = layout;
      all.push_back({of_a});
    }
    Form bytes = form_of(kFloats[4], kColumns);
    bytes.a_layout = bytes.b_layout = {swizzle, false};
    all.push_back({bytes});
  }
}

void add_variants(std::vector<Measurement>& all) {
  for (const Formats& formats : kFloats) {
    Form registers = form_of(formats, 24);
    registers.a_in_registers = true;
    all.push_back({registers, Spread::wide, Spread::wide});
    for (const bool a : {false, true}) {
      Form negated = form_of(formats, 16);
      negated.negate_a = true;
      negated.negate_b = a;
      negated.a_in_registers = a;
      all.push_back({negated, Spread::special, Spread::normal});
    }
    Form several = form_of(formats, 40);
    several.steps = 4;
    all.push_back({several, Spread::wide, Spread::normal});
  }
  for (const Formats& formats : kIntegers) {
    Form registers = form_of(formats, 24);
    registers.a_in_registers = true;
    all.push_back({registers});
  }
}

void add_sparse(std::vector<Measurement>& all) {
  const auto add = [&](const Formats& formats) {
    const bool pairs_of_threads = bits_of(formats.a) >= 16;
    for (unsigned selector = 0; selector <= (pairs_of_threads ? 1u : 0u); ++selector)
      for (const bool in_registers : {false, true}) {
        Form form = form_of(formats, in_registers ? 48 : 96);
        form.sparse = true;
        form.selector = selector;
        form.a_in_registers = in_registers;
        all.push_back({form, Spread::wide, Spread::normal});
      }
  };
  for (const Formats& formats : kFloats) add(formats);
  for (const Formats& formats : kIntegers) add(formats);
  for (const bool mn_major : {false, true})
    for (unsigned swizzle = 0; swizzle <= (mn_major ? 3u : 2u); ++swizzle) {
      Form form = form_of(kFloats[0], mn_major ? kMostColumns : 72);
      form.sparse = true;
      form.b_layout = {swizzle, mn_major};
      form.a_layout = {swizzle, false};
      all.push_back({form});
    }
}

const std::vector<Measurement>& measurements() {
  static const std::vector<Measurement> all = [] {
    std::vector<Measurement> list;
    add_sums(list);
    add_shapes(list);
    add_layouts(list);
    add_variants(list);
    add_sparse(list);
    return list;
  }();
  return all;
}

/// The kernels of all forms, each once.
std::string whole_module() {
  std::vector<Form> forms;
  std::vector<std::string> names;
  for (const Measurement& measurement : measurements()) {
    const std::string name = measurement.form.name();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    forms.push_back(measurement.form);
  }
  return module_text(forms);
}

/// Gives the runtime a module: PTX text, or what ptxas has made of it.
cudaLibrary_t load_module(const std::string& image) {
  cudaLibrary_t library = nullptr;
  check_cuda(cudaLibraryLoadData(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
             "load the kernels of wgmma");
  return library;
}

/// BW_WGMMA_MODULE names what ptxas has made of the text that BW_WGMMA_TEXT names, where the driver
/// can't compile it itself.
cudaLibrary_t library() {
  static const cudaLibrary_t loaded = [] {
    const char* const path = std::getenv("BW_WGMMA_MODULE");
    if (path == nullptr) return load_module(whole_module());
    std::ifstream file(path, std::ios::binary);
    const std::string image((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    require(!image.empty(), "The module ", path, " of BW_WGMMA_MODULE can't be read.");
    return load_module(image);
  }();
  return loaded;
}

Result measure(const Measurement& measurement, uint64_t seed) {
  const Inputs inputs =
      make_inputs(measurement.form, measurement.operands, measurement.accumulator, seed);
  const std::vector<uint32_t> d = run(library(), measurement.form, inputs);
  return {{d.begin(), d.end()}, [](size_t i) {
            return "register " + std::to_string(i / kThreads) + " of thread " +
                   std::to_string(i % kThreads);
          }};
}

/// Enters all measurements, each once, and writes the module's text where it is asked for.
const bool kRegistered = [] {
  uint64_t seed = 0;
  std::vector<std::string> names;
  for (const Measurement& measurement : measurements()) {
    const std::string name = "wgmma." + measurement.form.name() + "." +
                             name_of(measurement.operands) + "." + name_of(measurement.accumulator);
    ++seed;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    Registration(name, [&measurement, seed] { return measure(measurement, seed); });
  }
  if (const char* const path = std::getenv("BW_WGMMA_TEXT")) std::ofstream(path) << whole_module();
  return true;
}();

}  // namespace
}  // namespace bw::conformance::wgmma
