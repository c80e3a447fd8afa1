#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/phases.h"
#include "base/run_command.h"
#include "base/status_macros.h"
#include "base/temporary_file.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/processors.h"
#include "codegen/llvm/sequence_object.h"

namespace tilewright {
namespace {

absl::StatusOr<std::string> Link(const std::string& object, const Target& target) {
  const Phase phase("link");
  TemporaryFile input, library;
  std::string output;
  if (input.fd() < 0 || library.fd() < 0 || !input.Write(object)) {
    return absl::InternalError(absl::StrCat("cannot write ", input.path(), ": ", std::strerror(errno)));
  }
  for (const char* linker : codegen::ProcessorOf(target).Linkers()) {
    // The C library's functions are found in the process that loads the library.
    const int status = RunCommand(
        {linker, "-shared", "--hash-style=gnu", "-z", "noexecstack", "-o", library.path(), input.path()}, &output);
    if (status == 0) return library.ReadNew();
    // 127: a shell's and posix_spawn's way of saying that there is no such program.
    if (status > 0 && status != 127) return absl::InternalError(absl::StrCat(linker, ": ", output));
  }
  return absl::FailedPreconditionError(
      "no linker: none of ld.lld-19, ld.lld and ld is installed (apt-get install lld-19)");
}

}  // namespace

absl::StatusOr<std::string> EmitSharedLibrary(const Module& module, const Target& target, const CompileOptions& options,
                                              std::string* assembly) {
  TW_ASSIGN_OR_RETURN(const auto object, EmitObject(module, target, options, assembly));
  return Link(object, target);
}

absl::StatusOr<std::string> EmitSequenceLibrary(const Module& module, const Target& target,
                                                const SizedSequence& sequence) {
  TW_ASSIGN_OR_RETURN(const auto object, EmitSequenceObject(module, target, sequence));
  return Link(object, target);
}

}  // namespace tilewright
