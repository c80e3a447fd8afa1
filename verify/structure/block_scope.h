// The blocks directly inside one block (its scope), and who produces and consumes what among them.
//
// Every statement about data flow in this compiler is made within a scope: the nearest enclosing block. A scope sees
// only the signatures of its children (iterators, read and write regions), never their bodies.
//
//   root                         scope of A_shared and C
//     for i: block A_shared      writes A_shared[...]
//     for j: block C             reads A_shared[...]: C depends on A_shared (read after write)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

enum class DependenceKind : uint8_t {
  kReadAfterWrite,
  kWriteAfterWrite,
  kWriteAfterRead,
};
struct Dependence {
  uint32_t source, destination;  // ids of blocks; the source comes first in the program
  DependenceKind kind;
  Buffer buffer;
};

// One block of a scope, with the loops between the scope and it, outermost first.
struct ScopeChild {
  const BlockRealizeNode* realize;
  std::vector<const ForNode*> loops;
  uint32_t id() const { return realize->block->id; }
};

class BlockScope {
 public:
  // The scope that the block with this id opens, or that a function's body is when the body is not a block. The
  // function must outlive the scope.
  static BlockScope Of(const BlockNode* block);
  // The scope that the loop or block with that id lies in; CHECKs that it exists and is not the root.
  static BlockScope Around(const Function& function, uint32_t id);

  const BlockNode* block() const { return block_; }
  // In the order of the program.
  const std::vector<ScopeChild>& children() const { return children_; }
  const std::vector<Dependence>& dependences() const { return dependences_; }

  const ScopeChild* Find(uint32_t block_id) const;
  // Ids of blocks, in the order of the program, without repetitions.
  std::vector<uint32_t> Producers(uint32_t block_id) const;  // read-after-write and write-after-write sources
  std::vector<uint32_t> Consumers(uint32_t block_id) const;
  std::vector<uint32_t> Writers(const Buffer& buffer) const;
  std::vector<uint32_t> Readers(const Buffer& buffer) const;
  // Blocks that write a buffer which the scope does not allocate.
  std::vector<uint32_t> Outputs() const;
  // Statements other than loops, blocks and their sequences lie between the scope and its blocks.
  bool has_other_statements() const { return has_other_statements_; }

 private:
  const BlockNode* block_ = nullptr;
  std::vector<ScopeChild> children_;
  std::vector<Dependence> dependences_;
  bool has_other_statements_ = false;
};

// Why a block is not of a kind that primitives can reason about: a sentence, or nothing when it is.
//
// A complete block computes each output element once: all iterators are spatial, it is the only writer of its outputs
// in the scope (and nobody reads them before), and it reads nothing that it writes.
std::optional<std::string> WhyNotComplete(const BlockScope& scope, const ScopeChild& child);
// A reduction block combines into its outputs: it has an init, its iterators are spatial or reduce, it is the only
// writer of its outputs, and no reduce iterator indexes an output.
std::optional<std::string> WhyNotReduction(const BlockScope& scope, const ScopeChild& child);
inline bool IsComplete(const BlockScope& scope, const ScopeChild& child) { return !WhyNotComplete(scope, child); }
inline bool IsReduction(const BlockScope& scope, const ScopeChild& child) { return !WhyNotReduction(scope, child); }

// Each binding is a loop variable of its own (or a constant of an iterator with one value).
bool HasTrivialBindings(const BlockRealizeNode& realize, const std::vector<const ForNode*>& loops);

}  // namespace tilewright
