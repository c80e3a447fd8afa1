// A call of a function of a GPU whose arguments stay as they are: what it launches is worked out once.
//
//   auto call = PrepareCall(module, "main", {a.abi(), b.abi()}, workspace, bytes);     // cuda_module.h
//   (*call)->Start(stream);                                                            // again and again
//
// Arguments are checked, assertions are asked, grids are computed and tensor maps are encoded when it is made, for the
// memory and the extents of the arguments that it is made of.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace tilewright::cuda {

class PreparedCall {
 public:
  virtual ~PreparedCall() = default;
  // Kernels that it starts.
  virtual int64_t launches() const = 0;
  // Puts the launches into a stream; without one, where the device needs none, it returns when they are done.
  virtual absl::Status Start(void* stream) const = 0;
};

}  // namespace tilewright::cuda
