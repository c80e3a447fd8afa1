// Finding one's way in the loop tree of a function: what is around a loop or block, what is below it, and replacing it.
//
// Terms. The *scope* of a loop or block is the nearest block strictly around it; every place but the root block has
// one. The *loops above* it are the loops between its scope and it. The *blocks below* a statement are the blocks
// reached from it without entering a block, and a block's *children* are the blocks below its body.
//
//   with T.block("root"):           scope of i, X, j, Y; its children are X and Y
//       for i in range(4):
//           with T.block("X"): ...  loops above: i
//           for j in range(4):      loops above: i
//               with T.block("Y"):  loops above: i, j; the blocks below i are X and Y
//
// Blocks inside of an init are not children: the init belongs to the block as its body's stores do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// ---- Around

// `path` leads to the loop or block in question (ir/function.h's FindPath). Null for the root block.
const BlockRealizeNode* ScopeOf(const Path& path);
// Outermost first.
std::vector<const ForNode*> LoopsAbove(const Path& path);
// The same as ids, by the id of a loop or block: what schedules call get_loops.
std::vector<uint32_t> LoopsAbove(const Function& function, uint32_t id);

// ---- Below

// `stmt` itself when it is a block.
std::vector<const BlockRealizeNode*> BlocksBelow(const Stmt& stmt);
std::vector<const BlockRealizeNode*> ChildBlocks(const BlockNode& block);
// The blocks below together with the loops from `stmt` (inclusive) down to each, outermost first.
struct BlockBelow {
  const BlockRealizeNode* realize;
  std::vector<const ForNode*> loops;
};
std::vector<BlockBelow> BlocksWithLoopsBelow(const Stmt& stmt);
// All blocks with that name, in the order of the program, nested ones included.
std::vector<const BlockRealizeNode*> BlocksNamed(const Function& function, std::string_view name);

// ---- Changing

// `function` with the statement `old` replaced. `next_id` as in Function::WithBody.
Function ReplaceIn(const Function& function, const StmtNode* old, const Stmt& replacement, uint32_t next_id);
// The greatest subtree that holds no block but the one `path` leads to: what removing the block removes. Null when that
// would leave the scope empty (it is the only leaf).
const StmtNode* SubtreeOfOnly(const Path& path);
// Without a subtree; the sequence around it must have other statements.
Function RemoveFrom(const Function& function, const StmtNode* subtree);

// The loops, outermost first, around `body`; the bodies that `loops` hold are ignored.
Stmt Nest(std::vector<ForNode::Fields> loops, Stmt body);
// The realizes of all blocks below `stmt` with another condition in conjunction with their predicates.
Stmt AddPredicateBelow(const Stmt& stmt, const Expr& condition);

}  // namespace tilewright
