// Which statements of a list mention a variable or a buffer: where a change of a buffer has to look.
//
//   root:  A B C ... 1,000 nests          EntriesThatMention(list, {T->data})  is  {1, 2}
//            | T |
//
// While this thread keeps mentions, what a statement mentions is collected once, and a list that was changed costs what
// was changed. One list is kept, the longest: of others, and without any, every statement may mention anything.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ir/functor.h"

namespace tilewright {

class KeepMentions {
 public:
  KeepMentions();
  ~KeepMentions();
  KeepMentions(const KeepMentions&) = delete;
  KeepMentions& operator=(const KeepMentions&) = delete;

 private:
  friend std::vector<size_t> EntriesThatMention(const SeqNode& list, const std::vector<const VarNode*>& vars);
  friend std::vector<size_t> EntriesThatDeclare(const SeqNode& list, const std::vector<const VarNode*>& memory);
  struct Kept;
  const std::unique_ptr<Kept> kept_;
  KeepMentions* const outer_;
};

// The places of the entries that may use or declare one of the variables, or a buffer whose data pointer is one of
// them, in order.
std::vector<size_t> EntriesThatMention(const SeqNode& list, const std::vector<const VarNode*>& vars);

// The places of the entries that may declare a buffer in one of these memories, which are given by data pointers, in
// order: allocations, views, and parts that blocks match with another type. Few do, where many use the memory.
std::vector<size_t> EntriesThatDeclare(const SeqNode& list, const std::vector<const VarNode*>& memory);

// Those entries that mention a variable, if the statement is a list; the statement itself if it is another one.
std::vector<Stmt> StmtsThatMention(const Stmt& s, const std::vector<const VarNode*>& vars);

// A visitor that enters the statements of the outermost list that may mention one of the variables, and no others.
template <class Base>
class VisitorOfMentions : public Base {
 public:
  explicit VisitorOfMentions(std::vector<const VarNode*> vars) : vars_(std::move(vars)) {}

 protected:
  void VisitSeq(const SeqNode* op) override {
    if (in_list_) return Base::VisitSeq(op);
    in_list_ = true;
    for (const size_t place : EntriesThatMention(*op, vars_)) this->Visit(op->stmts[place]);
    in_list_ = false;
  }

 private:
  const std::vector<const VarNode*> vars_;
  bool in_list_ = false;
};

// The same of a mutator, which keeps the others as they are.
class MutatorOfMentions : public Mutator {
 public:
  explicit MutatorOfMentions(std::vector<const VarNode*> vars) : vars_(std::move(vars)) {}

 protected:
  Stmt MutateSeq(const SeqNode* op, const Stmt& self) override;

 private:
  const std::vector<const VarNode*> vars_;
  bool in_list_ = false;
};

// RewriteStmt of the statements of a list that may mention one of the variables; of all of another statement.
Stmt RewriteMentions(const Stmt& s, const std::vector<const VarNode*>& vars,
                     const std::function<Stmt(const Stmt&)>& rewrite);

}  // namespace tilewright
