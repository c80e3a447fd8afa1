// Targets as JSON: presets (target/presets/), descriptions that `tilewright target --calibrate` writes, and what
// workers are told. All of a target is in it; the members are those of target/target.h:
//
//   {"name": "x86-znver4", "kind": "x86", "cores": 2, "levels": [{"name": "L1", "bytes": 32768, ...}, ...],
//    "units": [{"name": "fma", "operand": "float32", "per_cycle": 16, ...}, ...], "cpu_part": {"vector_bits": 512, ...}}
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "target/target.h"

namespace tilewright {

// A line for each level and unit.
std::string TargetToJson(const Target& target);

// An error names the member that is missing, unknown or of a wrong value. A target that is read is consistent: features
// are sorted, sizes and rates are not negative, there are memory levels, the first one of a GPU is that of a core, a
// CPU has vectors.
absl::StatusOr<Target> TargetFromJson(std::string_view json);

}  // namespace tilewright
