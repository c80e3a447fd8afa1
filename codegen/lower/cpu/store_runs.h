// Runs of adjacent stores, and the unconditional loads of their values. Passes that combine several loads of a run
// derive from these two classes.
#pragma once

#include <vector>

#include "ir/functor.h"

namespace tilewright {

// Calls AddLoad for each load that does not depend on a condition or on a variable of a let in the value.
class UnguardedLoads : public Visitor {
 public:
  // Whether the values visited only read memory.
  bool only_reads() const { return only_reads_; }

 protected:
  virtual void AddLoad(const LoadNode* load) = 0;

  void VisitLoad(const LoadNode* op) final;
  void VisitBinary(const BinaryNode* op) final;
  void VisitLet(const LetNode* op) final;
  void VisitCall(const CallNode* op) final;

 private:
  int guards_ = 0;
  bool only_reads_ = true;
};

// Calls ChangeRun for each longest run of stores in a sequence.
class StoreRunMutator : public StmtMutator {
 protected:
  // Changes `run`, which may be empty; returns whether something changed.
  virtual bool ChangeRun(std::vector<Stmt>& run) = 0;

  Stmt MutateSeq(const SeqNode* op, const Stmt& self) final;
};

}  // namespace tilewright
