#include "common/host/find_by_name.hpp"
#include "common/host/lasting_text.hpp"
#include "common/host/require.hpp"
#include "solutions/06_hopper_fp8_gemm/gemm_kernel_groups.hpp"
#include "solutions/06_hopper_fp8_gemm/hopper_fp8_gemm.hpp"

namespace bw::hopper {

namespace {

std::string name_of(const GemmTraits& t) {
  std::string name = std::to_string(t.tile_m) + "x" + std::to_string(t.tile_n);
  if (t.swap_ab) name += "_swap";
  if (t.swap_ab && t.two_products) name += "2";
  if (t.is_deep()) name += "_deep";
  if (t.split_k > 1) return name + "_split" + std::to_string(t.split_k);
  if (t.grouped) return name + "_grouped";
  if (t.swap_ab) return name;
  name += "_" + std::to_string(t.cluster_m) + "x" + std::to_string(t.cluster_n);
  return t.stream_k ? name + "_streamk" : name;
}

}  // namespace

const char* gemm_kernel_name(const GemmTraits& traits) { return lasting_text(name_of(traits)); }

const std::vector<GemmKernel>& gemm_kernels() {
  static const std::vector<GemmKernel> kernels = [] {
    std::vector<GemmKernel> all{detail::wide_tile(),         detail::wide_tile_stream_k(),
                                detail::wide_tile_single(),  detail::tall_tile(),
                                detail::narrow_tile(),       detail::narrow_tile_stream_k(),
                                detail::narrow_tile_single()};
    for (auto* group : {detail::square_tiles, detail::small_tiles, detail::between_tiles,
                        detail::half_tiles, detail::swap_ab_tiles}) {
      for (const GemmKernel& kernel : group()) all.push_back(kernel);
    }
    return all;
  }();
  return kernels;
}

const GemmKernel& find_gemm_kernel(std::string_view name) {
  return find_by_name(gemm_kernels(), name);
}

bool has_launch_orders(const GemmKernel& kernel) { return kernel.traits.cluster_size() == 1; }

GemmChoice::GemmChoice(const GemmKernel& of_kernel, LaunchOrder of_launch)
    : kernel(&of_kernel), order(of_launch) {
  require(order == LaunchOrder::kAcrossGpcs || has_launch_orders(of_kernel), "The configuration ",
          of_kernel.name, " has clusters of ", of_kernel.traits.cluster_size(),
          " CTAs, which share a GPC anyway; launch it across the GPCs.");
}

std::string GemmChoice::name() const {
  return std::string(kernel->name) + (order == LaunchOrder::kGpcByGpc ? kGpcByGpcSuffix : "");
}

std::vector<GemmChoice> choices_of(const std::vector<GemmKernel>& kernels) {
  std::vector<GemmChoice> all(kernels.begin(), kernels.end());
  for (const GemmKernel& kernel : kernels) {
    if (has_launch_orders(kernel)) all.emplace_back(kernel, LaunchOrder::kGpcByGpc);
  }
  return all;
}

const std::vector<GemmChoice>& gemm_choices() {
  static const std::vector<GemmChoice> choices = choices_of(gemm_kernels());
  return choices;
}

GemmChoice find_gemm_choice(std::string_view name, const std::vector<GemmChoice>& choices) {
  struct Named {
    std::string name;
    const GemmChoice* choice;
  };
  std::vector<Named> named;
  named.reserve(choices.size());
  for (const GemmChoice& choice : choices) named.push_back({choice.name(), &choice});
  return *find_by_name(named, name).choice;
}

}  // namespace bw::hopper
