// Index maps from Python lambdas: `lambda i, j: (i // 16, j, i % 16)`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ir/index_map.h"
#include "ir/script/python_ast.h"

namespace tilewright {

struct IndexMapReading {
  IndexMap map;  // null when the lambda is no index map
  uint32_t offset = 0;
  std::string error;  // about the text at `offset`
};

// Inputs are int32. Operators: + - * // %, negation; literals, also as T.float32(0); T.floordiv, T.floormod, T.min and
// T.max; one result or a tuple (list) of them, in which IndexMap.AXIS_SEPARATOR changes nothing. A lambda without
// parameters may give a number of any type: the value of padding. `number`: what a name that is no parameter stands
// for.
IndexMapReading ReadIndexMap(const script::PyExpr& lambda,
                             const std::function<std::optional<int64_t>(const std::string& name)>& number = nullptr);

}  // namespace tilewright
