#include "graph/fusion/fuse_kernels.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/fusion/block_fuser.h"
#include "graph/fusion/dataflow.h"
#include "graph/ir/functor.h"

namespace tilewright::graph {
namespace {

void AddOnce(const std::string& text, std::vector<std::string>* texts) {
  if (std::ranges::find(*texts, text) == texts->end()) texts->push_back(text);
}

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
    const size_t number = decision_.blocks.size();
    BlockGraph graph(module_, block, escapes);
    if (before_ != nullptr && number < before_->blocks.size()) {
      BlockFuser fuser(module_, &graph, &costs_);
      if (fuser.Repeat(before_->blocks[number])) {
        decision_.measured_apart = before_->measured_apart;
        return Ordered(std::move(block), graph, fuser);
      }
      graph = BlockGraph(module_, block, escapes);
    }
    BlockFuser fuser(module_, &graph, &costs_);
    fuser.Run();
    for (const std::string& why : fuser.measured_apart()) AddOnce(why, &decision_.measured_apart);
    if (report_ != nullptr) NoteJoins(fuser.costed());
    return Ordered(std::move(block), graph, fuser);
  }

  BindingBlock Ordered(BindingBlock block, const BlockGraph& graph, BlockFuser& fuser) {
    decision_.blocks.push_back(fuser.joined());
    std::vector<Binding> ordered;
    for (int node : graph.Order()) {
      ordered.push_back(graph.nodes()[static_cast<size_t>(node)].binding);
      if (graph.members(graph.group_of(node)).front() == node) Note(graph, fuser, graph.group_of(node));
    }
    block.bindings = std::move(ordered);
    return block;
  }

  void NoteJoins(const std::vector<CostedJoin>& joins) {
    for (const CostedJoin& join : joins) {
      const auto known = std::ranges::find_if(report_->joins, [&](const FusionReport::Join& other) {
        return other.joined.same_as(join.joined->program) && other.first.same_as(join.first->program) &&
               other.second.same_as(join.second->program);
      });
      if (known != report_->joins.end()) {
        ++known->calls;
        continue;
      }
      report_->joins.push_back({.producer = join.producer,
                                .consumer = join.consumer,
                                .first = join.first->program,
                                .second = join.second->program,
                                .joined = join.joined->program,
                                .seconds = join.joined->seconds,
                                .apart_seconds = join.first->seconds + join.second->seconds,
                                .calls = 1});
    }
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
    FusionReport* const anew = report != nullptr && report->anew ? report : nullptr;
    if (kept != nullptr && anew == nullptr) text = kept->load(key);
    const std::optional<FusionDecision> before = text ? ParseDecision(*text) : std::nullopt;
    FunctionFuser fuser(module, &costs, anew, before ? &*before : nullptr);
    const Function ordered = fuser.Run(entry.function);
    if (report != nullptr) {
      for (const std::string& why : fuser.decision().measured_apart) AddOnce(why, &report->measured_apart);
    }
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
