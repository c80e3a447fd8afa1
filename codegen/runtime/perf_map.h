// Names for the profiler `perf` of code that is compiled into this process.
//
//   TILEWRIGHT_PERF_MAP=1 perf record tilewright run model.onnx --repeat=1000
//   perf report            # ... 41.2%  perf-4711.map  matmul_add_relu.compute
//
// With the variable set, each function that is loaded is a line "START BYTES NAME" of /tmp/perf-PID.map, in
// hexadecimal, which `perf` reads for memory that belongs to no file.
//
// A function is called by its global symbol (ir/annotations.h), or by its name: a model's kernels all have one name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::runtime {

struct CodeSymbol {
  uint64_t address = 0, bytes = 0;
  std::string name;
};

// Whether TILEWRIGHT_PERF_MAP is set, to anything but 0.
bool WantsPerfMap();
std::string PerfMapPath();
// Adds lines to the map of this process. Failure to write is not an error: the names are missing then.
void AddToPerfMap(const std::vector<CodeSymbol>& symbols);

}  // namespace tilewright::runtime
