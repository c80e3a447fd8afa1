// `compile MODEL.onnx` and `explain MODEL.onnx`.
#pragma once

#include <string>

#include "tools/command_line/command.h"

namespace tilewright {

// Writes OUT.so or OUT.o with a function for the whole model, and OUT.h.
int CompileOnnx(const CommandArguments& args, const std::string& path);
// Fills a folder with what a load of the model takes from the cache of kernels. Refused where not all can be written.
int FillCache(const CommandArguments& args, const std::string& folder);
// Kernels and constants; with --plan each call, and which kernels were joined or why not; with --passes the time of
// each pass; with --programs=DIR the program of each kernel in a file of its own.
int ExplainOnnx(const CommandArguments& args);

}  // namespace tilewright
