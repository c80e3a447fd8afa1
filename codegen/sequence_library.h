// A sized sequence (sized_sequence.h) as a file.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "codegen/sized_sequence.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// The functions of the module and the sequence that calls them, as "o" or "so"; for a GPU as "so". Of the options
// `format` and `emulate` are used.
absl::StatusOr<std::string> CompileSequence(const Module& module, const Target& target, const SizedSequence& sequence,
                                            const CompileOptions& options);

}  // namespace tilewright
