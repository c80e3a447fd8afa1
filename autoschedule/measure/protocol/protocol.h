// What the runner and its workers say to each other: lines of JSON.
//
// To the compile worker:
//
//   {"do": "compile", "program": "<script>", "hash": "<of the program>", "target": {...}, "library": "<path>",
//    "project": false}
//       -> {"ok": true, "code_bytes": 17000, "counters": {"spills": 0}, "seconds": 0.2}
//   {"do": "reference", "program": ..., "target": {...}, "tensors": [...], "seed": 1, "folder": "<path>"}
//       -> {"ok": true}, and the files of reference.h in the folder
//
// To the measuring worker:
//
//   {"do": "measure", "library": "<path>", "prepack_library": "<path>", "function": "main",
//    "prepack_function": "main_prepack", "tensors": [...], "num_params": 3, "seed": 1, "folder": "<path>",
//    "threads": 2, "main": [0, 3, 2], "prepack": [1, 3], "half_width": 0.01, "most_ns": 300000000, "least_ns": 20000000,
//    "most_samples": 100000, "give_up_ns": 0, "caches": "warm", "command": [], "libraries": [],
//    "ns_per_instruction": 0}
//       -> {"ok": true, "ns": [51000, 50900, ...], "max_error": 0.3}
//
// "prepack_library", empty where there is none, holds the function that packs constants ahead of time. "tensors" are
// the parameters of the program, then those that this function writes; "main" and "prepack" say which of them a
// function takes. A "command" starts a worker elsewhere (codegen/remote) that runs the library, after those in
// "libraries"; "ns_per_instruction" is above zero where its emulator counts instructions and times are projected.
//
// A tensor is {"name": "A", "dtype": "float32", "shape": [128, 64], "written": false, "constant": true, "range": []},
// with "range": [0, 127, 1] for integers from 0 to 127 that are sorted.
//
// A request that fails is answered by {"ok": false, "reason": "wrong result", "error": "element 7 of C is ..."}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "autoschedule/database/caches.h"
#include "autoschedule/measure/protocol/input_range.h"
#include "codegen/counters.h"
#include "ir/data_type.h"
#include "target/target.h"

namespace tilewright {

struct TensorSpec {
  std::string name;
  DataType dtype;
  std::vector<int64_t> shape;
  bool written = false;                            // by main
  bool constant = false;                           // the same in every call of main
  std::optional<InputRange> range = std::nullopt;  // of integers that say where the program reads
  std::vector<int64_t> strides = {};               // in elements, where its memory has gaps (ir/strided_array.h)

  int64_t bytes() const;
};

struct CompileRequest {
  bool reference = false;  // or "compile"
  std::string program;
  uint64_t hash = 0;
  Target target;
  std::string library;
  std::vector<TensorSpec> tensors;
  uint64_t seed = 0;
  std::string folder;
  bool project = false;  // counts what projects the time of emulated code (codegen/remote/projection.h)
};

struct MeasureRequest {
  std::string library, prepack_library, function, prepack_function;
  std::vector<TensorSpec> tensors;
  int64_t num_params = 0;  // tensors beyond are what the function that packs writes
  std::vector<int64_t> main, prepack;
  uint64_t seed = 0;
  std::string folder;
  int64_t threads = 1;
  double half_width = 0;
  int64_t most_nanoseconds = 0, least_nanoseconds = 0, most_samples = 0, give_up_nanoseconds = 0;
  Caches caches = Caches::kRotating;
  std::vector<std::string> command, libraries;
  double nanoseconds_per_instruction = 0;
};

struct WorkerAnswer {
  bool ok = false;
  std::string reason, error;  // of a request that failed; an error beside results is a caution about them
  int64_t code_bytes = 0;
  Counters counters;
  double seconds = 0;
  std::vector<int64_t> nanoseconds;
  double max_error = 0;
};

// A measuring worker keeps candidates ready that were right and together hold at most so much: arrays that were packed
// ahead of time and workspaces.
inline constexpr int64_t kMostReadyBytes = int64_t{256} << 20;

// Reasons that workers give.
inline constexpr char kReasonCompile[] = "compile error";
inline constexpr char kReasonRun[] = "run error";
inline constexpr char kReasonWrong[] = "wrong result";
inline constexpr char kReasonMemory[] = "out of memory";

std::string ToLine(const CompileRequest& request);
std::string ToLine(const MeasureRequest& request);
std::string ToLine(const WorkerAnswer& answer);
// An error names what cannot be read.
absl::StatusOr<CompileRequest> ReadCompileRequest(std::string_view line);
absl::StatusOr<MeasureRequest> ReadMeasureRequest(std::string_view line);
absl::StatusOr<WorkerAnswer> ReadWorkerAnswer(std::string_view line);

}  // namespace tilewright
