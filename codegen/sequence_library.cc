#include "codegen/sequence_library.h"

#include "absl/strings/str_cat.h"
#include "codegen/cuda/host/launcher_library.h"
#include "codegen/llvm/sequence_object.h"

namespace tilewright {

absl::StatusOr<std::string> CompileSequence(const Module& module, const Target& target, const SizedSequence& sequence,
                                            const CompileOptions& options) {
  if (!target.is_gpu()) {
    return options.format == "so" ? EmitSequenceLibrary(module, target, sequence)
                                  : EmitSequenceObject(module, target, sequence);
  }
  if (!sequence.loops.empty() || !sequence.reads.empty()) {
    return absl::UnimplementedError(absl::StrCat(sequence.name, " repeats calls or reads elements before them, which ",
                                                 "libraries for ", target.name, " do not do"));
  }
  if (options.format == "so") return cuda::CompileLibrary(module, target, &sequence, options);
  return absl::InvalidArgumentError(absl::StrCat("a model for ", target.name, " is written as .so"));
}

}  // namespace tilewright
