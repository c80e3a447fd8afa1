#include "bench/models/model_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/feature_cap.h"
#include "bench/harness/measure.h"
#include "bench/models/output_error.h"
#include "bench/operators/result.h"

namespace tilewright::bench {

using graph::Arrays;

ModelRun::ModelRun(ModelCase model, runtime::ThreadPool& pool, std::vector<int> cpus, SpeedGauge& gauge,
                   ModelRunOptions options)
    : model_(std::move(model)), pool_(pool), cpus_(std::move(cpus)), gauge_(gauge), options_(std::move(options)) {}

std::vector<ModelResult> ModelRun::Run() {
  const std::string error(Prepare().message());
  LoadOwn(kOwnName, model_, error);
  for (const auto& [name, file] : variants_) {
    ModelCase variant = model_;
    variant.file = file;
    LoadOwn(name, variant, error);
  }
  for (const std::string& name : options_.peers) LoadPeer(name);
  Measure();
  for (const auto& [index, own] : own_) {
    if (options_.profile && results_[index].ok()) results_[index].profile = own->Profile();
  }
  own_.clear();
  return std::move(results_);
}

ModelResult ModelRun::Start(const std::string& name) const {
  return {.model = model_.name,
          .dims = model_.dims,
          .dtype = options_.dtype,
          .implementation = name,
          .flops = flops_,
          .bytes = bytes_,
          .tolerance = options_.tolerance,
          .not_compared = WhyNotCapped(name)};
}

// Makes inputs, and the outputs to compare with.
absl::Status ModelRun::Prepare() {
  TW_ASSIGN_OR_RETURN(auto folder, RunFolder::Make());
  folder_.emplace(std::move(folder));
  for (const std::string& given : options_.given) {
    const std::string set = absl::StrCat(folder_->path(), "/", sets_.size());
    std::error_code error;
    std::filesystem::create_directory(set, error);
    TW_ASSIGN_OR_RETURN(auto inputs, PrepareInputs(model_, given, set));
    sets_.push_back(std::move(inputs));
  }
  return PrepareReferences();
}

// By ONNX Runtime without optimizations, and by our opt_level 0.
absl::Status ModelRun::PrepareReferences() {
  absl::StatusOr<std::vector<Arrays>> other = PeerReference();
  if (other.ok()) {
    peer_reference_ = *std::move(other);
  } else {
    std::fprintf(stderr, "no reference by ONNX Runtime: %s\n", std::string(other.status().message()).c_str());
  }
  if (!options_.always_own_reference && !peer_reference_.empty()) return absl::OkStatus();
  TW_ASSIGN_OR_RETURN(const auto plain, OwnModel::Load(model_, sets_, HostTarget(), 0, "", pool_, cpus_));
  for (size_t set = 0; set < sets_.size(); ++set) {
    TW_ASSIGN_OR_RETURN(auto outputs, plain->Outputs(set));
    own_reference_.push_back(std::move(outputs));
  }
  flops_ = plain->Flops();
  bytes_ = static_cast<double>(plain->Bytes());
  for (size_t set = 0; set < peer_reference_.size(); ++set) {
    const double apart = RelativeError(own_reference_[set], peer_reference_[set]);
    if (!(apart <= options_.tolerance)) {
      return absl::InternalError(absl::StrCat("our opt_level 0 and ONNX Runtime are apart by ", apart));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Arrays>> ModelRun::PeerReference() {
  TW_ASSIGN_OR_RETURN(auto process, Process("onnxruntime"));
  TW_ASSIGN_OR_RETURN(const auto peer, ModelPeer::Load(std::move(process), model_, /*optimize=*/false));
  std::vector<Arrays> outputs;
  for (size_t set = 0; set < sets_.size(); ++set) {
    TW_ASSIGN_OR_RETURN(auto one, peer->Outputs(folder_->path(), set));
    outputs.push_back(std::move(one));
  }
  return outputs;
}

absl::StatusOr<std::shared_ptr<Worker>> ModelRun::Process(const std::string& name) const {
  if (options_.processes == nullptr) return ModelPeer::Start(name, cpus_);
  std::shared_ptr<Worker>& process = (*options_.processes)[name];
  if (process == nullptr) {
    TW_ASSIGN_OR_RETURN(process, ModelPeer::Start(name, cpus_));
  }
  return process;
}

void ModelRun::Check(const absl::StatusOr<Arrays>& outputs, size_t set, ModelResult& result) const {
  if (!outputs.ok()) {
    result.error = std::string(outputs.status().message());
    return;
  }
  for (const auto* reference : {&own_reference_, &peer_reference_}) {
    if (reference->empty()) continue;
    result.max_rel_error = std::max(result.max_rel_error, RelativeError(*outputs, (*reference)[set]));
  }
  if (result.max_rel_error <= options_.tolerance) return;
  result.wrong = true;
  // A peer's error stands beside its time.
  if (!result.own()) return;
  result.error = absl::StrCat("outputs are wrong: relative error ", result.max_rel_error);
}

void ModelRun::CheckAll(ModelPeer& peer, ModelResult& result) const {
  for (size_t set = 0; set < sets_.size() && result.ok(); ++set) {
    Check(peer.Outputs(folder_->path(), set), set, result);
  }
}

void ModelRun::LoadOwn(const std::string& name, const ModelCase& model, const std::string& error) {
  ModelResult result = Start(name);
  result.opt_level = options_.opt_level;
  result.error = error;
  auto own = result.ok()
                 ? OwnModel::Load(model, sets_, options_.target, options_.opt_level, options_.database, pool_, cpus_)
                 : absl::StatusOr<std::unique_ptr<OwnModel>>(absl::UnavailableError(error));
  if (own.ok()) {
    result.kernels = (*own)->kernels();
    result.load_ms = (*own)->load_ms();
    for (size_t set = 0; set < sets_.size() && result.ok(); ++set) Check((*own)->Outputs(set), set, result);
  } else {
    result.error = std::string(own.status().message());
  }
  if (result.ok()) own_.emplace_back(results_.size(), *std::move(own));
  results_.push_back(std::move(result));
}

void ModelRun::LoadPeer(const std::string& name) {
  ModelResult result = Start(name);
  if (sets_.empty() || (own_reference_.empty() && peer_reference_.empty())) return;
  auto process = Process(name);
  auto peer = process.ok() ? ModelPeer::Load(*std::move(process), model_, /*optimize=*/true)
                           : absl::StatusOr<std::unique_ptr<ModelPeer>>(process.status());
  if (!peer.ok()) {
    result.error = std::string(peer.status().message());
  } else {
    result.version = (*peer)->version();
    result.load_ms = (*peer)->load_ms();
    result.peak_mib = (*peer)->peak_mib();
    CheckAll(**peer, result);
    if (result.ok()) peers_.emplace_back(results_.size(), *std::move(peer));
  }
  results_.push_back(std::move(result));
}

void ModelRun::Measure() {
  std::vector<Runner*> runners;
  std::vector<size_t> result_of;  // by runner
  for (const auto& [index, own] : own_) {
    runners.push_back(own.get());
    result_of.push_back(index);
  }
  for (const auto& [index, peer] : peers_) {
    runners.push_back(peer.get());
    result_of.push_back(index);
  }
  if (runners.empty()) return;
  const std::vector<Timing> timings = MeasureAlternating(runners, {.seconds = options_.seconds,
                                                                   .block_nanoseconds = options_.block_nanoseconds,
                                                                   .num_sets = static_cast<int>(sets_.size()),
                                                                   .full_speed = [this] { return gauge_.IsFull(); }});
  for (size_t i = 0; i < runners.size(); ++i) results_[result_of[i]].timing = timings[i];
  // The outputs that the timed runs have left are checked.
  for (const auto& [index, own] : own_) {
    for (size_t set = 0; set < sets_.size(); ++set) {
      Check(own->results(set), set, results_[index]);
    }
  }
  for (const auto& [index, peer] : peers_) CheckAll(*peer, results_[index]);
}

}  // namespace tilewright::bench
