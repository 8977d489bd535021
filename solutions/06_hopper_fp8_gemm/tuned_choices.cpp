#include "solutions/06_hopper_fp8_gemm/tuned_choices.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "common/host/csv_table.hpp"
#include "common/host/cuda_check.hpp"
#include "common/host/event_timer.hpp"

namespace bw::hopper {
namespace {

constexpr const char* kColumns[] = {"machine", "multiprocessors", "m",      "n",
                                    "k",       "residual",        "config", "us"};
enum Column { kMachine, kMultiprocessors, kM, kN, kK, kResidual, kConfig, kMicroseconds };

const GemmChoice* choice_called(const std::string& name) {
  const auto& choices = gemm_choices();
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](const GemmChoice& choice) { return choice.name() == name; });
  return found == choices.end() ? nullptr : &*found;
}

/// One contestant's launches.
struct Contestant {
  GemmPlan plan;
  std::vector<float> milliseconds{};

  void launch(EventTimer& timer) {
    constexpr cudaStream_t kDefaultStream = nullptr;
    timer.start(kDefaultStream);
    plan.launch(kDefaultStream);
    milliseconds.push_back(timer.stop(kDefaultStream));
  }
  float median() {
    const auto middle = milliseconds.begin() + static_cast<std::ptrdiff_t>(milliseconds.size() / 2);
    std::nth_element(milliseconds.begin(), middle, milliseconds.end());
    return *middle;
  }
};

}  // namespace

TunedShape TunedShape::here(int64_t m, int64_t n, int64_t k, bool has_residual) {
  cudaDeviceProp properties{};
  int device = 0;
  check_cuda(cudaGetDevice(&device), "find the current device");
  check_cuda(cudaGetDeviceProperties(&properties, device), "read the device's properties");
  std::string name = properties.name;
  std::replace(name.begin(), name.end(), ',', ' ');
  return {name, properties.multiProcessorCount, m, n, k, has_residual};
}

TunedChoices TunedChoices::read(const std::string& path) {
  TunedChoices result;
  if (!std::filesystem::exists(path)) return result;
  const CsvTable table = CsvTable::read(path);
  size_t columns[std::size(kColumns)];
  std::transform(std::begin(kColumns), std::end(kColumns), columns,
                 [&](const char* name) { return table.column(name); });
  for (size_t row = 0; row < table.rows(); ++row) {
    const auto text = [&](Column column) { return table.text(row, columns[column]); };
    const auto number = [&](Column column) { return table.positive_integer(row, columns[column]); };
    const std::string residual = text(kResidual);
    require(residual == "yes" || residual == "no", table.place(row), ": residual is \"", residual,
            "\"; give yes or no.");
    const TunedChoice choice{{text(kMachine), static_cast<int>(number(kMultiprocessors)),
                              number(kM), number(kN), number(kK), residual == "yes"},
                             text(kConfig),
                             table.positive(row, columns[kMicroseconds])};
    require(result.find(choice.shape) == nullptr, table.place(row),
            ": a line before is about the same; leave one of them out.");
    result.choices_.push_back(choice);
  }
  return result;
}

const TunedChoice* TunedChoices::find(const TunedShape& shape) const {
  const auto found = std::find_if(choices_.begin(), choices_.end(),
                                  [&](const TunedChoice& choice) { return choice.shape == shape; });
  return found == choices_.end() ? nullptr : &*found;
}

const GemmChoice* TunedChoices::choice_for(const TunedShape& shape) const {
  const TunedChoice* const choice = find(shape);
  return choice == nullptr ? nullptr : choice_called(choice->config);
}

void TunedChoices::remember(const TunedChoice& choice) {
  std::erase_if(choices_, [&](const TunedChoice& old) { return old.shape == choice.shape; });
  choices_.push_back(choice);
}

void TunedChoices::write(const std::string& path) const {
  std::ostringstream text;
  text << "# The fastest configurations of chapter 6's GEMM, as its program's --tune found them.\n";
  for (size_t i = 0; i < std::size(kColumns); ++i) text << (i == 0 ? "" : ",") << kColumns[i];
  text << "\n";
  for (const auto& [shape, config, microseconds] : choices_) {
    text << shape.machine << "," << shape.multiprocessors << "," << shape.m << "," << shape.n << ","
         << shape.k << "," << (shape.has_residual ? "yes" : "no") << "," << config << ","
         << microseconds << "\n";
  }
  const std::filesystem::path target(path), temporary(path + ".new");
  std::error_code error;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  std::ofstream file(temporary);
  file << text.str();
  file.close();
  if (file.good()) std::filesystem::rename(temporary, target, error);
  require(file.good() && !error, "Could not write ", path, error ? ": " + error.message() : "",
          "; give a file in a folder that can be written with --tuned.");
}

std::string default_tuned_path() {
  const char* const kFile = "blackwell-workbook/hopper_gemm.csv";
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return (std::filesystem::path(cache) / kFile).string();
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return "";
  return (std::filesystem::path(home) / ".cache" / kFile).string();
}

TunedChoice measure_configurations(const BlockwiseFp8GemmArguments& gemm, const TunedShape& shape,
                                   int64_t launches) {
  // All take part in the first rounds; configurations far from the best then drop out.
  constexpr int64_t kTrialRounds = 3;
  constexpr float kFar = 1.2f;
  std::vector<Contestant> contestants;
  for (const GemmChoice& choice : gemm_choices()) contestants.push_back({GemmPlan(gemm, choice)});
  EventTimer timer;
  const auto run = [&](int64_t rounds) {
    for (int64_t round = 0; round < rounds; ++round) {
      for (Contestant& contestant : contestants) contestant.launch(timer);
    }
  };
  const auto fastest = [&] {
    return std::min_element(contestants.begin(), contestants.end(),
                            [](Contestant& x, Contestant& y) { return x.median() < y.median(); });
  };
  run(std::min(launches, kTrialRounds));
  const float limit = kFar * fastest()->median();
  std::erase_if(contestants, [&](Contestant& contestant) { return contestant.median() > limit; });
  run(launches - std::min(launches, kTrialRounds));
  const auto best = fastest();
  return {shape, best->plan.choice().name(), best->median() * 1e3};
}

}  // namespace bw::hopper
