#include "bench/peers/worker.h"

#include <signal.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tilewright::bench {
namespace {

using nlohmann::json;

std::vector<std::string> Arguments(const std::vector<std::string>& command, int num_threads,
                                   const std::vector<int>& cpus) {
  std::vector<std::string> arguments(command.begin() + 1, command.end());
  arguments.push_back(absl::StrCat("--threads=", num_threads));
  arguments.push_back(absl::StrCat("--cpus=", absl::StrJoin(cpus, ",")));
  return arguments;
}

}  // namespace

Worker::Worker(const std::vector<std::string>& command, int num_threads, const std::vector<int>& cpus)
    : pool_(command.front(), Arguments(command, num_threads, cpus), /*num_workers=*/1) {}

Worker::~Worker() { Signal(SIGCONT); }

absl::StatusOr<json> Worker::Ask(const std::string& request, double seconds) {
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

void Worker::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

int64_t NumberOf(const json& answer, const char* key) {
  const auto it = answer.find(key);
  return it != answer.end() && it->is_number() ? it->get<int64_t>() : 0;
}

TimedBlock BlockOf(const json& answer) {
  TimedBlock block;
  const auto samples = answer.find("samples_ns");
  if (samples == answer.end() || !samples->is_array()) return block;
  for (const json& sample : *samples) {
    if (sample.is_number()) block.samples_ms.push_back(sample.get<double>() * 1e-6);
  }
  block.nanoseconds = NumberOf(answer, "nanoseconds");
  block.cpu_nanoseconds = NumberOf(answer, "cpu_nanoseconds");
  return block;
}

}  // namespace tilewright::bench
