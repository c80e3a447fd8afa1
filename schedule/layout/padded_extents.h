// Longer extents for an einsum's iterators, their loops and its buffers: what pad_einsum and pad_einsum_in_place share.
//
//   for i in range(127):                    for i in range(128):
//       with T.block("C"):             =>       with T.block("C"):
//           vi = T.axis.spatial(127, i)             vi = T.axis.spatial(128, i)
//           C[vi] = A[vi]                           C_pad[vi] = A_pad[vi]
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "ir/function.h"
#include "ir/mentions.h"
#include "ir/substitute.h"

namespace tilewright {

struct PaddedExtents {
  std::unordered_map<Var, Expr, IdentityHash, IdentityEqual> iterators;
  std::map<uint32_t, Expr> loops;  // by id
};

// The extents keep the types of those that they replace.
class ExtentRewriter : public MutatorOfMentions {
 public:
  // `buffers`: to those of padded shapes.
  ExtentRewriter(const PaddedExtents& extents, BufferMap buffers);
  Buffer MutateBuffer(const Buffer& buffer) override;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override;
  Block MutateBlock(const Block& block) override;

 private:
  const PaddedExtents& extents_;
  const BufferMap buffers_;
};

}  // namespace tilewright
