#include "graph/onnx/unrolled_control.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

constexpr int64_t kMost = 1000;  // iterations

// What iterations give for results that are scanned.
class Scanned {
 public:
  explicit Scanned(size_t count) : parts_(count) {}

  absl::Status Add(OnnxNode& n, const Items& outputs, size_t first) {
    for (size_t s = 0; s < parts_.size(); ++s) {
      const Item& part = outputs[first + s];
      if (!part.is_tensor()) return n.Unsupported("a sequence or optional as a scanned result");
      Exprs shape = part.shape;
      shape.insert(shape.begin(), Extent(1));
      TW_ASSIGN_OR_RETURN(Item row, n.emit().View(part, shape));
      parts_[s].push_back(std::move(row));
    }
    return absl::OkStatus();
  }
  // One after the other, behind the other results.
  absl::Status Append(OnnxNode& n, const std::vector<bool>& reversed, Items* results) {
    for (size_t s = 0; s < parts_.size(); ++s) {
      Items& rows = parts_[s];
      if (rows.empty()) return n.Unsupported("no iteration, with scanned results");
      if (s < reversed.size() && reversed[s]) std::reverse(rows.begin(), rows.end());
      TW_ASSIGN_OR_RETURN(
          Items stacked, n.Program("concat", rows, [](ProgramParts& p) { return Buffers{ops::Concat(p.f, p.in, 0)}; }));
      results->push_back(stacked[0]);
    }
    return absl::OkStatus();
  }

 private:
  std::vector<Items> parts_;
};

// Nothing where nodes of the body cannot be imported; they are listed then.
absl::StatusOr<std::optional<Items>> ImportIteration(OnnxNode& n, const onnx::GraphProto& graph, const Items& inputs) {
  const size_t before = n.importer().num_unsupported();
  TW_ASSIGN_OR_RETURN(Items outputs, n.importer().ImportBody(graph, inputs));
  if (n.importer().num_unsupported() > before) return std::optional<Items>();
  return std::optional<Items>(std::move(outputs));
}

// Element `place` of the first dimension.
absl::StatusOr<Item> ElementOf(OnnxNode& n, const Item& sequence, int64_t place) {
  TW_ASSIGN_OR_RETURN(const Items row, n.Program("slice", {sequence}, [&](ProgramParts& p) {
    std::vector<ops::SliceRange> ranges;
    for (const Expr& extent : p.in[0]->shape) ranges.push_back({Const(extent.dtype(), 0), extent});
    ranges[0] = {Const(ranges[0].extent.dtype(), place), Const(ranges[0].extent.dtype(), 1)};
    return Buffers{ops::Slice(p.f, p.in[0], ranges)};
  }));
  return n.emit().View(row[0], {sequence.shape.begin() + 1, sequence.shape.end()});
}

bool IsKnown(const Item& item) { return item.constant() != nullptr || item.values.has_value(); }

// Whether data decides if another iteration follows, as far as the body's nodes tell: what the condition is computed of
// is neither constant, nor the iteration, nor a value that is known.
bool DependsOnData(OnnxNode& n, const onnx::GraphProto& graph, const Items& carried) {
  std::set<std::string> needed = {graph.output(0).name()}, inner;
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto& node = graph.node(i);
    inner.insert(node.output().begin(), node.output().end());
    const bool is_needed = std::ranges::any_of(node.output(), [&](const auto& name) { return needed.contains(name); });
    if (is_needed) needed.insert(node.input().begin(), node.input().end());
  }
  for (const onnx::TensorProto& constant : graph.initializer()) inner.insert(constant.name());
  for (int i = 0; i < graph.input_size(); ++i) {
    inner.insert(graph.input(i).name());
    if (i < 2 || !needed.contains(graph.input(i).name())) continue;
    if (static_cast<size_t>(i) - 2 >= carried.size() || !IsKnown(carried[static_cast<size_t>(i) - 2])) return true;
  }
  return std::ranges::any_of(needed, [&](const std::string& name) {
    const Item* outer = inner.contains(name) ? nullptr : n.importer().Find(name);
    return outer != nullptr && !IsKnown(*outer);
  });
}

}  // namespace

