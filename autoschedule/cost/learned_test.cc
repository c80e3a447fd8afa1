#include "autoschedule/cost/learned.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/tiled_matmul.h"
#include "base/rank_correlation.h"

namespace tilewright {
namespace {

const Target kZen4 = *NamedTarget("x86-znver4");

// Tiles of a matrix of 768: programs, and times as if only the tile's size mattered.
struct Measured {
  std::vector<Function> programs;
  std::vector<double> seconds;
};
Measured Tiles(int first, int step) {
  Measured m;
  int number = 0;
  for (int vectors : {1, 2, 3}) {
    for (int rows : {1, 2, 3, 4, 6, 8, 12, 16}) {
      if (number++ % step != first) continue;
      m.programs.push_back(TiledMatmul(rows, vectors, "parallel", 768));
      m.seconds.push_back(1e-3 * (1.0 / rows + 2.0 / (vectors * 16)));
    }
  }
  return m;
}

TEST(LearnedModel, AnswersByTheProjectionBeforeAnyMeasurement) {
  const LearnedModel model(kZen4);
  const std::vector<Function> programs = {TiledMatmul(8, 2, "parallel", 256), TiledMatmul(1, 1, "parallel", 256)};
  EXPECT_EQ(model.Predict(programs), ProjectedModel(kZen4).Predict(programs));
  EXPECT_FALSE(model.has_learned());
  EXPECT_TRUE(model.Predict({}).empty());
}

TEST(LearnedModel, KeepsTheOrderOfTheProjectionAfterFewMeasurements) {
  // All take three times as long as projected.
  const ProjectedModel projected(kZen4);
  Measured few = Tiles(0, 4), asked = Tiles(1, 4);
  for (Measured* m : {&few, &asked}) m->seconds = projected.Predict(m->programs);
  for (double& seconds : few.seconds) seconds *= 3;
  LearnedModel model(kZen4);
  model.Update(few.programs, few.seconds, 1);
  EXPECT_GT(RankCorrelation(model.Predict(asked.programs), asked.seconds), 0.99);
}

TEST(LearnedModel, LearnsWhatItWasNotTold) {
  LearnedModel model(kZen4);
  const Measured train = Tiles(0, 2), held_out = Tiles(1, 2);
  model.Update(train.programs, train.seconds, 1);
  EXPECT_TRUE(model.has_learned());
  EXPECT_GT(RankCorrelation(model.Predict(train.programs), train.seconds), 0.9);
  EXPECT_GT(RankCorrelation(model.Predict(held_out.programs), held_out.seconds), 0.7);
}

TEST(LearnedModel, LearnsWhatCannotBeUsed) {
  const std::vector<std::string> names = FeatureNames();
  const auto registers = static_cast<size_t>(std::ranges::find(names, "hottest: registers") - names.begin());
  const auto is_large = [&](const Function& program) { return FeaturesOf(program, kZen4).numbers[registers] > 20; };
  Measured train = Tiles(0, 2);
  const Measured held_out = Tiles(1, 2);
  LearnedModel model(kZen4);
  model.Update(train.programs, std::vector<double>(train.programs.size(), std::numeric_limits<double>::infinity()), 1);
  EXPECT_FALSE(model.has_learned()) << "trained on failures alone";
  const ProjectedModel projected(kZen4);
  train.seconds = projected.Predict(train.programs);
  for (size_t i = 0; i < train.programs.size(); ++i) {
    if (is_large(train.programs[i])) train.seconds[i] = std::numeric_limits<double>::infinity();
  }
  LearnedModel told(kZen4);
  told.Update(train.programs, train.seconds, 1);
  const std::vector<double> asked = told.Predict(held_out.programs), plain = projected.Predict(held_out.programs);
  int large = 0, usable = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    if (is_large(held_out.programs[i])) {
      EXPECT_GT(asked[i], 1.4 * plain[i]) << i;
      ++large;
    } else {
      usable += asked[i] < 1.1 * plain[i];
    }
  }
  EXPECT_GT(large, 0);
  EXPECT_GT(usable, large);
}

TEST(LearnedModel, IsDeterministicAndIgnoresTimesThatAreNone) {
  const Measured train = Tiles(0, 2), held_out = Tiles(1, 2);
  LearnedModel a(kZen4, {.seed = 3}), b(kZen4, {.seed = 3});
  a.Update(train.programs, train.seconds, 1);
  Measured with_none = train;
  with_none.programs.push_back(held_out.programs[0]);
  with_none.seconds.push_back(0);
  b.Update(with_none.programs, with_none.seconds, 1);
  EXPECT_EQ(a.Predict(held_out.programs), b.Predict(held_out.programs));
}

TEST(LearnedModel, TasksAreComparedWithTheirOwnBest) {
  // The same order in a task that takes 1000 times as long.
  const Measured train = Tiles(0, 2);
  std::vector<double> longer = train.seconds;
  for (double& seconds : longer) seconds *= 1000;
  LearnedModel one(kZen4), both(kZen4);
  one.Update(train.programs, train.seconds, 1);
  both.Update(train.programs, train.seconds, 1);
  both.Update(train.programs, longer, 2);
  EXPECT_GT(RankCorrelation(both.Predict(train.programs), one.Predict(train.programs)), 0.95);
}

// Measured as task 7.
std::vector<MeasuredFeatures> AsPrior(const Measured& measured) {
  std::vector<MeasuredFeatures> prior;
  for (size_t i = 0; i < measured.programs.size(); ++i) {
    prior.push_back({FeaturesOf(measured.programs[i], kZen4), measured.seconds[i], 7});
  }
  return prior;
}

TEST(LearnedModel, APriorOrdersBeforeAnyUpdate) {
  const Measured elsewhere = Tiles(0, 2), asked = Tiles(1, 2);
  LearnedModel model(kZen4);
  model.LearnPrior({});
  EXPECT_FALSE(model.has_learned());
  std::vector<MeasuredFeatures> prior = AsPrior(elsewhere);
  prior.push_back({FeaturesOf(asked.programs[0], kZen4), 0, 7});  // no time
  model.LearnPrior(prior);
  EXPECT_TRUE(model.has_learned());
  LearnedModel updated(kZen4);
  updated.Update(elsewhere.programs, elsewhere.seconds, 7);
  EXPECT_EQ(model.Predict(asked.programs), updated.Predict(asked.programs));
}

TEST(LearnedModel, UpdatesCorrectThePrior) {
  // Elsewhere what is best here was worst.
  const Measured here = Tiles(0, 2), asked = Tiles(1, 2);
  Measured elsewhere = here;
  for (double& seconds : elsewhere.seconds) seconds = 1e-6 / seconds;
  LearnedModel model(kZen4);
  model.LearnPrior(AsPrior(elsewhere));
  EXPECT_LT(RankCorrelation(model.Predict(asked.programs), asked.seconds), 0.5);
  model.Update(here.programs, here.seconds, 1);
  EXPECT_GT(RankCorrelation(model.Predict(asked.programs), asked.seconds), 0.7);
}

}  // namespace
}  // namespace tilewright
