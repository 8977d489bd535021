#pragma once
/// \file
/// A bar chart as an SVG file.

#include <optional>
#include <string>
#include <vector>

namespace bw {

/// A horizontal bar with its label at the left and a text at the right; perhaps with a second, thin
/// one below it.
struct Bar {
  std::string label;
  double value;
  std::string text;
  std::optional<double> second;
};

/// A chart of non-negative values against a reference line.
struct BarChart {
  std::string title;
  std::string subtitle;
  std::vector<Bar> bars;
  double reference;  ///< where the line is
  std::string reference_label;
  std::string axis_label;
  std::string bar_legend;     ///< what the bars are
  std::string second_legend;  ///< what the thin ones are; shown where there are any
};

/// The chart as the text of an SVG file. Bars that reach the reference differ in colour from those
/// that don't; it reads on light and dark pages.
std::string draw_bar_chart(const BarChart& chart);

}  // namespace bw
