#include "graph/rewrite/match.h"

#include <algorithm>
#include <functional>

#include "graph/ir/functor.h"

namespace tilewright::graph {

namespace {

// Calls `visit` for each variable that the value reads itself (not inside branches).
void ForEachUse(const Value& value, const std::function<void(const VarNode*)>& visit) {
  class Uses : public Visitor {
   public:
    explicit Uses(const std::function<void(const VarNode*)>& visit) : visit_(visit) {}

   protected:
    void VisitVar(const VarNode* var) override { visit_(var); }
    void VisitIf(const IfNode* op) override { Visit(op->condition); }

   private:
    const std::function<void(const VarNode*)>& visit_;
  };
  Uses(visit).Visit(value);
}

}  // namespace

FunctionUses::FunctionUses(const Function& function) : function_(function) { AddSeq(*function->body); }

void FunctionUses::AddUses(const VarNode* user, const Value& value) {
  ForEachUse(value, [&](const VarNode* var) {
    std::vector<const VarNode*>& users = users_[var];
    if (users.empty() || users.back() != user) users.push_back(user);
  });
}

void FunctionUses::AddSeq(const SeqNode& seq) {
  for (const BindingBlock& block : seq.blocks) {
    const int number = num_blocks();
    blocks_.push_back(&block.bindings);
    block_is_dataflow_.push_back(block.dataflow);
    for (const Binding& binding : block.bindings) {
      values_[binding.var.get()] = binding.value;
      block_of_[binding.var.get()] = number;
      AddUses(binding.var.get(), binding.value);
      if (const auto* branch = dyn_cast<IfNode>(binding.value)) {
        AddSeq(*branch->then_branch);
        AddSeq(*branch->else_branch);
      }
    }
  }
  AddUses(nullptr, seq.result);
}

Value FunctionUses::BoundTo(const VarNode* var) const {
  const auto it = values_.find(var);
  return it == values_.end() ? Value() : it->second;
}

int FunctionUses::BlockOf(const VarNode* var) const {
  const auto it = block_of_.find(var);
  return it == block_of_.end() ? -1 : it->second;
}

const std::vector<const VarNode*>& FunctionUses::UsersOf(const VarNode* var) const {
  static const auto* const none = new std::vector<const VarNode*>;
  const auto it = users_.find(var);
  return it == users_.end() ? *none : it->second;
}

bool FunctionUses::DependsOn(const VarNode* var, const std::unordered_set<const VarNode*>& others) const {
  std::vector<const VarNode*> pending = {var};
  std::unordered_set<const VarNode*> seen;
  while (!pending.empty()) {
    const VarNode* at = pending.back();
    pending.pop_back();
    if (others.contains(at)) return true;
    if (!seen.insert(at).second || BlockOf(at) != BlockOf(var)) continue;
    ForEachUse(BoundTo(at), [&](const VarNode* used) { pending.push_back(used); });
  }
  return false;
}

Value Match::Of(const Pattern& pattern) const {
  const auto it = values_.find(pattern.get());
  return it == values_.end() ? Value() : it->second;
}

// Matches with backtracking: each step goes on with `next`, and undoes what it noted when that fails.
class Matcher {
 public:
  using Next = std::function<bool()>;
  using Kind = PatternNode::Kind;

  Matcher(const PatternGraph& graph, const FunctionUses& uses, const std::unordered_set<const VarNode*>& taken)
      : graph_(graph), uses_(uses), taken_(taken) {}

  std::optional<Match> Run(const Binding& first) {
    block_ = uses_.BlockOf(first.var.get());
    wanted_ = graph_.roots;
    wanted_.insert(wanted_.end(), graph_.inner.begin(), graph_.inner.end());
    if (!MatchWanted(0, first.var)) return std::nullopt;
    return std::move(result_);
  }

 private:
  // Matches wanted_[i] at `at`, and the others after it anywhere that fits.
  bool MatchWanted(size_t i, const Value& at) {
    return MatchValue(wanted_[i], at, [&] {
      if (i + 1 == wanted_.size()) return Finish();
      const Pattern& next = wanted_[i + 1];
      if (match_.values_.contains(next.get())) return MatchWanted(i + 1, match_.values_.at(next.get()));
      for (const Value& candidate : Candidates(next)) {
        if (IsRootAlready(candidate, i + 1)) continue;
        if (MatchWanted(i + 1, candidate)) return true;
      }
      return false;
    });
  }

  // Two roots are different values.
  bool IsRootAlready(const Value& candidate, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      const auto it = match_.values_.find(wanted_[i].get());
      if (it != match_.values_.end() && it->second.same_as(candidate)) return true;
    }
    return false;
  }

