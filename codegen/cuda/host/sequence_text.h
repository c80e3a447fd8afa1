// A sized sequence (codegen/sized_sequence.h) as C++ over codegen/cuda/host/launcher.h. Private to codegen/cuda/host.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/host/function_text.h"
#include "codegen/sized_sequence.h"

namespace tilewright::cuda {

struct SequenceText {
  std::string definitions, exported;
};

// `functions`: those of the module, by name.
absl::StatusOr<SequenceText> TextOfSequence(const SizedSequence& sequence, const std::string& base,
                                            std::map<std::string, FunctionText>& functions);

}  // namespace tilewright::cuda
