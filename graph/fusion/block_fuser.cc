#include "graph/fusion/block_fuser.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autoschedule/program/estimates.h"
#include "graph/fusion/inline_chains.h"
#include "graph/fusion/likely_sizes.h"
#include "graph/fusion/program_form.h"
#include "graph/ir/call_types.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// Blocks that one program may have: longer ones take the scheduler too long.
constexpr int kMaxBlocks = 64;
// Products of one kernel that do not read each other: the gates of a recurrent net are four. Each joined one is
// scheduled with all before it, so that the work of joining n of them grows with n^2.
constexpr int kMaxProductsApart = 4;
// Gain that the projection does not see: one temporary fewer to write and read, and the last step that completes a norm
// or softmax which a file decomposes. kLeastGain: what fusing into a product has to gain, because a longer program is
// harder to schedule. Both are shares of the shorter kernel's time.
constexpr double kWorthOfTemporary = 0.25, kLeastGain = 0.05;
// How much longer a joined kernel is measured than its parts before it is taken apart: times differ from one
// measurement to the next.
constexpr double kMeasuredSlower = 1.1;
// Parts that a kernel's name is made of.
constexpr size_t kMaxNameParts = 6;

// Whether all results of both groups have one shape: products of one input, whose loops may become one.
bool GiveOneShape(const BlockGraph& graph, int a, int b) {
  std::vector<Var> results = graph.PortsOf(graph.members(a)).results;
  const std::vector<Var> others = graph.PortsOf(graph.members(b)).results;
  results.insert(results.end(), others.begin(), others.end());
  const auto* first = cast<TensorTypeNode>(results.front()->type);
  return std::ranges::all_of(results, [&](const Var& result) {
    const auto* type = cast<TensorTypeNode>(result->type);
    return type->shape && first->shape && tilewright::StructuralEqual(*type->shape, *first->shape);
  });
}

// Whether no product or window of the consumer reads what is made of the producer's results.
bool AreProductsApart(const BlockGraph& graph, const std::vector<int>& members, int producer) {
  std::set<int> made(graph.members(producer).begin(), graph.members(producer).end());
  for (const int member : members) {
    if (graph.group_of(member) == producer) continue;
    const BlockGraph::Node& node = graph.nodes()[static_cast<size_t>(member)];
    if (!std::ranges::any_of(node.producers, [&](int read) { return made.contains(read); })) continue;
    if (node.form.heavy()) return false;
    made.insert(member);
  }
  return true;
}

}  // namespace

void BlockFuser::Run() {
  // Fewer kernels in each sweep; the second one sees what the first has joined. Siblings come last, so that they keep
  // nothing from its producers and consumers; what they have become may be joined with these anew.
  do {
    for (bool light : {true, false}) {
      while (Sweep(light)) {
      }
    }
  } while (JoinSiblings());
}

bool BlockFuser::Repeat(const std::vector<JoinedGroups>& before) {
  const int size = static_cast<int>(graph_.nodes().size());
  for (const JoinedGroups& joined : before) {
    if (joined.consumer < 0 || joined.consumer >= size || !graph_.is_kernel(joined.consumer)) return false;
    const std::vector<BlockGraph::Edge> edges = graph_.ProducersOf(joined.consumer);
    const auto edge =
        std::find_if(edges.begin(), edges.end(), [&](const auto& e) { return e.producer == joined.producer; });
    if (edge != edges.end()) {
      if (!graph_.MayMerge(*edge, joined.consumer)) return false;
      graph_.Merge(*edge, joined.consumer);
      continue;
    }
    const std::vector<int> siblings = graph_.SiblingsOf(joined.consumer);
    const bool sibling = std::find(siblings.begin(), siblings.end(), joined.producer) != siblings.end();
    if (!sibling || !graph_.AreIndependent(joined.producer, joined.consumer)) return false;
    graph_.Merge({.producer = joined.producer}, joined.consumer);
  }
  for (int group = 0; group < size; ++group) {
    if (graph_.is_kernel(group) && KernelsIn(graph_.members(group)) > 1 && !Made(group)) return false;
  }
  joined_ = before;
  return true;
}

