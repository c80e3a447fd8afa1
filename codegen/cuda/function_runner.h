// Runs the host's part of a function: checks arguments, computes grids, launches kernels in order.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/abi/function_abi.h"
#include "codegen/cuda/call_arguments.h"
#include "codegen/cuda/device.h"
#include "codegen/cuda/prepared_call.h"
#include "codegen/cuda/program.h"
#include "codegen/cuda/scalar_code.h"

namespace tilewright::cuda {

class FunctionRunner {
 public:
  // `first_kernel`: the number of the function's first kernel among those of the program; `gpu`: whose limits launches
  // keep.
  static absl::StatusOr<std::unique_ptr<FunctionRunner>> Compile(const DeviceFunction& function, size_t first_kernel,
                                                                 const GpuTarget& gpu);

  // The call, as of a TwFunction. Several threads may run it.
  int Run(Device& device, const TwCall* call, TwTensor* const* args, int32_t num_args) const;

  // The call with arrays in the memory of the host: they are copied to the device, and those it writes are copied back.
  int RunStaged(Device& device, const TwCall* call, TwTensor* const* args, int32_t num_args) const;
  // Whether the call gives arrays of the host to a device that has memory of its own.
  bool NeedsStaging(const Device& device, TwTensor* const* args, int32_t num_args) const;

  // The call with its launches worked out. `call`: workspace, and room for a message; it may be null.
  absl::StatusOr<std::unique_ptr<PreparedCall>> Prepare(Device& device, const TwCall* call, TwTensor* const* args,
                                                        int32_t num_args) const;

  // Bytes of temporaries of constant size.
  int64_t workspace_bytes() const { return workspace_bytes_; }

 private:
  struct Argument {
    enum Kind { kArray, kScalar, kMap } kind = kArray;
    size_t number = 0;  // of the array among all, of the slot, of the launch's map
  };
  struct MapPlan {
    size_t array = 0;
    TensorMapSpec spec;  // all but what the call decides
    std::vector<ScalarCode> extents, strides;
  };
  struct Launch {
    size_t kernel = 0;
    std::string name;
    std::vector<Argument> params;
    std::vector<MapPlan> maps;
    std::vector<std::pair<size_t, bool>> arrays;  // their numbers, and whether they are written
    std::array<ScalarCode, 3> grid, block, cluster;
    uint32_t shared_bytes = 0;
    bool dependent = false;
  };
  struct Step {
    enum Kind { kStart, kLoop, kBranch, kLet, kAssert } kind = kStart;
    size_t launch = 0;
    int slot = -1;
    ScalarCode first, second;  // a loop's ends; the condition or the value in `first`
    std::string message;
    std::vector<Step> body, otherwise;
  };
  struct TemporaryPlan {
    std::string name;
    ScalarCode bytes;
    int64_t offset = -1;  // in the workspace; -1: of no constant size
  };
  class Execution;
  class Prepared;

  absl::Status AddSteps(const Stmt& s, std::vector<Step>* steps);
  absl::Status AddLaunches(const DeviceFunction& function, size_t first_kernel);
  absl::Status AddParam(const DeviceFunction& function, const KernelParam& param, Launch* launch) const;

  std::string name_;
  Slots slots_;
  CallArguments arguments_;
  std::vector<std::string> array_names_;  // parameters, then temporaries
  std::set<size_t> constants_;
  std::vector<TemporaryPlan> temporaries_;
  std::vector<Launch> launches_;
  std::vector<Step> steps_;
  int64_t workspace_bytes_ = 0;
  GpuTarget gpu_;
};

}  // namespace tilewright::cuda
