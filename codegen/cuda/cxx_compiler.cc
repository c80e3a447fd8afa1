#include "codegen/cuda/cxx_compiler.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/run_command.h"

namespace tilewright::cuda {
namespace {

constexpr const char* kCompilers[] = {"clang++-19", "clang++", "g++", "c++"};

}  // namespace

absl::Status RunCxxCompiler(const std::vector<std::string>& arguments, const std::string& purpose) {
  std::string output;
  for (const char* compiler : kCompilers) {
    std::vector<std::string> command = {compiler};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const int status = RunCommand(command, &output);
    if (status == 0) return absl::OkStatus();
    // 127: a shell's and posix_spawn's way of saying that there is no such program.
    if (status > 0 && status != 127) {
      return absl::InternalError(absl::StrCat(compiler, " refuses what ", purpose, " compiles: ", output));
    }
  }
  return absl::FailedPreconditionError(
      absl::StrCat(purpose, " needs a C++ compiler: none of ", absl::StrJoin(kCompilers, ", "), " is installed"));
}

}  // namespace tilewright::cuda
