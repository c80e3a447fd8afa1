// Search: from the space of schedules of a program to the fastest one that was measured.
//
//   SearchResult result = Search(space, model, *runner, {.seconds = 60, .seed = 1});
//   if (result.best) Use(result.best->schedule);
//
// Rounds until the time or the number of trials is spent, the space is exhausted, or the best is near enough to the
// bound that no schedule can pass:
//   1. new candidates from the best measured ones (evolution.h); those that verification refuses cost nothing more
//   2. the model orders them and those that were left before; of eight, three are those that it prefers, four are drawn
//      from its better half, one from all
//   3. these are measured, and the model learns from it
//   4. those that seem as fast as the champion are measured in turn with it: the luckiest of many short looks is
//      seldom the fastest candidate
// At last the best few and the preferred schedule are measured again, all in turn, as many as the time allows: what is
// found is no slower than the preferred schedule in turn with it.
//
// The time is kept on a busy machine too. What is spent waiting for others who measure counts as part of it, and as no
// time that a candidate takes.
//
// Nothing that a candidate does ends the search: refusals, errors of compilation, crashes, hangs and wrong results are
// counted by reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autoschedule/cost/cost_model.h"
#include "autoschedule/measure/runner.h"
#include "autoschedule/sketch/space.h"

namespace tilewright {

struct SearchStatistics {
  int64_t tries = 0, repeated = 0;         // candidates that were made, and those of them that were known
  std::map<std::string, int64_t> refused;  // by primitive and reason
  int64_t measured = 0;
  std::map<std::string, int64_t> failed;  // measurements without a time, by reason
  double propose_seconds = 0, predict_seconds = 0, measure_seconds = 0;
  double wait_seconds = 0;        // for other processes that measured
  bool beside_preferred = false;  // the best and the preferred schedule were measured in turn at last
};

struct SearchProgress {
  double seconds = 0;       // since the start
  double best_seconds = 0;  // of the champion; infinite before the first success
  const SearchStatistics* statistics = nullptr;
  const Candidate* best = nullptr;  // valid during the call; null before the first success
};

struct SearchOptions {
  double seconds = 60;  // everything included
  int64_t trials = 0;   // most measurements; 0: as many as the time allows
  uint64_t seed = 0;
  size_t batch = 8;        // candidates measured together
  size_t population = 64;  // candidates proposed for each batch; the model keeps the batch
  // Otherwise every candidate is drawn anew, each choice with equal probability, and the model is not asked.
  bool evolve = true;
  bool start_preferred = true;  // the schedule of the rules is measured first
  double bound_seconds =
      0;  // no schedule is faster: the search ends within 1% of it, unless it was passed; 0: not known
  // Asked now and then: whether the search is to end with what it has. What fails after that counts for nothing.
  std::function<bool()> stop = {};
  // Choices that were good for this or similar programs: measured first, after the preferred ones.
  std::vector<Choices> warm_starts = {};
  // Called once before the model is used, when the first candidates were measured: what it learns before may take time.
  std::function<void()> prepare_model = {};
  // Called for each measurement, failed ones included, as soon as its batch is done.
  std::function<void(const Candidate&, const Measurement&)> on_measured = {};
  // Called for each of the last few, which were measured in turn, for longer; one of them is the result.
  std::function<void(const Candidate&, const Measurement&)> on_final = {};
  std::function<void(const SearchProgress&)> on_progress = {};  // after each batch
};

struct SearchResult {
  std::optional<Candidate> best;
  double best_seconds = 0;            // the median of its measurement
  std::vector<std::string> failures;  // the first message of each kind of failure, for people
  SearchStatistics statistics;
};

// The runner measures candidates of the space's program. The model sees their functions main.
SearchResult Search(const Space& space, CostModel& model, Runner& runner, const SearchOptions& options);

}  // namespace tilewright
