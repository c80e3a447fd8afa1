// A peer as a shared library for AArch64: what a worker (codegen/remote) opens in an emulator and calls. library.cc has
// the functions that are called, each library its MakeLibraryPeer().
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/operators/operands.h"
#include "bench/operators/problem.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {

// An operator of the library on tensors of its own.
class LibraryPeer {
 public:
  virtual ~LibraryPeer() = default;
  virtual absl::Status Run() = 0;
  // Makes the output differ from any result.
  virtual void SpoilOutput() = 0;
  // The output in its plain layout.
  virtual void CopyOutput(runtime::Tensor& output) = 0;
};

// With everything packed that can be packed before the first run; an error that says why for what the library does not
// have. The operands live as long as this call.
absl::StatusOr<std::unique_ptr<LibraryPeer>> MakeLibraryPeer(const Workload& workload, const Operands& operands);

}  // namespace tilewright::bench
