// Intrinsics from the text of their description and their implementation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "intrin/instructions.h"
#include "intrin/intrin.h"

namespace tilewright {

// Words of a text, and what stands in their places.
using Words = std::vector<std::pair<absl::string_view, std::string>>;

// The intrinsic whose functions `desc` and `impl` the text defines.
TensorIntrin IntrinFromText(absl::string_view text, const Words& words, std::string_view name,
                            std::vector<std::string> features);
// The same for what is made of an instruction: it needs what its row needs.
TensorIntrin IntrinOfRow(absl::string_view text, const Words& words, std::string_view name,
                         const MachineInstruction& row);

}  // namespace tilewright
