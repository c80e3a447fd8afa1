#include "graph/fusion/fuse_kernels.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/fusion/dataflow.h"
#include "graph/fusion/program_form.h"
#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"
#include "graph/rewrite/fuse_programs.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// Blocks that one program may have: longer ones take the scheduler too long.
constexpr int kMaxBlocks = 64;
// Gain that the projection does not see: one temporary fewer to write and read, and the last step that completes a norm
// or softmax which a file decomposes. kLeastGain: what fusing into a product has to gain, because a longer program is
// harder to schedule. Both are shares of the shorter kernel's time.
constexpr double kWorthOfTemporary = 0.25, kLeastGain = 0.05;
// Parts that a kernel's name is made of.
constexpr size_t kMaxNameParts = 6;

// A kernel that takes the place of several bindings.
struct JoinedKernel {
  Composed composed;
  std::vector<Var> params, results;
  std::string name;
};

class BlockFuser {
 public:
  BlockFuser(const GraphModule& module, BlockGraph* graph, KernelCosts* costs)
      : module_(module), graph_(*graph), costs_(*costs) {}

  void Run() {
    // Fewer kernels in each sweep; the second one sees what the first has joined.
    for (bool light : {true, false}) {
      while (Sweep(light)) {
      }
    }
  }

  // Joins what was joined before. False: that cannot be done here, and the graph may have changed.
  bool Repeat(const std::vector<JoinedGroups>& before) {
    const int size = static_cast<int>(graph_.nodes().size());
    for (const JoinedGroups& joined : before) {
      if (joined.consumer < 0 || joined.consumer >= size || !graph_.is_kernel(joined.consumer)) return false;
      const std::vector<BlockGraph::Edge> edges = graph_.ProducersOf(joined.consumer);
      const auto edge =
          std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.producer == joined.producer; });
      if (edge == edges.end() || !graph_.MayMerge(*edge, joined.consumer)) return false;
      graph_.Merge(*edge, joined.consumer);
    }
    for (int group = 0; group < size; ++group) {
      if (graph_.is_kernel(group) && KernelsIn(graph_.members(group)) > 1 && !Made(group)) return false;
    }
    joined_ = before;
    return true;
  }

  // The kernel that takes the place of a group of several; null where there is none.
  const JoinedKernel* Made(int group) {
    const auto [it, is_new] = made_.try_emplace(group);
    if (is_new) it->second = Join(graph_.members(group));
    return it->second ? &*it->second : nullptr;
  }

  const std::vector<JoinedGroups>& joined() const { return joined_; }

  const std::vector<std::string>& Apart(int group) { return apart_[group]; }
  double Seconds(int group) { return CostOf(group).seconds; }
  const std::string& Limiter(int group) { return CostOf(group).limiter; }
  int Nests(int group) { return CostOf(group).nests; }

  std::optional<JoinedKernel> Join(const std::vector<int>& members) const {
    JoinedKernel joined;
    const BlockGraph::Ports ports = graph_.PortsOf(members);
    std::vector<Binding> bindings;
    std::vector<std::string> parts;
    for (int member : members) {
      const BlockGraph::Node& node = graph_.nodes()[static_cast<size_t>(member)];
      bindings.push_back(node.binding);
      if (node.kind == BlockGraph::NodeKind::kKernel && parts.size() < kMaxNameParts) {
        parts.push_back(BaseName(cast<CallTirNode>(node.binding.value)->function));
      }
    }
    joined.name = absl::StrJoin(parts, "_");
    std::optional<Composed> composed = ComposePrograms(module_, joined.name, ports.params, bindings, ports.results);
    if (!composed) return std::nullopt;
    joined.composed = *std::move(composed);
    joined.composed.program = WithOneIndexType(WithoutUnitDimensions(joined.composed.program));
    joined.params = ports.params;
    joined.results = ports.results;
    return joined;
  }

  static std::string BaseName(const std::string& program) {
    const size_t end = program.find_last_not_of("0123456789");
    const bool numbered = end != std::string::npos && end + 1 < program.size() && program[end] == '_';
    return numbered ? program.substr(0, end) : program;
  }

 private:
  int KernelsIn(const std::vector<int>& members) const {
    return static_cast<int>(std::count_if(members.begin(), members.end(), [&](int member) {
      return graph_.nodes()[static_cast<size_t>(member)].kind == BlockGraph::NodeKind::kKernel;
    }));
  }

  const KernelCost& CostOf(int group) {
    const auto known = cost_of_.find(group);
    if (known != cost_of_.end()) return *known->second;
    const std::vector<int>& members = graph_.members(group);
    if (KernelsIn(members) > 1) return *(cost_of_[group] = &CostOf(*Join(members)));
    const auto* call = cast<CallTirNode>(graph_.nodes()[static_cast<size_t>(group)].binding.value);
    std::vector<int> constants;
    for (size_t i = 0; i < call->args.size(); ++i) {
      if (isa<ConstantNode>(call->args[i])) constants.push_back(static_cast<int>(i));
    }
    return *(cost_of_[group] = &costs_.Of(module_.FindProgram(call->function), constants));
  }

  const KernelCost& CostOf(const JoinedKernel& joined) {
    std::vector<int> constants(joined.composed.constants.size());
    std::iota(constants.begin(), constants.end(), static_cast<int>(joined.params.size()));
    return costs_.Of(joined.composed.program, constants);
  }

  bool Sweep(bool light) {
    bool changed = false;
    for (size_t node = 0; node < graph_.nodes().size(); ++node) {
      const int group = graph_.group_of(static_cast<int>(node));
      if (group != static_cast<int>(node) || !graph_.is_kernel(group)) continue;
      for (bool again = true; again;) {
        again = false;
        for (const BlockGraph::Edge& edge : graph_.ProducersOf(group)) {
          if (!TryMerge(edge, group, light)) continue;
          again = changed = true;
          break;
        }
      }
    }
    return changed;
  }

  std::string NameOf(int group) const {
    const std::vector<int>& members = graph_.members(group);
    std::vector<std::string> parts;
    for (int member : members) {
      const BlockGraph::Node& node = graph_.nodes()[static_cast<size_t>(member)];
      if (node.kind == BlockGraph::NodeKind::kKernel) {
        parts.push_back(BaseName(cast<CallTirNode>(node.binding.value)->function));
      }
    }
    if (parts.size() > kMaxNameParts) parts.resize(kMaxNameParts);
    return absl::StrJoin(parts, "_");
  }

  // Each reason once: a kernel may have met another one several times while both grew.
  void NoteApart(int group, const std::string& why) {
    std::vector<std::string>& all = apart_[group];
    if (std::find(all.begin(), all.end(), why) == all.end()) all.push_back(why);
  }

  // Whether the consumer reads one result of the producer, in one place: nothing is then computed twice.
  bool ReadsOnce(int producer, int consumer) const {
    int reads = 0;
    for (int member : graph_.members(consumer)) {
      for (const Value& arg : cast<CallTirNode>(graph_.nodes()[static_cast<size_t>(member)].binding.value)->args) {
        for (int made : graph_.members(producer)) {
          reads += arg.same_as(graph_.nodes()[static_cast<size_t>(made)].binding.var) ? 1 : 0;
        }
      }
    }
    return reads == 1;
  }

  // Whether all that the members compute is of one shape.
  bool HaveOneShape(const std::vector<int>& members) const {
    const auto shapes = [&](int member) {
      const auto* call = cast<CallTirNode>(graph_.nodes()[static_cast<size_t>(member)].binding.value);
      return TensorsOf(call->out);
    };
    const std::vector<const TensorTypeNode*> first = shapes(members[0]);
    return std::ranges::all_of(members, [&](int member) {
      const std::vector<const TensorTypeNode*> types = shapes(member);
      return std::ranges::all_of(types, [&](const TensorTypeNode* type) {
        return type->shape && first[0]->shape && tilewright::StructuralEqual(*type->shape, *first[0]->shape);
      });
    });
  }

  void Joined(const BlockGraph::Edge& edge, int consumer, const KernelCost* cost) {
    for (const std::string& why : apart_[edge.producer]) NoteApart(consumer, why);
    joined_.push_back({edge.producer, consumer});
    graph_.Merge(edge, consumer);
    if (cost != nullptr) {
      cost_of_[consumer] = cost;
    } else {
      cost_of_.erase(consumer);
    }
  }

  bool TryMerge(const BlockGraph::Edge& edge, int consumer, bool light) {
    const KernelForm producer = graph_.FormOfGroup(graph_.members(edge.producer));
    const KernelForm own = graph_.FormOfGroup(graph_.members(consumer));
    if (light && (producer.heavy() || own.heavy())) return false;
    const std::vector<int> members = graph_.Merged(edge, consumer);
    if (!refused_.insert(members).second) return false;
    const auto refuse = [&](const std::string& why) {
      NoteApart(consumer, absl::StrCat(NameOf(edge.producer), ": ", why));
      return false;
    };
    if (producer.heavy() && own.heavy()) return refuse("each computes products or windows");
    if (producer.blocks + own.blocks > kMaxBlocks) return refuse("the program would be too long");
    if (!graph_.MayMerge(edge, consumer)) return refuse("other kernels lie between");
    const std::optional<JoinedKernel> joined = Join(members);
    if (!joined) return refuse("they are not one program");
    // One pass over the same elements is never slower than two: no schedule has to be asked for. Long chains would ask
    // for the schedule of each of their beginnings.
    if (producer.pointwise && own.pointwise && ReadsOnce(edge.producer, consumer) && HaveOneShape(members)) {
      Joined(edge, consumer, nullptr);
      return true;
    }
    const double seconds[2] = {CostOf(edge.producer).seconds, CostOf(consumer).seconds};
    const double apart = seconds[0] + seconds[1];
    const KernelCost& cost = CostOf(*joined);
    if (!cost.good) return refuse(absl::StrCat("joined it is not scheduled: ", cost.why_not));
    // Whether nothing of what the producer computes is read elsewhere.
    const std::vector<int>& made = graph_.members(edge.producer);
    const bool vanishes = std::none_of(joined->results.begin(), joined->results.end(), [&](const Var& result) {
      return std::any_of(made.begin(), made.end(), [&](int member) {
        return graph_.nodes()[static_cast<size_t>(member)].binding.var.same_as(result);
      });
    });
    const double least =
        apart + (light || vanishes ? kWorthOfTemporary : -kLeastGain) * std::min(seconds[0], seconds[1]);
    if (cost.seconds > least) {
      return refuse(absl::StrFormat("joined %.1f us, apart %.1f us", cost.seconds * 1e6, apart * 1e6));
    }
    Joined(edge, consumer, &cost);
    return true;
  }

  const GraphModule& module_;
  BlockGraph& graph_;
  KernelCosts& costs_;
  std::unordered_map<int, const KernelCost*> cost_of_;
  std::set<std::vector<int>> refused_;  // sets of members that were tried
  std::vector<JoinedGroups> joined_;
  std::map<int, std::optional<JoinedKernel>> made_;  // by group, when nothing is joined any more
  std::unordered_map<int, std::vector<std::string>> apart_;
};

