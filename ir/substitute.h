// Replacing variables and buffers, and copying subtrees with fresh names.
#pragma once

#include <unordered_map>

#include "ir/function.h"
#include "ir/stmt.h"

namespace tilewright {

using VarMap = std::unordered_map<Var, Expr, IdentityHash, IdentityEqual>;
using BufferMap = std::unordered_map<Buffer, Buffer, IdentityHash, IdentityEqual>;

// `values` replace free occurrences of their variables, also in the extents of buffers that a statement declares. The
// data pointers of buffers are variables too: replacing one does not change the buffer (map the buffer instead).
Expr Substitute(const Expr& e, const VarMap& values);
Stmt Substitute(const Stmt& s, const VarMap& values);
Range Substitute(const Range& range, const VarMap& values);
BufferRegion Substitute(const BufferRegion& region, const VarMap& values);
std::vector<Expr> Substitute(const std::vector<Expr>& exprs, const VarMap& values);

// Variables and buffers at once; a replaced buffer's data, elem_offset and strides variables follow it in calls.
Stmt Substitute(const Stmt& s, const VarMap& values, const BufferMap& buffers);
Expr Substitute(const Expr& e, const VarMap& values, const BufferMap& buffers);

// A copy of `s` in which every bound variable (loops, block iterators, lets) and every buffer allocated or matched
// inside is fresh, and every loop and block has a fresh id taken from `next_id`.
Stmt CopyWithFreshNames(const Stmt& s, uint32_t* next_id);

}  // namespace tilewright
