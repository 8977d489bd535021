#include "tests/benchmarks/hopper/bar_chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace bw {
namespace {

// Sizes in pixels.
constexpr double kWidth = 900, kMargin = 28, kLabelWidth = 150, kTextWidth = 210;
constexpr double kHeaderHeight = 92, kFooterHeight = 86, kRowHeight = 30, kBarHeight = 15;
constexpr double kSecondHeight = 5, kSecondGap = 1, kLegendMark = 22, kLegendStep = 290,
                 kTextGap = 24;
constexpr double kBarLeft = kMargin + kLabelWidth;
constexpr double kBarSpace = kWidth - kMargin - kTextWidth - kBarLeft;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

std::string tick_text(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else {
      result += c;
    }
  }
  return result;
}

std::string text_at(double x, double y, const std::string& style, const std::string& text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + style + "\">" +
         escaped(text) + "</text>\n";
}

std::string line_at(double x, double top, double bottom, const std::string& style) {
  return "<line x1=\"" + number(x) + "\" y1=\"" + number(top) + "\" x2=\"" + number(x) +
         "\" y2=\"" + number(bottom) + "\" class=\"" + style + "\"/>\n";
}

/// A round step that divides `range` into about four to eight parts.
double tick_step(double range) {
  constexpr double kParts = 6;
  const double rough = range / kParts;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * decade >= rough) return factor * decade;
  }
  return 10 * decade;
}

constexpr const char* kStyle =
    "<style>\n"
    "text { font-family: 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif;"
    " fill: #24292f; }\n"
    ".title { font-size: 19px; font-weight: 600; }\n"
    ".subtitle { font-size: 12.5px; fill: #57606a; }\n"
    ".label { font-size: 13px; text-anchor: end; }\n"
    ".value { font-size: 13px; }\n"
    ".tick { font-size: 12px; text-anchor: middle; fill: #57606a; }\n"
    ".reference-label { font-size: 12px; text-anchor: middle; fill: #24292f; }\n"
    ".grid { stroke: #d0d7de; stroke-width: 1; }\n"
    ".reference { stroke: #24292f; stroke-width: 1.5; stroke-dasharray: 5 3; }\n"
    ".reached { fill: #1a7f5a; }\n"
    ".missed { fill: #c2571a; }\n"
    ".bar-mark { fill: #1a7f5a; }\n"
    ".second, .second-mark { fill: #8c959f; }\n"
    ".legend { font-size: 12px; fill: #57606a; }\n"
    "</style>\n";

}  // namespace

std::string draw_bar_chart(const BarChart& chart) {
  double largest = chart.reference;
  bool has_second = false;
  for (const Bar& bar : chart.bars) {
    largest = std::max({largest, bar.value, bar.second.value_or(0)});
    has_second = has_second || bar.second;
  }
  const double step = tick_step(largest > 0 ? largest : 1.0);
  const double end = std::ceil(largest / step - 1e-9) * step;
  const auto place = [&](double value) { return kBarLeft + kBarSpace * value / end; };
  const double rows_bottom = kHeaderHeight + kRowHeight * static_cast<double>(chart.bars.size());
  const double height = rows_bottom + kFooterHeight;
  const auto bar_at = [&](double left, double top, double width, double bar_height,
                          const std::string& style) {
    return "<rect x=\"" + number(left) + "\" y=\"" + number(top) + "\" width=\"" + number(width) +
           "\" height=\"" + number(bar_height) + "\" rx=\"2\" class=\"" + style + "\"/>\n";
  };

  std::ostringstream svg;
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << number(kWidth) << "\" height=\""
      << number(height) << "\" viewBox=\"0 0 " << number(kWidth) << " " << number(height)
      << "\" role=\"img\" aria-label=\"" << escaped(chart.title) << "\">\n"
      << kStyle << "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#ffffff\"/>\n"
      << text_at(kMargin, 36, "title", chart.title)
      << text_at(kMargin, 58, "subtitle", chart.subtitle);
  for (int i = 0; i * step <= end * (1 + 1e-9); ++i) {
    svg << line_at(place(i * step), kHeaderHeight, rows_bottom, "grid")
        << text_at(place(i * step), rows_bottom + 18, "tick", tick_text(i * step));
  }
  for (size_t i = 0; i < chart.bars.size(); ++i) {
    const Bar& bar = chart.bars[i];
    const double row = kHeaderHeight + kRowHeight * static_cast<double>(i);
    const double used = kBarHeight + (has_second ? kSecondGap + kSecondHeight : 0);
    const double top = row + (kRowHeight - used) / 2;
    const double middle = row + kRowHeight / 2 + 4.5;
    svg << bar_at(kBarLeft, top, place(bar.value) - kBarLeft, kBarHeight,
                  bar.value >= chart.reference ? "reached" : "missed");
    if (bar.second) {
      svg << bar_at(kBarLeft, top + kBarHeight + kSecondGap, place(*bar.second) - kBarLeft,
                    kSecondHeight, "second");
    }
    svg << text_at(kBarLeft - 10, middle, "label", bar.label)
        << text_at(kWidth - kMargin - kTextWidth + kTextGap, middle, "value", bar.text);
  }
  svg << line_at(place(chart.reference), kHeaderHeight - 6, rows_bottom + 4, "reference")
      << text_at(place(chart.reference), kHeaderHeight - 12, "reference-label",
                 chart.reference_label);
  svg << text_at(kBarLeft + kBarSpace / 2, rows_bottom + 42, "tick", chart.axis_label);
  const double legend = rows_bottom + 68;
  svg << bar_at(kBarLeft, legend - 10, kLegendMark, 11, "bar-mark")
      << text_at(kBarLeft + kLegendMark + 8, legend, "legend", chart.bar_legend);
  if (has_second) {
    svg << bar_at(kBarLeft + kLegendStep, legend - 7, kLegendMark, kSecondHeight, "second-mark")
        << text_at(kBarLeft + kLegendStep + kLegendMark + 8, legend, "legend", chart.second_legend);
  }
  svg << "</svg>\n";
  return svg.str();
}

}  // namespace bw
