#include "autoschedule/search/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "autoschedule/database/canonical_names.h"
#include "autoschedule/search/evolution.h"

namespace tilewright {
namespace {

constexpr size_t kParents = 12;
// One in so many measured candidates is taken by chance from all that were proposed, and one in so many from the half
// that the model prefers: it tells bad candidates from good ones better than good ones from each other.
constexpr size_t kExplore = 8, kExploreGood = 2;
// So many times the population of candidates that were not measured wait for the next batch, the preferred ones.
constexpr size_t kWaiting = 2;
// Moves of vector registers to and from the stack in inner loops; code with more is not worth running.
constexpr int kMostSpills = 4;
// Largest share of the budget for one batch. A batch has at least kLeastBatch candidates, so that the model learns from
// those that are slow to compile too.
constexpr double kBatchPart = 0.1;
constexpr size_t kLeastBatch = 4;
// The search ends at this multiple of the bound.
constexpr double kNearBound = 1.01;
// A bound that was passed by more than clocks vary was none, and ends nothing.
constexpr double kPassed = 0.9;
// Candidates that seem less than so much slower than the champion, and the fastest of them only, challenge it.
constexpr double kRival = 1.02;
constexpr size_t kMostRivals = 2;
// The best are measured again at last, all in turn, thrice; then a few of them more often. That takes this part of
// the time, or that many seconds; where a run takes long, there are fewer.
constexpr size_t kFinalists = 4;
constexpr int kFirstRounds = 3, kFinalRounds = 10;
constexpr double kFinalPart = 0.1, kMostFinalSeconds = 4;
// What a measurement may wait for others although the time is over: the last ones end soon.
constexpr double kLeastWaitSeconds = 1;

// Most candidates are far from the best one, so a first look is short. What it mistakes, the finals put right.
RunOptions FirstLookOptions() {
  Counters limits = GpuLimits();
  limits[kSpillsCounter] = kMostSpills;
  return {
      .half_width = 0.02, .seconds = 0.03, .most_samples = 200, .least_seconds = 0.006, .limits = std::move(limits)};
}

// A rival and the champion, measured alternately, so that noise affects both.
RunOptions ChallengeOptions() {
  return {.half_width = 0.01, .seconds = 0.006, .most_samples = 100, .least_seconds = 0.003, .rounds = 6};
}

class Clock {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  // The time since the last lap is added to `total`. Gives it.
  double Lap(double& total) {
    const double now = Seconds(), lap = now - std::exchange(lap_, now);
    total += lap;
    return lap;
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double lap_ = 0;
};

bool IsBusy(const Measurement& measurement) { return measurement.failure == MeasureFailure::kBusy; }

Function MainOf(const Candidate& candidate) { return candidate.schedule.module().Main(); }

std::vector<Function> MainsOf(const std::vector<Candidate>& candidates) {
  std::vector<Function> mains;
  for (const Candidate& candidate : candidates) mains.push_back(MainOf(candidate));
  return mains;
}

class Searcher {
 public:
  Searcher(const Space& space, CostModel& model, Runner& runner, const SearchOptions& options)
      : model_(model),
        runner_(runner),
        options_(options),
        task_(WorkloadOf(space.module())),
        evolution_(space, options.seed, options.evolve),
        random_(options.seed ^ 0x5eed) {}

  SearchResult Run() {
    Start();
    while (!Done() && !AtBound()) {
      std::vector<Candidate> batch = NextBatch();
      if (batch.empty()) break;
      Measure(std::move(batch));
    }
    Finish();
    Count();
    return std::move(result_);
  }

 private:
  struct Measured {
    Candidate candidate;
    double seconds;
    bool challenged = false;      // measured in turn with the champion
    bool looked_closely = false;  // by AtBound
  };
  static bool Faster(const Measured& a, const Measured& b) { return a.seconds < b.seconds; }

  double BestSeconds() const { return best_.empty() ? std::numeric_limits<double>::infinity() : best_.front().seconds; }
  double FinalSeconds() const { return std::min(kMostFinalSeconds, kFinalPart * options_.seconds); }
  double SecondsLeft() const { return options_.seconds - FinalSeconds() - clock_.Seconds(); }
  bool Stopped() const { return options_.stop && options_.stop(); }
  // What is neither a time of a candidate nor a failure of its own.
  bool Counts(const Measurement& measurement) const { return !IsBusy(measurement) && (measurement.ok() || !Stopped()); }
  bool Done() const {
    if (Stopped()) return true;
    // No time for one more. The last batch may have met a slow moment; the fastest one says what is possible.
    if (SecondsLeft() <= least_candidate_seconds_) return true;
    return options_.trials > 0 && result_.statistics.measured >= options_.trials;
  }
  bool NearBound() const {
    return BestSeconds() <= kNearBound * options_.bound_seconds && BestSeconds() >= kPassed * options_.bound_seconds;
  }
  // A lucky short look does not end the search.
  bool AtBound() {
    if (NearBound() && !best_.front().looked_closely) {
      Measured& champion = best_.front();
      const Measurement closely = Run({champion.candidate.schedule.module()}, Closely(kFinalRounds))[0];
      if (closely.failure != MeasureFailure::kBusy) champion.seconds = closely.MedianSeconds();
      champion.looked_closely = true;
    }
    return NearBound();
  }

