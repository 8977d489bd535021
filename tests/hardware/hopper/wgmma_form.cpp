#include "tests/hardware/hopper/wgmma_form.hpp"

#include "common/host/cuda_check.hpp"
#include "common/host/device_buffer.hpp"

namespace bw::conformance::wgmma {
namespace {

constexpr unsigned kStepBytes = 32;  ///< of K, of one MMA
constexpr unsigned kUnitShift = 4;   ///< addresses and offsets in descriptors are in 16 bytes

/// Bytes of a row of the swizzle pattern.
unsigned width_bytes(const Layout& layout) {
  return layout.swizzle == 0 ? 16u : 256u >> layout.swizzle;
}

/// The descriptor without its start address, of an operand of `rows` (M or N).
uint64_t descriptor(const Layout& layout, unsigned rows) {
  constexpr unsigned kLeadingShift = 16, kStrideShift = 32, kSwizzleShift = 62;
  constexpr unsigned kGroup = 8, kChunk = 16, kMostGroupsOfK = 4;
  uint64_t leading = 0, stride = 0;
  if (layout.swizzle == 0) {
    // Core matrices of 8 x 16 bytes, along M or N first.
    const uint64_t core = kGroup * kChunk;
    leading = uint64_t{rows} / kGroup * core;
    stride = core;
  } else {
    stride = kGroup * width_bytes(layout);
    leading = layout.mn_major ? kMostGroupsOfK * stride : 1u << kUnitShift;
  }
  return leading >> kUnitShift << kLeadingShift | stride >> kUnitShift << kStrideShift |
         uint64_t{layout.swizzle} << kSwizzleShift;
}

std::string number(uint64_t value) { return std::to_string(value); }

/// Copies `bytes` from the parameter's address to the shared array, all threads together.
std::string copy_to_shared(const std::string& parameter, const std::string& array, unsigned bytes) {
  const std::string loop = "COPY_" + parameter;
  return "  ld.param.u64 %rd0, [" + parameter + "];\n  mov.u32 %r1, " + array +
         ";\n  mul.wide.u32 %rd1, %r0, 4;\n  add.s64 %rd0, %rd0, %rd1;\n" +
         "  mad.lo.u32 %r1, %r0, 4, %r1;\n  mov.u32 %r2, 0;\n" + loop +
         ":\n  ld.global.u32 %r3, [%rd0];\n  st.shared.u32 [%r1], %r3;\n" +
         "  add.s64 %rd0, %rd0, 512;\n  add.u32 %r1, %r1, 512;\n  add.u32 %r2, %r2, 512;\n" +
         "  setp.lt.u32 %p0, %r2, " + number(bytes) + ";\n  @%p0 bra " + loop + ";\n";
}

/// Loads or stores registers `name`0 to `name``count` - 1 at [register, thread] of a parameter.
std::string move_registers(const char* operation, const std::string& parameter,
                           const std::string& name, unsigned count) {
  std::string text = "  ld.param.u64 %rd0, [" + parameter +
                     "];\n  mul.wide.u32 %rd1, %r0, 4;\n  add.s64 %rd0, %rd0, %rd1;\n";
  for (unsigned i = 0; i < count; ++i) {
    const std::string place = "[%rd0+" + number(uint64_t{i} * kThreads * 4) + "]";
    const std::string value = name + number(i);
    text += std::string("  ") + operation + " " +
            (operation[0] == 'l' ? value + ", " + place : place + ", " + value) + ";\n";
  }
  return text;
}

/// %rdR = the descriptor in a parameter plus the array's address, moved by `bytes`.
std::string set_descriptor(const std::string& reg, const std::string& parameter,
                           const std::string& array, unsigned bytes) {
  return "  ld.param.u64 " + reg + ", [" + parameter + "];\n  mov.u32 %r1, " + array +
         ";\n  add.u32 %r1, %r1, " + number(bytes) +
         ";\n  shr.u32 %r1, %r1, 4;\n  cvt.u64.u32 %rd0, %r1;\n  or.b64 " + reg + ", " + reg +
         ", %rd0;\n";
}

std::string list(const std::string& name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + name + number(i);
  return text + "}";
}

bool is_integer(Element element) {
  return element == Element::s8 || element == Element::u8 || element == Element::b1;
}
bool has_transposes(Element element) { return element == Element::f16 || element == Element::bf16; }

std::string opcode(const Form& form) {
  std::string text =
      form.sparse ? "wgmma.mma_async.sp.sync.aligned." : "wgmma.mma_async.sync.aligned.";
  text += "m64n" + number(form.n) + "k" + number(form.k());
  if (form.saturate) text += ".satfinite";
  text += std::string(".") + name_of(form.d) + "." + name_of(form.a) + "." + name_of(form.b);
  if (form.a == Element::b1) text += ".and.popc";
  return text;
}

std::string instruction(const Form& form) {
  std::string text = "  " + opcode(form) + " " + list("%d", form.registers()) + ", ";
  text += form.a_in_registers ? list("%a", kFragmentRegisters) : "%rd2";
  text += ", %rd3";
  if (form.sparse) text += ", %m0, " + number(form.selector);
  text += ", %p1";
  if (!is_integer(form.a)) {
    text += form.negate_a ? ", -1" : ", 1";
    text += form.negate_b ? ", -1" : ", 1";
  }
  if (has_transposes(form.a)) {
    if (!form.a_in_registers) text += form.a_layout.mn_major ? ", 1" : ", 0";
    text += form.b_layout.mn_major ? ", 1" : ", 0";
  }
  return text + ";\n";
}

std::string kernel_text(const Form& form) {
  std::string text = ".visible .entry " + form.name() +
                     "(.param .u64 a, .param .u64 b, .param .u64 fragment, .param .u64 metadata,\n"
                     "  .param .u64 c, .param .u64 d, .param .u64 a_descriptor, .param .u64 "
                     "b_descriptor)\n.reqntid 128, 1, 1\n{\n"
                     "  .reg .pred %p<4>;\n  .reg .b32 %r<8>, %d<128>, %a<4>, %m<1>;\n"
                     "  .reg .b64 %rd<8>;\n"
                     "  .shared .align 1024 .b8 a_tile[" +
                     number(kABytes) + "];\n  .shared .align 1024 .b8 b_tile[" + number(kBBytes) +
                     "];\n  mov.u32 %r0, %tid.x;\n";
  if (!form.a_in_registers) text += copy_to_shared("a", "a_tile", kABytes);
  text += copy_to_shared("b", "b_tile", kBBytes);
  text += "  fence.proxy.async;\n  bar.sync 0;\n";
  text += move_registers("ld.global.b32", "c", "%d", form.registers());
  if (form.a_in_registers)
    text += move_registers("ld.global.b32", "fragment", "%a", kFragmentRegisters);
  if (form.sparse) text += move_registers("ld.global.b32", "metadata", "%m", 1);
  text += std::string("  setp.eq.u32 %p1, 0, ") + (form.accumulate ? "0" : "1") + ";\n";
  text += "  wgmma.fence.sync.aligned;\n";
  for (unsigned step = 0; step < form.steps; ++step) {
    if (!form.a_in_registers)
      text += set_descriptor("%rd2", "a_descriptor", "a_tile", step * kStepBytes);
    text += set_descriptor("%rd3", "b_descriptor", "b_tile", step * kStepBytes);
    text += instruction(form);
  }
  text += "  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  return text + move_registers("st.global.b32", "d", "%d", form.registers()) + "  ret;\n}\n";
}

}  // namespace

