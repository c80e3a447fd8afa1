#include "bench/models/model_peer.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/peers/python_peer.h"

namespace tilewright::bench {
namespace {

using nlohmann::json;

constexpr double kLoadSeconds = 300;

}  // namespace

absl::StatusOr<std::shared_ptr<Worker>> ModelPeer::Start(const std::string& name, const std::vector<int>& cpus) {
  TW_ASSIGN_OR_RETURN(const auto command, PythonPeerCommand(name));
  return std::make_shared<Worker>(command, static_cast<int>(cpus.size()), cpus);
}

absl::StatusOr<std::unique_ptr<ModelPeer>> ModelPeer::Load(std::shared_ptr<Worker> worker, const ModelCase& model,
                                                           bool optimize) {
  std::unique_ptr<ModelPeer> peer(new ModelPeer(std::move(worker)));
  TW_ASSIGN_OR_RETURN(const auto hello, peer->worker_->Ask(json{{"do", "hello"}}, kLoadSeconds));
  if (const auto version = hello.find("version"); version != hello.end() && version->is_string()) {
    peer->version_ = version->get<std::string>();
  }
  TW_ASSIGN_OR_RETURN(
      const auto loaded,
      peer->worker_->Ask(
          json{{"do", "prepare_model"}, {"file", model.file}, {"inputs", model.inputs_folders}, {"optimize", optimize}},
          kLoadSeconds));
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

absl::Status ModelPeer::CopyOutput(int, runtime::Tensor&) {
  return absl::UnimplementedError("models have several outputs: Outputs()");
}

absl::StatusOr<graph::Arrays> ModelPeer::Outputs(const std::string& folder, size_t set) {
  if (!status_.ok()) return status_;
  TW_ASSIGN_OR_RETURN(const auto answer,
                      worker_->Ask(json{{"do", "outputs"}, {"folder", folder}, {"set", set}}, kLoadSeconds));
  graph::Arrays arrays;
  for (size_t i = 0; i < num_outputs_; ++i) {
    TW_ASSIGN_OR_RETURN(auto array, ReadNpy(absl::StrCat(folder, "/", i, ".npy")));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace tilewright::bench