const JoinedKernel* BlockFuser::Made(int group) {
  const auto [it, is_new] = made_.try_emplace(group);
  if (is_new) it->second = Join(graph_.members(group));
  return it->second ? &*it->second : nullptr;
}

std::optional<JoinedKernel> BlockFuser::Join(const std::vector<int>& members) const {
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
  std::optional<Composed> composed = ComposeWithNames(module_, joined.name, ports.params, bindings, ports.results);
  if (!composed) return std::nullopt;
  joined.composed = *std::move(composed);
  joined.composed.program = InlineChains(WithOneIndexType(WithoutUnitDimensions(joined.composed.program)));
  joined.composed.program = WithSizes(joined.composed.program, SizesWith(joined.composed.names, costs_.sizes()));
  joined.params = ports.params;
  joined.results = ports.results;
  return joined;
}

std::string BlockFuser::BaseName(const std::string& program) {
  const size_t end = program.find_last_not_of("0123456789");
  const bool numbered = end != std::string::npos && end + 1 < program.size() && program[end] == '_';
  return numbered ? program.substr(0, end) : program;
}

int BlockFuser::KernelsIn(const std::vector<int>& members) const {
  return static_cast<int>(std::count_if(members.begin(), members.end(), [&](int member) {
    return graph_.nodes()[static_cast<size_t>(member)].kind == BlockGraph::NodeKind::kKernel;
  }));
}

