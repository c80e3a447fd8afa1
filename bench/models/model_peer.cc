#include "bench/models/model_peer.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "bench/peers/python_peer.h"
#include "codegen/runtime/available_cpus.h"

namespace tilewright::bench {
using nlohmann::json;

absl::StatusOr<std::shared_ptr<Worker>> ModelPeer::Start(const std::string& name, const std::vector<int>& cpus) {
  TW_ASSIGN_OR_RETURN(const auto command, PythonPeerCommand(name));
  return std::make_shared<Worker>(command, static_cast<int>(cpus.size()), cpus);
}

absl::StatusOr<std::shared_ptr<Worker>> ModelPeer::StartEmulated(const std::string& name, const Target& target,
                                                                 const std::string& folder) {
  const std::string counter = absl::StrCat(folder, "/instructions");
  TW_RETURN_IF_ERROR(WriteFile(counter, std::string(sizeof(int64_t), '\0')));
  TW_ASSIGN_OR_RETURN(const auto command, EmulatedPeerCommand(name, target, counter));
  const std::vector<int> cpus = runtime::AvailableCpus();
  return std::make_shared<Worker>(command, /*num_threads=*/1, std::vector<int>{cpus.front()});
}

absl::StatusOr<std::unique_ptr<ModelPeer>> ModelPeer::Load(std::shared_ptr<Worker> worker, const ModelCase& model,
                                                           bool optimize, double seconds) {
  std::unique_ptr<ModelPeer> peer(new ModelPeer(std::move(worker), seconds));
  TW_ASSIGN_OR_RETURN(const auto hello, peer->worker_->Ask(json{{"do", "hello"}}, seconds));
  if (const auto version = hello.find("version"); version != hello.end() && version->is_string()) {
    peer->version_ = version->get<std::string>();
  }
  TW_ASSIGN_OR_RETURN(
      const auto loaded,
      peer->worker_->Ask(
          json{{"do", "prepare_model"}, {"file", model.file}, {"inputs", model.inputs_folders}, {"optimize", optimize}},
          seconds));
  const auto outputs = loaded.find("outputs");
  if (outputs == loaded.end() || !outputs->is_array()) return absl::InternalError("the peer names no outputs");
  peer->num_outputs_ = outputs->size();
  peer->load_ms_ = static_cast<double>(NumberOf(loaded, "load_ns")) * 1e-6;
  peer->peak_mib_ = static_cast<double>(NumberOf(loaded, "peak_kib")) / 1024;
  return peer;
}

void ModelPeer::Run(int) {
  if (status_.ok()) status_ = worker_->Ask(json{{"do", "run"}, {"variant", 0}, {"set", 0}}).status();
}

std::optional<TimedBlock> ModelPeer::RunBlock(int64_t warmup_nanoseconds, int64_t nanoseconds) {
  if (!status_.ok()) return TimedBlock();
  const auto answer =
      worker_->Ask(json{{"do", "block"}, {"variant", 0}, {"warmup_ns", warmup_nanoseconds}, {"block_ns", nanoseconds}});
  status_ = answer.status();
  return answer.ok() ? BlockOf(*answer) : TimedBlock();
}

absl::StatusOr<int64_t> ModelPeer::CountInstructions() {
  TW_ASSIGN_OR_RETURN(const auto answer, worker_->Ask(json{{"do", "count"}, {"variant", 0}, {"set", 0}}, seconds_));
  const int64_t instructions = NumberOf(answer, "instructions");
  if (instructions <= 0) return absl::UnavailableError("the emulator counts no instructions");
  return instructions;
}

absl::Status ModelPeer::CopyOutput(int, runtime::Tensor&) {
  return absl::UnimplementedError("models have several outputs: Outputs()");
}

absl::StatusOr<graph::Arrays> ModelPeer::Outputs(const std::string& folder, size_t set) {
  if (!status_.ok()) return status_;
  TW_ASSIGN_OR_RETURN(const auto answer,
                      worker_->Ask(json{{"do", "outputs"}, {"folder", folder}, {"set", set}}, seconds_));
  graph::Arrays arrays;
  for (size_t i = 0; i < num_outputs_; ++i) {
    TW_ASSIGN_OR_RETURN(auto array, ReadNpy(absl::StrCat(folder, "/", i, ".npy")));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace tilewright::bench
