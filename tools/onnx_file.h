// What the commands do with ONNX models in place of programs.
#pragma once

#include <string>

#include "tools/command.h"

namespace tilewright {

// Whether the operand is an ONNX model, by its name.
bool IsOnnxFile(const std::string& path);

// `check MODEL.onnx`: inputs, outputs, operators with counts, and every node that cannot be imported.
int CheckOnnx(const CommandArguments& args);
// `run MODEL.onnx`: executes it on the arrays of --inputs, or on random ones.
int RunOnnx(const CommandArguments& args);

}  // namespace tilewright
