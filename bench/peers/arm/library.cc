// The functions by which a worker calls a peer. They have the interface of compiled functions (docs/abi.md):
//
//   prepare   text of the workload ("GMM:1,64,64,64 f32", as bytes), activation, weight, parameters
//   run       nothing; the instructions of this call are those of the peer
//   output    the tensor that receives what run has written
#include "bench/peers/arm/library.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "codegen/abi/function_abi.h"

namespace tilewright::bench {
namespace {

// State of the workload that was prepared last.
std::unique_ptr<LibraryPeer>& Prepared() {
  static std::unique_ptr<LibraryPeer> prepared;
  return prepared;
}

int Return(const absl::Status& status, const TwCall* call) {
  if (status.ok()) return kTwOk;
  const std::string message(status.message());
  if (call != nullptr && call->message != nullptr && call->message_bytes > 0) {
    std::snprintf(call->message, static_cast<size_t>(call->message_bytes), "%s", message.c_str());
  }
  return kTwErrorAssertion;
}

runtime::Tensor Borrow(const TwTensor& tensor) {
  return runtime::Tensor::Borrow(static_cast<char*>(tensor.data) + tensor.byte_offset, tensor.dtype,
                                 std::span<const int64_t>(tensor.shape, static_cast<size_t>(tensor.ndim)));
}

absl::StatusOr<Workload> ParseWorkload(std::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(std::string(text), ' ');
  if (words.size() != 2) return absl::InvalidArgumentError(absl::StrCat("'", std::string(text), "' is not a workload"));
  TW_ASSIGN_OR_RETURN(const auto shapes, ParseShapes(words[0]));
  TW_ASSIGN_OR_RETURN(const auto dtypes, ParseDTypes(words[1]));
  TW_ASSIGN_OR_RETURN(const auto problem, MakeProblem(shapes.front()));
  return Workload{.shape = shapes.front(), .dtype = dtypes.front(), .problem = problem};
}

absl::Status Prepare(std::span<TwTensor* const> args) {
  Prepared().reset();
  if (args.size() != 4) return absl::InvalidArgumentError("prepare takes four tensors");
  const runtime::Tensor text = Borrow(*args[0]);
  TW_ASSIGN_OR_RETURN(const auto workload,
                      ParseWorkload({text.data<char>(), static_cast<size_t>(text.num_elements())}));
  TW_ASSIGN_OR_RETURN(auto peer, MakeLibraryPeer(workload, {.activation = Borrow(*args[1]),
                                                            .weight = Borrow(*args[2]),
                                                            .parameters = Borrow(*args[3])}));
  // A library that packs weights in its first run does so here.
  TW_RETURN_IF_ERROR(peer->Run());
  peer->SpoilOutput();
  Prepared() = std::move(peer);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tilewright::bench

extern "C" {

extern const char tw_required_features[];
const char tw_required_features[] = "aarch64:neon";

int prepare(const TwCall* call, TwTensor* const* args, int32_t num_args) {
  using namespace tilewright::bench;  // NOLINT(build/namespaces): C functions are in none.
  return Return(Prepare({args, static_cast<size_t>(num_args)}), call);
}

int run(const TwCall* call, TwTensor* const*, int32_t) {
  using namespace tilewright::bench;  // NOLINT(build/namespaces)
  if (Prepared() == nullptr) return Return(absl::FailedPreconditionError("nothing is prepared"), call);
  return Return(Prepared()->Run(), call);
}

int output(const TwCall* call, TwTensor* const* args, int32_t num_args) {
  using namespace tilewright::bench;  // NOLINT(build/namespaces)
  if (Prepared() == nullptr || num_args != 1) {
    return Return(absl::FailedPreconditionError("nothing is prepared"), call);
  }
  tilewright::runtime::Tensor tensor = Borrow(*args[0]);
  Prepared()->CopyOutput(tensor);
  return kTwOk;
}
}
