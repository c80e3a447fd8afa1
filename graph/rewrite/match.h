// Finding patterns in functions.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/ir/value.h"
#include "graph/rewrite/pattern.h"

namespace tilewright::graph {

// Who binds and who uses each variable of a function.
class FunctionUses {
 public:
  explicit FunctionUses(const Function& function);

  // Null for parameters.
  Value BoundTo(const VarNode* var) const;
  // The block of the binding, by number; -1 for parameters.
  int BlockOf(const VarNode* var) const;
  bool IsDataflow(int block) const { return block_is_dataflow_[static_cast<size_t>(block)]; }
  // Variables that are bound to a value that uses it, each once; null stands for a result or a condition.
  const std::vector<const VarNode*>& UsersOf(const VarNode* var) const;
  // Bindings of a block, in order.
  const std::vector<Binding>& BindingsOf(int block) const { return *blocks_[static_cast<size_t>(block)]; }
  int num_blocks() const { return static_cast<int>(blocks_.size()); }
  // Whether what `var` is bound to needs `other`, directly or not. Within one block.
  bool DependsOn(const VarNode* var, const std::unordered_set<const VarNode*>& others) const;

 private:
  void AddSeq(const SeqNode& seq);
  void AddUses(const VarNode* user, const Value& value);

  std::unordered_map<const VarNode*, Value> values_;
  std::unordered_map<const VarNode*, int> block_of_;
  std::unordered_map<const VarNode*, std::vector<const VarNode*>> users_;
  std::vector<const std::vector<Binding>*> blocks_;
  std::vector<bool> block_is_dataflow_;
  Function function_;
};

// What each pattern matched: a variable (of a computed value) or another atom of the function.
class Match {
 public:
  // Null when the pattern has no part in the match (another alternative was taken).
  Value Of(const Pattern& pattern) const;

  std::vector<const VarNode*> roots;         // in the order of PatternGraph::roots
  std::unordered_set<const VarNode*> inner;  // computed, used only inside of the match: gone after a rewrite
  std::vector<const VarNode*> inputs;        // variables that the match reads, each once

 private:
  friend class Matcher;
  std::unordered_map<const PatternNode*, Value> values_;
};

// A match whose first root is that binding's variable, or nothing. All roots and inner values are bound in its block.
// `taken` may be no part of it but as inputs.
std::optional<Match> FindMatch(const PatternGraph& graph, const FunctionUses& uses, const Binding& binding,
                               const std::unordered_set<const VarNode*>& taken = {});

}  // namespace tilewright::graph