  // The preferred schedule and those that were good elsewhere.
  void Start() {
    std::vector<Candidate> batch;
    if (options_.start_preferred) {
      if (auto candidate = evolution_.Make(Choices::Preferred())) batch.push_back(*std::move(candidate));
      if (!batch.empty()) preferred_hash_ = batch[0].hash;
    }
    for (const Choices& choices : options_.warm_starts) {
      if (auto candidate = evolution_.Make(choices)) batch.push_back(*std::move(candidate));
    }
    clock_.Lap(result_.statistics.propose_seconds);
    if (!batch.empty()) Measure(std::move(batch));
  }

  // Waiting for others is not measuring, and ends with the time.
  std::vector<Measurement> Run(const std::vector<Module>& modules, RunOptions run) {
    run.most_wait_seconds = std::max(options_.seconds - clock_.Seconds(), kLeastWaitSeconds);
    double other = 0;
    clock_.Lap(other);
    const double waited = runner_.WaitedSeconds();
    std::vector<Measurement> measurements = runner_.Run(modules, run);
    const double waiting = runner_.WaitedSeconds() - waited;
    run_seconds_ = std::max(clock_.Lap(other) - waiting, 0.0);
    result_.statistics.wait_seconds += waiting;
    result_.statistics.measure_seconds += other - waiting;
    return measurements;
  }

  // With a number of trials it does not depend on how long they take.
  size_t BatchSize() const {
    if (options_.trials > 0) {
      return std::min(options_.batch, static_cast<size_t>(options_.trials - result_.statistics.measured));
    }
    const auto fitting = [&](double seconds) {
      const double most = static_cast<double>(options_.batch);
      return static_cast<size_t>(std::clamp(seconds / std::max(candidate_seconds_, 1e-9), 1.0, most));
    };
    const size_t usual = std::max(fitting(kBatchPart * options_.seconds), std::min(kLeastBatch, options_.batch));
    return std::min(usual, fitting(SecondsLeft()));
  }

  std::vector<Candidate> NextBatch() {
    std::vector<std::vector<Choice>> parents;
    for (size_t i = 0; i < std::min(kParents, best_.size()); ++i) parents.push_back(best_[i].candidate.choices);
    const size_t size = BatchSize();
    std::vector<Candidate> pool = evolution_.Propose(parents, options_.evolve ? options_.population : size);
    if (!options_.evolve) {
      clock_.Lap(result_.statistics.propose_seconds);
      return pool;
    }
    std::ranges::move(waiting_, std::back_inserter(pool));
    waiting_.clear();
    clock_.Lap(result_.statistics.propose_seconds);

    PrepareModel();
    const std::vector<double> scores = model_.Predict(MainsOf(pool));
    std::vector<size_t> order(pool.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto prefers = [&](size_t a, size_t b) { return std::pair(scores[a], a) < std::pair(scores[b], b); };
    std::ranges::sort(order, prefers);
    const size_t any = size / kExplore, good = size / kExploreGood, taken = std::min(size, pool.size());
    const size_t by_rank = taken - std::min(taken, any + good);
    Shuffle(order, by_rank, good, std::max(by_rank, order.size() / 2));
    Shuffle(order, std::min(taken, by_rank + good), any, order.size());
    std::vector<Candidate> batch;
    for (size_t i = 0; i < taken; ++i) batch.push_back(std::move(pool[order[i]]));
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(taken), order.end(), prefers);
    for (size_t i = taken; i < std::min(order.size(), taken + kWaiting * options_.population); ++i) {
      waiting_.push_back(std::move(pool[order[i]]));
    }
    clock_.Lap(result_.statistics.predict_seconds);
    return batch;
  }

  // Puts some of those in front of `end` at the `count` places from `begin` on, by chance.
  void Shuffle(std::vector<size_t>& order, size_t begin, size_t count, size_t end) {
    for (size_t i = begin; i < std::min(begin + count, end); ++i) {
      std::swap(order[i], order[i + random_.Below(end - i)]);
    }
  }