  // Bindings at which a pattern may be found: next to what an edge connects it to, else anywhere in the block.
  std::vector<Value> Candidates(const Pattern& pattern) const {
    for (const UseEdge& edge : graph_.edges) {
      std::vector<Value> candidates;
      if (edge.producer.get() == pattern.get()) {
        const Value consumer = match_.Of(edge.consumer);
        if (!consumer) continue;
        ForEachUse(uses_.BoundTo(cast<VarNode>(consumer)), [&](const VarNode* var) { candidates.push_back(Var(var)); });
        return candidates;
      }
      if (edge.consumer.get() == pattern.get()) {
        const Value producer = match_.Of(edge.producer);
        if (!producer) continue;
        for (const VarNode* user : uses_.UsersOf(cast<VarNode>(producer))) {
          if (user != nullptr) candidates.push_back(Var(user));
        }
        return candidates;
      }
    }
    std::vector<Value> candidates;
    for (const Binding& binding : uses_.BindingsOf(block_)) candidates.push_back(binding.var);
    return candidates;
  }

  // Notes that the pattern stands for the value while `next` runs.
  bool With(const Pattern& pattern, const Value& value, bool computed, const Next& next) {
    const auto noted = match_.values_.find(pattern.get());
    if (noted != match_.values_.end()) return SameAtom(noted->second, value) && next();
    match_.values_.emplace(pattern.get(), value);
    const auto* var = dyn_cast<VarNode>(value);
    const bool is_part = computed && var != nullptr;
    if (is_part) parts_.push_back(var);
    if (next()) return true;
    if (is_part) parts_.pop_back();
    match_.values_.erase(pattern.get());
    return false;
  }

  static bool SameAtom(const Value& a, const Value& b) { return a.same_as(b); }

  bool MatchAll(const std::vector<Pattern>& patterns, const std::vector<Value>& values, size_t i, const Next& next) {
    if (i == patterns.size()) return next();
    return MatchValue(patterns[i], values[i], [&, i] { return MatchAll(patterns, values, i + 1, next); });
  }

  bool MatchValue(const Pattern& pattern, const Value& value, const Next& next) {
    if (!value) return false;
    const auto* var = dyn_cast<VarNode>(value);
    const Value bound = var != nullptr ? uses_.BoundTo(var) : value;
    // What is computed in another block, or is part of another match, can only be an input.
    const bool here = var != nullptr && bound && uses_.BlockOf(var) == block_ && !taken_.contains(var);
    switch (pattern->kind) {
      case Kind::kWildcard:
        return With(pattern, value, false, next);
      case Kind::kVar:
        return var != nullptr && With(pattern, value, false, next);
      case Kind::kConst:
        return isa<ConstantNode>(value) && With(pattern, value, false, next);
      case Kind::kSplat:
        return IsSplatOf(value, pattern->number) && With(pattern, value, false, next);
      case Kind::kOp: {
        const auto* call = here ? dyn_cast<CallNode>(bound) : nullptr;
        if (call == nullptr || call->op->name != pattern->name || !call->op->pure) return false;
        if (!pattern->any_args && call->args.size() != pattern->args.size()) return false;
        return With(pattern, value, true,
                    [&] { return pattern->any_args ? next() : MatchAll(pattern->args, call->args, 0, next); });
      }
      case Kind::kTuple: {
        const auto* tuple = dyn_cast<TupleNode>(var == nullptr || here ? bound : Value());
        if (tuple == nullptr || tuple->fields.size() != pattern->args.size()) return false;
        return With(pattern, value, true, [&] { return MatchAll(pattern->args, tuple->fields, 0, next); });
      }
      case Kind::kTupleGetItem: {
        const auto* item = here ? dyn_cast<TupleGetItemNode>(bound) : nullptr;
        if (item == nullptr || (pattern->index >= 0 && item->index != pattern->index)) return false;
        return With(pattern, value, true, [&] { return MatchValue(pattern->args[0], item->tuple, next); });
      }
      case Kind::kOr:
        for (const Pattern& alternative : pattern->args) {
          const bool found = MatchValue(alternative, value, [&] { return With(pattern, value, false, next); });
          if (found) return true;
        }
        return false;
      case Kind::kAnd:
        return MatchValue(pattern->args[0], value, [&] {
          return MatchValue(pattern->args[1], value, [&] { return With(pattern, value, false, next); });
        });
      case Kind::kNot:
        return !MatchesAlone(pattern->args[0], value) && With(pattern, value, false, next);
      case Kind::kCondition: {
        const Type type = TypeOf(value);
        if (!pattern->condition(bound ? bound : value, type)) return false;
        return MatchValue(pattern->args[0], value, [&] { return With(pattern, value, false, next); });
      }
    }
    return false;
  }

  // Whether the pattern matches, without a trace in the match.
  bool MatchesAlone(const Pattern& pattern, const Value& value) {
    const Match saved = match_;
    const std::vector<const VarNode*> parts = parts_;
    const bool found = MatchValue(pattern, value, [] { return true; });
    match_ = saved;
    parts_ = parts;
    return found;
  }

