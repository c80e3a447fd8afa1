// Running of a program's function in one of the engines.
//
//   Engine engine{.name = "llvm", .target = HostTarget(), .libraries = ExternLibraries(args)};
//   absl::Status status = Execute(engine, scheduled, function, arguments);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ir/function.h"
#include "ir/interp/interp.h"
#include "target/target.h"

namespace tilewright {

struct Engine {
  std::string name;                         // interp, llvm, cuda-emulation or cuda
  Target target = {};                       // what compiled code is for
  std::vector<std::string> libraries = {};  // where called C functions are
  std::string launcher = {};                // CompileOptions::launcher
  std::string file = {};                    // what reports of faults begin with

  bool compiles() const { return name != "interp"; }
  bool is_cuda() const { return name.starts_with("cuda"); }
  int threads() const;
};

// Runs `original` on the arguments, as `module` has it: scheduled, and behind the packing of its constants where there
// is one. With `seconds`, the function then runs as many times again as it has room for, on copies, and the vector
// receives how long each call took, without packing.
absl::Status Execute(const Engine& engine, const Module& module, const Function& original,
                     const std::vector<interp::Argument>& arguments, std::vector<double>* seconds = nullptr);

// Whether the function writes each of its parameters, also through views and calls.
std::vector<bool> Written(const Function& function);

std::vector<interp::Argument> Copy(const std::vector<interp::Argument>& arguments);

}  // namespace tilewright
