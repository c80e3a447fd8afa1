// Trees of ai.onnx.ml: TreeEnsemble, and the older TreeEnsembleRegressor and TreeEnsembleClassifier.
//
// A forest is a table of nodes; a leaf leads to itself. All rows walk through all trees side by side, as many steps as
// the deepest tree has, and the leaves that they reach are rows of a table of weights.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"
#include "graph/onnx/ml_scores.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/reduction.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kI32 = DataType::Int(32);

enum Mode : int64_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kLeaf };
enum class Aggregate { kAverage, kSum, kMin, kMax };

struct Forest {
  struct Node {
    int64_t feature = 0, mode = kLeaf, yes = 0, no = 0;
    double split = 0;
    bool missing_is_yes = false;
    int64_t leaf = 0;  // of a leaf: its row of weights
  };
  std::vector<Node> nodes;
  Int64s roots;
  int64_t targets = 1, leaves = 0;
  std::vector<std::map<int64_t, double>> weights;  // of each leaf, by target
  Aggregate aggregate = Aggregate::kSum;

  // Steps from a root to its farthest leaf; an error where nodes lead in a circle or nowhere.
  absl::StatusOr<int64_t> Depth(int64_t features) const;
};

absl::StatusOr<int64_t> Forest::Depth(int64_t features) const {
  const auto count = static_cast<int64_t>(nodes.size());
  enum class State { kNew, kOpen, kDone };
  std::vector<State> states(nodes.size(), State::kNew);
  Int64s below(nodes.size(), 0);  // steps to the farthest leaf
  int64_t deepest = 0;
  for (int64_t root : roots) {
    std::vector<int64_t> open = {root};
    while (!open.empty()) {
      const int64_t at = open.back();
      if (at < 0 || at >= count) return absl::InvalidArgumentError("a node of a tree leads nowhere");
      const auto i = static_cast<size_t>(at);
      const Node& node = nodes[i];
      if (states[i] == State::kDone || node.mode == kLeaf) {
        states[i] = State::kDone;
        open.pop_back();
        continue;
      }
      if (states[i] == State::kNew) {
        if (node.feature < 0 || node.feature >= features) {
          return absl::InvalidArgumentError(absl::StrCat("a tree reads feature ", node.feature, " of ", features));
        }
        states[i] = State::kOpen;
        for (const int64_t next : {node.yes, node.no}) {
          if (next >= 0 && next < count && states[static_cast<size_t>(next)] == State::kOpen) {
            return absl::InvalidArgumentError("nodes of a tree lead in a circle");
          }
          open.push_back(next);
        }
        continue;
      }
      states[i] = State::kDone;
      below[i] = 1 + std::max(below[static_cast<size_t>(node.yes)], below[static_cast<size_t>(node.no)]);
      open.pop_back();
    }
    deepest = std::max(deepest, below[static_cast<size_t>(root)]);
  }
  return deepest;
}

Expr Compared(Mode mode, const Expr& value, const Expr& split) {
  switch (mode) {
    case kLeq:
      return value <= split;
    case kLt:
      return value < split;
    case kGte:
      return value >= split;
    case kGt:
      return value > split;
    case kEq:
      return value == split;
    default:
      return value != split;
  }
}

// A forest as arrays, a row a node: branches first, then leaves, in the order of the rows of weights.
struct ForestTables {
  NDArray splits;
  std::vector<int64_t> feature, next, modes, missing, roots;  // next: [nodes, 2], behind yes and behind no
  std::vector<double> weights;                                // [leaves, targets]
  int64_t branches = 0, leaves = 0;
  std::vector<bool> has_mode = std::vector<bool>(kLeaf, false);
  bool any_missing = false;

  int64_t nodes() const { return branches + leaves; }
};

