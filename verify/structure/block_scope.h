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
#include <memory>
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
  // The scope that the block opens. The block must outlive the scope.
  static BlockScope Of(const BlockNode* block);
  // The scope that the loop or block with that id lies in; CHECKs that it exists and is not the root.
  static BlockScope Around(const Function& function, uint32_t id);

  const BlockNode* block() const;
  // In the order of the program.
  const std::vector<ScopeChild>& children() const;
  std::vector<Dependence> Dependences() const;  // in the order of their destinations, then of their sources
  // Those that begin or end at the block, in the same order.
  std::vector<Dependence> DependencesOf(uint32_t block_id) const;

  const ScopeChild* Find(uint32_t block_id) const;
  // The place of the first statement of the block's body, taken as a list, that holds one of these children.
  std::optional<size_t> FirstStatementOf(const std::vector<uint32_t>& block_ids) const;
  // Whether the child's bindings, or bounds of loops around it, read any memory.
  bool LoadsAround(const ScopeChild& child) const;
  // Ids of blocks, in the order of the program, without repetitions.
  std::vector<uint32_t> Producers(uint32_t block_id) const;  // read-after-write and write-after-write sources
  std::vector<uint32_t> Consumers(uint32_t block_id) const;
  std::vector<uint32_t> Writers(const Buffer& buffer) const;
  std::vector<uint32_t> Readers(const Buffer& buffer) const;
  // At least those that touch the buffer's memory.
  std::vector<const ScopeChild*> ChildrenThatMayTouch(const Buffer& buffer) const;
  // Whether the block writes a buffer that the scope does not allocate.
  bool IsOutput(const ScopeChild& child) const;
  // Statements other than loops, blocks and their sequences lie between the scope and its blocks.
  bool has_other_statements() const;

 private:
  friend class KeepBlockScopes;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

// While one lives, this thread keeps the scopes that it was asked for. The scope of a block that was changed costs what
// was changed, not what the block holds: statements that are the same nodes hold the same blocks.
class KeepBlockScopes {
 public:
  KeepBlockScopes();
  ~KeepBlockScopes();
  KeepBlockScopes(const KeepBlockScopes&) = delete;
  KeepBlockScopes& operator=(const KeepBlockScopes&) = delete;

 private:
  friend class BlockScope;
  struct Kept;
  const std::unique_ptr<Kept> kept_;
  KeepBlockScopes* const outer_;
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
