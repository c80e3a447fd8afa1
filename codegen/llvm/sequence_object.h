// A sized sequence (codegen/sized_sequence.h) with the functions that it calls, as an object or a shared library.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "codegen/sized_sequence.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

absl::StatusOr<std::string> EmitSequenceObject(const Module& module, const Target& target,
                                               const SizedSequence& sequence);
absl::StatusOr<std::string> EmitSequenceLibrary(const Module& module, const Target& target,
                                                const SizedSequence& sequence);

}  // namespace tilewright
