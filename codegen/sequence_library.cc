#include "codegen/sequence_library.h"

#include "absl/strings/str_cat.h"
#include "codegen/llvm/sequence_object.h"

namespace tilewright {

absl::StatusOr<std::string> CompileSequence(const Module& module, const Target& target, const SizedSequence& sequence,
                                            std::string_view format) {
  if (target.is_gpu()) {
    return absl::UnimplementedError(absl::StrCat("libraries of models are written for CPUs, not for ", target.name));
  }
  return format == "so" ? EmitSequenceLibrary(module, target, sequence) : EmitSequenceObject(module, target, sequence);
}

}  // namespace tilewright