// What becomes of the bindings of a function.
struct FunctionPlan {
  std::unordered_map<const VarNode*, size_t> kernel_of;  // by variable that a joined kernel binds
  std::unordered_set<const VarNode*> views_again;        // views that are also read outside of their kernel
  std::vector<JoinedKernel> kernels;
};

class FunctionFuser {
 public:
  // `before`, which may be null: what was decided for an equal function.
  FunctionFuser(const GraphModule& module, KernelCosts* costs, FusionReport* report, const FusionDecision* before)
      : module_(module), costs_(*costs), report_(report), before_(before) {}

  // The function with the bindings of each kernel next to each other, and the plan.
  Function Run(const Function& function) {
    function_name_ = function->name;
    CountReads(*function->body);
    FunctionNode::Fields fields = function->fields();
    fields.body = Plan(*function->body);
    return Function(std::move(fields));
  }
  const FunctionPlan& plan() const { return plan_; }
  const FusionDecision& decision() const { return decision_; }

 private:
  // How often each variable is read, and how often in each block.
  void CountReads(const SeqNode& seq) {
    class Counter : public Visitor {
     public:
      std::unordered_map<const VarNode*, int>* counts;

     protected:
      void VisitVar(const VarNode* var) override { ++(*counts)[var]; }
    };
    Counter counter;
    counter.counts = &reads_;
    counter.Visit(Value(&seq));
  }

