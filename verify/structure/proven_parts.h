// Parts that programs have in common, proven once.
//
//   ProvenParts proven;
//   for (const Function& candidate : candidates) VerifyProgram(candidate, nullptr, &proven);
//
// A *nest* is a statement directly in a root block that declares nothing of its own. What concerns one nest alone
// (bindings, declared regions, spatial iterators, bounds of accesses) does not depend on the nests beside it, so a nest
// that was proven is proven wherever the same node stands. All of that but the bindings concerns the outermost blocks
// of a nest alone: one that was proven for all values of its iterators is proven in whatever loops it stands. Parts in
// which something was found are not remembered.
//
// It is used by one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/function.h"

namespace tilewright {

class ProvenParts {
 public:
  // The nests of the function; none where its root block is of another kind.
  static std::vector<Stmt> NestsOf(const Function& function);
  // The outermost blocks of a nest; nothing where something else in it touches memory.
  static std::optional<std::vector<Block>> BlocksOf(const Stmt& nest);

  // The function with that nest alone, or with that block for values of its iterators that nothing is known of.
  static Function Alone(const Function& function, const Stmt& nest);
  static Function Alone(const Function& function, const Block& block);

  // The blocks of a proven nest whose instances may run again (verify/structure/bindings.h); null for another.
  const std::vector<const BlockNode*>* Find(const Stmt& nest) const;
  void Add(const Stmt& nest, std::vector<const BlockNode*> repeating);

  bool Contains(const Block& block) const { return blocks_.contains(block); }
  void Add(const Block& block);

 private:
  // All of a kind are forgotten when there are more: nests keep programs in memory, and most are not met again.
  static constexpr size_t kMostNests = 1 << 8, kMostBlocks = 1 << 14;
  std::unordered_map<Stmt, std::vector<const BlockNode*>, IdentityHash, IdentityEqual> nests_;
  std::unordered_set<Block, IdentityHash, IdentityEqual> blocks_;
};

}  // namespace tilewright
