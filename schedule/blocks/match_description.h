// Matching a block against the description of an intrinsic.
//
//   description                                  block                                            match
//   C[vi, vj] = C[vi, vj] + A[vi, vk] * ...      X[bi * 16 + i, j] = X[bi * 16 + i, j] + ...      C: X at (bi * 16, 0)
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

// A parameter's element (x, y) is the buffer's element at `origin`, moved by x along dims[0] and by y along dims[1];
// dimensions that the parameter does not have are at their origin.
struct MatchedBuffer {
  Buffer buffer;
  std::vector<Expr> origin;  // by dimension of the buffer
  std::vector<size_t> dims;  // ascending
};
using MatchedBuffers = std::unordered_map<Buffer, MatchedBuffer, IdentityHash, IdentityEqual>;

// The program's buffer behind each buffer of the description, or where the two first differ. `name`: the intrinsic's,
// for the refusal. The block may have an init that is not described. Operands of commutative operations may come in
// either order. What the description writes has to lie apart from all else that it names.
Outcome<MatchedBuffers> MatchDescription(const char* primitive, const BlockNode& block, const Function& description,
                                         const std::string& name);

}  // namespace tilewright
