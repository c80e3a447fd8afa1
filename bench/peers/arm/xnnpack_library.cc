// XNNPACK for AArch64, on one thread.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/operators/tensor_sets.h"
#include "bench/peers/arm/library.h"
#include "bench/peers/xnnpack_plan.h"

namespace tilewright::bench {
namespace {

class XnnpackPeer : public LibraryPeer {
 public:
  XnnpackPeer(std::vector<XnnStep> steps, TensorSets sets) : steps_(std::move(steps)), sets_(std::move(sets)) {}

  absl::Status Run() override {
    const char* input = sets_.input(0).data<char>();
    char* output = sets_.output(0).data<char>();
    for (const XnnStep& step : steps_) {
      xnn_status status = step.setup(step.op.get(), input + step.input_offset, output + step.output_offset, nullptr);
      if (status == xnn_status_success) status = xnn_run_operator(step.op.get(), nullptr);
      if (status != xnn_status_success) {
        return absl::InternalError(absl::StrCat("XNNPACK fails with status ", static_cast<int>(status)));
      }
    }
    return absl::OkStatus();
  }
  void SpoilOutput() override { sets_.SpoilOutput(0); }
  void CopyOutput(runtime::Tensor& output) override { sets_.CopyOutput(0, output).IgnoreError(); }

 private:
  std::vector<XnnStep> steps_;
  TensorSets sets_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryPeer>> MakeLibraryPeer(const Workload& workload, const Operands& operands) {
  if (xnn_initialize(/*allocator=*/nullptr) != xnn_status_success) {
    return absl::UnimplementedError("XNNPACK does not support this CPU");
  }
  TW_ASSIGN_OR_RETURN(std::vector<XnnStep> steps, MakeXnnSteps(workload, operands));
  TW_ASSIGN_OR_RETURN(TensorSets sets, TensorSets::Make(workload, operands, /*num_sets=*/1, XNN_EXTRA_BYTES));
  return std::make_unique<XnnpackPeer>(std::move(steps), std::move(sets));
}

}  // namespace tilewright::bench
