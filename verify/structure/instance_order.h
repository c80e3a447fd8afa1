// Instances of one block that depend on each other, so that they must keep their order.
//
//   A[v + 1] = A[v] + 1                        instance v reads what instance v - 1 wrote: ordered along v
//   Y[c, t + 1] = Y[c, t] * 0.5 + X[c, t]      ordered along t, not along c: two instances that touch the same element
//                                              have the same c
//   R[v] = R[v] * 2 + A[v, k]                  ordered along k: the updates do not commute
//                                              (verify/structure/commuting_updates.h)
//   Y[2 * v + 1] = Y[2 * v]                    not ordered: instances write odd elements and read even ones
//
//   C[(v + k) % 4] = C[(v + k) % 4] * 2        ordered along v and k, though v is spatial: in another k, another v
//                                              writes the element
//
// What a block touches is what it declares. Of two instances that differ in spatial iterators alone it is taken for
// granted that they do not write the same element by the same region; verify/structure/spatial_iterators.h shows it.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/domain.h"
#include "ir/stmt.h"

namespace tilewright {

struct OrderedInstances {
  // Positions of the iterators in which instances may differ that touch the same element, one of them writing it. Such
  // instances agree in all other iterators. Empty: the instances may run in any order.
  std::vector<size_t> iterators;
  Buffer buffer;             // that one of them touches; null when there are none
  bool by_elements = false;  // some reads or writes an element of another, and not only to update it in turn

  bool none() const { return iterators.empty(); }
  // Whether iterations of the loop may run such instances.
  bool DependsOn(const BlockRealizeNode& realize, const Var& loop) const;
};

OrderedInstances FindOrderedInstances(const BlockNode& block);

// The same among fewer instances.
//
//   A[vt + 1, vi] = A[vt, vi - 1] + A[vt, vi + 1]     those of one vt are not ordered: they write another row
//   A[vi, vj] = A[vi, vj] - A[vi, vk] * A[vk, vj]     those of one vk are not where vi > vk and vj > vk
struct ComparedInstances {
  std::vector<bool> fixed;  // by iterator: whether it has the same value in all of them
  Expr condition;           // of the iterators, holds in each of them; null: nothing is known
};
OrderedInstances FindOrderedInstances(const BlockNode& block, const ComparedInstances& compared);

// What the predicate of a block says of its iterators, where it names what they are bound to; other parts of it stay
// as they are. Null where it says nothing.
Expr PredicateOfIterators(const BlockRealizeNode& realize, arith::Analyzer* analyzer);

// Variables that have several values in what runs at once when the loop does, which is one execution of it: its own,
// and those of loops and lets inside of it and outside of blocks. Threads meet at barriers only, so that those of a
// kernel may be in different iterations of loops that the kernel holds around the loop. `above`: outermost first.
using LoopVars = std::unordered_set<const VarNode*>;
LoopVars VarsAtOnce(const ForNode& loop, std::span<const ForNode* const> above);
// Whether the value may depend on the variables, or on memory.
bool Varies(const Expr& e, const LoopVars& vars);

// Those instances of a block below the loop in which iterators agree that vary with none of the variables.
ComparedInstances InstancesAtOnce(const BlockRealizeNode& realize, const LoopVars& vars);

// Positions of the spatial iterators in which instances, of those compared, may differ that touch the same element by
// these two regions.
std::vector<size_t> DifferingInSharedElements(const BlockNode& block, const BufferRegion& a, const BufferRegion& b,
                                              const ComparedInstances& compared = {});

// Whether the values of the indices tell what those of the iterators are. `iterators` have been bound in the analyzer.
//
//   v // 3 * 8 + v % 3                         the quotient and the remainder have places of their own
//   (5 * v + 2) % 6, v below 6                 5 and 6 have no common divisor
bool DetermineIterators(const std::vector<Expr>& indices, const arith::Domain& iterators, arith::Analyzer* analyzer);

// Whether no instance touches an element of `a` that the same or another instance touches of `b`, a region of the same
// buffer. Instances differ in `iterators` and agree in `fixed`; all of them have been bound in the analyzer.
// `condition` holds in both instances; null: nothing is known.
bool NeverMeet(const std::vector<Range>& a, const std::vector<Range>& b, const arith::Domain& iterators,
               const arith::Domain& fixed, const Expr& condition, arith::Analyzer* analyzer);

}  // namespace tilewright
