// Values that memory holds, where they decide what a thread touches.
//
//   tile[0] = bx                                   tile: local, of each thread
//   while tile[0] < n: ... tile[0] = tile[0] + 16
//   C[P[tile[0]] + tx] = ...                       a touch of C[p + tx], with p for P[tile[0]]
//
// A value gets a name, so that what is known of names without values is known of it too, and the loops over threads and
// blocks in whose iterations it may differ: here those over bx. Values of memory that is shared are the same for all
// that share it, where they read the same element; verify/threads/races.h sees to it that nobody writes meanwhile.
#pragma once

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace tilewright {

using LoopSet = std::set<const ForNode*>;

struct MemoryValue {
  LoopSet loops;       // in iterations of which it may differ
  bool lasts = false;  // nothing that the function does changes what it is read from
  // Threads do not change it between two reads of the same name without meeting.
  bool is_steady = false;
  // What the data that callers give decides it by: elements of a table are taken to differ where their indices do,
  // values of other memory in iterations that look up other elements for them. Empty where no such data decides.
  std::vector<Expr> decided_by;
};
using ValuesByName = std::unordered_map<const VarNode*, MemoryValue>;

// What decides the values of an expression with names: what decides these, and the rest without them.
std::vector<Expr> DecidedBy(const Expr& e, const ValuesByName& values);

class MemoryValues {
 public:
  explicit MemoryValues(const Function& function);

  // Whether places or conditions depend on memory at all; if not, nothing has to be called.
  bool any() const { return any_; }

  // The loops in whose iterations the value may differ. Loops over the same threads count as the outermost of them.
  LoopSet DependsOn(const Expr& e) const;
  // The expression with names in place of what it loads here.
  Expr Named(const Expr& e);
  bool HasNames(const Expr& e) const;

  // The walk through the function, in its order: what is stored to has other values from here on.
  void Change(const Stmt& s);
  // Inside of a loop that changes memory without threads meeting in it.
  void EnterUnsteady(const Stmt& body);
  void LeaveUnsteady(const Stmt& body);

  ValuesByName Take() { return std::move(values_); }

 private:
  friend class FindContents;
  struct Contents {
    LoopSet loops;
    LoopSet looked_up;  // in iterations of which it may be made of other elements of tables
    bool operator==(const Contents&) const = default;
  };
  struct Known {
    Expr load;  // its indices with names
    int version;
    Var name;
  };

  const VarNode* RootOf(const VarNode* data) const;
  const VarNode* RootOf(const Buffer& buffer) const { return RootOf(buffer->data.get()); }
  LoopSet LookedUpBy(const Expr& e) const;
  std::vector<const VarNode*> ReachedBy(const CallNode& call) const;
  void AddLoops(const Buffer& buffer, const LoopSet& loops, LoopSet* found) const;
  const std::vector<const VarNode*>& StoredIn(const Stmt& s);

  bool any_ = false;
  std::unordered_map<const VarNode*, Contents> variables_;        // loops, iterators, names in the program
  std::unordered_map<const VarNode*, Contents> contents_;         // by data
  std::unordered_map<const VarNode*, const VarNode*> source_of_;  // of the data of matched parts
  std::unordered_set<const VarNode*> written_;
  std::unordered_map<const VarNode*, int> version_;
  std::unordered_map<const VarNode*, int> unsteady_;
  std::unordered_map<const StmtNode*, std::vector<const VarNode*>> stored_in_;
  std::vector<Known> known_;
  ValuesByName values_;
};

}  // namespace tilewright