  static bool IsSplatOf(const Value& value, double number) {
    const auto* constant = dyn_cast<ConstantNode>(value);
    if (constant == nullptr) return false;
    const NDArray array = constant->ToNDArray();
    for (int64_t i = 0; i < array.size(); ++i) {
      if (array.Get(i) != number) return false;
    }
    return array.size() > 0;
  }

  bool EdgeHolds(const UseEdge& edge) const {
    const Value producer = match_.Of(edge.producer), consumer = match_.Of(edge.consumer);
    const auto* from = dyn_cast<VarNode>(producer);
    const auto* to = dyn_cast<VarNode>(consumer);
    if (from == nullptr || to == nullptr) return false;
    const std::vector<const VarNode*>& users = uses_.UsersOf(from);
    if (std::find(users.begin(), users.end(), to) == users.end()) return false;
    if (edge.only && users.size() != 1) return false;
    if (edge.index < 0) return true;
    const Value bound = uses_.BoundTo(to);
    const std::vector<Value>* args = nullptr;
    if (const auto* call = dyn_cast<CallNode>(bound)) args = &call->args;
    if (const auto* call = dyn_cast<CallTirNode>(bound)) args = &call->args;
    const size_t index = static_cast<size_t>(edge.index);
    return args != nullptr && index < args->size() && producer.same_as((*args)[index]);
  }

  // All patterns are matched: edges, and inner values that are used only inside.
  bool Finish() {
    if (!std::all_of(graph_.edges.begin(), graph_.edges.end(), [&](const UseEdge& e) { return EdgeHolds(e); })) {
      return false;
    }
    std::unordered_set<const VarNode*> roots, inside;
    for (size_t i = 0; i < graph_.roots.size(); ++i) {
      const auto* root = dyn_cast<VarNode>(match_.Of(graph_.roots[i]));
      if (root == nullptr || !roots.insert(root).second) return false;
    }
    inside.insert(parts_.begin(), parts_.end());
    std::unordered_set<const VarNode*> inner;
    for (const VarNode* part : parts_) {
      if (roots.contains(part) || IsShared(part)) continue;
      for (const VarNode* user : uses_.UsersOf(part)) {
        if (user == nullptr || !inside.contains(user)) return false;
      }
      inner.insert(part);
    }
    if (CapturesAny(inner) || CapturesAny(roots)) return false;
    result_ = match_;
    for (const Pattern& root : graph_.roots) result_.roots.push_back(cast<VarNode>(match_.Of(root)));
    result_.inner = inner;
    NoteInputs(inner, roots);
    // Values that a root needs and that need another root would make a cycle.
    return std::none_of(result_.inputs.begin(), result_.inputs.end(),
                        [&](const VarNode* input) { return uses_.DependsOn(input, roots); });
  }

  // Whether a replacement could ask for one of these, which are gone by then.
  bool CapturesAny(const std::unordered_set<const VarNode*>& vars) const {
    return std::any_of(match_.values_.begin(), match_.values_.end(), [&](const auto& matched) {
      const Kind kind = matched.first->kind;
      const bool input = kind == Kind::kWildcard || kind == Kind::kVar || kind == Kind::kNot;
      return input && isa<VarNode>(matched.second) && vars.contains(cast<VarNode>(matched.second));
    });
  }

  bool IsShared(const VarNode* part) const {
    return std::any_of(match_.values_.begin(), match_.values_.end(),
                       [&](const auto& matched) { return matched.first->shared && matched.second.get() == part; });
  }

  // What the parts read from outside, and parts that stay.
  void NoteInputs(const std::unordered_set<const VarNode*>& inner, const std::unordered_set<const VarNode*>& roots) {
    std::unordered_set<const VarNode*> seen;
    const auto note = [&](const VarNode* var) {
      if (!inner.contains(var) && !roots.contains(var) && seen.insert(var).second) result_.inputs.push_back(var);
    };
    for (const VarNode* part : parts_) {
      note(part);
      ForEachUse(uses_.BoundTo(part), note);
    }
  }

  const PatternGraph& graph_;
  const FunctionUses& uses_;
  const std::unordered_set<const VarNode*>& taken_;
  int block_ = -1;
  std::vector<Pattern> wanted_;
  std::vector<const VarNode*> parts_;  // what is computed, in the order of matching
  Match match_, result_;
};

std::optional<Match> FindMatch(const PatternGraph& graph, const FunctionUses& uses, const Binding& binding,
                               const std::unordered_set<const VarNode*>& taken) {
  if (taken.contains(binding.var.get())) return std::nullopt;
  return Matcher(graph, uses, taken).Run(binding);
}

}  // namespace tilewright::graph