ForestTables TablesOf(const Forest& forest, DataType dtype, double absent) {
  ForestTables t = {.splits = NDArray(dtype, {static_cast<int64_t>(forest.nodes.size())})};
  Int64s order, places(forest.nodes.size());
  for (const bool leaves : {false, true}) {
    for (size_t i = 0; i < forest.nodes.size(); ++i) {
      if ((forest.nodes[i].mode == kLeaf) != leaves) continue;
      places[i] = static_cast<int64_t>(order.size());
      order.push_back(static_cast<int64_t>(i));
    }
    if (!leaves) t.branches = static_cast<int64_t>(order.size());
  }
  t.leaves = static_cast<int64_t>(order.size()) - t.branches;
  // A node that no root leads to may lead nowhere.
  const auto place = [&](int64_t node) {
    return node < 0 || node >= t.nodes() ? 0 : places[static_cast<size_t>(node)];
  };
  for (int64_t at = 0; at < t.nodes(); ++at) {
    const Forest::Node& node = forest.nodes[static_cast<size_t>(order[static_cast<size_t>(at)])];
    const bool is_leaf = at >= t.branches;
    t.splits.Set(at, is_leaf ? 0 : node.split);
    t.feature.push_back(is_leaf ? 0 : node.feature);
    t.next.push_back(is_leaf ? at : place(node.yes));
    t.next.push_back(is_leaf ? at : place(node.no));
    t.modes.push_back(is_leaf ? kLeq : node.mode);
    t.missing.push_back(node.missing_is_yes ? 1 : 0);
    t.any_missing |= node.missing_is_yes;
    if (!is_leaf) t.has_mode[static_cast<size_t>(node.mode)] = true;
    if (!is_leaf) continue;
    const size_t row = t.weights.size();
    t.weights.resize(row + static_cast<size_t>(forest.targets), absent);
    for (const auto& [target, weight] : forest.weights[static_cast<size_t>(node.leaf)]) {
      t.weights[row + static_cast<size_t>(target)] = weight;
    }
  }
  for (const int64_t root : forest.roots) t.roots.push_back(place(root));
  return t;
}

