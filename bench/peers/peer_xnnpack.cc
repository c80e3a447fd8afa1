#include "bench/peers/peer_xnnpack.h"

#include <pthreadpool.h>
#include <xnnpack.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/harness/own_threads.h"
#include "bench/operators/tensor_sets.h"
#include "bench/peers/xnnpack_plan.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

class Pool {
 public:
  explicit Pool(const std::vector<int>& cpus) {
    const OwnThreads before;
    pool_.reset(pthreadpool_create(cpus.size()));
    before.BindNewOnes({cpus.begin() + 1, cpus.end()});
  }

  pthreadpool_t get() const { return pool_.get(); }

  // Its threads would spin for some twenty milliseconds after their last work.
  void Park() const {
    pthreadpool_parallelize_1d(
        pool_.get(), [](void*, size_t) {}, nullptr, pthreadpool_get_threads_count(pool_.get()),
        PTHREADPOOL_FLAG_YIELD_WORKERS);
  }

 private:
  struct Destroy {
    void operator()(pthreadpool_t pool) const { pthreadpool_destroy(pool); }
  };
  std::unique_ptr<std::remove_pointer_t<pthreadpool_t>, Destroy> pool_;
};

class XnnpackRunner : public Runner {
 public:
  XnnpackRunner(std::vector<XnnStep> steps, TensorSets sets, std::shared_ptr<const Pool> pool)
      : steps_(std::move(steps)), sets_(std::move(sets)), pool_(std::move(pool)) {}

  void Run(int set) override {
    const char* input = sets_.input(set).data<char>();
    char* output = sets_.output(set).data<char>();
    for (const XnnStep& step : steps_) {
      if (step.setup(step.op.get(), input + step.input_offset, output + step.output_offset, pool_->get()) ==
          xnn_status_success) {
        xnn_run_operator(step.op.get(), pool_->get());
      }
    }
  }
  void Park() override { pool_->Park(); }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  absl::Status CopyOutput(int set, Tensor& output) override { return sets_.CopyOutput(set, output); }

  // A first call whose errors are reported; Run has no time for that.
  absl::Status TryRun() {
    for (const XnnStep& step : steps_) {
      xnn_status status = step.setup(step.op.get(), sets_.input(0).data<char>() + step.input_offset,
                                     sets_.output(0).data<char>() + step.output_offset, pool_->get());
      if (status == xnn_status_success) status = xnn_run_operator(step.op.get(), pool_->get());
      if (status != xnn_status_success) {
        return absl::InternalError(absl::StrCat("XNNPACK fails with status ", static_cast<int>(status)));
      }
    }
    return absl::OkStatus();
  }

 private:
  std::vector<XnnStep> steps_;
  TensorSets sets_;
  const std::shared_ptr<const Pool> pool_;
};

class Xnnpack : public Implementation {
 public:
  std::string name() const override { return "xnnpack"; }
  // The library cannot say which it is.
  std::string version() const override { return ""; }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    if (xnn_initialize(/*allocator=*/nullptr) != xnn_status_success) {
      return absl::UnimplementedError("XNNPACK does not support this CPU");
    }
    TW_ASSIGN_OR_RETURN(std::vector<XnnStep> steps, MakeXnnSteps(workload, operands));
    // The library reads up to that many bytes behind an activation.
    TW_ASSIGN_OR_RETURN(TensorSets sets, TensorSets::Make(workload, operands, settings.num_sets, XNN_EXTRA_BYTES));
    if (pool_ == nullptr) pool_ = std::make_shared<const Pool>(settings.cpus);
    auto runner = std::make_unique<XnnpackRunner>(std::move(steps), std::move(sets), pool_);
    TW_RETURN_IF_ERROR(runner->TryRun());
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::move(runner));
    return runners;
  }

 private:
  std::shared_ptr<const Pool> pool_;  // The thread pool of all its workloads.
};

}  // namespace

std::unique_ptr<Implementation> MakeXnnpack() { return std::make_unique<Xnnpack>(); }

}  // namespace tilewright::bench
