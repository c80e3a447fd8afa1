// Options of compilation through LLVM.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct CompileOptions {
  // Called after each lowering pass that changed a function, with the pass's name and the function before and after.
  std::function<void(std::string_view pass, const Function& before, const Function& after)> after_pass;
  // Shared libraries in which the JIT looks for functions that the program calls by name, after the process itself.
  std::vector<std::string> libraries;
  // Receives the assembly of the same machine code, when EmitObject or EmitSharedLibrary are given one.
  std::string* assembly = nullptr;
};

}  // namespace tilewright
