// Intrinsics of warps from text.
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/string_view.h"
#include "intrin/from_text.h"
#include "intrin/instructions.h"

namespace tilewright {

// The intrinsic for what is done with sums of mma.sync, which any row with such sums has.
TensorIntrin IntrinOfSums(absl::string_view text, const Words& words, std::string_view name, DataType sum);

// An operand's element as the row's products take it: of the sum's type, in the format that the instruction reads.
std::string FactorOf(const MachineInstruction& row, absl::string_view element);

// The function of the device's text that is the row of mma.sync: "mma_m16n8k16_f32_f16" (codegen/cuda/emulator/device).
std::string MmaFunction(const MachineInstruction& row);

}  // namespace tilewright
