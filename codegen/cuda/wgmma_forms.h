// The forms of wgmma that the text of kernels names. There are hundreds (columns, types, ways to store operands), each
// of which is a function with as many operands as a lane has registers; only those that are used are written.
#pragma once

#include <string>

namespace tilewright::cuda {

// Definitions for each tw::wgmma<...> and tw::wgmma_rs<...> in `text`, in the namespace tw: specializations of
// WgmmaForm (device_sm90.cuh) around the PTX of the instruction's row. Empty when the text has none.
std::string WgmmaForms(const std::string& text);

}  // namespace tilewright::cuda