const char* name_of(Element element) {
  constexpr const char* kNames[] = {"f16", "bf16", "tf32", "e4m3", "e5m2",
                                    "s8",  "u8",   "b1",   "f32",  "s32"};
  return kNames[static_cast<unsigned>(element)];
}

unsigned bits_of(Element element) {
  constexpr unsigned kBits[] = {16, 16, 32, 8, 8, 8, 8, 1, 32, 32};
  return kBits[static_cast<unsigned>(element)];
}

unsigned Form::k() const { return kStepBytes * 8 / bits_of(a) * (sparse ? 2 : 1); }

unsigned Form::registers() const {
  constexpr unsigned kElementsPerThread = kRows * 8 / kThreads;  // of 8 columns
  return n / 8 * kElementsPerThread * bits_of(d) / 32;
}

std::string Form::name() const {
  const auto layout = [](const Layout& l) {
    return (l.mn_major ? "mn" : "k") + std::to_string(l.swizzle == 0 ? 0 : width_bytes(l));
  };
  std::string text = std::string(sparse ? "sp_" : "") + "m64n" + std::to_string(n) + "k" +
                     std::to_string(k()) + "_" + name_of(d) + "_" + name_of(a) + "_" + name_of(b) +
                     "_" + (a_in_registers ? "regs" : layout(a_layout)) + "_" + layout(b_layout);
  if (saturate) text += "_satfinite";
  if (!accumulate) text += "_zero";
  if (negate_a) text += "_nega";
  if (negate_b) text += "_negb";
  if (sparse) text += "_sel" + std::to_string(selector);
  if (steps > 1) text += "_steps" + std::to_string(steps);
  return text;
}

std::string module_text(const std::vector<Form>& forms) {
  std::string text = ".version 8.4\n.target sm_90a\n.address_size 64\n";
  for (const Form& form : forms) text += kernel_text(form);
  return text;
}

std::vector<uint32_t> run(cudaLibrary_t library, const Form& form, const Inputs& inputs) {
  cudaKernel_t kernel = nullptr;
  check_cuda(cudaLibraryGetKernel(&kernel, library, form.name().c_str()), "find the kernel ",
             form.name());
  const DeviceBuffer<uint32_t> a(inputs.a), b(inputs.b), fragment(inputs.fragment),
      metadata(inputs.metadata), c(inputs.c);
  DeviceBuffer<uint32_t> d(inputs.c.size());
  const void* pointers[] = {a.data(),        b.data(), fragment.data(),
                            metadata.data(), c.data(), d.data()};
  uint64_t descriptors[] = {descriptor(form.a_layout, kRows), descriptor(form.b_layout, form.n)};
  void* arguments[] = {&pointers[0], &pointers[1], &pointers[2],    &pointers[3],
                       &pointers[4], &pointers[5], &descriptors[0], &descriptors[1]};
  check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kThreads),
                              arguments, 0, nullptr),
             "launch the kernel ", form.name());
  return d.download();
}

}  // namespace bw::conformance::wgmma
