#include "graph/fusion/kernel_cost.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autoschedule/cost/program_facts.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/program/contraction.h"
#include "autoschedule/program/top_nests.h"
#include "base/phases.h"
#include "graph/fusion/canonical_program.h"
#include "graph/fusion/likely_sizes.h"
#include "graph/fusion/program_form.h"
#include "graph/fusion/read_offsets.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright::graph {
namespace {

// Seconds that a call of a kernel takes beside its work: arguments, the step of the executor.
constexpr double kCallSeconds = 100e-9;

// Variables that an index mentions.
int CountMentioned(const Expr& index, const std::vector<IterVar>& iters, bool* reduces) {
  int count = 0;
  for (const IterVar& iter : iters) {
    bool found = false;
    PreOrder(index, [&](const Expr& part) {
      found |= part.same_as(iter.var);
      return !found;
    });
    count += found ? 1 : 0;
    *reduces |= found && iter.kind == IterKind::kReduce;
  }
  return count;
}

bool Reduces(const BlockNode& block) {
  return std::any_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
}

// Whether the reduction reads elements around each of its results: an index mixes a reduction iterator with others.
bool ReadsWindow(const BlockNode& block) {
  bool window = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) {
      for (const Expr& index : load->indices) {
        bool reduces = false;
        window |= CountMentioned(index, block.iter_vars, &reduces) > 1 && reduces;
      }
    }
    return !window;
  });
  return window;
}

// Whether an access is at iterators of the block in their order and at constants. `all`: at all of them, and at
// constants in dimensions of one element alone.
bool IsAtIteratorsInOrder(const Buffer& buffer, const std::vector<Expr>& indices, const std::vector<IterVar>& iters,
                          bool all) {
  size_t next = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (AsInt(indices[d]) && (!all || IsInt(buffer->shape[d], 1))) continue;
    while (!all && next < iters.size() && !indices[d].same_as(iters[next].var)) ++next;
    if (next == iters.size() || !indices[d].same_as(iters[next++].var)) return false;
  }
  return !all || next == iters.size();
}

bool AreEqual(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return tilewright::StructuralEqual(x, y); });
}

// Whether the block is one store at its iterators, of values that are computed from loads at them, from each buffer at
// one place. `loaded`: buffers that blocks before it have loaded.
bool IsPointwise(const BlockNode& block, std::unordered_set<const BufferNode*>* loaded) {
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr || block.init ||
      !IsAtIteratorsInOrder(store->buffer, store->indices, block.iter_vars, /*all=*/true)) {
    return false;
  }
  bool pointwise = true;
  std::unordered_map<const BufferNode*, const LoadNode*> loads;
  PreOrder(store->value, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    const auto* call = dyn_cast<tilewright::CallNode>(e);
    if (load != nullptr) {
      const auto [first, is_new] = loads.try_emplace(load->buffer.get(), load);
      pointwise &= is_new ? IsAtIteratorsInOrder(load->buffer, load->indices, block.iter_vars, /*all=*/false) &&
                                loaded->insert(load->buffer.get()).second
                          : AreEqual(load->indices, first->second->indices);
    }
    pointwise &= call == nullptr || call->op != kIfThenElse;
    return pointwise && load == nullptr;
  });
  return pointwise;
}

}  // namespace

KernelForm FormOf(const PrimFunc& program) {
  KernelForm form;
  form.regular = IsRegular(program);
  form.pointwise = form.regular;
  if (!form.regular) return form;
  std::unordered_set<const BufferNode*> loaded;
  const auto* root = cast<BlockRealizeNode>(program->body);
  PreOrder(root->block->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr) return true;
    ++form.blocks;
    const BlockNode& block = *realize->block;
    form.pointwise = form.pointwise && IsPointwise(block, &loaded);
    const bool reduces = Reduces(block);
    if (reduces && MatchContraction(*realize).ok()) {
      ++form.contractions;
    } else if (reduces && ReadsWindow(block)) {
      ++form.windows;
    }
    return false;
  });
  return form;
}

