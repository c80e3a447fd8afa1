// Patterns: what a rewrite looks for, as data.
//
//   const Pattern x = Wildcard(), w = IsConst(), b = IsConst();
//   const Pattern product = IsOp("matmul", {x, w});
//   const Pattern sum = IsOp("add", {product, b}) | IsOp("add", {b, product});
//   PatternGraph graph(sum);                                     // its root
//
// A pattern that occurs twice must match the same value both times: IsOp("multiply", {x, x}) is a square.
//
// Inner values of a match (all that is computed and not a root) may be used only inside of the match: what a rewrite
// removes must have no other reader and be no output. `Shared()` lifts that for one value, which then stays. What a
// wildcard matches is an input of the match, never one of its inner values or roots.
//
// Several roots are found by how they use each other and what they share:
//
//   PatternGraph qkv({IsOp("matmul", {x, w1}), IsOp("matmul", {x, w2})});           // two products of one value
//   PatternGraph chain = PatternGraph::Sequence({IsOp("exp"), IsOp("sum")});        // exp, used only by sum
//   graph.UsedBy(a, b, 0).OnlyUsedBy(b, c);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/value.h"

namespace tilewright::graph {

struct PatternNode;

class Pattern {
 public:
  explicit Pattern(std::shared_ptr<const PatternNode> node) : node_(std::move(node)) {}
  const PatternNode* get() const { return node_.get(); }
  const PatternNode* operator->() const { return node_.get(); }

  // This pattern and a condition, as a new pattern.
  Pattern HasAttr(std::string name, AttrValue value) const;
  Pattern HasDtype(DataType dtype) const;
  Pattern HasRank(int rank) const;
  // Extents that are equal by structure; a null Expr stands for any extent.
  Pattern HasShape(std::vector<Expr> shape) const;
  // `what` describes the condition for people.
  Pattern HasType(std::string what, std::function<bool(const Type&)> condition) const;
  // Other values may use it too.
  Pattern Shared() const;

 private:
  std::shared_ptr<const PatternNode> node_;
};

Pattern Wildcard();
Pattern IsVar();    // a variable: no constant, no tuple
Pattern IsConst();  // a tensor constant
// A constant of which each element is this number.
Pattern IsSplat(double value);
// A call of the operator. Without `args` any arguments.
Pattern IsOp(std::string op);
Pattern IsOp(std::string op, std::vector<Pattern> args);
Pattern IsTuple(std::vector<Pattern> fields);
Pattern IsTupleGetItem(Pattern tuple, int index = -1);  // -1: any field
Pattern operator|(const Pattern& a, const Pattern& b);
Pattern operator&(const Pattern& a, const Pattern& b);
Pattern operator!(const Pattern& a);  // what it holds is not part of the match

// IsOp("add", {IsOp("matmul", {*, const}), const}) as text.
std::string ToString(const Pattern& pattern);

struct PatternNode {
  enum class Kind { kWildcard, kVar, kConst, kSplat, kOp, kTuple, kTupleGetItem, kOr, kAnd, kNot, kCondition };
  Kind kind = Kind::kWildcard;
  std::string name;  // of the operator or program; what a condition says
  double number = 0;
  int index = -1;
  bool any_args = false;
  std::vector<Pattern> args;  // arguments, fields, alternatives
  // The predicate of a condition: it sees the bound value (or the atom itself) and its type.
  std::function<bool(const Value&, const Type&)> condition;
  bool shared = false;
};

// `producer` is an argument of `consumer`, at that index unless it is -1; `only`: and of nothing else.
struct UseEdge {
  Pattern producer, consumer;
  int index = -1;
  bool only = false;
};

struct PatternGraph {
  PatternGraph(Pattern root) : roots({std::move(root)}) {}
  PatternGraph(std::vector<Pattern> roots_in) : roots(std::move(roots_in)) {}
  // Each used by the next and, unless told otherwise, by nothing else. The last one is the root; the others are inner.
  static PatternGraph Sequence(const std::vector<Pattern>& patterns, bool only = true);
  PatternGraph& UsedBy(const Pattern& producer, const Pattern& consumer, int index = -1);
  PatternGraph& OnlyUsedBy(const Pattern& producer, const Pattern& consumer, int index = -1);

  std::vector<Pattern> roots;  // what is replaced
  std::vector<Pattern> inner;  // of a sequence
  std::vector<UseEdge> edges;
};

}  // namespace tilewright::graph
