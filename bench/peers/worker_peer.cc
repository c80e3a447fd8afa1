#include "bench/peers/worker_peer.h"

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "bench/peers/worker_request.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

using nlohmann::json;

// Compilers among the peers take their time.
constexpr double kPrepareSeconds = 300;
constexpr double kSeconds = 60;

// 0 where the answer has no such number.
int64_t Number(const json& answer, const char* key) {
  const auto it = answer.find(key);
  return it != answer.end() && it->is_number() ? it->get<int64_t>() : 0;
}

// The process, which works only while it is asked something.
class Worker {
 public:
  Worker(const std::vector<std::string>& command, const RunSettings& settings)
      : pool_(command.front(), Arguments(command, settings), /*num_workers=*/1) {}
  ~Worker() { Signal(SIGCONT); }

  absl::StatusOr<json> Ask(const json& request, double seconds = kSeconds) { return Ask(request.dump(), seconds); }

  absl::StatusOr<json> Ask(const std::string& request, double seconds) {
    Signal(SIGCONT);
    const WorkerReply reply = pool_.Run(std::array{request}, seconds).front();
    if (reply.outcome != WorkerReply::Outcome::kAnswered) {
      pid_ = 0;
      return absl::UnavailableError(reply.text);
    }
    json answer = json::parse(reply.text, nullptr, /*allow_exceptions=*/false);
    if (!answer.is_object()) return absl::InternalError(absl::StrCat("the worker answered ", reply.text));
    if (answer.contains("pid") && answer["pid"].is_number_integer()) pid_ = answer["pid"].get<pid_t>();
    Signal(SIGSTOP);
    if (const auto error = answer.find("error"); error != answer.end()) {
      return absl::UnimplementedError(error->is_string() ? error->get<std::string>() : error->dump());
    }
    return answer;
  }

 private:
  static std::vector<std::string> Arguments(const std::vector<std::string>& command, const RunSettings& settings) {
    std::vector<std::string> arguments(command.begin() + 1, command.end());
    arguments.push_back(absl::StrCat("--threads=", settings.num_threads));
    arguments.push_back(absl::StrCat("--cpus=", absl::StrJoin(settings.cpus, ",")));
    return arguments;
  }

  void Signal(int number) const {
    if (pid_ > 0) kill(pid_, number);
  }

  WorkerPool pool_;
  pid_t pid_ = 0;  // As it said itself; 0 when it has not.
};

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
    const json answer =
        Ask({{"do", "block"}, {"variant", number_}, {"warmup_ns", warmup_nanoseconds}, {"block_ns", nanoseconds}});
    TimedBlock block;
    const auto samples = answer.find("samples_ns");
    if (samples == answer.end() || !samples->is_array()) return block;
    for (const json& sample : *samples) {
      if (sample.is_number()) block.samples_ms.push_back(sample.get<double>() * 1e-6);
    }
    block.nanoseconds = Number(answer, "nanoseconds");
    block.cpu_nanoseconds = Number(answer, "cpu_nanoseconds");
    return block;
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
    if (worker_ == nullptr) worker_ = std::make_shared<Worker>(command_, settings);
    const absl::StatusOr<json> hello = worker_->Ask(json{{"do", "hello"}}, kPrepareSeconds);
    if (!hello.ok()) return hello.status();
    if (const auto it = hello->find("version"); it != hello->end() && it->is_string())
      version_ = it->get<std::string>();

    absl::StatusOr<RunFolder> folder = RunFolder::Make();
    if (!folder.ok()) return folder.status();
    const auto shared_folder = std::make_shared<const RunFolder>(*std::move(folder));
    if (absl::Status status = WriteOperands(operands, shared_folder->path()); !status.ok()) return status;
    const absl::StatusOr<json> answer =
        worker_->Ask(PrepareRequest(workload, shared_folder->path(), settings.num_sets), kPrepareSeconds);
    if (!answer.ok()) return answer.status();
    const auto variants = answer->find("variants");
    if (variants == answer->end() || !variants->is_array() || variants->empty()) {
      return absl::InternalError("the worker prepared nothing");
    }
    std::vector<std::unique_ptr<Runner>> runners;
    for (const json& variant : *variants) {
      auto runner = std::make_unique<WorkerRunner>(worker_, shared_folder, static_cast<int>(runners.size()),
                                                   variant.is_string() ? variant.get<std::string>() : std::string());
      // What the peer was tuned for once stands with the first variant.
      if (runners.empty())
        runner->SetTuning(static_cast<double>(Number(*answer, "tune_seconds")), Number(*answer, "trials"));
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