const KernelCost& BlockFuser::CostOf(int group) {
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

const KernelCost& BlockFuser::CostOf(const JoinedKernel& joined) {
  std::vector<int> constants(joined.composed.constants.size());
  std::iota(constants.begin(), constants.end(), static_cast<int>(joined.params.size()));
  return costs_.Of(joined.composed.program, constants);
}

bool BlockFuser::Sweep(bool light) {
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

bool BlockFuser::JoinSiblings() {
  bool changed = false;
  for (size_t node = 0; node < graph_.nodes().size(); ++node) {
    const int group = graph_.group_of(static_cast<int>(node));
    if (group != static_cast<int>(node) || !graph_.is_kernel(group)) continue;
    for (const int sibling : graph_.SiblingsOf(group)) changed |= TryMergeSibling(sibling, group);
  }
  return changed;
}

double BlockFuser::MostElements(int group) const {
  const BlockGraph::Ports ports = graph_.PortsOf(graph_.members(group));
  double most = 0;
  for (const auto* vars : {&ports.params, &ports.results}) {
    for (const Var& var : *vars) most = std::max(most, costs_.Elements(*cast<TensorTypeNode>(var->type)));
  }
  return most;
}

bool BlockFuser::TryMergeSibling(int sibling, int group) {
  const KernelForm first = graph_.FormOfGroup(graph_.members(sibling)),
                   second = graph_.FormOfGroup(graph_.members(group));
  if (first.heavy() != second.heavy() || first.blocks + second.blocks > kMaxBlocks) return false;
  if (first.windows + second.windows > 0 || first.contractions + second.contractions > kMaxProductsApart) return false;
  const BlockGraph::Edge edge{.producer = sibling};
  const std::vector<int> members = graph_.Merged(edge, group);
  if (!refused_.insert(members).second) return false;
  const bool pays = first.heavy() ? GiveOneShape(graph_, sibling, group) : SharesLargest(sibling, group);
  if (!pays || !graph_.AreIndependent(sibling, group)) return false;
  const std::optional<JoinedKernel> joined = Join(members);
  if (!joined) return false;
  const auto refuse = [&](const std::string& why) {
    NoteApart(group, absl::StrCat(NameOf(sibling), ", which reads the same: ", why));
    return false;
  };
  const int nests = CostOf(sibling).nests + CostOf(group).nests;
  const KernelCost& cost = CostOf(*joined);
  if (cost.nests >= nests) return refuse(absl::StrFormat("joined they are %d loop nests", cost.nests));
  const double worth = first.heavy() ? kNearlyEqual : 0;
  if (const std::string loss = LossOf(cost, sibling, group, worth); !loss.empty()) return refuse(loss);
  const std::string& why_not = costs_.WhyNot(cost);
  if (!why_not.empty()) return refuse(absl::StrCat("joined it is not scheduled: ", why_not));
  Joined(edge, group, &cost);
  return true;
}

std::string BlockFuser::LossOf(const KernelCost& joined, int a, int b, double worth) {
  if (const auto measured = MeasuredLossOf(joined, a, b)) return *measured;
  const KernelCost &first = CostOf(a), &second = CostOf(b);
  const double tolerated = worth * std::min(first.seconds, second.seconds);
  if (joined.seconds <= first.seconds + second.seconds + tolerated) return "";
  const double apart = costs_.SecondsInTurn(first, second, joined);
  if (joined.seconds <= apart + tolerated) return "";
  return absl::StrFormat("joined %.1f us, apart %.1f us", joined.seconds * 1e6, apart * 1e6);
}

std::optional<std::string> BlockFuser::MeasuredLossOf(const KernelCost& joined, int a, int b) {
  const std::optional<MeasuredJoin> times = costs_.Measured(CostOf(a), CostOf(b), joined);
  if (!times) return std::nullopt;
  if (times->joined <= kMeasuredSlower * times->apart) return "";
  const std::string why =
      absl::StrFormat("measured joined %.1f us, apart %.1f us", times->joined * 1e6, times->apart * 1e6);
  measured_apart_.push_back(absl::StrCat(NameOf(a), " and ", NameOf(b), ": ", why));
  return why;
}

bool BlockFuser::SharesLargest(int a, int b) const {
  const std::vector<Var> read = graph_.PortsOf(graph_.members(a)).params,
                         others = graph_.PortsOf(graph_.members(b)).params;
  const double most = std::max(MostElements(a), MostElements(b));
  return std::ranges::any_of(read, [&](const Var& var) {
    return std::ranges::any_of(others, [&](const Var& other) { return other.same_as(var); }) &&
           costs_.Elements(*cast<TensorTypeNode>(var->type)) >= most;
  });
}

std::string BlockFuser::NameOf(int group) const {
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

void BlockFuser::NoteApart(int group, const std::string& why) {
  std::vector<std::string>& all = apart_[group];
  if (std::find(all.begin(), all.end(), why) == all.end()) all.push_back(why);
}

bool BlockFuser::ReadsOnce(int producer, int consumer) const {
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

bool BlockFuser::HaveOneShape(const std::vector<int>& members) const {
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

bool BlockFuser::AreAlike(int a, int b, int size) const {
  const auto& nodes = graph_.nodes();
  if (a < 0 || std::max(a, b) + size > std::ssize(nodes)) return false;
  return std::ranges::equal(std::span(nodes).subspan(static_cast<size_t>(a), static_cast<size_t>(size)),
                            std::span(nodes).subspan(static_cast<size_t>(b), static_cast<size_t>(size)),
                            [](const BlockGraph::Node& first, const BlockGraph::Node& second) {
                              const auto *call = dyn_cast<CallTirNode>(first.binding.value),
                                         *other = dyn_cast<CallTirNode>(second.binding.value);
                              return call != nullptr && other != nullptr && call->function == other->function;
                            });
}

bool BlockFuser::EndsRepetition(int group) const {
  const std::vector<int>& members = graph_.members(group);
  const int first = members.front(), size = static_cast<int>(members.size());
  if (2 * size <= kMaxBlocks || members.back() - first + 1 != size) return false;
  const auto repeats = [&](int n) { return AreAlike(first, first + n, n) || AreAlike(first - n, first, n); };
  if (!repeats(size)) return false;
  for (int longer = size + 1; longer <= kMaxBlocks; ++longer) {
    if (repeats(longer)) return false;
  }
  return true;
}

void BlockFuser::Joined(const BlockGraph::Edge& edge, int consumer, const KernelCost* cost) {
  for (const std::string& why : apart_[edge.producer]) NoteApart(consumer, why);
  if (cost != nullptr) {
    costed_.push_back({NameOf(edge.producer), NameOf(consumer), &CostOf(edge.producer), &CostOf(consumer), cost});
  }
  joined_.push_back({edge.producer, consumer});
  graph_.Merge(edge, consumer);
  if (cost != nullptr) {
    cost_of_[consumer] = cost;
  } else {
    cost_of_.erase(consumer);
  }
}

bool BlockFuser::TryMerge(const BlockGraph::Edge& edge, int consumer, bool light) {
  const KernelForm producer = graph_.FormOfGroup(graph_.members(edge.producer));
  const KernelForm own = graph_.FormOfGroup(graph_.members(consumer));
  if (light && (producer.heavy() || own.heavy())) return false;
  const std::vector<int> members = graph_.Merged(edge, consumer);
  if (!refused_.insert(members).second) return false;
  const auto refuse = [&](const std::string& why) {
    NoteApart(consumer, absl::StrCat(NameOf(edge.producer), ": ", why));
    return false;
  };
  const bool products = producer.heavy() && own.heavy();
  if (products && producer.windows + own.windows > 0) return refuse("each computes products or windows");
  if (producer.blocks + own.blocks > kMaxBlocks) return refuse("the program would be too long");
  if (!graph_.MayMerge(edge, consumer)) return refuse("other kernels lie between");
  // One pass over the same elements is never slower than two: no schedule has to be asked for, and no program is made
  // before the kernel has all of its parts. Long chains would ask for those of each of their beginnings.
  if (producer.pointwise && own.pointwise && ReadsOnce(edge.producer, consumer) && HaveOneShape(members)) {
    if (EndsRepetition(edge.producer)) return refuse("the chain repeats what the kernel computes");
    Joined(edge, consumer, nullptr);
    return true;
  }
  const std::optional<JoinedKernel> joined = Join(members);
  if (!joined) return refuse("they are not one program");
  const auto are_apart = [&] {
    return producer.contractions + own.contractions <= kMaxProductsApart &&
           GiveOneShape(graph_, edge.producer, consumer) && AreProductsApart(graph_, members, edge.producer);
  };
  const bool chained = products && ChainsProducts(joined->composed.program);
  if (products && !chained && !are_apart()) {
    return refuse("each computes products or windows");
  }
  const KernelCost& cost = CostOf(*joined);
  // Products that keep loops of their own gain nothing from each other.
  const int nests = CostOf(edge.producer).nests + CostOf(consumer).nests;
  if (products && cost.nests >= nests) return refuse(absl::StrFormat("joined they are %d loop nests", cost.nests));
  // Whether nothing of what the producer computes is read elsewhere.
  const std::vector<int>& made = graph_.members(edge.producer);
  const bool vanishes = std::none_of(joined->results.begin(), joined->results.end(), [&](const Var& result) {
    return std::any_of(made.begin(), made.end(), [&](int member) {
      return graph_.nodes()[static_cast<size_t>(member)].binding.var.same_as(result);
    });
  });
  // Products are joined where projections are equal: what one loop makes for itself needs no memory of its own.
  const double worth = products ? kNearlyEqual : light || vanishes ? kWorthOfTemporary : -kLeastGain;
  if (const std::string loss = LossOf(cost, edge.producer, consumer, worth); !loss.empty()) return refuse(loss);
  const std::string& why_not = costs_.WhyNot(cost);
  if (!why_not.empty()) return refuse(absl::StrCat("joined it is not scheduled: ", why_not));
  Joined(edge, consumer, &cost);
  return true;
}

}  // namespace tilewright::graph
