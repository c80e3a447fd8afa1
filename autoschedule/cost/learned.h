// A cost model that learns from measurements: gradient-boosted trees (XGBoost) over the features of programs.
//
//   LearnedModel model(HostTarget(), {.seed = 1});
//   model.Update(measured, seconds, task);                     // after each round of a search
//   std::vector<double> scores = model.Predict(candidates);    // less is better
//
// Trees are fitted to how many times longer programs took than the projected model says (projected.h), compared with
// the other programs of their task, the fastest ones first of all. So a few measurements are enough to be better than
// the projection, and tasks of all sizes train one model. Predictions are seconds up to a factor, the same for all
// programs of a task. Before anything is learned the projection answers.
//
// What was measured of other tasks before trains trees of their own, the prior; updates learn what is different here.
//
// The same updates with the same seed give the same predictions.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "autoschedule/cost/cost_model.h"
#include "autoschedule/cost/features.h"
#include "target/target.h"

namespace tilewright {

struct LearnedOptions {
  uint64_t seed = 0;
  int rounds = 60;  // trees
  int depth = 6;
};

// A measured program. `task` is any number that names what it computes, a hash of the unscheduled program say.
struct MeasuredFeatures {
  // An infinite time is that of a program that cannot be used.
  bool usable() const { return std::isfinite(seconds); }

  Features features;
  double seconds;
  uint64_t task;
};

class LearnedModel : public CostModel {
 public:
  explicit LearnedModel(Target target, LearnedOptions options = {});
  ~LearnedModel() override;
  LearnedModel(const LearnedModel&) = delete;
  LearnedModel& operator=(const LearnedModel&) = delete;

  // Replaces the prior, before the first update. Times that are not positive are ignored, here and in updates.
  void LearnPrior(std::span<const MeasuredFeatures> measured);

  // Learns how long programs of one task take. Everything since the model was made is trained on again.
  void Update(std::span<const Function> scheduled, std::span<const double> seconds, uint64_t task) override;

  std::vector<double> Predict(std::span<const Function> scheduled) const override;

  // Whether it says more than the projection.
  bool has_learned() const { return prior_ != nullptr || own_ != nullptr; }

 private:
  struct Booster;

  std::unique_ptr<Booster> Train(std::span<const MeasuredFeatures> measured, const Booster* prior) const;

  const Target target_;
  const LearnedOptions options_;
  std::vector<MeasuredFeatures> measured_;
  std::unique_ptr<Booster> prior_, own_;  // null: untrained
};

}  // namespace tilewright
