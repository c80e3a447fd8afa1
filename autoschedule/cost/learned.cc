#include "autoschedule/cost/learned.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "xgboost/c_api.h"

namespace tilewright {
namespace {

// A program that cannot be used counts as one that takes so many times what is expected of it.
constexpr double kFailed = 2;

void Check(int code) { TW_CHECK(code == 0) << "XGBoost: " << XGBGetLastError(); }

// Programs that take a multiple of the fastest one's time need not be ordered.
double WeightOf(double slowness) { return 1 / (slowness * slowness); }

// Seconds of a clock's tick. A clock may say zero of a program that does next to nothing, and a projection is zero of
// an empty one.
constexpr double kTick = std::chrono::duration<double>(std::chrono::steady_clock::duration(1)).count();
double SecondsOf(const MeasuredFeatures& m) { return std::max(m.seconds, kTick); }

// The logarithm of what a program took over its projection.
double OverProjection(const MeasuredFeatures& m) {
  return std::log(SecondsOf(m) / std::max(m.features.projected_seconds, kTick));
}

// A matrix of XGBoost's: the numbers of one program in each row.
class Matrix {
 public:
  // `features_of` gives the Features of each program: a member, or a function.
  template <class Programs, class FeaturesOfProgram>
  Matrix(const Programs& programs, const FeaturesOfProgram& features_of) {
    std::vector<float> numbers;
    for (const auto& program : programs) {
      const Features& features = std::invoke(features_of, program);
      numbers.insert(numbers.end(), features.numbers.begin(), features.numbers.end());
    }
    const size_t rows = programs.size();
    Check(XGDMatrixCreateFromMat(numbers.data(), rows, numbers.size() / rows, std::nanf(""), &handle_));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle get() const { return handle_; }

  // A number for each row: "label" or "weight".
  void Set(const char* field, const std::vector<float>& values) {
    Check(XGDMatrixSetFloatInfo(handle_, field, values.data(), values.size()));
  }

 private:
  DMatrixHandle handle_ = nullptr;
};

}  // namespace

struct LearnedModel::Booster {
  BoosterHandle handle = nullptr;

  Booster(const LearnedOptions& options, const Matrix& matrix) {
    const DMatrixHandle trained_on = matrix.get();
    Check(XGBoosterCreate(&trained_on, 1, &handle));
    Set("objective", "reg:squarederror");
    Set("base_score", "0");
    Set("nthread", "1");
    Set("seed", absl::StrCat(options.seed));
    Set("tree_method", "hist");
    Set("max_depth", absl::StrCat(options.depth));
    Set("eta", "0.15");
    Set("min_child_weight", "1");
    Set("colsample_bytree", "0.7");
    Set("verbosity", "0");
    for (int round = 0; round < options.rounds; ++round) Check(XGBoosterUpdateOneIter(handle, round, trained_on));
  }
  ~Booster() { XGBoosterFree(handle); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  void Set(const char* key, const std::string& value) { Check(XGBoosterSetParam(handle, key, value.c_str())); }

  // Adds what it says of each row.
  void AddTo(std::vector<double>& sums, const Matrix& matrix) const {
    bst_ulong length = 0;
    const float* values = nullptr;
    Check(XGBoosterPredict(handle, matrix.get(), 0, 0, 0, &length, &values));
    TW_CHECK(length == sums.size());
    for (size_t i = 0; i < length; ++i) sums[i] += double{values[i]};
  }
};

LearnedModel::LearnedModel(Target target, LearnedOptions options) : target_(std::move(target)), options_(options) {}
LearnedModel::~LearnedModel() = default;

void LearnedModel::LearnPrior(std::span<const MeasuredFeatures> measured) {
  TW_CHECK(measured_.empty()) << "the prior precedes updates";
  std::vector<MeasuredFeatures> timed;
  std::ranges::copy_if(measured, std::back_inserter(timed), [](const MeasuredFeatures& m) { return m.seconds > 0; });
  prior_ = Train(timed, nullptr);
}

void LearnedModel::Update(std::span<const Function> scheduled, std::span<const double> seconds, uint64_t task) {
  TW_CHECK(scheduled.size() == seconds.size());
  for (size_t i = 0; i < scheduled.size(); ++i) {
    if (seconds[i] > 0) measured_.push_back({FeaturesOf(scheduled[i], target_), seconds[i], task});
  }
  own_ = Train(measured_, prior_.get());
}

std::unique_ptr<LearnedModel::Booster> LearnedModel::Train(std::span<const MeasuredFeatures> measured,
                                                           const Booster* prior) const {
  if (std::ranges::none_of(measured, &MeasuredFeatures::usable)) return nullptr;
  Matrix matrix(measured, &MeasuredFeatures::features);
  std::vector<double> expected(measured.size());
  if (prior != nullptr) prior->AddTo(expected, matrix);

  // A task's fastest program, and what its programs typically take over what is expected (a logarithm).
  struct Task {
    double best = std::numeric_limits<double>::infinity();
    double sum = 0, weights = 0;
  };
  std::map<uint64_t, Task> tasks;
  for (const MeasuredFeatures& m : measured) {
    Task& task = tasks[m.task];
    task.best = std::min(task.best, SecondsOf(m));
  }
  for (size_t i = 0; i < measured.size(); ++i) {
    const MeasuredFeatures& m = measured[i];
    if (!m.usable()) continue;
    Task& task = tasks[m.task];
    const double weight = WeightOf(SecondsOf(m) / task.best);
    task.sum += weight * (OverProjection(m) - expected[i]);
    task.weights += weight;
  }
  std::vector<float> over_typical, weights;
  for (size_t i = 0; i < measured.size(); ++i) {
    const MeasuredFeatures& m = measured[i];
    const Task& task = tasks[m.task];
    const double typical = task.weights > 0 ? task.sum / task.weights : 0;
    over_typical.push_back(
        static_cast<float>(m.usable() ? OverProjection(m) - expected[i] - typical : std::log(kFailed)));
    weights.push_back(static_cast<float>(WeightOf(m.usable() ? SecondsOf(m) / task.best : kFailed)));
  }
  matrix.Set("label", over_typical);
  matrix.Set("weight", weights);
  return std::make_unique<Booster>(options_, matrix);
}

std::vector<double> LearnedModel::Predict(std::span<const Function> scheduled) const {
  std::vector<Features> features;
  std::vector<double> seconds;
  for (const Function& function : scheduled) {
    features.push_back(FeaturesOf(function, target_));
    seconds.push_back(features.back().projected_seconds);
  }
  if (!has_learned() || scheduled.empty()) return seconds;
  const Matrix matrix(features, std::identity());
  std::vector<double> over_projection(scheduled.size());
  for (const Booster* booster : {prior_.get(), own_.get()}) {
    if (booster != nullptr) booster->AddTo(over_projection, matrix);
  }
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] *= std::exp(over_projection[i]);
  return seconds;
}

}  // namespace tilewright
