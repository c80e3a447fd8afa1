// The program that tests of workers and runners build, break and measure: B[vi] = A[vi] + 1; and what workers are asked
// about it.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright::add_one {

// The program's text, with `statement` where it adds 1; as a loop, or as threads of one block.
inline std::string TextOf(int64_t elements, const std::string& loop, const std::string& statement) {
  return absl::StrCat("@T.prim_func\ndef main(A: T.Buffer((", elements, ",), \"float32\"), B: T.Buffer((", elements,
                      ",), \"float32\")):\n    for i in ", loop,
                      ":\n        with T.block(\"B\"):\n            vi = T.axis.spatial(", elements,
                      ", i)\n            ", statement, "\n");
}
inline std::string Text(int64_t elements, const std::string& statement = "B[vi] = A[vi] + T.float32(1)") {
  return TextOf(elements, absl::StrCat("range(", elements, ")"), statement);
}
inline std::string TextByThreads(int64_t elements, const std::string& statement = "B[vi] = A[vi] + T.float32(1)") {
  return TextOf(elements, absl::StrCat("T.thread_binding(", elements, ", thread=\"threadIdx.x\")"), statement);
}

// Its parameters.
inline TensorSpec TensorA(int64_t elements) { return {.name = "A", .dtype = DataType::Float(32), .shape = {elements}}; }
inline TensorSpec TensorB(int64_t elements) {
  return {.name = "B", .dtype = DataType::Float(32), .shape = {elements}, .written = true};
}

// Asks for a program of this text, or for its reference, in the folder.
inline CompileRequest CompileRequestFor(const std::string& program, std::string folder, bool reference = false) {
  CompileRequest request;
  request.reference = reference;
  request.program = program;
  request.hash = StructuralHash(ParseOrDie(program));
  request.target = HostTarget();
  request.folder = std::move(folder);
  return request;
}
// Asks for three samples of a library's function `main` of the program's parameters.
inline MeasureRequest MeasureRequestFor(std::string library, int64_t elements, std::string folder) {
  return {.library = std::move(library),
          .function = "main",
          .tensors = {TensorA(elements), TensorB(elements)},
          .num_params = 2,
          .main = {0, 1},
          .folder = std::move(folder),
          .most_nanoseconds = 1'000'000'000,
          .most_samples = 3};
}

}  // namespace tilewright::add_one
