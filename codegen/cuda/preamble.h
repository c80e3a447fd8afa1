// What stands before the text of kernels when it is compiled for a GPU: the functions of the device that it uses, and
// nothing else, so that the whole needs no header.
#pragma once

#include <string>

namespace tilewright::cuda {

// `text`: kernels, as EmitProgram makes them. `pairs`: whether the GPU converts two numbers at once (feature "cvt.x2").
std::string PreambleFor(const std::string& text, bool pairs = true);

}  // namespace tilewright::cuda
