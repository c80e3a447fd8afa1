// The script printer: the text that ir/script/parser.h reads back to an equal program.
//
//   for i, j, k in T.grid(64, 64, 64):
//       with T.block("C"):
//           vi, vj, vk = T.axis.remap("SSR", [i, j, k])
//           T.reads(A[vi, vk], B[vk, vj])
//           ...
//
// The form is TVM's: loops that can be are merged into T.grid, iterators bound to plain loop variables into
// T.axis.remap, the root block that the parser adds is a comment. Names are made unique where two things in scope
// share one (i, i_1). Ids are not printed. Printing is a function of the program: equal programs with equal names give
// equal text.
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

struct PrintOptions {
  // Loops, blocks and statements to point out: the line each starts on is underlined with a comment.
  std::vector<const Node*> marked;
  int indent = 4;  // spaces per level
};

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Function& function, const PrintOptions& options = {});
// Parts of programs: variables and buffers that are defined outside are printed by their names.
std::string Print(const Stmt& stmt, const PrintOptions& options = {});
std::string Print(const Expr& e);
// The same as the peer's graphs write extents: int64 constants without their type, n * 4.
std::string PrintExtent(const Expr& e);
std::string Print(const BufferRegion& region);
std::string Print(const IndexMap& map);  // "lambda i, j: (i // 16, j)"

}  // namespace tilewright
