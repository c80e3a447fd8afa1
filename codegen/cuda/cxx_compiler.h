// The C++ compiler of this machine: what emulated kernels and the host parts of libraries are made with.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tilewright::cuda {

// Compiles and links by the first of clang++-19, clang++, g++ and c++ that is installed. FailedPrecondition where none
// is: "`purpose` needs a C++ compiler: ...".
absl::Status RunCxxCompiler(const std::vector<std::string>& arguments, const std::string& purpose);

}  // namespace tilewright::cuda