  static std::unordered_map<const VarNode*, int> ReadsIn(const BindingBlock& block) {
    class Counter : public Visitor {
     public:
      std::unordered_map<const VarNode*, int> counts;

     protected:
      void VisitVar(const VarNode* var) override { ++counts[var]; }
    };
    Counter counter;
    for (const Binding& binding : block.bindings) counter.Visit(binding.value);
    return std::move(counter.counts);
  }

  Seq Plan(const SeqNode& seq) {
    std::vector<BindingBlock> blocks;
    for (const BindingBlock& block : seq.blocks) blocks.push_back(Plan(block));
    return Seq(std::move(blocks), seq.result, seq.guards);
  }

  BindingBlock Plan(const BindingBlock& old) {
    BindingBlock block = old;
    for (Binding& binding : block.bindings) {
      if (const auto* branch = dyn_cast<IfNode>(binding.value)) {
        binding.value = If(branch->condition, Plan(*branch->then_branch), Plan(*branch->else_branch));
      }
    }
    const auto inside = ReadsIn(block);
    std::unordered_set<const VarNode*> escapes;
    for (const Binding& binding : block.bindings) {
      const VarNode* var = binding.var.get();
      const auto all = reads_.find(var);
      const auto here = inside.find(var);
      if ((all == reads_.end() ? 0 : all->second) != (here == inside.end() ? 0 : here->second)) escapes.insert(var);
    }
    const size_t number = decision_.size();
    BlockGraph graph(module_, block, escapes);
    if (before_ != nullptr && number < before_->size()) {
      BlockFuser fuser(module_, &graph, &costs_);
      if (fuser.Repeat((*before_)[number])) return Ordered(std::move(block), graph, fuser);
      graph = BlockGraph(module_, block, escapes);
    }
    BlockFuser fuser(module_, &graph, &costs_);
    fuser.Run();
    return Ordered(std::move(block), graph, fuser);
  }

