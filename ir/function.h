// Functions and modules: whole programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

// A parameter: a scalar variable, or a buffer together with the handle variable it arrives in.
struct Param {
  Var var;
  Buffer buffer;  // null for scalars
};

class FunctionNode : public Node {
 public:
  static constexpr Kind kKind = Kind::kFunction;
  struct Fields {
    std::string name;
    std::vector<Param> params;
    Annotations attrs;     // T.func_attr
    Stmt body;             // programs that can be scheduled: the realize of the root block, which has no iterators
    uint32_t next_id = 1;  // greater than every id in the body
    bool is_private = false;
  };
  explicit FunctionNode(Fields fields);
  const std::string name;
  const std::vector<Param> params;
  const Annotations attrs;
  const Stmt body;
  const uint32_t next_id;
  const bool is_private;
  Fields fields() const;  // a copy to change and make another function from
};

class Function : public Ref<FunctionNode> {
 public:
  Function() = default;
  explicit Function(const FunctionNode* node) : Ref<FunctionNode>(node) {}
  // Ids in `fields.body` that are 0 (unassigned) get fresh ones, in the order of the text.
  explicit Function(FunctionNode::Fields fields);

  // The same function with another body; `next_id` must be greater than every id in it.
  Function WithBody(Stmt body, uint32_t next_id) const;
};

// An ordered set of functions with distinct names. Copying shares the functions.
class Module {
 public:
  Module() = default;
  explicit Module(Function function) { functions_.push_back(std::move(function)); }

  const std::vector<Function>& functions() const { return functions_; }
  const Annotations& attrs() const { return attrs_; }
  // Null when there is none of that name.
  Function Find(std::string_view name) const;
  // "main", else the only function, else null.
  Function Main() const;
  // The function that packs constant parameters of `function` ahead of time, or null: the one that says so by the
  // attribute kPrepackOf (ir/annotations.h).
  Function PrepackOf(std::string_view function) const;
  // Replaces the function of the same name or appends.
  void Set(Function function);
  void Remove(std::string_view name);
  void set_attrs(Annotations attrs) { attrs_ = std::move(attrs); }

 private:
  std::vector<Function> functions_;
  Annotations attrs_;
};

// Handles: how schedules and diagnostics name a loop or a block.
struct LoopRef {
  std::string function;
  uint32_t id = 0;
};
struct BlockRef {
  std::string function;
  uint32_t id = 0;
};

// The loops and blocks around a place, from the root inwards; the last entry is the place itself. Each is a For or a
// BlockRealize; other statements (Seq, If, ...) are passed through.
using Path = std::vector<Stmt>;
// The path to the loop or block with that id, empty when there is none.
Path FindPath(const Function& function, uint32_t id);
// The loop with that id, or null.
const ForNode* FindLoop(const Function& function, uint32_t id);
const BlockRealizeNode* FindBlock(const Function& function, uint32_t id);

// `root` with the statement `old` (found by identity) replaced; only the path to it is copied. CHECKs that it occurs.
Stmt ReplaceStmt(const Stmt& root, const StmtNode* old, const Stmt& replacement);

}  // namespace tilewright
