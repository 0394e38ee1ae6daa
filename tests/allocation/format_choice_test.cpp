// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Rows and formats together: what can be said by hand, an exhaustive search over two layers, and the properties that
// hold for every input.
#include "allocation/format_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "allocation/damage_hulls.h"
#include "base/random.h"

namespace ripplekv {
namespace {

// Damage a * (1 / f - 1) beyond at_full, the form that is interpolated exactly.
FormatCurves format_of(double bytes, std::vector<double> at_full, const std::vector<double>& scale) {
  FormatCurves format;
  format.bytes_per_row = bytes;
  format.at_full = std::move(at_full);
  DamageCurves curves;
  curves.kept = {0.05, 0.1, 0.2, 0.4};
  for (double kept : curves.kept) {
    std::vector<double>& at = curves.damage.emplace_back();
    for (double a : scale) at.push_back(a * (1 / kept - 1));
  }
  format.dropping = damage_hulls(curves).value();
  return format;
}

// As f16, q8_0 and q4_0 are to each other; rounding costs from nothing to more than dropping most rows.
std::vector<FormatCurves> random_formats(Random& random, size_t n_layer) {
  const auto draws = [&](double decades) {
    std::vector<double> values;
    for (size_t i = 0; i < n_layer; ++i) values.push_back(std::pow(10, -decades * random.uniform()));
    return values;
  };
  const std::vector<double> scale = draws(3);
  std::vector<FormatCurves> formats = {format_of(256, std::vector<double>(n_layer, 0.0), scale)};
  for (double bytes : {136.0, 72.0}) formats.push_back(format_of(bytes, draws(5), scale));
  return formats;
}

double bytes_of(const std::vector<FormatCurves>& formats, const FormatChoice& choice) {
  double bytes = 0;
  for (size_t il = 0; il < choice.format.size(); ++il) {
    bytes += formats[choice.format[il]].bytes_per_row * choice.kept[il];
  }
  return bytes / static_cast<double>(choice.format.size());
}

// bytes: of a layer, mean over the layers.
FormatChoice choose(const std::vector<FormatCurves>& formats, double bytes, double kept_min = 0,
                    const std::vector<double>& held = {}) {
  const auto choice = choose_formats(formats, bytes * static_cast<double>(formats[0].at_full.size()), kept_min, held);
  EXPECT_TRUE(choice.ok()) << choice.status().message();
  return choice.ok() ? *choice : FormatChoice{};
}

TEST(FormatChoice, FreeRoundingIsTakenByAllAndRuinousByNone) {
  const std::vector<double> scale = {1, 1, 1};
  const FormatCurves f16 = format_of(256, {0, 0, 0}, scale);
  EXPECT_EQ(choose({f16, format_of(64, {0, 0, 0}, scale)}, 25.6).format, (std::vector<size_t>{1, 1, 1}));
  EXPECT_EQ(choose({f16, format_of(64, {500, 500, 500}, scale)}, 25.6).format, (std::vector<size_t>{0, 0, 0}));
  const FormatChoice mixed = choose({f16, format_of(64, {0, 500, 0}, scale)}, 25.6);
  EXPECT_EQ(mixed.format, (std::vector<size_t>{1, 0, 1}));  // the fragile layer keeps its bits
}

// All rows of both layers in the small format, and bytes left over: the layer that rounding hurts gets the bits.
TEST(FormatChoice, BytesBeyondAllRowsBuyBits) {
  const std::vector<FormatCurves> formats = {format_of(256, {0, 0}, {1, 1}), format_of(128, {1e-6, 0.5}, {1, 1})};
  const FormatChoice choice = choose(formats, 192);
  EXPECT_EQ(choice.format, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(choice.kept, (std::vector<double>{1, 1}));
  EXPECT_DOUBLE_EQ(choice.damage, 1e-6);
}

TEST(FormatChoice, OneFormatIsTheCurvesAllocator) {
  const FormatCurves f16 = format_of(256, {0, 0, 0, 0}, {1, 4, 9, 16});
  const FormatChoice choice = choose({f16}, 0.2 * 256);
  const AllocationWeights weights = weights_of_hulls(f16.dropping, 0.2);
  for (size_t il = 0; il < 4; ++il) EXPECT_NEAR(choice.kept[il], weights.weights[il], 1.5 / 1024) << il;
}

// Within the budget, above the floor, never foretold worse for more bytes, nor worse than any format for all layers.
TEST(FormatChoice, PropertiesOfEveryInput) {
  Random random(1);
  for (int round = 0; round < 3; ++round) {
    const std::vector<FormatCurves> formats = random_formats(random, 6);
    const double kept_min = 0.05 * random.uniform();
    double before = HUGE_VAL;
    for (double bytes = 8; bytes < 280; bytes *= 1.4) {
      const FormatChoice choice = choose(formats, bytes, kept_min);
      EXPECT_LE(bytes_of(formats, choice), bytes * (1 + 1e-9));
      for (double kept : choice.kept) {
        EXPECT_GE(kept, kept_min);
        EXPECT_LE(kept, 1);
      }
      EXPECT_LE(choice.damage, before);
      before = choice.damage;
      for (const FormatCurves& format : formats) {
        if (format.bytes_per_row * kept_min > bytes * 0.99) continue;
        EXPECT_LE(choice.damage, choose({format}, bytes, kept_min).damage);
      }
    }
  }
}

struct Point {
  double bytes;
  double damage;
};

std::vector<Point> options_of(const std::vector<FormatCurves>& formats, size_t layer) {
  std::vector<Point> points;
  for (const FormatCurves& format : formats) {
    for (int step = 1; step <= kHullSteps; ++step) {
      points.push_back({format.bytes_per_row * step / kHullSteps,
                        format.at_full[layer] + format.dropping[layer][static_cast<size_t>(step) - 1]});
    }
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  return points;
}

// The least damage of two layers within so many bytes.
double optimum(const std::vector<Point>& first, const std::vector<Point>& second, double bytes) {
  double best = HUGE_VAL;
  size_t n = 0;
  double best_second = HUGE_VAL;
  for (size_t i = first.size(); i-- > 0;) {  // the dearer the first, the less is left
    for (; n < second.size() && first[i].bytes + second[n].bytes <= bytes * (1 + 1e-12); ++n) {
      best_second = std::min(best_second, second[n].damage);
    }
    best = std::min(best, first[i].damage + best_second);
  }
  return best;
}

// Longest edge of the falling part of the lower hull, by gift wrapping.
double longest_edge(const std::vector<Point>& points) {
  Point at = points[0];
  double longest = 0;
  while (true) {
    double steepest = 0;
    Point next = at;
    for (const Point& to : points) {
      if (to.bytes <= at.bytes) continue;
      const double slope = (at.damage - to.damage) / (to.bytes - at.bytes);
      if (slope >= steepest && slope > 0) {
        steepest = slope;
        next = to;
      }
    }
    if (steepest == 0) return longest;
    longest = std::max(longest, next.bytes - at.bytes);
    at = next;
  }
}

// Greedy stops at the one edge that does not fit, so that it is no worse than the optimum of a budget smaller by that.
TEST(FormatChoice, IsTheOptimumUpToOneEdge) {
  Random random(2);
  for (int round = 0; round < 2; ++round) {
    const std::vector<FormatCurves> formats = random_formats(random, 2);
    const std::vector<Point> first = options_of(formats, 0);
    const std::vector<Point> second = options_of(formats, 1);
    const double edge = std::max(longest_edge(first), longest_edge(second));
    for (double bytes = 10; bytes < 250; bytes *= 1.5) {
      const double damage = choose(formats, bytes).damage;
      EXPECT_GE(damage, optimum(first, second, 2 * bytes) * (1 - 1e-9) - 1e-12);
      EXPECT_LE(damage, optimum(first, second, 2 * bytes - edge) * (1 + 1e-9) + 1e-12);
    }
  }
}

// Layers 1 and 2 hold a quarter of their rows. What they need not have in many bits buys rows of the others.
TEST(FormatChoice, LayersThatHoldTheirRowsGiveBits) {
  const std::vector<FormatCurves> formats = {format_of(256, {0, 0, 0, 0}, {1, 0, 0, 1}),
                                             format_of(128, {9, 1e-6, 1e-6, 9}, {1, 0, 0, 1})};
  const std::vector<double> held = {0, 0.25, 0.25, 0};
  const FormatChoice choice = choose(formats, 0.25 * 256, 0, held);
  EXPECT_EQ(choice.format, (std::vector<size_t>{0, 1, 1, 0}));
  EXPECT_EQ(choice.kept, (std::vector<double>{0.375, 0.25, 0.25, 0.375}));
  // Ruinous to round, they keep their bits, and the others their share.
  std::vector<FormatCurves> fragile = formats;
  fragile[1].at_full = {9, 900, 900, 9};
  EXPECT_EQ(choose(fragile, 0.25 * 256, 0, held).format, (std::vector<size_t>{0, 0, 0, 0}));
  EXPECT_EQ(choose(fragile, 0.25 * 256, 0, held).kept, (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  // With every layer held there are formats alone to choose, from the cheapest to the best.
  const std::vector<double> all = {0.5, 0.5, 0.5, 0.5};
  EXPECT_EQ(choose(formats, 0.5 * 256, 0, all).format, (std::vector<size_t>{0, 0, 0, 0}));
  EXPECT_EQ(choose(formats, 0.5 * 192, 0, all).format, (std::vector<size_t>{0, 1, 1, 0}));
  EXPECT_EQ(choose(formats, 1, 0, all).format, (std::vector<size_t>{1, 1, 1, 1}));
}

// A window's format is one large step, and the steepest for long; that it does not fit is no reason to waste the rest.
// The third layer keeps a single format for all from being the better choice.
TEST(FormatChoice, AStepThatDoesNotFitLeavesItsBytesToOthers) {
  const std::vector<FormatCurves> formats = {format_of(256, {0, 0, 0}, {1, 1, 1}),
                                             format_of(64, {10, 0.5, 500}, {1, 1, 1})};
  const double bytes = 64 + 50 + 0.1 * 256;
  const FormatChoice choice = choose(formats, bytes / 3, 0, {1, 0, 0.1});
  EXPECT_EQ(choice.format, (std::vector<size_t>{1, 1, 0}));
  EXPECT_GE(bytes_of(formats, choice) * 3, bytes - 2 * 64.0 / kHullSteps);
  EXPECT_LE(bytes_of(formats, choice) * 3, bytes);
}

TEST(FormatChoice, TooFewBytesAreTheLeastThereIs) {
  const FormatChoice choice = choose({format_of(256, {0, 0}, {1, 1}), format_of(64, {1, 1}, {1, 1})}, 1, 0.25);
  EXPECT_EQ(choice.format, (std::vector<size_t>{1, 1}));
  EXPECT_EQ(choice.kept, (std::vector<double>{0.25, 0.25}));
}

TEST(FormatChoice, RefusesWhatBreaksTheContract) {
  const FormatCurves good = format_of(256, {0, 0}, {1, 1});
  const auto refused = [](const std::vector<FormatCurves>& formats, double bytes, double kept_min, const char* why) {
    const auto choice = choose_formats(formats, bytes, kept_min);
    ASSERT_FALSE(choice.ok());
    EXPECT_NE(choice.status().message().find(why), std::string::npos) << choice.status().message();
  };
  refused({}, 1, 0, "got none");
  refused({good, format_of(64, {0}, {1})}, 1, 0, "1 layers, expected 2");
  refused({format_of(64, {0}, {1, 1})}, 1, 0, "layers");
  refused({format_of(0, {0}, {1})}, 1, 0, "bytes per row");
  refused({format_of(64, {-1}, {1})}, 1, 0, "damage -1 in layer 0");
  refused({good}, NAN, 0, "nan bytes");
  refused({good}, 1, 1.5, "least fraction of 1.5");
  for (const auto& [held, why] :
       {std::pair{std::vector<double>{1}, "1 layers hold, expected 2"},
        std::pair{std::vector<double>{0, 1.5}, "holds 1.5"}, std::pair{std::vector<double>{0, NAN}, "holds nan"}}) {
    const auto choice = choose_formats(std::vector{good}, 1, 0, held);
    ASSERT_FALSE(choice.ok());
    EXPECT_NE(choice.status().message().find(why), std::string::npos) << choice.status().message();
  }
}

}  // namespace
}  // namespace ripplekv
