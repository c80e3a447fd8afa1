// Index maps from Python lambdas, `lambda i, j: (i // 16, j, i % 16)`, and functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ir/index_map.h"
#include "ir/script/python/ast.h"

namespace tilewright {

struct IndexMapReading {
  IndexMap map;  // null when the lambda is not an index map
  uint32_t offset = 0;
  std::string error;  // about the text at `offset`
};

// What a name that is not a parameter stands for.
using IndexMapName = std::function<std::optional<Expr>(const std::string& name)>;

// Inputs are int32. Operators: + - * // %, negation; literals, also as T.float32(0); T.floordiv, T.floormod, T.min and
// T.max; casts between index types; one result or a tuple (list) of them, in which IndexMap.AXIS_SEPARATOR changes
// nothing. `*index` takes all of the `indices` that the parameters before it leave. A lambda without parameters may
// give a number of any type: the value of padding.
IndexMapReading ReadIndexMap(const script::PyExpr& lambda, const IndexMapName& name = nullptr,
                             std::optional<size_t> indices = std::nullopt);
// A function whose statements give values to names and return one or several results.
IndexMapReading ReadIndexMapFunction(const script::PyStmt& function, const IndexMapName& name,
                                     std::optional<size_t> indices);

}  // namespace tilewright
