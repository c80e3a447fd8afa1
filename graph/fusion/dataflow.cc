#include "graph/fusion/dataflow.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"

namespace tilewright::graph {
namespace {

// Variables and symbols that a value reads, those in branches included.
class Reads : public Visitor {
 public:
  std::vector<const VarNode*> vars;
  std::vector<Symbol> symbols;

 protected:
  void VisitVar(const VarNode* var) override { vars.push_back(var); }
  void VisitVarDefinition(const Var& var) override { Add(FreeSymbols(var->type)); }
  void VisitShape(const ShapeExprNode* shape) override { Add(FreeSymbols(shape->values)); }
  void VisitCallTir(const CallTirNode* op) override {
    Add(FreeSymbols(op->symbols));
    Visitor::VisitCallTir(op);
  }

 private:
  void Add(const std::vector<Symbol>& more) { symbols.insert(symbols.end(), more.begin(), more.end()); }
};

bool AllRanked(const Type& type) {
  const std::vector<const TensorTypeNode*> tensors = TensorsOf(type);
  return std::all_of(tensors.begin(), tensors.end(), [](const TensorTypeNode* t) { return t->shape.has_value(); });
}

bool MayHaveEffect(const Value& value) {
  const auto* call = dyn_cast<CallNode>(value);
  return call != nullptr ? !call->op->pure
                         : isa<IfNode>(value) || isa<CallFunctionNode>(value) || isa<MatchCastNode>(value);
}

// A call that a kernel may be made of: its arguments are tensors of known rank.
bool IsPlainCall(const CallTirNode& call) {
  if (isa<TupleTypeNode>(call.out)) {
    for (const Type& field : cast<TupleTypeNode>(call.out)->fields) {
      if (!isa<TensorTypeNode>(field)) return false;
    }
  }
  return AllRanked(call.out) && std::all_of(call.args.begin(), call.args.end(), [](const Value& arg) {
           const TensorTypeNode* type = arg ? TensorTypeOf(arg) : nullptr;
           return type != nullptr && type->shape.has_value();
         });
}

}  // namespace

BlockGraph::BlockGraph(const GraphModule& module, const BindingBlock& block,
                       const std::unordered_set<const VarNode*>& escapes) {
  for (const Binding& binding : block.bindings) AddNode(module, binding, escapes.contains(binding.var.get()));
}

void BlockGraph::AddNode(const GraphModule& module, const Binding& binding, bool escapes) {
  const int index = static_cast<int>(nodes_.size());
  Node node{.binding = binding, .escapes = escapes};
  Reads reads;
  reads.Visit(binding.value);
  std::set<int> producers;
  for (const VarNode* var : reads.vars) {
    if (const auto it = node_of_.find(var); it != node_of_.end()) producers.insert(it->second);
  }
  std::vector<Symbol> symbols = FreeSymbols(binding.var->type);
  symbols.insert(symbols.end(), reads.symbols.begin(), reads.symbols.end());
  for (const Symbol& symbol : symbols) {
    const auto it = defines_symbol_.find(symbol.get());
    if (it != defines_symbol_.end()) producers.insert(it->second);
  }
  int group = index;
  if (const auto* call = dyn_cast<CallTirNode>(binding.value)) {
    if (IsPlainCall(*call)) {
      node.form = FormOf(module.FindProgram(call->function));
      node.form.pointwise = node.form.pointwise && isa<TensorTypeNode>(call->out);
      if (node.form.regular) node.kind = NodeKind::kKernel;
    }
  } else if (const auto* item = dyn_cast<TupleGetItemNode>(binding.value)) {
    const auto* tuple = dyn_cast<VarNode>(item->tuple);
    const auto it = tuple == nullptr ? node_of_.end() : node_of_.find(tuple);
    if (it != node_of_.end() && nodes_[static_cast<size_t>(it->second)].kind == NodeKind::kKernel) {
      node.kind = NodeKind::kItem;
      group = group_of_[static_cast<size_t>(it->second)];
    }
  } else if (const auto* view = dyn_cast<CallNode>(binding.value)) {
    const TensorTypeNode *from = TensorTypeOf(view->args.empty() ? Value() : view->args[0]),
                         *to = dyn_cast<TensorTypeNode>(binding.var->type);
    const bool ranked = from != nullptr && from->shape && to != nullptr && to->shape;
    if (view->op->name == "reshape" && ranked && isa<VarNode>(view->args[0])) node.kind = NodeKind::kView;
  }
  if (node.kind == NodeKind::kOther) {
    if (MayHaveEffect(binding.value)) {
      // What may have effects keeps its order.
      if (last_effect_ >= 0) producers.insert(last_effect_);
      last_effect_ = index;
    }
    const bool defines = DefinesSymbols(binding.value) || isa<MatchCastNode>(binding.value);
    if (defines) {
      for (const Symbol& symbol : FreeSymbols(binding.var->type)) defines_symbol_.try_emplace(symbol.get(), index);
    }
  }
  node.producers.assign(producers.begin(), producers.end());
  for (int producer : producers) nodes_[static_cast<size_t>(producer)].readers.push_back(index);
  is_kernel_.push_back(node.kind == NodeKind::kKernel);
  if (node.kind == NodeKind::kKernel) {
    for (const VarNode* var : reads.vars) kernels_reading_[var].push_back(index);
  }
  nodes_.push_back(std::move(node));
  node_of_[binding.var.get()] = index;
  group_of_.push_back(group);
  members_.emplace_back();
  members_[static_cast<size_t>(group)].push_back(index);
}

std::vector<BlockGraph::Edge> BlockGraph::ProducersOf(int group) const {
  std::vector<Edge> edges;
  const std::function<void(int, const std::vector<int>&)> from = [&](int node, const std::vector<int>& views) {
    for (int producer : nodes_[static_cast<size_t>(node)].producers) {
      const int other = group_of(producer);
      if (other == group) continue;
      if (is_kernel(other)) {
        const auto same = [&](const Edge& edge) { return edge.producer == other; };
        auto it = std::find_if(edges.begin(), edges.end(), same);
        if (it == edges.end()) it = edges.insert(edges.end(), {other, {}});
        it->views.insert(it->views.end(), views.begin(), views.end());
      } else if (nodes_[static_cast<size_t>(producer)].kind == NodeKind::kView) {
        std::vector<int> more = views;
        more.push_back(producer);
        from(producer, more);
      }
    }
  };
  for (int member : members(group)) from(member, {});
  std::sort(edges.begin(), edges.end(),
            [&](const Edge& a, const Edge& b) { return members(a.producer).back() > members(b.producer).back(); });
  return edges;
}

std::vector<int> BlockGraph::SuccessorsOf(int group) const {
  std::vector<int> successors;
  for (int member : members(group)) {
    for (int reader : nodes_[static_cast<size_t>(member)].readers) {
      if (group_of(reader) != group) successors.push_back(group_of(reader));
    }
  }
  return successors;
}

bool BlockGraph::Reaches(int from, int to, const std::unordered_set<int>& without) const {
  std::unordered_set<int> seen(without);
  std::queue<int> pending;
  const auto add = [&](int group) {
    for (int next : SuccessorsOf(group)) {
      if (seen.insert(next).second) pending.push(next);
    }
  };
  seen.erase(to);
  add(from);
  while (!pending.empty()) {
    const int group = pending.front();
    pending.pop();
    if (group == to) return true;
    add(group);
  }
  return false;
}

bool BlockGraph::MayMerge(const Edge& edge, int consumer) const {
  // Paths through the views that join are inside.
  std::unordered_set<int> inside = {edge.producer};
  for (int view : edge.views) inside.insert(group_of(view));
  const std::unordered_set<int> starts = inside;
  return std::none_of(starts.begin(), starts.end(), [&](int start) {
    const std::vector<int> successors = SuccessorsOf(start);
    return std::any_of(successors.begin(), successors.end(), [&](int next) {
      return next != consumer && !inside.contains(next) && Reaches(next, consumer, inside);
    });
  });
}

std::vector<int> BlockGraph::SiblingsOf(int group) const {
  std::set<int> siblings;
  for (int member : members(group)) {
    if (nodes_[static_cast<size_t>(member)].kind != NodeKind::kKernel) continue;
    Reads reads;
    reads.Visit(nodes_[static_cast<size_t>(member)].binding.value);
    for (const VarNode* var : reads.vars) {
      for (int reader : kernels_reading_.at(var)) {
        const int other = group_of(reader);
        if (other != group && members(other).back() < members(group).back()) siblings.insert(other);
      }
    }
  }
  std::vector<int> latest_first(siblings.begin(), siblings.end());
  std::sort(latest_first.begin(), latest_first.end(),
            [&](int a, int b) { return members(a).back() > members(b).back(); });
  return latest_first;
}

bool BlockGraph::AreIndependent(int a, int b) const { return !Reaches(a, b, {}) && !Reaches(b, a, {}); }

std::vector<int> BlockGraph::Merged(const Edge& edge, int consumer) const {
  std::set<int> all(members(consumer).begin(), members(consumer).end());
  all.insert(members(edge.producer).begin(), members(edge.producer).end());
  for (int view : edge.views) all.insert(view);
  return {all.begin(), all.end()};
}

void BlockGraph::Merge(const Edge& edge, int consumer) {
  std::vector<int> all = Merged(edge, consumer);
  for (int member : all) {
    members_[static_cast<size_t>(group_of(member))].clear();
  }
  for (int member : all) group_of_[static_cast<size_t>(member)] = consumer;
  members_[static_cast<size_t>(consumer)] = std::move(all);
}

KernelForm BlockGraph::FormOfGroup(const std::vector<int>& members) const {
  KernelForm form;
  for (int member : members) {
    const KernelForm& one = nodes_[static_cast<size_t>(member)].form;
    form.contractions += one.contractions;
    form.windows += one.windows;
    form.blocks += one.blocks;
    form.pointwise &= nodes_[static_cast<size_t>(member)].kind == NodeKind::kKernel && one.pointwise;
  }
  return form;
}

BlockGraph::Ports BlockGraph::PortsOf(const std::vector<int>& members) const {
  Ports ports;
  const std::unordered_set<int> inside(members.begin(), members.end());
  std::unordered_set<const VarNode*> read, wanted;
  for (int member : members) {
    const Node& node = nodes_[static_cast<size_t>(member)];
    Reads reads;
    reads.Visit(node.binding.value);
    for (const VarNode* var : reads.vars) {
      const auto it = node_of_.find(var);
      if (it != node_of_.end() && inside.contains(it->second)) continue;
      if (read.insert(var).second) ports.params.emplace_back(var);
    }
    bool outside = node.escapes;
    for (int reader : node.readers) outside |= !inside.contains(reader);
    if (!outside) continue;
    if (node.kind == NodeKind::kView) {
      ports.views_outside.push_back(member);
      continue;
    }
    if (wanted.insert(node.binding.var.get()).second) ports.results.push_back(node.binding.var);
  }
  // What views outside show has to be there.
  for (size_t i = 0; i < ports.views_outside.size(); ++i) {
    const auto* call = cast<CallNode>(nodes_[static_cast<size_t>(ports.views_outside[i])].binding.value);
    const auto* source = cast<VarNode>(call->args[0]);
    const auto it = node_of_.find(source);
    if (it == node_of_.end() || !inside.contains(it->second)) continue;
    if (nodes_[static_cast<size_t>(it->second)].kind == NodeKind::kView) {
      const auto& known = ports.views_outside;
      if (std::find(known.begin(), known.end(), it->second) == known.end()) ports.views_outside.push_back(it->second);
    } else if (wanted.insert(source).second) {
      ports.results.emplace_back(source);
    }
  }
  std::sort(ports.views_outside.begin(), ports.views_outside.end());
  return ports;
}

std::vector<int> BlockGraph::Order() const {
  // Groups are ready when all that they read has run; of those that are, the one with the first member comes next.
  std::vector<std::set<int>> waits(members_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const int group = group_of_[i];
    for (int producer : nodes_[i].producers) {
      if (group_of(producer) != group) waits[static_cast<size_t>(group)].insert(group_of(producer));
    }
  }
  std::vector<int> order;
  std::set<std::pair<int, int>> ready;  // first member, group
  std::vector<size_t> left(members_.size());
  std::vector<std::vector<int>> readers(members_.size());
  for (size_t group = 0; group < members_.size(); ++group) {
    if (members_[group].empty()) continue;
    left[group] = waits[group].size();
    for (int producer : waits[group]) readers[static_cast<size_t>(producer)].push_back(static_cast<int>(group));
    if (left[group] == 0) ready.insert({members_[group].front(), static_cast<int>(group)});
  }
  while (!ready.empty()) {
    const auto group = static_cast<size_t>(ready.begin()->second);
    ready.erase(ready.begin());
    order.insert(order.end(), members_[group].begin(), members_[group].end());
    for (int reader : readers[group]) {
      if (--left[static_cast<size_t>(reader)] == 0) {
        ready.insert({members_[static_cast<size_t>(reader)].front(), reader});
      }
    }
  }
  return order;
}

}  // namespace tilewright::graph