  void Measure(std::vector<Candidate> batch) {
    std::vector<Module> modules;
    for (const Candidate& candidate : batch) modules.push_back(candidate.schedule.module());
    // The champion once more.
    if (!best_.empty()) modules.push_back(best_.front().candidate.schedule.module());
    RunOptions run = FirstLookOptions();
    if (best_.empty()) {
      // Something is to be measured, though it spills: that only makes a CPU slow.
      run.limits.erase(kSpillsCounter);
    } else {
      run.give_up_seconds = 2 * BestSeconds();
    }
    const std::vector<Measurement> measurements = Run(modules, run);
    double spent = run_seconds_;
    result_.statistics.measured += std::ranges::count_if(measurements.begin(), measurements.begin() + std::ssize(batch),
                                                         [&](const Measurement& m) { return Counts(m); });

    if (!best_.empty() && measurements.back().ok()) Correct(measurements.back().MedianSeconds());
    std::vector<Function> learned;
    std::vector<double> seconds;
    for (size_t i = 0; i < batch.size(); ++i) {
      const Measurement& measurement = measurements[i];
      if (!Counts(measurement)) continue;
      if (options_.on_measured) options_.on_measured(batch[i], measurement);
      learned.push_back(MainOf(batch[i]));
      seconds.push_back(measurement.ok() ? measurement.MedianSeconds() : std::numeric_limits<double>::infinity());
      if (measurement.ok()) {
        Insert({.candidate = std::move(batch[i]), .seconds = seconds.back()});
      } else {
        NoteFailure(measurement);
      }
    }
    if (Challenge()) spent += run_seconds_;
    candidate_seconds_ = spent / static_cast<double>(batch.size());
    least_candidate_seconds_ =
        least_candidate_seconds_ == 0 ? candidate_seconds_ : std::min(least_candidate_seconds_, candidate_seconds_);
    if (options_.on_progress) {
      Count();
      options_.on_progress(
          {clock_.Seconds(), BestSeconds(), &result_.statistics, best_.empty() ? nullptr : &best_.front().candidate});
    }
    if (options_.evolve && !learned.empty()) {
      PrepareModel();
      model_.Update(learned, seconds, task_);
    }
    clock_.Lap(result_.statistics.predict_seconds);
  }

  void PrepareModel() {
    if (options_.prepare_model && !is_prepared_) options_.prepare_model();
    is_prepared_ = true;
  }

  // Another look at the champion, which counts as much as all before.
  void Correct(double seconds) { best_.front().seconds = (best_.front().seconds + seconds) / 2; }

  // Who seems as fast as the champion is measured in turn with it, once, and may take its place. Whether anybody was.
  bool Challenge() {
    if (best_.empty() || Stopped()) return false;
    std::vector<size_t> places = {0};
    for (size_t i = 1; i < best_.size() && places.size() <= kMostRivals; ++i) {
      if (!best_[i].challenged && best_[i].seconds < kRival * BestSeconds()) places.push_back(i);
    }
    best_.front().challenged = true;
    if (places.size() == 1) return false;
    std::vector<Module> modules;
    for (const size_t i : places) modules.push_back(best_[i].candidate.schedule.module());
    const std::vector<Measurement> measurements = Run(modules, ChallengeOptions());
    if (std::ranges::any_of(measurements, IsBusy)) return true;
    for (size_t k = 0; k < places.size(); ++k) {
      best_[places[k]].seconds = measurements[k].MedianSeconds();
      best_[places[k]].challenged = true;
    }
    const auto fastest = std::ranges::min_element(places, {}, [&](size_t i) { return best_[i].seconds; });
    std::swap(best_[0], best_[*fastest]);
    std::sort(best_.begin() + 1, best_.end(), Faster);
    return true;
  }

  // Behind the champion, which only Challenge replaces.
  void Insert(Measured measured) {
    const auto first = best_.begin() + (best_.empty() ? 0 : 1);
    best_.insert(std::upper_bound(first, best_.end(), measured, Faster), std::move(measured));
    if (best_.size() <= kParents) return;
    if (best_.back().candidate.hash == preferred_hash_) preferred_ = std::move(best_.back());
    best_.pop_back();
  }

  // The preferred schedule takes part to the end: nothing that is slower in turn with it is found.
  void Finish() {
    if (Stopped()) return TakeBest();
    if (preferred_) best_.push_back(*std::move(preferred_));
    const double middle = options_.seconds - FinalSeconds() / 2;
    if (clock_.Seconds() < middle) MeasureBest(kParents + 1, kFirstRounds, middle);
    MeasureBest(kFinalists, kFinalRounds, options_.seconds, options_.on_final);
    TakeBest();
  }

