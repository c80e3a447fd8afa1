// `tune MODEL.onnx`: all distinct kernels of a model share a budget of time (graph/tune), and a database keeps what was
// measured, which `run`, `explain` and `compile` take by --db.
#pragma once

#include "tools/command_line/command.h"

namespace tilewright {

int TuneOnnx(const CommandArguments& args);

}  // namespace tilewright
