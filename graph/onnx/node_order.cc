#include "graph/onnx/node_order.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace tilewright::graph {
namespace {

std::vector<const onnx::GraphProto*> BodiesOf(const onnx::NodeProto& node) {
  std::vector<const onnx::GraphProto*> bodies;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) bodies.push_back(&attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs()) bodies.push_back(&graph);
  }
  return bodies;
}

void CollectCaptures(const onnx::GraphProto& graph, std::set<std::string> defined, std::vector<std::string>* captures) {
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) defined.insert(tensor.values().name());
  const auto use = [&](const std::string& name) {
    if (name.empty() || defined.contains(name)) return;
    if (std::find(captures->begin(), captures->end(), name) == captures->end()) captures->push_back(name);
  };
  for (const onnx::NodeProto* node : Sorted(NodesOf(graph))) {
    for (const std::string& name : node->input()) use(name);
    for (const onnx::GraphProto* body : BodiesOf(*node)) CollectCaptures(*body, defined, captures);
    for (const std::string& name : node->output()) defined.insert(name);
  }
  for (const auto& output : graph.output()) use(output.name());
}

// Nodes of the same list that each node reads.
std::vector<std::vector<size_t>> ReadsOf(const Nodes& nodes) {
  std::unordered_map<std::string, size_t> producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i]->output()) {
      if (!output.empty()) producers.emplace(output, i);
    }
  }
  std::vector<std::vector<size_t>> reads(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto add = [&](const std::string& name) {
      const auto producer = producers.find(name);
      if (producer != producers.end()) reads[i].push_back(producer->second);
    };
    for (const std::string& input : nodes[i]->input()) add(input);
    for (const onnx::GraphProto* body : BodiesOf(*nodes[i])) {
      for (const std::string& name : CapturesOf(*body)) add(name);
    }
  }
  return reads;
}

}  // namespace

Nodes NodesOf(const onnx::GraphProto& graph) {
  Nodes nodes;
  for (const onnx::NodeProto& node : graph.node()) nodes.push_back(&node);
  return nodes;
}

std::vector<std::string> CapturesOf(const onnx::GraphProto& graph) {
  std::vector<std::string> captures;
  CollectCaptures(graph, {}, &captures);
  return captures;
}

Nodes Sorted(const Nodes& nodes) {
  const std::vector<std::vector<size_t>> reads = ReadsOf(nodes);
  bool in_order = true;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t read : reads[i]) in_order &= read < i;
  }
  if (in_order) return nodes;
  Nodes sorted;
  enum class State { kNew, kOpen, kDone };
  std::vector<State> states(nodes.size(), State::kNew);
  // A node and how many of its reads were looked at.
  std::vector<std::pair<size_t, size_t>> open;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (states[i] != State::kNew) continue;
    open.emplace_back(i, 0);
    states[i] = State::kOpen;
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (next < reads[node].size()) {
        const size_t read = reads[node][next++];
        if (states[read] != State::kNew) continue;
        states[read] = State::kOpen;
        open.emplace_back(read, 0);
        continue;
      }
      states[node] = State::kDone;
      sorted.push_back(nodes[node]);
      open.pop_back();
    }
  }
  return sorted;
}

}  // namespace tilewright::graph