Item Int32sItem(OnnxNode& n, const Int64s& values, std::vector<int64_t> shape) {
  NDArray array(kI32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return n.emit().FromArray(array);
}

// [rows, trees]: the leaf in which each row ends, after at most `depth` steps. What the tables hold was checked: they
// are constants, so no place needs a limit.
absl::StatusOr<Item> EmitWalk(OnnxNode& n, const ForestTables& t, const Item& x, int64_t depth) {
  const int64_t count = t.nodes();
  const auto trees = static_cast<int64_t>(t.roots.size());
  const Items tables = {x,
                        n.emit().FromArray(t.splits),
                        Int32sItem(n, t.feature, {count}),
                        Int32sItem(n, t.next, {count, 2}),
                        Int32sItem(n, t.modes, {count}),
                        Int32sItem(n, t.missing, {count}),
                        Int32sItem(n, t.roots, {trees})};
  const auto goes_yes = [&](const ProgramParts& p, const Expr& value, const Expr& at) {
    const Expr split = p.in[1](at);
    Expr holds;
    for (int64_t mode = 0; mode < kLeaf; ++mode) {
      if (!t.has_mode[static_cast<size_t>(mode)]) continue;
      const Expr one = Compared(static_cast<Mode>(mode), value, split);
      holds = holds ? Select(p.in[4](at) == Const(kI32, mode), one, holds) : one;
    }
    if (!holds) holds = True();
    if (!t.any_missing) return holds;
    const Expr is_nan = tilewright::Call(DataType::Bool(), "isnan", {value});
    return Or(holds, And(is_nan, p.in[5](at) != Const(kI32, 0)));
  };
  TW_ASSIGN_OR_RETURN(const Items reached, n.Program("walk_trees", tables, [&](ProgramParts& p) {
    const Buffer& features = p.in[0];
    const Expr rows = features->shape[0], steps = Expr(std::max<int64_t>(depth, 1));
    Buffer node = p.f.Alloc("node", {rows, Expr(trees)}, kI32);
    p.f.Grid({rows, Expr(trees), steps}, [&](const std::vector<Symbol>& loops) {
      p.f.Block("walk", [&](tilewright::BlockBuilder& block) {
        const Expr row = block.Spatial(rows, loops[0]), tree = block.Spatial(Expr(trees), loops[1]);
        block.Reduce(steps, loops[2]);
        block.Init([&] { p.f.Store(node, p.in[6](tree), {row, tree}); });
        const Expr at = node(row, tree);
        const Expr yes = goes_yes(p, features(row, p.in[2](at)), at);
        p.f.Store(node, p.in[3](at, Select(yes, Const(kI32, 0), Const(kI32, 1))), {row, tree});
      });
    });
    return Buffers{node};
  }));
  return reached[0];
}

// [rows, targets]: what the leaves that each row reaches give together.
absl::StatusOr<Item> EmitForest(OnnxNode& n, const Forest& forest) {
  TW_ASSIGN_OR_RETURN(const Features features, FeaturesOf(n));
  TW_ASSIGN_OR_RETURN(const int64_t depth, forest.Depth(features.count));
  const auto count = static_cast<int64_t>(forest.nodes.size()), trees = static_cast<int64_t>(forest.roots.size());
  if (count == 0 || trees == 0) return n.Error("it has no trees");
  if (count > std::numeric_limits<int32_t>::max()) return n.Unsupported(count, " nodes");
  for (const auto& leaf : forest.weights) {
    for (const auto& [target, weight] : leaf) {
      if (target < 0 || target >= forest.targets) return n.Error("a leaf of target ", target, " of ", forest.targets);
    }
  }
  const bool extreme = forest.aggregate == Aggregate::kMin || forest.aggregate == Aggregate::kMax;
  const double absent = !extreme ? 0 : forest.aggregate == Aggregate::kMin ? INFINITY : -INFINITY;
  const ForestTables tables = TablesOf(forest, features.x.dtype, absent);
  TW_ASSIGN_OR_RETURN(const Item reached, EmitWalk(n, tables, features.x, depth));
  const Items operands = {reached, FloatsItem(n, tables.weights, {tables.leaves, forest.targets})};
  TW_ASSIGN_OR_RETURN(const Items sums, n.Program("sum_leaves", operands, [&](ProgramParts& p) {
    const std::vector<Expr> domain = {p.in[0]->shape[0], Expr(forest.targets), Expr(trees)};
    const auto weight = [&](const ops::Indices& at) {
      return p.in[1](p.in[0](at[0], at[2]) - Const(kI32, tables.branches), at[1]);
    };
    const auto reduction = !extreme                              ? ops::Reduction::kSum
                           : forest.aggregate == Aggregate::kMin ? ops::Reduction::kMin
                                                                 : ops::Reduction::kMax;
    Buffer sum = ops::ReduceElements(p.f, "sum_leaves", reduction, domain, {2}, false, weight);
    if (forest.aggregate == Aggregate::kSum) return Buffers{sum};
    return Buffers{ops::Map(p.f, "aggregate", {sum}, [&](const Exprs& e) {
      if (!extreme) return Div(e[0], ConstFloat(kF32, static_cast<double>(trees)));
      return Select(e[0] == ConstFloat(kF32, absent), Const(kF32, 0), e[0]);
    })};
  }));
  return sums[0];
}

absl::StatusOr<Mode> ModeNamed(OnnxNode& n, const std::string& name) {
  const char* const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};
  for (int64_t mode = 0; mode <= kLeaf; ++mode) {
    if (name == names[mode]) return static_cast<Mode>(mode);
  }
  return n.Unsupported("nodes of the mode \"", name, "\"");
}

// Numbers of an attribute that is a list of floats, or a tensor of doubles under another name.
absl::StatusOr<std::vector<double>> RealsOf(OnnxNode& n, const std::string& floats, const std::string& tensor) {
  const auto* attribute = n.Attr(tensor);
  if (attribute == nullptr) return n.Floats(floats);
  TW_ASSIGN_OR_RETURN(const Item item, n.importer().ConstantOf(attribute->t()));
  std::vector<double> values;
  const auto array = ArrayOf(item);
  for (int64_t i = 0; i < array->size(); ++i) values.push_back(array->Get(i));
  return values;
}

