// Which kernels of one block of bindings become one (fuse_kernels.h says by which rules), and these kernels.
//
//   BlockGraph graph(module, block, escapes);
//   BlockFuser fuser(module, &graph, &costs);
//   fuser.Run();
//   const JoinedKernel* kernel = fuser.Made(group);     // of a group of graph.members(group)
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/fusion/dataflow.h"
#include "graph/fusion/kept_decisions.h"
#include "graph/fusion/kernel_cost.h"
#include "graph/ir/graph_module.h"
#include "graph/rewrite/fuse_programs.h"

namespace tilewright::graph {

// A kernel that takes the place of several bindings.
struct JoinedKernel {
  Composed composed;
  std::vector<Var> params, results;
  std::string name;
};

// Two kernels that costs were asked for, and that became one. The costs are those of KernelCosts.
struct CostedJoin {
  std::string producer, consumer;
  const KernelCost *first = nullptr, *second = nullptr, *joined = nullptr;
};

class BlockFuser {
 public:
  BlockFuser(const GraphModule& module, BlockGraph* graph, KernelCosts* costs)
      : module_(module), graph_(*graph), costs_(*costs) {}

  void Run();

  // Joins what was joined before. False: that cannot be done here, and the graph may have changed.
  bool Repeat(const std::vector<JoinedGroups>& before);

  // The kernel that takes the place of a group of several; null where there is none.
  const JoinedKernel* Made(int group);

  const std::vector<JoinedGroups>& joined() const { return joined_; }
  const std::vector<CostedJoin>& costed() const { return costed_; }
  // What stays apart because it was measured: "matmul and softmax: measured joined 3.0 us, apart 2.0 us".
  const std::vector<std::string>& measured_apart() const { return measured_apart_; }

  const std::vector<std::string>& Apart(int group) { return apart_[group]; }
  double Seconds(int group) { return CostOf(group).seconds; }
  const std::string& Limiter(int group) { return CostOf(group).limiter; }
  int Nests(int group) { return CostOf(group).nests; }

  std::optional<JoinedKernel> Join(const std::vector<int>& members) const;

  static std::string BaseName(const std::string& program);

 private:
  int KernelsIn(const std::vector<int>& members) const;

  const KernelCost& CostOf(int group);

  const KernelCost& CostOf(const JoinedKernel& joined);

  bool Sweep(bool light);

  // Joins kernels that read the same and of which none reads what the other makes; whether there were some.
  bool JoinSiblings();

  // The most elements of a tensor that the group reads or writes, by likely sizes.
  double MostElements(int group) const;

  // Kernels of one domain become one loop nest: the largest tensor of both is one that they share, so that one pass
  // over it is as long as either.
  bool TryMergeSibling(int sibling, int group);

  // What is lost where two groups are joined; empty where that pays. `worth`: the part of the shorter one's time that
  // may be lost.
  std::string LossOf(const KernelCost& joined, int a, int b, double worth);

  // The same as far as all three were measured; nothing where they were not.
  std::optional<std::string> MeasuredLossOf(const KernelCost& joined, int a, int b);

  bool SharesLargest(int a, int b) const;

  std::string NameOf(int group) const;

  // Each reason once: a kernel may have met another one several times while both grew.
  void NoteApart(int group, const std::string& why);

  // Whether the consumer reads one result of the producer, in one place: nothing is then computed twice.
  bool ReadsOnce(int producer, int consumer) const;

  // Whether all that the members compute is of one shape.
  bool HaveOneShape(const std::vector<int>& members) const;

  // Whether the nodes from `a` on call the same programs, one after the other, as those from `b` on.
  bool AreAlike(int a, int b, int size) const;

  // Whether a chain that is too long for one kernel is cut behind this part of it: the part comes again, and no longer
  // one does. The kernels of an unrolled loop are equal then, and compiled once.
  bool EndsRepetition(int group) const;

  void Joined(const BlockGraph::Edge& edge, int consumer, const KernelCost* cost);

  bool TryMerge(const BlockGraph::Edge& edge, int consumer, bool light);

  const GraphModule& module_;
  BlockGraph& graph_;
  KernelCosts& costs_;
  std::unordered_map<int, const KernelCost*> cost_of_;
  std::set<std::vector<int>> refused_;  // sets of members that were tried
  std::vector<JoinedGroups> joined_;
  std::vector<CostedJoin> costed_;
  std::vector<std::string> measured_apart_;
  std::map<int, std::optional<JoinedKernel>> made_;  // by group, when nothing is joined any more
  std::unordered_map<int, std::vector<std::string>> apart_;
};

}  // namespace tilewright::graph
