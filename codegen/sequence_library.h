// A sized sequence (sized_sequence.h) as a file.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "codegen/sized_sequence.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// The functions of the module and the sequence that calls them, as "o" or "so". The target is a CPU.
absl::StatusOr<std::string> CompileSequence(const Module& module, const Target& target, const SizedSequence& sequence,
                                            std::string_view format);

}  // namespace tilewright