// Nodes as the older operators name them: by tree and number; weights of leaves in lists whose names begin with
// `prefix`.
absl::StatusOr<Forest> OldForest(OnnxNode& n, const std::string& prefix) {
  Forest forest;
  const auto list = [&](const std::string& name) { return n.Ints(name).value_or(Int64s{}); };
  const Int64s trees = list("nodes_treeids"), ids = list("nodes_nodeids"), features = list("nodes_featureids"),
               yes = list("nodes_truenodeids"), no = list("nodes_falsenodeids"),
               missing = list("nodes_missing_value_tracks_true");
  const std::vector<std::string> modes = n.Strings("nodes_modes");
  TW_ASSIGN_OR_RETURN(const std::vector<double> splits, RealsOf(n, "nodes_values", "nodes_values_as_tensor"));
  const size_t count = ids.size();
  for (const size_t size : {trees.size(), features.size(), yes.size(), no.size(), modes.size(), splits.size()}) {
    if (size != count) return n.Error("lists of nodes have different lengths");
  }
  if (!missing.empty() && missing.size() != count) return n.Error("lists of nodes have different lengths");
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  std::set<int64_t> seen;
  for (size_t i = 0; i < count; ++i) {
    if (!places.emplace(std::pair(trees[i], ids[i]), static_cast<int64_t>(i)).second)
      return n.Error("a node occurs twice");
    // The first node of a tree is its root.
    if (seen.insert(trees[i]).second) forest.roots.push_back(static_cast<int64_t>(i));
  }
  const auto place = [&](int64_t tree, int64_t id) {
    const auto found = places.find({tree, id});
    return found == places.end() ? int64_t{-1} : found->second;
  };
  for (size_t i = 0; i < count; ++i) {
    TW_ASSIGN_OR_RETURN(const Mode mode, ModeNamed(n, modes[i]));
    Forest::Node node{.feature = features[i], .mode = mode, .split = splits[i]};
    node.missing_is_yes = !missing.empty() && missing[i] != 0;
    if (mode == kLeaf) {
      node.leaf = forest.leaves++;
    } else {
      node.yes = place(trees[i], yes[i]);
      node.no = place(trees[i], no[i]);
    }
    forest.nodes.push_back(node);
  }
  forest.weights.resize(static_cast<size_t>(forest.leaves));
  const Int64s of_tree = list(prefix + "_treeids"), of_node = list(prefix + "_nodeids"),
               targets = list(prefix + "_ids");
  TW_ASSIGN_OR_RETURN(const std::vector<double> weights,
                      RealsOf(n, prefix + "_weights", prefix + "_weights_as_tensor"));
  if (of_node.size() != of_tree.size() || targets.size() != of_tree.size() || weights.size() != of_tree.size()) {
    return n.Error("lists of leaves have different lengths");
  }
  for (size_t i = 0; i < of_tree.size(); ++i) {
    const int64_t at = place(of_tree[i], of_node[i]);
    if (at < 0) return n.Error("a weight of a node that does not exist");
    const Forest::Node& node = forest.nodes[static_cast<size_t>(at)];
    // Weights of nodes within a tree are never reached.
    if (node.mode == kLeaf) forest.weights[static_cast<size_t>(node.leaf)][targets[i]] += weights[i];
  }
  return forest;
}

absl::StatusOr<Item> PlusBase(OnnxNode& n, const Item& scores, const std::vector<double>& base) {
  if (base.empty()) return scores;
  const auto count = static_cast<int64_t>(base.size());
  if (count != 1 && !IsInt(scores.shape[1], count)) return n.Error(count, " base values");
  TW_ASSIGN_OR_RETURN(const Items sum, n.MapItems("base_values", {scores, FloatsItem(n, base, {count})},
                                                  [](const Exprs& e) { return e[0] + e[1]; }));
  return sum[0];
}

absl::StatusOr<Aggregate> AggregateNamed(OnnxNode& n, const std::string& name) {
  if (name == "SUM") return Aggregate::kSum;
  if (name == "AVERAGE") return Aggregate::kAverage;
  if (name == "MIN") return Aggregate::kMin;
  if (name == "MAX") return Aggregate::kMax;
  return n.Error("the aggregate_function is \"", name, "\"");
}

absl::Status ImportTreeEnsembleRegressor(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Forest forest, OldForest(n, "target"));
  forest.targets = n.Int("n_targets", 1);
  if (forest.targets < 1 || forest.targets > 1 << 20) return n.Error("n_targets is ", forest.targets);
  TW_ASSIGN_OR_RETURN(forest.aggregate, AggregateNamed(n, n.String("aggregate_function", "SUM")));
  TW_ASSIGN_OR_RETURN(const std::vector<double> base, RealsOf(n, "base_values", "base_values_as_tensor"));
  TW_ASSIGN_OR_RETURN(Item scores, EmitForest(n, forest));
  TW_ASSIGN_OR_RETURN(scores, PlusBase(n, scores, base));
  return n.Out(PostTransformed(n, scores));
}