  void TakeBest() {
    if (!best_.empty() && std::isfinite(best_[0].seconds)) {
      result_.best_seconds = best_[0].seconds;
      result_.best = std::move(best_[0].candidate);
    }
  }

  // All looks of the finals together take FinalSeconds().
  double LookSeconds() const {
    return FinalSeconds() / (double{kFirstRounds} * (kParents + 1) + double{kFinalRounds} * kFinalists);
  }
  RunOptions Closely(int rounds) const {
    const double seconds = LookSeconds();
    return {
        .half_width = 0.002, .seconds = seconds, .most_samples = 1000, .least_seconds = seconds / 2, .rounds = rounds};
  }

  // In turn, as many rounds as end before `deadline`, `most` at most: a first one shows how long one takes here.
  std::vector<Measurement> InTurn(const std::vector<Module>& modules, int most, double deadline) {
    std::vector<Measurement> first = Run(modules, Closely(1));
    const double fitting = (deadline - clock_.Seconds()) / std::max(run_seconds_, 1e-6);
    const int rounds = static_cast<int>(std::min(fitting, most - 1.0));
    if (rounds < 1) return first;
    std::vector<Measurement> more = Run(modules, Closely(rounds));
    return std::ranges::any_of(more, IsBusy) ? first : more;
  }

  // The preferred schedule becomes the second one where it is behind: it is never out.
  void KeepPreferred() {
    const auto preferred = std::ranges::find(
        best_, preferred_hash_, [](const Measured& measured) { return std::optional(measured.candidate.hash); });
    if (preferred == best_.end() || preferred - best_.begin() <= 1) return;
    std::rotate(best_.begin() + 1, preferred, preferred + 1);
  }

  // Measures the best candidates alternately, so that noise affects all. If a run takes longer than a look, there are
  // fewer of them, at least two, and fewer rounds. The others are out.
  void MeasureBest(size_t most, int most_rounds, double deadline,
                   const std::function<void(const Candidate&, const Measurement&)>& on_measured = {}) {
    if (best_.size() <= 1) return;
    KeepPreferred();
    const double look = LookSeconds(), all = look * static_cast<double>(most) * most_rounds;
    size_t count = 0;
    double round = 0;
    for (; count < std::min(most, best_.size()); ++count) {
      const double seconds = std::max(look, best_[count].seconds);
      if (count > 1 && round + seconds > all) break;
      round += seconds;
    }
    best_.erase(best_.begin() + static_cast<std::ptrdiff_t>(count), best_.end());
    const int rounds = static_cast<int>(std::clamp<int64_t>(std::llround(all / round), 1, most_rounds));
    std::vector<Module> modules;
    for (const Measured& measured : best_) modules.push_back(measured.candidate.schedule.module());
    const std::vector<Measurement> measurements = InTurn(modules, rounds, deadline);
    // What was measured before counts where none could be measured again, as when a connection is lost.
    const bool any = std::ranges::any_of(measurements, &Measurement::ok);
    result_.statistics.beside_preferred = any;
    for (size_t i = 0; i < best_.size(); ++i) {
      NoteFailure(measurements[i]);
      if (any) best_[i].seconds = measurements[i].MedianSeconds();
      if (on_measured && measurements[i].ok()) on_measured(best_[i].candidate, measurements[i]);
    }
    std::ranges::sort(best_, {}, &Measured::seconds);
  }

  void NoteFailure(const Measurement& measurement) {
    if (measurement.ok() || !Counts(measurement)) return;
    const std::string name(FailureName(measurement.failure));
    if (++result_.statistics.failed[name] == 1) result_.failures.push_back(name + ": " + measurement.message);
  }

  void Count() {
    result_.statistics.tries = evolution_.tries();
    result_.statistics.repeated = evolution_.repeated();
    result_.statistics.refused = evolution_.refused();
  }

  CostModel& model_;
  Runner& runner_;
  const SearchOptions& options_;
  const uint64_t task_;
  Evolution evolution_;
  Random random_;
  Clock clock_;
  bool is_prepared_ = false;            // the model
  double run_seconds_ = 0;              // of the last Run(), without waiting
  double candidate_seconds_ = 0;        // that measuring each candidate of the last batch took
  double least_candidate_seconds_ = 0;  // the same of the fastest batch
  std::vector<Candidate> waiting_;      // proposed, and not measured yet
  std::vector<Measured> best_;          // the champion, and the others from fast to slow; kParents at most
  std::optional<uint64_t> preferred_hash_;
  std::optional<Measured> preferred_;  // when it is no longer among the best
  SearchResult result_;
};

}  // namespace

SearchResult Search(const Space& space, CostModel& model, Runner& runner, const SearchOptions& options) {
  return Searcher(space, model, runner, options).Run();
}

}  // namespace tilewright
