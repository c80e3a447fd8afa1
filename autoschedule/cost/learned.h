// A cost model that learns from measurements: gradient-boosted trees (XGBoost) over the features of programs.
//
//   LearnedModel model(HostTarget(), {.seed = 1});
//   model.Update(measured, seconds, task);                     // after each round of a search
//   std::vector<double> scores = model.Predict(candidates);    // less is better
//
// Trees are fitted to the throughput relative to the best one known of the task, so that tasks of all sizes train one
// model. Predictions are slowness, not seconds: 1 for as fast as the task's best, 2 for half as fast. Before the first
// update the projected model answers, by the time over the speed of light.
//
// The same updates with the same seed give the same predictions.
#pragma once

#include <map>
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
  // say. An infinite time is that of a program that cannot be used: its throughput is none. Everything since the model
  // was made or loaded is trained on again. Times that are not positive are ignored.
  void Update(std::span<const Function> scheduled, std::span<const double> seconds, uint64_t task) override;

  std::vector<double> Predict(std::span<const Function> scheduled) const override;

  // The trees as bytes; empty while there are none.
  std::string Save() const;
  // Takes trees as a prior: they answer at once, and later updates add to them. An error when the bytes are no model of
  // these features; nothing changes then.
  absl::Status Load(std::string_view bytes);

  size_t num_measured() const { return seconds_.size(); }

 private:
  struct Booster;

  void Train();

  const Target target_;
  const LearnedOptions options_;
  std::string prior_;
  std::unique_ptr<Booster> booster_;  // null: untrained
  // Row-major, one row per measured program.
  std::vector<float> features_;
  std::vector<double> seconds_;
  std::vector<uint64_t> tasks_;
};

}  // namespace tilewright
