// A compiled program on a GPU, its arrays in the GPU's memory.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/operators/implementation.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "ir/function.h"

namespace tilewright::bench {

// `constants`: by the names of main's parameters, of which the first is the activation and `output` the output.
absl::StatusOr<std::unique_ptr<Runner>> MakeDeviceRunner(std::shared_ptr<CompiledModule> code, const Function& main,
                                                         const std::string& output,
                                                         const std::map<std::string, runtime::Tensor>& constants,
                                                         const Workload& workload, const Operands& operands,
                                                         const RunSettings& settings);

}  // namespace tilewright::bench
