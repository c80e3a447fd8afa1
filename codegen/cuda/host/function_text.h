// The host's part of a function as C++ over codegen/cuda/host/launcher.h. Private to codegen/cuda/host.
//
//   void main_Start(Execution& run, const main_Values& values, char* workspace) {
//     auto [A, C, m] = values;
//     if (run.Begins(kernels[0], {FloorDiv(m + 127, 128), 4, 1}, {128, 1, 1})) {
//       void* params[] = {&A, &C, &m};
//       run.Start(params);
//     }
//   }
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/host/signature_text.h"
#include "codegen/cuda/program.h"

namespace tilewright::cuda {

struct FunctionText {
  SignatureText signature;
  std::string start;
  int64_t workspace_bytes = 0;  // of temporaries of constant size
};

// `first_kernel`: the number of the function's first kernel in the text's table.
absl::StatusOr<FunctionText> TextOfFunction(const DeviceFunction& function, const std::string& base,
                                            size_t first_kernel);

// Temporaries and arenas begin at multiples of so many bytes.
inline constexpr int64_t kWorkspaceAlignment = 256;

}  // namespace tilewright::cuda
