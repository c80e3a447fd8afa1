// Types and constants of programs as C++ text.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "ir/data_type.h"

namespace tilewright::cuda {

// Floating-point types that memory holds in 16 or 8 bits and that are computed as floats.
bool IsNarrow(DataType type);

// What memory holds of one lane: "float", "tw::bf16", "int8_t". Types of under 8 bits take a byte.
absl::StatusOr<std::string> StoredType(DataType type);
// What a value of one lane is while it is computed: "float" for narrow types, else as it is stored.
absl::StatusOr<std::string> ValueType(DataType type);
// An integer type whose width C++ has no type for, such as int4.
bool HasOddWidth(DataType type);

// Constants that have exactly the type.
std::string IntegerText(DataType type, int64_t value);
std::string FloatText(DataType type, double value);

}  // namespace tilewright::cuda
