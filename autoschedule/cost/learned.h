// A cost model that learns from measurements: gradient-boosted trees (XGBoost) over the features of programs.
//
//   LearnedModel model(HostTarget(), {.seed = 1});
//   model.Update(measured, seconds, task);                     // after each round of a search
//   std::vector<double> scores = model.Predict(candidates);    // less is better
//
// Trees are fitted to how many times longer programs took than the projected model says (projected.h), compared with
// the other programs of their task, the fastest ones first of all. So a few measurements are enough to be better than
// the projection, and tasks of all sizes train one model. Predictions are seconds up to a factor, the same for all
// programs of a task. Before the first update the projection answers.
//
// The same updates with the same seed give the same predictions.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "autoschedule/cost/cost_model.h"
#include "autoschedule/cost/features.h"
#include "ir/target.h"

namespace tilewright {

struct LearnedOptions {
  uint64_t seed = 0;
  int rounds = 60;  // trees that an update adds to those of the prior
  int depth = 6;
};

class LearnedModel : public CostModel {
 public:
  explicit LearnedModel(Target target, LearnedOptions options = {});
  ~LearnedModel() override;
  LearnedModel(const LearnedModel&) = delete;
  LearnedModel& operator=(const LearnedModel&) = delete;

  // Learns how long programs of one task take; `task` is any number that names it, a hash of the unscheduled program
  // say. An infinite time is that of a program that cannot be used. Everything since the model was made or loaded is
  // trained on again. Times that are not positive are ignored.
  void Update(std::span<const Function> scheduled, std::span<const double> seconds, uint64_t task) override;

  std::vector<double> Predict(std::span<const Function> scheduled) const override;

  // The trees as bytes; empty while there are none.
  std::string Save() const;
  // Takes trees as a prior: they answer at once, and later updates add to them. An error when the bytes are no model of
  // these features; nothing changes then.
  absl::Status Load(std::string_view bytes);

  size_t num_measured() const { return measured_.size(); }

 private:
  struct Booster;

  void Train();

  const Target target_;
  const LearnedOptions options_;
  std::string prior_;
  std::unique_ptr<Booster> booster_;  // null: untrained
  struct Measured {
    bool usable() const { return std::isfinite(seconds); }

    Features features;
    double seconds;
    uint64_t task;
  };
  std::vector<Measured> measured_;
};

}  // namespace tilewright
