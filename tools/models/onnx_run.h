// `run MODEL.onnx`: executes it on the arrays of --inputs, or on random ones.
#pragma once

#include "tools/command_line/command.h"

namespace tilewright {

int RunOnnx(const CommandArguments& args);

}  // namespace tilewright