// Two classes, of which the leaves give one only: the score of the second.
absl::Status BinaryClassifier(OnnxNode& n, const Item& score, const Int64s& labels, bool all_positive) {
  TW_ASSIGN_OR_RETURN(const Item label, BinaryLabel(n, score, labels, all_positive ? 0.5 : 0));
  const std::string how = n.String("post_transform", "NONE");
  if (!all_positive && how == "LOGISTIC") {
    TW_ASSIGN_OR_RETURN(const Item transformed, PostTransformed(n, score));
    TW_ASSIGN_OR_RETURN(Item both, BothScores(n, transformed, true));
    return n.Out(Items{label, both});
  }
  TW_ASSIGN_OR_RETURN(Item both, BothScores(n, score, all_positive));
  return n.Out(Items{label, both});
}

absl::Status ImportTreeEnsembleClassifier(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Forest forest, OldForest(n, "class"));
  TW_ASSIGN_OR_RETURN(const Int64s labels, LabelsOf(n, "classlabels_int64s", "classlabels_strings"));
  TW_ASSIGN_OR_RETURN(const std::vector<double> base, RealsOf(n, "base_values", "base_values_as_tensor"));
  forest.targets = static_cast<int64_t>(labels.size());
  std::set<int64_t> used;
  bool all_positive = true;
  for (auto& leaf : forest.weights) {
    for (const auto& [target, weight] : leaf) {
      used.insert(target);
      all_positive &= weight >= 0;
    }
  }
  if (labels.size() <= 2 && used.size() == 1) {
    for (auto& leaf : forest.weights) {
      if (!leaf.empty()) leaf = {{0, leaf.begin()->second}};
    }
    forest.targets = 1;
    TW_ASSIGN_OR_RETURN(Item score, EmitForest(n, forest));
    // The second of two base values belongs to the score.
    TW_ASSIGN_OR_RETURN(score, PlusBase(n, score, base.size() == 2 ? std::vector<double>{base[1]} : base));
    return BinaryClassifier(n, score, labels, all_positive);
  }
  TW_ASSIGN_OR_RETURN(Item scores, EmitForest(n, forest));
  TW_ASSIGN_OR_RETURN(scores, PlusBase(n, scores, base));
  TW_ASSIGN_OR_RETURN(Item label, BestLabel(n, scores, labels));
  TW_ASSIGN_OR_RETURN(Item transformed, PostTransformed(n, scores));
  return n.Out(Items{label, transformed});
}

// Integers of an attribute that is a tensor.
absl::StatusOr<Int64s> TensorOfInts(OnnxNode& n, const std::string& name) {
  TW_ASSIGN_OR_RETURN(const Item item, n.importer().ConstantOf(n.Attr(name)->t()));
  Int64s values;
  const auto array = ArrayOf(item);
  if (array->dtype().is_float()) return n.Error("the tensor ", name, " is not of integers");
  for (int64_t i = 0; i < array->size(); ++i) values.push_back(array->GetInt(i));
  return values;
}