bool UnrollsLoop(OnnxNode& n, const onnx::GraphProto& graph, const Items& carried) {
  const auto is_number = [&](size_t input) {
    return n.In(input).values && n.In(input).values->size() == 1 && AsInt((*n.In(input).values)[0]);
  };
  if (n.Has(1) && !is_number(1)) return false;
  if (n.Has(0) && (!is_number(0) || *AsInt((*n.In(0).values)[0]) > kMost)) return false;
  if (graph.output_size() < 1) return true;
  // Iterations that data ends cannot be imported one by one; those that stack results have to be, all of them.
  const bool stacks = static_cast<size_t>(graph.output_size()) > 1 + carried.size();
  return stacks || !DependsOnData(n, graph, carried);
}

bool UnrollsScan(OnnxNode& n, const Item& sequence) {
  const auto length = AsInt(n.emit().Simplify(sequence.shape[0]));
  return length && *length <= kMost;
}

absl::Status UnrollLoop(OnnxNode& n, const onnx::GraphProto& graph, Items carried) {
  int64_t trips = kMost + 1;
  if (n.Has(0)) {
    TW_ASSIGN_OR_RETURN(trips, n.Number(0));
  }
  bool condition = true;
  if (n.Has(1)) {
    TW_ASSIGN_OR_RETURN(const int64_t value, n.Number(1));
    condition = value != 0;
  }
  const size_t count = carried.size();
  if (static_cast<size_t>(graph.output_size()) < 1 + count) return n.Error("its body has too few outputs");
  Scanned scanned(static_cast<size_t>(graph.output_size()) - 1 - count);
  for (int64_t i = 0; i < trips && condition; ++i) {
    if (i >= kMost) return n.Unsupported("more than ", kMost, " iterations that are imported one by one");
    TW_ASSIGN_OR_RETURN(Item iteration, n.emit().FromValues(DataType::Int(64), {}, {Extent(i)}));
    TW_ASSIGN_OR_RETURN(Item go, n.emit().FromValues(DataType::Bool(), {}, {Extent(1)}));
    Items inputs = {iteration, go};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    TW_ASSIGN_OR_RETURN(const std::optional<Items> outputs, ImportIteration(n, graph, inputs));
    if (!outputs) return absl::OkStatus();
    const Item& goes_on = (*outputs)[0];
    if (!goes_on.values || !AsInt((*goes_on.values)[0])) {
      return n.Unsupported("the condition of a loop whose iterations are imported one by one depends on data");
    }
    condition = *AsInt((*goes_on.values)[0]) != 0;
    carried.assign(outputs->begin() + 1, outputs->begin() + 1 + static_cast<std::ptrdiff_t>(count));
    TW_RETURN_IF_ERROR(scanned.Add(n, *outputs, 1 + count));
  }
  TW_RETURN_IF_ERROR(scanned.Append(n, {}, &carried));
  return n.Out(std::move(carried));
}

absl::StatusOr<Items> UnrollScan(OnnxNode& n, const onnx::GraphProto& graph, Items carried,
                                 const ScanSequences& sequences) {
  const size_t count = carried.size();
  if (static_cast<size_t>(graph.input_size()) != count + sequences.items.size()) {
    return n.Error("its body takes ", graph.input_size(), " inputs, not ", count + sequences.items.size());
  }
  if (static_cast<size_t>(graph.output_size()) < count) return n.Error("its body has too few outputs");
  const auto length = AsInt(n.emit().Simplify(sequences.items[0].shape[0]));
  for (const Item& sequence : sequences.items) {
    if (!n.RequireEqual(sequence.shape[0], Extent(*length))) return n.Error("its sequences have different lengths");
  }
  Scanned scanned(static_cast<size_t>(graph.output_size()) - count);
  for (int64_t i = 0; i < *length; ++i) {
    Items inputs = carried;
    for (size_t s = 0; s < sequences.items.size(); ++s) {
      const bool backwards = s < sequences.reversed.size() && sequences.reversed[s];
      TW_ASSIGN_OR_RETURN(Item element, ElementOf(n, sequences.items[s], backwards ? *length - 1 - i : i));
      inputs.push_back(std::move(element));
    }
    TW_ASSIGN_OR_RETURN(const std::optional<Items> outputs, ImportIteration(n, graph, inputs));
    if (!outputs) return Items();
    carried.assign(outputs->begin(), outputs->begin() + static_cast<std::ptrdiff_t>(count));
    TW_RETURN_IF_ERROR(scanned.Add(n, *outputs, count));
  }
  TW_RETURN_IF_ERROR(scanned.Append(n, sequences.results_reversed, &carried));
  return carried;
}

}  // namespace tilewright::graph
