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
#include "tools/profile/profile.h"

namespace tilewright {

struct Engine {
  std::string name;                         // interp, llvm, cuda-emulation or cuda
  Target target = {};                       // what compiled code is for
  std::vector<std::string> libraries = {};  // where called C functions are
  std::string launcher = {};                // CompileOptions::launcher
  std::string file = {};                    // what reports of faults begin with
  int max_threads = 0;                      // of compiled code; 0: one for each CPU

  bool compiles() const { return name != "interp"; }
  bool is_cuda() const { return name.starts_with("cuda"); }
  int threads() const;
};

// Calls that are timed, without packing and allocation: arrays and temporaries are kept from call to call.
struct Timing {
  size_t calls = 0;
  // Also times the nests of the function apart, in as many calls of code that reads the clock between them.
  bool by_part = false;
  std::vector<Span> spans = {};  // receives the calls
  Profile profile = {};          // and those by part
};

// Runs `original` on the arguments, as `module` has it: scheduled, and behind the packing of its constants where there
// is one. With `timing`, the function then runs as many times again.
absl::Status Execute(const Engine& engine, const Module& module, const Function& original,
                     const std::vector<interp::Argument>& arguments, Timing* timing = nullptr);

// Whether the function writes each of its parameters, also through views and calls.
std::vector<bool> Written(const Function& function);

std::vector<interp::Argument> Copy(const std::vector<interp::Argument>& arguments);

}  // namespace tilewright
