// What a FILE of the command line is, told by its name and its first lines.
//
//   KindOf("model.onnx", "")                        kModel
//   KindOf("x.py", "@T.prim_func\ndef f(): ...")    kProgram
//   WhatItIs("\x1f\x8b...")                         "compressed by gzip"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

enum class FileKind {
  kProgram,   // one function
  kModule,    // several functions
  kGraph,     // graph functions (`@R.function`), with or without programs
  kModel,     // an ONNX model
  kCuda,      // CUDA C++
  kSchedule,  // calls of primitives, or a trace as JSON
};
inline constexpr FileKind kFileKinds[] = {FileKind::kProgram, FileKind::kModule, FileKind::kGraph,
                                          FileKind::kModel,   FileKind::kCuda,   FileKind::kSchedule};

// A set of kinds.
using Kinds = uint32_t;
constexpr Kinds Bit(FileKind kind) { return Kinds{1} << static_cast<int>(kind); }
inline constexpr Kinds kPrograms = Bit(FileKind::kProgram) | Bit(FileKind::kModule);
inline constexpr Kinds kGraphs = Bit(FileKind::kGraph);
inline constexpr Kinds kModels = Bit(FileKind::kModel);
inline constexpr Kinds kKernels = Bit(FileKind::kCuda);

// "a program", "an ONNX model".
std::string_view NameOf(FileKind kind);
// "a program or an ONNX model"; a program stands for a module of several functions too where both are in the set.
std::string NamesOf(Kinds kinds);

// What is in a file of this path, whose text is only looked at where the path says nothing.
FileKind KindOf(std::string_view path, std::string_view text);
inline bool IsModelPath(std::string_view path) { return path.ends_with(".onnx"); }

// The name of a file that is neither text nor a model, from its first bytes: "a Git LFS pointer, ...", "empty". Nothing
// where it may be either.
std::optional<std::string> WhatItIs(std::string_view beginning);
// Whether a file whose name does not say so begins as ONNX models do.
bool BeginsAsModel(std::string_view beginning);
// How many bytes of a file WhatItIs looks at.
inline constexpr size_t kBeginningBytes = 512;

}  // namespace tilewright
