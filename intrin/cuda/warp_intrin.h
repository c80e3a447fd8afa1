// Intrinsics of warps from text.
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

// The same for what is done with sums of mma.sync, which any row with such sums has.
TensorIntrin IntrinOfSums(absl::string_view text, const Words& words, std::string_view name, DataType sum);

// An operand's element as the row's products take it: of the sum's type, in the format that the instruction reads.
std::string FactorOf(const MachineInstruction& row, absl::string_view element);

// The function of the device's text that is the row of mma.sync: "mma_m16n8k16_f32_f16" (codegen/cuda/emulator/device).
std::string MmaFunction(const MachineInstruction& row);

}  // namespace tilewright