// Nodes of opset 5: branches only, whose ends are branches or leaves.
absl::StatusOr<Forest> NewForest(OnnxNode& n) {
  Forest forest;
  const auto list = [&](const char* name) { return n.Ints(name).value_or(Int64s{}); };
  const Int64s features = list("nodes_featureids"), yes = list("nodes_truenodeids"), no = list("nodes_falsenodeids"),
               yes_leaf = list("nodes_trueleafs"), no_leaf = list("nodes_falseleafs"),
               missing = list("nodes_missing_value_tracks_true"), targets = list("leaf_targetids");
  forest.roots = list("tree_roots");
  TW_ASSIGN_OR_RETURN(const Int64s modes, TensorOfInts(n, "nodes_modes"));
  TW_ASSIGN_OR_RETURN(const std::vector<double> splits, RealsOf(n, "", "nodes_splits"));
  TW_ASSIGN_OR_RETURN(const std::vector<double> weights, RealsOf(n, "", "leaf_weights"));
  std::vector<double> members;
  if (n.Attr("membership_values") != nullptr) {
    TW_ASSIGN_OR_RETURN(members, RealsOf(n, "", "membership_values"));
  }
  const size_t count = features.size();
  for (const size_t size : {yes.size(), no.size(), yes_leaf.size(), no_leaf.size(), modes.size(), splits.size()}) {
    if (size != count) return n.Error("lists of nodes have different lengths");
  }
  if ((!missing.empty() && missing.size() != count) || targets.size() != weights.size()) {
    return n.Error("lists of nodes or leaves have different lengths");
  }
  forest.leaves = static_cast<int64_t>(targets.size());
  forest.nodes.resize(count);
  for (size_t i = 0; i < targets.size(); ++i) forest.weights.push_back({{targets[i], weights[i]}});
  const auto end_of = [&](int64_t number, int64_t is_leaf) -> int64_t {
    if (is_leaf == 0) return number < static_cast<int64_t>(count) ? number : -1;
    if (number < 0 || number >= forest.leaves) return -1;
    forest.nodes.push_back({.leaf = number});
    return static_cast<int64_t>(forest.nodes.size()) - 1;
  };
  constexpr int64_t kMember = 6;
  size_t next_member = 0;
  for (size_t i = 0; i < count; ++i) {
    if (modes[i] < 0 || modes[i] > kMember) return n.Error("a node of the mode ", modes[i]);
    Forest::Node node{.feature = features[i], .mode = modes[i], .split = splits[i]};
    node.missing_is_yes = !missing.empty() && missing[i] != 0;
    node.yes = end_of(yes[i], yes_leaf[i]);
    node.no = end_of(no[i], no_leaf[i]);
    if (modes[i] == kMember) {
      // Equal to the first member, or the second, and so on; NaN ends them.
      node.mode = kEq;
      std::vector<double> of_node;
      while (next_member < members.size() && !std::isnan(members[next_member]))
        of_node.push_back(members[next_member++]);
      ++next_member;
      if (of_node.empty()) return n.Error("a node has no members");
      for (size_t m = of_node.size(); m-- > 1;) {
        Forest::Node other = node;
        other.split = of_node[m];
        forest.nodes.push_back(other);
        node.no = static_cast<int64_t>(forest.nodes.size()) - 1;
      }
      node.split = of_node[0];
    }
    forest.nodes[i] = node;
  }
  return forest;
}

absl::Status ImportTreeEnsemble(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Forest forest, NewForest(n));
  forest.targets = n.Int("n_targets", 1);
  if (forest.targets < 1 || forest.targets > 1 << 20) return n.Error("n_targets is ", forest.targets);
  const int64_t aggregate = n.Int("aggregate_function", 1), transform = n.Int("post_transform", 0);
  if (aggregate < 0 || aggregate > 3) return n.Error("aggregate_function is ", aggregate);
  forest.aggregate = static_cast<Aggregate>(aggregate);
  const char* const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  if (transform < 0 || transform > 4) return n.Error("post_transform is ", transform);
  TW_ASSIGN_OR_RETURN(const Item scores, EmitForest(n, forest));
  TW_ASSIGN_OR_RETURN(Item result, Transformed(n, scores, transforms[transform]));
  if (n.In(0).dtype.is_float() && n.In(0).dtype != result.dtype) {
    const DataType type = n.In(0).dtype;
    return n.Out(n.MapItems("cast", {result}, [&](const Exprs& e) { return CastTo(type, e[0]); }));
  }
  return n.Out(result);
}

}  // namespace

OnnxOperators TreeOperators() {
  return {
      {"TreeEnsemble", 5, ImportTreeEnsemble, {.required = "nodes_modes nodes_splits leaf_weights"}, kMachineLearning},
      {"TreeEnsembleClassifier", 1, ImportTreeEnsembleClassifier, {}, kMachineLearning},
      {"TreeEnsembleRegressor", 1, ImportTreeEnsembleRegressor, {}, kMachineLearning},
  };
}

}  // namespace tilewright::graph
