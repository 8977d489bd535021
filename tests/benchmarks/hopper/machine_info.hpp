#pragma once
/// \file
/// What a table of measurements says of the machine.

#include <string>

namespace bw {

/// Facts of the current device and its software, as text.
struct MachineInfo {
  std::string date;  ///< of the measurement, "2026-11-21"
  std::string gpu;   ///< "NVIDIA H100 80GB HBM3"
  int multiprocessors = 0;
  std::string driver;        ///< "580.159.04", or the CUDA version that it supports
  std::string cuda_runtime;  ///< "13.0"
  std::string cublaslt;      ///< "13.1.0"
  std::string clocks;        ///< "SM 1980 of 1980 MHz, memory 2619 MHz, power limit 700 W"
};

/// Reads them; what nvidia-smi would know stays "unknown" where it doesn't run.
MachineInfo read_machine_info();

}  // namespace bw