bool ChainsProducts(const PrimFunc& program) {
  if (!IsRegular(program)) return false;
  enum Reach { kOther, kProduct, kReduced };  // what a buffer was made of: the latest step
  std::unordered_map<const tilewright::VarNode*, Reach> made;
  bool chained = false, adjacent = false;
  PreOrder(cast<BlockRealizeNode>(program->body)->block->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr) return true;
    const BlockNode& block = *realize->block;
    Reach reach = kOther;
    for (const BufferRegion& read : block.reads) {
      const auto known = made.find(read.buffer->data.get());
      if (known != made.end()) reach = std::max(reach, known->second);
    }
    if (MatchContraction(*realize).ok()) {
      chained |= reach == kReduced;
      adjacent |= reach == kProduct;
      reach = kProduct;
    } else if (reach == kProduct && Reduces(block)) {
      reach = kReduced;
    }
    for (const BufferRegion& write : block.writes) made[write.buffer->data.get()] = reach;
    return false;
  });
  return chained && !adjacent;
}

const KernelCost& KernelCosts::Of(const PrimFunc& unmarked, const std::vector<int>& constants) {
  const auto marked = [&](const PrimFunc& f) { return constants.empty() ? f : MarkConstant(f, constants); };
  const PrimFunc program = marked(WithoutReadOffsets(unmarked, constants).program);
  const uint64_t hash = tilewright::StructuralHash(program);
  const auto [begin, end] = costs_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (SameLikelySizes(it->second.program, program) && tilewright::StructuralEqual(it->second.program, program)) {
      return it->second.cost;
    }
  }
  return costs_.emplace(hash, Entry{program, Compute(marked(CanonicalProgram(unmarked)))})->second.cost;
}

KernelCost KernelCosts::Compute(const PrimFunc& program) {
  KernelCost cost;
  const std::shared_ptr<const AutoScheduled> scheduled = scheduled_.Of(program);
  const std::vector<PrimFunc>& functions = scheduled->schedule.module().functions();
  // A packing of constants is a function of its own, which runs once.
  const auto own =
      std::find_if(functions.begin(), functions.end(), [&](const PrimFunc& f) { return f->name == program->name; });
  const PrimFunc& function = own == functions.end() ? functions.front() : *own;
  Phase project("project");
  const Projection projection = Project(function, target());
  project.End();
  cost.seconds = projection.seconds + kCallSeconds;
  cost.limiter = projection.limiter;
  cost.nests = CountTopNests(function);
  if (!scheduled->left_alone.empty()) cost.why_not = scheduled->left_alone.front().ToString();
  cost.scheduled = function;
  cost.program = program;
  return cost;
}

double KernelCosts::SecondsInTurn(const KernelCost& a, const KernelCost& b, const KernelCost& joined) const {
  if (target().is_gpu()) return a.seconds + b.seconds;
  const double all = FootprintBytes(GatherFacts(joined.scheduled), target());
  double seconds = 0;
  for (const KernelCost* cost : {&a, &b}) {
    const ProgramFacts facts = GatherFacts(cost->scheduled);
    const double beside = std::max(0.0, all - FootprintBytes(facts, target()));
    seconds += std::max(cost->seconds, ProjectBeside(facts, target(), beside).seconds + kCallSeconds);
  }
  return seconds;
}

std::optional<MeasuredJoin> KernelCosts::Measured(const KernelCost& a, const KernelCost& b,
                                                  const KernelCost& joined) const {
  if (!measured_) return std::nullopt;
  const auto times = measured_({joined.program, a.program, b.program});
  if (!times) return std::nullopt;
  return MeasuredJoin{.joined = (*times)[0], .apart = (*times)[1] + (*times)[2] + kCallSeconds};
}

double KernelCosts::Elements(const TensorTypeNode& type) const {
  const LikelySizes likely = SizesNamed(sizes_);
  double count = 1;
  for (const Expr& extent : *type.shape) count *= static_cast<double>(likely.Likely(extent));
  return count;
}

const std::string& KernelCosts::WhyNot(const KernelCost& cost) {
  const auto [it, is_new] = why_not_.try_emplace(&cost, cost.why_not);
  if (is_new && it->second.empty() && scheduled_.IsRefuted(cost.scheduled)) {
    it->second = "the verifier refutes its schedule";
  }
  return it->second;
}

}  // namespace tilewright::graph
