#include "autoschedule/cost/learned.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/projected.h"
#include "ir/check.h"
#include "xgboost/c_api.h"

namespace tilewright {
namespace {

// A program that cannot be used counts as one that takes so many times its projection.
constexpr double kFailed = 2;

// Kept with the trees, so that trees of other features are not taken.
constexpr char kFeaturesKey[] = "tilewright.features";

// What precedes saved trees: a name, and a hash of the rest. XGBoost is not made for bytes that were damaged.
constexpr std::string_view kMagic = "tilewright cost model 2\n";

std::string Header(std::string_view trees) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : trees) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return absl::StrCat(std::string(kMagic), absl::Hex(hash, absl::kZeroPad16), "\n");
}

void Check(int code) { TW_CHECK(code == 0) << "XGBoost: " << XGBGetLastError(); }

// Programs that take a multiple of the fastest one's time need not be ordered.
double WeightOf(double slowness) { return 1 / (slowness * slowness); }

// The logarithm of what a program took over its projection, which is nothing for an empty program.
double OverProjection(double seconds, const Features& features) {
  constexpr double kLeast = 1e-9;
  return std::log(seconds / std::max(features.projected_seconds, kLeast));
}

// A matrix of XGBoost's.
class Matrix {
 public:
  // `numbers`: row-major.
  Matrix(const std::vector<float>& numbers, size_t rows) {
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

std::string FeaturesText() {
  std::string text;
  for (const std::string& name : FeatureNames()) absl::StrAppend(&text, name, "\n");
  return text;
}

}  // namespace

struct LearnedModel::Booster {
  BoosterHandle handle = nullptr;

  // `matrix`, of what it is trained on, may be null where trees are loaded.
  Booster(const LearnedOptions& options, DMatrixHandle matrix) {
    Check(XGBoosterCreate(&matrix, matrix != nullptr ? 1 : 0, &handle));
    Configure(options);
  }
  // Again after loading, which forgets how trees are trained.
  void Configure(const LearnedOptions& options) {
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
  }
  ~Booster() { XGBoosterFree(handle); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;

  void Set(const char* key, const std::string& value) { Check(XGBoosterSetParam(handle, key, value.c_str())); }
};

LearnedModel::LearnedModel(Target target, LearnedOptions options) : target_(std::move(target)), options_(options) {}
LearnedModel::~LearnedModel() = default;

void LearnedModel::Update(std::span<const Function> scheduled, std::span<const double> seconds, uint64_t task) {
  TW_CHECK(scheduled.size() == seconds.size());
  for (size_t i = 0; i < scheduled.size(); ++i) {
    if (seconds[i] > 0) measured_.push_back({FeaturesOf(scheduled[i], target_), seconds[i], task});
  }
  Train();
}

void LearnedModel::Train() {
  if (std::ranges::none_of(measured_, &Measured::usable)) return;

  // Of a task: the fastest program, and what its programs typically take over their projections (a logarithm).
  struct Task {
    double best = std::numeric_limits<double>::infinity();
    double sum = 0, weights = 0;
  };
  std::map<uint64_t, Task> tasks;
  for (const Measured& m : measured_) {
    Task& task = tasks[m.task];
    task.best = std::min(task.best, m.seconds);
  }
  for (const Measured& m : measured_) {
    if (!m.usable()) continue;
    Task& task = tasks[m.task];
    const double weight = WeightOf(m.seconds / task.best);
    task.sum += weight * OverProjection(m.seconds, m.features);
    task.weights += weight;
  }
  std::vector<float> numbers, over_typical, weights;
  for (const Measured& m : measured_) {
    numbers.insert(numbers.end(), m.features.numbers.begin(), m.features.numbers.end());
    const Task& task = tasks[m.task];
    over_typical.push_back(static_cast<float>(
        m.usable() ? OverProjection(m.seconds, m.features) - task.sum / task.weights : std::log(kFailed)));
    weights.push_back(static_cast<float>(WeightOf(m.usable() ? m.seconds / task.best : kFailed)));
  }
  Matrix matrix(numbers, measured_.size());
  matrix.Set("label", over_typical);
  matrix.Set("weight", weights);
  auto booster = std::make_unique<Booster>(options_, matrix.get());
  int boosted = 0;
  if (!prior_.empty()) {
    Check(XGBoosterLoadModelFromBuffer(booster->handle, prior_.data(), prior_.size()));
    booster->Configure(options_);
    Check(XGBoosterBoostedRounds(booster->handle, &boosted));
  }
  for (int round = 0; round < options_.rounds; ++round) {
    Check(XGBoosterUpdateOneIter(booster->handle, boosted + round, matrix.get()));
  }
  Check(XGBoosterSetAttr(booster->handle, kFeaturesKey, FeaturesText().c_str()));
  booster_ = std::move(booster);
}

std::vector<double> LearnedModel::Predict(std::span<const Function> scheduled) const {
  std::vector<double> seconds;
  seconds.reserve(scheduled.size());
  if (scheduled.empty()) return seconds;
  if (booster_ == nullptr) return ProjectedModel(target_).Predict(scheduled);
  std::vector<float> numbers;
  for (const Function& function : scheduled) {
    const Features features = FeaturesOf(function, target_);
    numbers.insert(numbers.end(), features.numbers.begin(), features.numbers.end());
    seconds.push_back(features.projected_seconds);
  }
  const Matrix matrix(numbers, scheduled.size());
  bst_ulong length = 0;
  const float* over_typical = nullptr;
  Check(XGBoosterPredict(booster_->handle, matrix.get(), 0, 0, 0, &length, &over_typical));
  TW_CHECK(length == scheduled.size());
  for (size_t i = 0; i < length; ++i) seconds[i] *= std::exp(double{over_typical[i]});
  return seconds;
}

std::string LearnedModel::Save() const {
  if (booster_ == nullptr) return "";
  bst_ulong length = 0;
  const char* bytes = nullptr;
  Check(XGBoosterSaveModelToBuffer(booster_->handle, R"({"format": "ubj"})", &length, &bytes));
  return Header({bytes, length}) + std::string(bytes, length);
}

absl::Status LearnedModel::Load(std::string_view bytes) {
  const size_t header = Header("").size();
  const std::string_view trees = bytes.substr(std::min(header, bytes.size()));
  if (bytes.substr(0, header) != Header(trees)) return absl::InvalidArgumentError("not a saved cost model");
  auto booster = std::make_unique<Booster>(options_, nullptr);
  Check(XGBoosterLoadModelFromBuffer(booster->handle, trees.data(), trees.size()));
  booster->Configure(options_);
  const char* features = nullptr;
  int has_features = 0;
  Check(XGBoosterGetAttr(booster->handle, kFeaturesKey, &features, &has_features));
  if (has_features == 0 || FeaturesText() != features) {
    return absl::InvalidArgumentError("the saved cost model was trained on other features");
  }
  prior_ = trees;
  booster_ = std::move(booster);
  Train();
  return absl::OkStatus();
}

}  // namespace tilewright
