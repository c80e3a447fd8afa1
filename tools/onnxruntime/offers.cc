#include "tools/onnxruntime/offers.h"

#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/host/host_ops.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/import.h"
#include "tools/onnxruntime/node_sets.h"

namespace tilewright::onnxruntime {
namespace {

using Nodes = std::vector<size_t>;
using Reasons = std::map<size_t, std::string>;  // why nodes are left to ONNX Runtime, by number

// Nodes of the set that cannot be imported. An error: something of the set as a whole.
absl::StatusOr<Reasons> NotImported(const GivenGraph& graph, const SetModel& model) {
  const auto owner = std::make_shared<const std::string>(model.Bytes());
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
  TW_ASSIGN_OR_RETURN(const std::unique_ptr<graph::ModelFile> file, graph::ModelFile::FromBytes(owner, bytes, ""));
  graph::OpTable ops;
  graph::AddBasicOps(&ops);
  graph::AddHostOps(&ops);
  TW_ASSIGN_OR_RETURN(const graph::ImportedModel imported, graph::ImportModel(*file, ops));
  Reasons reasons;
  for (const graph::UnsupportedNode& node : imported.unsupported) {
    const auto number = graph.node_numbers.find(node.name);
    if (number == graph.node_numbers.end()) return absl::InternalError(absl::StrCat(node.name, ": no such node"));
    reasons.emplace(number->second, node.reason);
  }
  return reasons;
}

class Chooser {
 public:
  Chooser(const GivenGraph& graph, const std::shared_ptr<Machine>& machine) : graph_(graph), machine_(machine) {
    std::map<std::string, size_t> writers;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!graph.nodes[i].obstacle.empty()) left_.emplace(i, graph.nodes[i].obstacle);
      std::vector<size_t>& read = writers_.emplace_back();
      for (const std::string& name : graph.nodes[i].reads) {
        if (const auto writer = writers.find(name); writer != writers.end()) read.push_back(writer->second);
      }
      for (const std::string& name : graph.nodes[i].node.output()) writers.emplace(name, i);
    }
  }

  // Leaving a node changes the sets around it, so all are formed again until none of them leaves another one. They are
  // compiled when all of them are imported.
  std::vector<Offer> Choose() {
    while (true) {
      const size_t before = left_.size();
      const std::vector<Nodes> sets = Sets();
      for (const Nodes& nodes : sets) Import(nodes);
      if (left_.size() != before) continue;
      std::vector<Offer> offers;
      for (const Nodes& nodes : sets) offers.push_back({nodes, Compile(nodes)});
      if (left_.size() == before) return offers;
    }
  }
  const Reasons& left() const { return left_; }

 private:
  // Those that are large enough, of the nodes that are not left.
  std::vector<Nodes> Sets() const {
    std::vector<bool> taken(graph_.nodes.size());
    for (size_t i = 0; i < taken.size(); ++i) taken[i] = !left_.contains(i);
    std::vector<Nodes> sets = SetsOf(writers_, taken);
    std::erase_if(sets, [&](const Nodes& nodes) { return std::ssize(nodes) < machine_->options.min_nodes; });
    return sets;
  }

  // Leaves the set's nodes that are not imported.
  void Import(const Nodes& nodes) {
    if (imported_.contains(nodes)) return;
    const SetModel model = ModelOf(graph_, nodes);
    if (Leave(model.obstacles)) return;
    const auto reasons = NotImported(graph_, model);
    if (!reasons.ok()) {
      return LeaveCulprit(nodes, reasons.status(),
                          [this](const Nodes& some) { return NotImported(graph_, ModelOf(graph_, some)).ok(); });
    }
    if (!Leave(*reasons)) imported_.insert(nodes);
  }

  // Null where a node of the set is left from now on.
  std::shared_ptr<SetProgram> Compile(const Nodes& nodes) {
    std::shared_ptr<SetProgram>& program = programs_[nodes];
    if (program != nullptr) return program;
    const auto load = [this](const Nodes& some) { return SetProgram::Load(ModelOf(graph_, some), machine_); };
    auto loaded = load(nodes);
    if (loaded.ok()) return program = *std::move(loaded);
    LeaveCulprit(nodes, loaded.status(), [&](const Nodes& some) { return load(some).ok(); });
    return nullptr;
  }

  bool Leave(const Reasons& reasons) {
    left_.insert(reasons.begin(), reasons.end());
    return !reasons.empty();
  }

  // An error that names no node: the last of the shortest part from the front that has one is left.
  template <class Works>
  void LeaveCulprit(const Nodes& nodes, const absl::Status& status, const Works& works) {
    size_t good = 0, bad = nodes.size();
    while (bad - good > 1) {
      const size_t middle = good + (bad - good) / 2;
      (works(Nodes(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(middle))) ? good : bad) = middle;
    }
    left_.emplace(nodes[good], std::string(status.message()));
  }

  const GivenGraph& graph_;
  const std::shared_ptr<Machine> machine_;
  std::vector<Nodes> writers_;
  Reasons left_;
  std::set<Nodes> imported_;
  std::map<Nodes, std::shared_ptr<SetProgram>> programs_;
};

}  // namespace

std::vector<Offer> OffersOf(const GivenGraph& graph, const std::shared_ptr<Machine>& machine, const Refusals& refused) {
  Chooser chooser(graph, machine);
  std::vector<Offer> offers = chooser.Choose();
  for (const auto& [node, reason] : chooser.left()) refused(graph.nodes[node].node, reason);
  return offers;
}

}  // namespace tilewright::onnxruntime
