#include "bench/peers/arm/emulated_peer.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/dtype.h"
#include "bench/operators/missing_peer.h"
#include "codegen/remote/launcher.h"
#include "codegen/remote/remote_module.h"

namespace tilewright::bench {
namespace {

constexpr std::string_view kNames[] = {"xnnpack", "acl"};

// The folder in which setup.sh puts what it makes.
std::string Folder() {
  if (const char* folder = std::getenv("TILEWRIGHT_ARM_PEERS")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return absl::StrCat(cache, "/tilewright/arm");
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "" : home, "/.cache/tilewright/arm");
}

using Code = std::shared_ptr<const remote::RemoteModule>;

// The library has the operator and its tensors (library.h).
class EmulatedRunner : public Runner {
 public:
  explicit EmulatedRunner(Code code) : code_(std::move(code)) {}

  void Run(int set) override { FirstRun(set).IgnoreError(); }
  absl::Status FirstRun(int) override {
    const absl::Status status = code_->Run("run", {});
    instructions_ = status.ok() ? code_->LastCall().instructions : 0;
    return status;
  }
  std::optional<EmulatedRun> LastEmulatedRun() override { return EmulatedRun{.instructions = instructions_}; }
  // `prepare` leaves an output that no run has written.
  void SpoilOutput(int) override {}
  absl::Status CopyOutput(int, runtime::Tensor& output) override {
    TwTensor* const arguments[] = {output.abi()};
    return code_->Run("output", arguments);
  }

 private:
  const Code code_;
  int64_t instructions_ = 0;
};

class EmulatedPeer : public Implementation {
 public:
  EmulatedPeer(std::string name, Code code) : name_(std::move(name)), code_(std::move(code)) {}

  std::string name() const override { return name_; }
  std::string version() const override { return ""; }
  // Arm Compute Library rounds its fixed-point product, and again when it shifts that.
  double requantization_slack() const override { return name_ == "acl" ? 1 : 0; }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings&) override {
    std::string text = absl::StrCat(std::string(Name(workload.shape.op)), ":", NumbersText(workload.shape), " ",
                                    std::string(Name(workload.dtype)));
    runtime::Tensor words = runtime::Tensor::Borrow(text.data(), runtime::kUInt8, {static_cast<int64_t>(text.size())});
    runtime::Tensor activation = operands.activation.Alias(), weight = operands.weight.Alias();
    runtime::Tensor parameters = operands.parameters.Alias();
    TwTensor* const arguments[] = {words.abi(), activation.abi(), weight.abi(), parameters.abi()};
    TW_RETURN_IF_ERROR(code_->Run("prepare", arguments));
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::make_unique<EmulatedRunner>(code_));
    return runners;
  }

 private:
  const std::string name_;
  const Code code_;
};

absl::StatusOr<Code> Open(std::string_view name, const Target& target) {
  const std::string path = absl::StrCat(Folder(), "/lib", std::string(name), "_peer.so");
  std::ostringstream library;
  if (!(library << std::ifstream(path, std::ios::binary).rdbuf())) {
    return absl::NotFoundError(absl::StrCat("not set up: there is no ", path, "; bench/peers/arm/setup.sh makes it"));
  }
  TW_ASSIGN_OR_RETURN(const auto command, remote::WorkerCommand(target, ""));
  TW_ASSIGN_OR_RETURN(auto code, remote::RemoteModule::Open(command, {library.str()}));
  return Code(std::move(code));
}

}  // namespace

std::unique_ptr<Implementation> MakeEmulatedPeer(std::string_view name, const Target& target) {
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) return nullptr;
  const auto code = Open(name, target);
  if (!code.ok()) return MakeMissingPeer(std::string(name), std::string(code.status().message()));
  return std::make_unique<EmulatedPeer>(std::string(name), *code);
}

}  // namespace tilewright::bench
