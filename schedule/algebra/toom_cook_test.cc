#include "schedule/algebra/toom_cook.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright {
namespace {

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The outputs of a tile by the coefficients, and by the definition.
void ExpectSameSums(int64_t outputs, int64_t window, uint32_t seed) {
  const ToomCook coefficients = ToomCookCoefficients(outputs, window);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> input(static_cast<size_t>(outputs + window - 1)), kernel(static_cast<size_t>(window));
  for (double& value : input) value = uniform(random);
  for (double& value : kernel) value = uniform(random);
  std::vector<double> products;
  for (size_t x = 0; x < input.size(); ++x) {
    products.push_back(Dot(coefficients.kernel[x], kernel) * Dot(coefficients.input[x], input));
  }
  for (size_t i = 0; i < static_cast<size_t>(outputs); ++i) {
    double expected = 0;
    for (size_t k = 0; k < kernel.size(); ++k) expected += input[i + k] * kernel[k];
    EXPECT_NEAR(Dot(coefficients.output[i], products), expected, 1e-12) << outputs << " outputs of " << window;
  }
}

TEST(ToomCook, ComputesSumsOverWindows) {
  for (int64_t outputs = 1; outputs <= kMostToomCookProducts; ++outputs) {
    for (int64_t window = 1; outputs + window - 1 <= kMostToomCookProducts; ++window) {
      for (uint32_t seed : {1U, 2U, 3U}) ExpectSameSums(outputs, window, seed);
    }
  }
}

TEST(ToomCook, HasTheCoefficientsOfThePaperForFourOutputsOfThree) {
  const ToomCook coefficients = ToomCookCoefficients(4, 3);
  EXPECT_EQ(coefficients.input[0], (std::vector<double>{4, 0, -5, 0, 1, 0}));
  EXPECT_EQ(coefficients.input[3], (std::vector<double>{0, -2, -1, 2, 1, 0}));
  EXPECT_EQ(coefficients.kernel[3], (std::vector<double>{1.0 / 24, 1.0 / 12, 1.0 / 6}));
  EXPECT_EQ(coefficients.output[3], (std::vector<double>{0, 1, -1, 8, -8, 1}));
}

}  // namespace
}  // namespace tilewright
