// Intrinsics of warps from text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "intrin/intrin.h"

namespace tilewright {

// Words of a text, and what stands in their places.
using Words = std::vector<std::pair<absl::string_view, std::string>>;

// The intrinsic whose functions `desc` and `impl` the text defines.
TensorIntrin IntrinFromText(absl::string_view text, const Words& words, std::string_view name,
                            std::vector<std::string> features);
// The same for GPUs that multiply matrices of 16 rows (sm_80).
TensorIntrin WarpIntrin(absl::string_view text, const Words& words, std::string_view name);

}  // namespace tilewright
