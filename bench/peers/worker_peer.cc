#include "bench/peers/worker_peer.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "base/status_macros.h"
#include "bench/peers/worker.h"
#include "bench/peers/worker_request.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

// Compilers among the peers take their time.
constexpr double kPrepareSeconds = 300;

class WorkerRunner : public Runner {
 public:
  // `number` of the variant; `folder` is for the files of all.
  WorkerRunner(std::shared_ptr<Worker> worker, std::shared_ptr<const RunFolder> folder, int number, std::string variant)
      : worker_(std::move(worker)), folder_(std::move(folder)), number_(number), variant_(std::move(variant)) {}

  std::string variant() const override { return variant_; }
  double tune_seconds() const override { return tune_seconds_; }
  int64_t trials() const override { return trials_; }
  void SetTuning(double seconds, int64_t trials) {
    tune_seconds_ = seconds;
    trials_ = trials;
  }

  void Run(int set) override { Ask({{"do", "run"}, {"variant", number_}, {"set", set}}); }
  void SpoilOutput(int set) override { Ask({{"do", "spoil"}, {"variant", number_}, {"set", set}}); }

  std::optional<TimedBlock> RunBlock(int64_t warmup_nanoseconds, int64_t nanoseconds) override {
    return BlockOf(
        Ask({{"do", "block"}, {"variant", number_}, {"warmup_ns", warmup_nanoseconds}, {"block_ns", nanoseconds}}));
  }

  absl::Status CopyOutput(int set, runtime::Tensor& output) override {
    const std::string path = absl::StrCat(folder_->path(), "/output.npy");
    Ask({{"do", "output"}, {"variant", number_}, {"set", set}, {"file", path}});
    return error_.ok() ? ReadInto(path, output) : error_;
  }

 private:
  // After the first error nothing is asked any more, and CopyOutput reports it.
  json Ask(const json& request) {
    if (!error_.ok()) return json::object();
    absl::StatusOr<json> answer = worker_->Ask(request);
    error_ = answer.status();
    return answer.ok() ? *std::move(answer) : json::object();
  }

  const std::shared_ptr<Worker> worker_;
  const std::shared_ptr<const RunFolder> folder_;
  const int number_;
  const std::string variant_;
  absl::Status error_;
  double tune_seconds_ = 0;
  int64_t trials_ = 0;
};

class WorkerPeer : public Implementation {
 public:
  WorkerPeer(std::string name, std::vector<std::string> command)
      : name_(std::move(name)), command_(std::move(command)) {}

  std::string name() const override { return name_; }
  std::string version() const override { return version_; }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    if (worker_ == nullptr) worker_ = std::make_shared<Worker>(command_, settings.num_threads, settings.cpus);
    TW_ASSIGN_OR_RETURN(const json hello, worker_->Ask(json{{"do", "hello"}}, kPrepareSeconds));
    if (const auto it = hello.find("version"); it != hello.end() && it->is_string()) version_ = it->get<std::string>();

    TW_ASSIGN_OR_RETURN(RunFolder folder, RunFolder::Make());
    const auto shared_folder = std::make_shared<const RunFolder>(std::move(folder));
    TW_RETURN_IF_ERROR(WriteOperands(operands, shared_folder->path()));
    TW_ASSIGN_OR_RETURN(
        const json answer,
        worker_->Ask(PrepareRequest(workload, shared_folder->path(), settings.num_sets), kPrepareSeconds));
    const auto variants = answer.find("variants");
    if (variants == answer.end() || !variants->is_array() || variants->empty()) {
      return absl::InternalError("the worker prepared nothing");
    }
    std::vector<std::unique_ptr<Runner>> runners;
    for (const json& variant : *variants) {
      auto runner = std::make_unique<WorkerRunner>(worker_, shared_folder, static_cast<int>(runners.size()),
                                                   variant.is_string() ? variant.get<std::string>() : std::string());
      // What the peer was tuned for once stands with the first variant.
      if (runners.empty())
        runner->SetTuning(static_cast<double>(NumberOf(answer, "tune_seconds")), NumberOf(answer, "trials"));
      runners.push_back(std::move(runner));
    }
    return runners;
  }

 private:
  const std::string name_;
  const std::vector<std::string> command_;
  std::string version_;
  std::shared_ptr<Worker> worker_;
};

}  // namespace

std::unique_ptr<Implementation> MakeWorkerPeer(std::string name, std::vector<std::string> command) {
  return std::make_unique<WorkerPeer>(std::move(name), std::move(command));
}

}  // namespace tilewright::bench
