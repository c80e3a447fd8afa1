// LAUNCH.json: how a kernel of `tilewright emulate` is launched. docs/emulate.md specifies it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/data_type.h"

namespace tilewright {

// A number as it is written.
struct LaunchNumber {
  bool is_integer = true;
  int64_t integer = 0;
  double number = 0;  // the same, also of an integer
};

struct LaunchTensorMap {
  std::string array;
  DataType dtype;                // of the array, unless another is given
  std::vector<int64_t> extents;  // innermost first, as the driver takes them; empty: those of the array
  std::vector<int64_t> strides;  // in bytes, of all dimensions but the first; empty: compact
  std::vector<int64_t> box;      // of a tiled map
  std::vector<int64_t> steps;    // empty: 1 each
  int64_t swizzle = 0;           // bytes
  bool fill_nan = false;
  // Fields of an im2col map.
  bool im2col = false;
  std::vector<int64_t> lower, upper;
  int64_t channels = 0, pixels = 0;
};

struct LaunchArgument {
  enum class Kind { kArray, kScalar, kStruct, kTensorMap, kPointer, kNull };
  Kind kind = Kind::kScalar;
  std::string name;
  std::string field;  // where it stands in the file: "arguments[2]"

  // Arrays.
  DataType dtype;
  std::vector<int64_t> shape;
  std::optional<int64_t> seed;
  std::optional<std::string> file;
  std::optional<LaunchNumber> fill;
  bool output = false;

  LaunchNumber value;                // of a scalar; `dtype` is void where the file names none
  std::vector<LaunchNumber> fields;  // of a struct
  LaunchTensorMap map;
  std::string array;   // of a pointer into an array
  int64_t offset = 0;  // in elements of it

  // Whether the kernel finds values in it.
  bool has_values() const { return seed || file || fill; }
};

struct LaunchFile {
  std::string kernel;  // empty: the only one
  std::vector<int64_t> grid, block, cluster;
  int64_t shared_bytes = 0;
  std::string target = "cuda-sm90a";
  int64_t seed = 0, budget = 0, concurrent_clusters = 1;
  std::vector<std::string> define, include;
  std::vector<LaunchArgument> arguments, arrays;  // arrays that only tensor maps and pointers name
};

// Errors name the field.
absl::StatusOr<LaunchFile> ParseLaunchFile(std::string_view text);

}  // namespace tilewright
