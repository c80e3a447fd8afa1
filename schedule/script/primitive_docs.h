// The page docs/primitives.md, made from the table of primitives and their examples.
#pragma once

#include <span>
#include <string>

#include "schedule/script/primitive_examples.h"

namespace tilewright {

// The file of the examples, seen from the root of the repository.
inline constexpr char kPrimitiveExamples[] = "schedule/script/primitive_examples.txt";

std::string PrimitiveDocs(std::span<const PrimitiveExample> examples);

}  // namespace tilewright
