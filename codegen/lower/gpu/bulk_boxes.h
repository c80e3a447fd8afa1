// Boxes of arrays that the engine for bulk tensor copies moves at once, in either direction.
//
//   for i, j in T.grid(128, 64):                         a box of 128 rows and 64 columns: of A from (m, k) on,
//       S[i, j] = A[m + i, k + j]                        in S as rows of 128 bytes that are swizzled, or not
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/stmt.h"
#include "target/target.h"

namespace tilewright {

// A copy by one nest of one or two loops.
struct BoxNest {
  std::vector<const ForNode*> loops;
  std::vector<Expr> conditions;  // the same for all elements
  std::vector<Expr> bounds;      // conditions that depend on the element: what does not meet them is not copied
  const StoreNode* store = nullptr;
  const LoadNode* load = nullptr;
  Expr inside;  // what is loaded is inside of the array, and zero is stored elsewhere; null: always

  bool UsesLoops(const Expr& e) const;
  int64_t rows() const { return loops.size() == 2 ? *AsInt(loops[0]->extent) : 1; }
  int64_t columns() const { return *AsInt(loops.back()->extent); }
};
std::optional<BoxNest> BoxNestOf(const Stmt& s);

// The form in which a box of a buffer lies in shared memory.
struct BoxForm {
  int64_t span = 0;     // of the swizzle
  int64_t columns = 0;  // of a panel

  // At whose multiples boxes begin, in bytes.
  int64_t Alignment(const GpuTarget& gpu) const;
};
// Nothing where the engine has no such form.
std::optional<BoxForm> BoxFormOf(const Buffer& buffer, int64_t rows, int64_t columns, const GpuTarget& gpu);

// A panel of the nest, the one at column `panel`, by the call of the engine: `body` stores one element. The loops
// count the panel's elements alone; ids of copies come from `next_id`.
Stmt PanelOf(const BoxNest& nest, const BoxForm& form, int64_t panel, Stmt body, Expr engine, uint32_t* next_id);

// Indices into an array, or into what is looked at as one.
struct ArrayPlace {
  std::vector<Expr> indices, shape;
};
// Whether all elements of the nest for which the condition does not hold are outside of the array: the engine reads
// those as zeros, and does not write them. The analyzer knows the loops' ranges.
bool IsBoundOfArray(const Expr& condition, const std::vector<const ForNode*>& loops, const ArrayPlace& place,
                    const GpuTarget& gpu, arith::Analyzer* analyzer);

// Strides of a buffer in elements.
std::vector<Expr> ElementStrides(const Buffer& buffer, arith::Analyzer* analyzer);
// Whether there are maps of arrays of the type.
bool HasMapType(DataType type);
// The arguments that maps of all kinds begin with, of an array that begins where the buffer does: its data, type, span
// of the swizzle, rank, extents and strides, innermost first.
std::vector<Expr> MapOfArray(const Buffer& buffer, const std::vector<Expr>& shape, const std::vector<Expr>& strides,
                             int64_t span);

}  // namespace tilewright