  BindingBlock Ordered(BindingBlock block, const BlockGraph& graph, BlockFuser& fuser) {
    decision_.push_back(fuser.joined());
    std::vector<Binding> ordered;
    for (int node : graph.Order()) {
      ordered.push_back(graph.nodes()[static_cast<size_t>(node)].binding);
      if (graph.members(graph.group_of(node)).front() == node) Note(graph, fuser, graph.group_of(node));
    }
    block.bindings = std::move(ordered);
    return block;
  }

  void Note(const BlockGraph& graph, BlockFuser& fuser, int group) {
    if (!graph.is_kernel(group)) return;
    FusionReport::Kernel line{.function = function_name_};
    for (int member : graph.members(group)) {
      const BlockGraph::Node& node = graph.nodes()[static_cast<size_t>(member)];
      if (node.kind == BlockGraph::NodeKind::kKernel) {
        line.parts.push_back(cast<CallTirNode>(node.binding.value)->function);
      }
    }
    line.program = line.parts[0];
    if (line.parts.size() > 1) {
      const JoinedKernel* joined = fuser.Made(group);
      line.program = joined->name;
      for (int member : graph.members(group)) {
        plan_.kernel_of[graph.nodes()[static_cast<size_t>(member)].binding.var.get()] = plan_.kernels.size();
      }
      for (int view : graph.PortsOf(graph.members(group)).views_outside) {
        plan_.views_again.insert(graph.nodes()[static_cast<size_t>(view)].binding.var.get());
      }
      plan_.kernels.push_back(*joined);
    }
    if (report_ == nullptr) return;
    line.seconds = fuser.Seconds(group);
    line.limiter = fuser.Limiter(group);
    line.nests = fuser.Nests(group);
    line.apart = fuser.Apart(group);
    report_->kernels.push_back(std::move(line));
  }

