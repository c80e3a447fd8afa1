#include "autoschedule/cost/learned.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"
#include "ir/check.h"
#include "xgboost/c_api.h"

namespace tilewright {
namespace {

// Of a throughput that trees predict as none or less.
constexpr double kLeastThroughput = 1e-3;

// Kept with the trees, so that trees of other features are not taken.
constexpr char kFeaturesKey[] = "tilewright.features";

// What precedes saved trees: a name, and a hash of the rest. XGBoost is not made for bytes that were damaged.
constexpr std::string_view kMagic = "tilewright cost model 1\n";

std::string Header(std::string_view trees) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (char c : trees) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return absl::StrCat(std::string(kMagic), absl::Hex(hash, absl::kZeroPad16), "\n");
}

void Check(int code) { TW_CHECK(code == 0) << "XGBoost: " << XGBGetLastError(); }

// A matrix of XGBoost's.
class Matrix {
 public:
  Matrix(const std::vector<float>& values, size_t rows) {
    const size_t columns = rows == 0 ? 0 : values.size() / rows;
    Check(XGDMatrixCreateFromMat(values.data(), rows, columns, std::nanf(""), &handle_));
  }
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle get() const { return handle_; }

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
    Set("base_score", "0.5");
    Set("nthread", "1");
    Set("seed", absl::StrCat(options.seed));
    Set("tree_method", "hist");
    Set("max_depth", absl::StrCat(options.depth));
    Set("eta", "0.15");
    Set("min_child_weight", "2");
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
    if (!(seconds[i] > 0)) continue;
    const Features row = FeaturesOf(scheduled[i], target_);
    features_.insert(features_.end(), row.begin(), row.end());
    seconds_.push_back(seconds[i]);
    tasks_.push_back(task);
  }
  Train();
}

void LearnedModel::Train() {
  if (std::ranges::none_of(seconds_, [](double seconds) { return std::isfinite(seconds); })) return;

  std::map<uint64_t, double> best;
  for (size_t i = 0; i < seconds_.size(); ++i) {
    const auto [it, added] = best.try_emplace(tasks_[i], seconds_[i]);
    it->second = std::min(it->second, seconds_[i]);
  }
  std::vector<float> throughput;
  for (size_t i = 0; i < seconds_.size(); ++i) {
    throughput.push_back(std::isfinite(seconds_[i]) ? static_cast<float>(best[tasks_[i]] / seconds_[i]) : 0);
  }
  const Matrix matrix(features_, seconds_.size());
  Check(XGDMatrixSetFloatInfo(matrix.get(), "label", throughput.data(), throughput.size()));
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
  std::vector<double> slowness;
  slowness.reserve(scheduled.size());
  if (scheduled.empty()) return slowness;
  if (booster_ == nullptr) {
    for (const Function& function : scheduled) {
      const ProgramFacts facts = GatherFacts(function);
      const double limit = SpeedOfLightOf(facts, target_).seconds;
      slowness.push_back(limit > 0 ? Project(facts, target_).seconds / limit : 1);
    }
    return slowness;
  }
  std::vector<float> rows;
  for (const Function& function : scheduled) {
    const Features row = FeaturesOf(function, target_);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const Matrix matrix(rows, scheduled.size());
  bst_ulong length = 0;
  const float* throughput = nullptr;
  Check(XGBoosterPredict(booster_->handle, matrix.get(), 0, 0, 0, &length, &throughput));
  TW_CHECK(length == scheduled.size());
  for (size_t i = 0; i < length; ++i) {
    slowness.push_back(1 / std::max<double>(throughput[i], kLeastThroughput));
  }
  return slowness;
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
