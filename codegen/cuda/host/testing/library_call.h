// For tests of libraries for a GPU: a call in a process of its own, whose driver is the emulated one.
//
//   const LibraryCall call = CallLibrary(bytes, "main", {&a, &b}, {.place = "gpu"});
//   EXPECT_EQ(call.sentence, "code 0: ");
//
// The process knows the C interface alone (call_library.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/ndarray.h"

namespace tilewright::cuda::testing {

struct LibraryCallOptions {
  std::string place = "gpu";  // of arrays: "cpu", "gpu", or "stream", on the GPU with a stream and a workspace
  int calls = 1;
  std::string environment = {};  // before the command: "TILEWRIGHT_EMULATED_CAPABILITY=80"
  bool driver = true;            // false: there is none but this machine's
};

struct LibraryCall {
  std::string sentence;            // "code 0: "
  std::vector<std::string> costs;  // of each call: "allocations 1 copies_in 2 copies_out 1 launches 3"
};

// Arrays of rank 0 are scalar parameters. They hold what the call has left in them.
LibraryCall CallLibrary(std::string_view library, const std::string& function, const std::vector<NDArray*>& arrays,
                        const LibraryCallOptions& options = {});

}  // namespace tilewright::cuda::testing
