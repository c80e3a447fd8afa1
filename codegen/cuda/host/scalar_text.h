// Integer expressions of the host's part as C++ over codegen/cuda/host/numbers.h. Their values are those of
// codegen/cuda/scalar_code.h. Private to codegen/cuda/host.
#pragma once

#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "ir/expr.h"

namespace tilewright::cuda {

// How variables are called in the text.
using VarNames = std::unordered_map<const VarNode*, std::string>;

// `FloorDiv(m + 127, 128)`: an Int, or a literal. An error names what the host cannot compute.
absl::StatusOr<std::string> ScalarText(const Expr& e, const VarNames& names);
// The same as an operand of a member access: `(m + 1)`, `Int(5)`.
absl::StatusOr<std::string> ScalarAtom(const Expr& e, const VarNames& names);

// A text as a literal of C++.
std::string Quoted(const std::string& text);

}  // namespace tilewright::cuda
