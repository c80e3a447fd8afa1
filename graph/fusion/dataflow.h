// The calls of one block of bindings as nodes, and groups of them that become one kernel each.
//
//   BlockGraph graph(module, block, escapes);
//   if (graph.MayMerge(a, b)) graph.Merge(a, b);
//
// Nodes are calls of programs (kernels), fields of their results, which belong to their call's group, views (reshapes,
// which move nothing), and everything else, which stays as it is. Groups never depend on each other in a circle: two
// groups may be merged when no path leads from one to the other through a third.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/fusion/kernel_cost.h"
#include "graph/ir/graph_module.h"
#include "graph/ir/value.h"

namespace tilewright::graph {

class BlockGraph {
 public:
  enum class NodeKind { kKernel, kItem, kView, kOther };
  struct Node {
    NodeKind kind = NodeKind::kOther;
    Binding binding;
    std::vector<int> producers;  // nodes whose variables (or symbols) it reads, ascending, each once
    std::vector<int> readers;
    bool escapes = false;  // read outside of the block
    KernelForm form;       // of a kernel
  };

  // `escapes`: variables that are read outside of the block.
  BlockGraph(const GraphModule& module, const BindingBlock& block, const std::unordered_set<const VarNode*>& escapes);

  const std::vector<Node>& nodes() const { return nodes_; }
  int group_of(int node) const { return group_of_[static_cast<size_t>(node)]; }
  // Nodes of a group, ascending.
  const std::vector<int>& members(int group) const { return members_[static_cast<size_t>(group)]; }
  bool is_kernel(int group) const { return !members(group).empty() && is_kernel_[static_cast<size_t>(group)]; }

  // Kernel groups that a kernel group reads, directly or through views, the latest first; each with the views between.
  struct Edge {
    int producer = 0;
    std::vector<int> views;
  };
  std::vector<Edge> ProducersOf(int group) const;
  // Whether nothing else leads from the producer to the consumer.
  bool MayMerge(const Edge& edge, int consumer) const;
  // The views join where they are.
  void Merge(const Edge& edge, int consumer);
  // Kernel groups that read a variable which this one reads too, those that come before it, the latest first.
  std::vector<int> SiblingsOf(int group) const;
  // Whether nothing leads from one group to the other: they may be merged by an edge without views.
  bool AreIndependent(int a, int b) const;
  // What the group would have as members.
  std::vector<int> Merged(const Edge& edge, int consumer) const;
  KernelForm FormOfGroup(const std::vector<int>& members) const;

  // What a kernel of these members reads, and which of its variables are wanted outside: never a view, its source is.
  struct Ports {
    std::vector<Var> params, results;
    std::vector<int> views_outside;  // views of the group that are read outside of it too
  };
  Ports PortsOf(const std::vector<int>& members) const;

  // The groups' members in an order in which they may run, each group's next to each other.
  std::vector<int> Order() const;

 private:
  void AddNode(const GraphModule& module, const Binding& binding, bool escapes);
  std::vector<int> SuccessorsOf(int group) const;
  bool Reaches(int from, int to, const std::unordered_set<int>& without) const;

  std::vector<Node> nodes_;
  std::unordered_map<const VarNode*, int> node_of_;
  std::unordered_map<const VarNode*, std::vector<int>> kernels_reading_;
  std::unordered_map<const tilewright::VarNode*, int> defines_symbol_;
  int last_effect_ = -1;
  std::vector<int> group_of_;
  std::vector<std::vector<int>> members_;
  std::vector<bool> is_kernel_;
};

}  // namespace tilewright::graph