  const GraphModule& module_;
  KernelCosts& costs_;
  FusionReport* const report_;
  const FusionDecision* const before_;
  FusionDecision decision_;
  std::string function_name_;
  std::unordered_map<const VarNode*, int> reads_;
  FunctionPlan plan_;
};

// Writes the kernels of a plan.
class KernelWriter : public Mutator {
 public:
  KernelWriter(BlockBuilder* builder, const FunctionPlan* plan) : Mutator(builder), plan_(*plan) {}

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    const auto kernel = plan_.kernel_of.find(binding.var.get());
    if (kernel == plan_.kernel_of.end()) return Mutator::MutateBinding(binding);
    if (written_.insert(kernel->second).second) TW_RETURN_IF_ERROR(Write(plan_.kernels[kernel->second]));
    // A view shows a result of the kernel, which is there by now.
    return plan_.views_again.contains(binding.var.get()) ? Mutator::MutateBinding(binding) : absl::OkStatus();
  }

 private:
  absl::Status Write(const JoinedKernel& kernel) {
    std::vector<Value> args;
    for (const Var& param : kernel.params) args.push_back(Replaced(param));
    args.insert(args.end(), kernel.composed.constants.begin(), kernel.composed.constants.end());
    std::vector<Type> types;
    for (const Var& result : kernel.results) {
      const auto* tensor = cast<TensorTypeNode>(result->type);
      types.push_back(TensorType(tensor->dtype, *tensor->shape));
    }
    const std::string program = builder().AddProgram(kernel.composed.program, kernel.name);
    const Type out = types.size() == 1 ? types[0] : Type(TupleType(types));
    TW_ASSIGN_OR_RETURN(Var var, builder().Emit(CallTir(program, std::move(args), out, kernel.composed.symbols),
                                                kernel.results.size() == 1 ? kernel.results[0]->name : kernel.name));
    for (size_t i = 0; i < kernel.results.size(); ++i) {
      Value field = var;
      if (types.size() > 1) {
        TW_ASSIGN_OR_RETURN(field, builder().Emit(TupleGetItem(var, static_cast<int>(i)), kernel.results[i]->name));
      }
      Replace(kernel.results[i], field);
    }
    return absl::OkStatus();
  }

  const FunctionPlan& plan_;
  std::set<size_t> written_;
};

}  // namespace

absl::StatusOr<GraphModule> FuseKernels(const GraphModule& module, const OpTable& ops, KernelCosts& costs,
                                        FusionReport* report, const DecisionStore* kept) {
  BlockBuilder builder(&ops, module);
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    std::optional<std::string> text;
    const std::string key = kept == nullptr ? "" : FusionKey(module, entry.function);
    if (kept != nullptr && report == nullptr) text = kept->load(key);
    const std::optional<FusionDecision> before = text ? ParseDecision(*text) : std::nullopt;
    FunctionFuser fuser(module, &costs, report, before ? &*before : nullptr);
    const Function ordered = fuser.Run(entry.function);
    if (const std::string made = ToText(fuser.decision()); kept != nullptr && text != made) kept->store(key, made);
    KernelWriter writer(&builder, &fuser.plan());
    TW_RETURN_IF_ERROR(writer.MutateFunction(ordered).status());
  }
  return builder.module();
}

std::string ToString(const FusionReport& report) {
  std::string text;
  double total = 0;
  int nests = 0;
  for (size_t i = 0; i < report.kernels.size(); ++i) {
    const FusionReport::Kernel& kernel = report.kernels[i];
    total += kernel.seconds;
    nests += kernel.nests;
    absl::StrAppendFormat(&text, "%zu %s (%s): %.1f us, limited by %s\n", i, kernel.program, kernel.function,
                          kernel.seconds * 1e6, kernel.limiter);
    if (kernel.parts.size() > 1) absl::StrAppend(&text, "    joins ", absl::StrJoin(kernel.parts, ", "), "\n");
    for (const std::string& why : kernel.apart) absl::StrAppend(&text, "    apart from ", why, "\n");
  }
  absl::StrAppendFormat(&text, "%zu kernels, %d loop nests, projected %.1f us\n", report.kernels.size(), nests,
                        total * 1e6);
  return text;
}

}  // namespace tilewright::graph
