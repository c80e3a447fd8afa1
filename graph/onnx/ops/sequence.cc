// Sequences and optionals. They exist while a model is imported: their lengths are known, their elements are tensors of
// the graph.
#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

absl::StatusOr<Items> SequenceOf(OnnxNode& n, size_t i) {
  const Item& item = n.In(i);
  if (item.kind == Item::Kind::kOptional && item.elements.size() == 1 &&
      item.elements[0].kind == Item::Kind::kSequence) {
    return item.elements[0].elements;
  }
  if (item.kind != Item::Kind::kSequence) return n.Error("input ", i, " is not a sequence");
  return item.elements;
}

// A position among `size` elements, or (`one_past`) after them.
absl::StatusOr<size_t> PositionOf(OnnxNode& n, size_t input, size_t size, bool one_past) {
  TW_ASSIGN_OR_RETURN(const int64_t given, n.Number(input));
  const auto count = static_cast<int64_t>(size);
  const int64_t position = given < 0 ? given + count : given;
  if (position < 0 || position > count - (one_past ? 0 : 1)) return n.Error("position ", given, " of ", count);
  return static_cast<size_t>(position);
}

absl::Status ImportSequenceConstruct(OnnxNode& n) { return n.Out(Item::Sequence(n.in())); }
absl::Status ImportSequenceEmpty(OnnxNode& n) { return n.Out(Item::Sequence({})); }
absl::Status ImportSequenceAt(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Items sequence, SequenceOf(n, 0));
  TW_ASSIGN_OR_RETURN(const size_t at, PositionOf(n, 1, sequence.size(), false));
  return n.Out(sequence[at]);
}
absl::Status ImportSequenceInsert(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Items sequence, SequenceOf(n, 0));
  TW_RETURN_IF_ERROR(n.RequireTensors(1, 1));
  size_t at = sequence.size();
  if (n.Has(2)) {
    TW_ASSIGN_OR_RETURN(at, PositionOf(n, 2, sequence.size(), true));
  }
  sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(at), n.In(1));
  return n.Out(Item::Sequence(std::move(sequence)));
}
absl::Status ImportSequenceErase(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Items sequence, SequenceOf(n, 0));
  if (sequence.empty()) return n.Error("its sequence is empty");
  size_t at = sequence.size() - 1;
  if (n.Has(1)) {
    TW_ASSIGN_OR_RETURN(at, PositionOf(n, 1, sequence.size(), false));
  }
  sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(at));
  return n.Out(Item::Sequence(std::move(sequence)));
}
absl::Status ImportSequenceLength(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Items sequence, SequenceOf(n, 0));
  return n.Out(n.emit().FromValues(DataType::Int(64), {}, {Extent(static_cast<int64_t>(sequence.size()))}));
}

// Parts of a tensor along an axis: of the sizes in input 1, or single slices (without their dimension: `keepdims` 0).
absl::Status ImportSplitToSequence(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 0), x.rank()));
  const size_t a = static_cast<size_t>(axis);
  const auto extent = AsInt(x.shape[a]);
  Int64s sizes;
  if (n.Has(1)) {
    TW_ASSIGN_OR_RETURN(sizes, n.Numbers(1));
  }
  if (!n.Has(1) || n.In(1).rank() == 0) {
    // Equal parts, the last one smaller.
    const int64_t size = n.Has(1) ? sizes[0] : 1;
    if (size < 1) return n.Error("parts of ", size, " elements");
    if (!extent) return n.Unsupported("an axis of symbolic extent");
    sizes.clear();
    for (int64_t at = 0; at < *extent; at += size) sizes.push_back(std::min(size, *extent - at));
  }
  const bool squeeze = !n.Has(1) && n.Int("keepdims", 1) == 0;
  Items parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    if (size < 0) return n.Error("a part of ", size, " elements");
    if (extent && size > *extent - start) return n.Error("parts that exceed the extent");
    std::vector<ops::SliceRange> ranges;
    TW_ASSIGN_OR_RETURN(Items part, n.Program("slice", {x}, [&](ProgramParts& p) {
      for (size_t d = 0; d < x.rank(); ++d) ranges.push_back({.start = Expr(0), .extent = p.in[0]->shape[d]});
      ranges[a] = {.start = Expr(start), .extent = Expr(size)};
      return Buffers{ops::Slice(p.f, p.in[0], ranges)};
    }));
    if (squeeze) {
      Exprs shape = part[0].shape;
      shape.erase(shape.begin() + axis);
      TW_ASSIGN_OR_RETURN(part[0], n.emit().View(part[0], shape));
    }
    parts.push_back(part[0]);
    start += size;
  }
  if (!n.RequireEqual(x.shape[a], Extent(start))) return n.Error("parts of ", start, " elements in all from ", *extent);
  return n.Out(Item::Sequence(std::move(parts)));
}

absl::Status ImportConcatFromSequence(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(Items parts, SequenceOf(n, 0));
  if (parts.empty()) return n.Error("its sequence is empty");
  const bool new_axis = n.Int("new_axis", 0) != 0;
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", 0), parts[0].rank() + (new_axis ? 1 : 0)));
  for (Item& part : parts) {
    if (part.rank() != parts[0].rank() && !new_axis) return n.Error("its elements have different ranks");
    if (!new_axis) continue;
    Exprs shape = part.shape;
    shape.insert(shape.begin() + axis, Extent(1));
    TW_ASSIGN_OR_RETURN(part, n.emit().View(part, shape));
  }
  if (parts.size() == 1) return n.Out(parts[0]);
  return n.Out(n.Program("concat", parts, [&](ProgramParts& p) { return Buffers{ops::Concat(p.f, p.in, axis)}; }));
}

// The body for each element of the sequences; other inputs are tensors that every call gets.
absl::Status ImportSequenceMap(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const Items first, SequenceOf(n, 0));
  const auto* body = n.Attr("body");
  if (body == nullptr || !body->has_g()) return n.Error("it has no body");
  std::vector<Items> results(n.num_outputs());
  for (size_t i = 0; i < first.size(); ++i) {
    Items inputs;
    for (const Item& item : n.in()) {
      if (item.kind == Item::Kind::kSequence && item.elements.size() <= i) return n.Error("sequences of other lengths");
      inputs.push_back(item.kind == Item::Kind::kSequence ? item.elements[i] : item);
    }
    TW_ASSIGN_OR_RETURN(const Items outputs, n.importer().ImportBody(body->g(), inputs));
    if (outputs.size() != results.size()) return n.Error("its body has ", outputs.size(), " outputs");
    for (size_t o = 0; o < outputs.size(); ++o) results[o].push_back(outputs[o]);
  }
  Items out;
  for (Items& elements : results) out.push_back(Item::Sequence(std::move(elements)));
  return n.Out(std::move(out));
}

absl::Status ImportOptional(OnnxNode& n) { return n.Out(Item::Optional(n.Has(0) ? Items{n.In(0)} : Items{})); }
absl::Status ImportOptionalHasElement(OnnxNode& n) {
  const bool has = n.Has(0) && (n.In(0).kind != Item::Kind::kOptional || !n.In(0).elements.empty());
  return n.Out(n.emit().FromValues(DataType::Bool(), {}, {Extent(has ? 1 : 0)}));
}
absl::Status ImportOptionalGetElement(OnnxNode& n) {
  if (n.Has(0) && n.In(0).kind != Item::Kind::kOptional) return n.Out(n.In(0));
  if (!n.Has(0) || n.In(0).elements.empty()) return n.Error("its optional has no element");
  return n.Out(n.In(0).elements[0]);
}

}  // namespace

OnnxOperators SequenceOperators() {
  return {
      {"ConcatFromSequence", 11, ImportConcatFromSequence, {.required = "axis"}},
      {"Optional", 15, ImportOptional},
      {"OptionalGetElement", 15, ImportOptionalGetElement},
      {"OptionalHasElement", 15, ImportOptionalHasElement},
      {"SequenceAt", 11, ImportSequenceAt, {.integers = Inputs({1})}},
      {"SequenceConstruct", 11, ImportSequenceConstruct},
      {"SequenceEmpty", 11, ImportSequenceEmpty},
      {"SequenceErase", 11, ImportSequenceErase, {.integers = Inputs({1})}},
      {"SequenceInsert", 11, ImportSequenceInsert, {.integers = Inputs({2})}},
      {"SequenceLength", 11, ImportSequenceLength},
      {"SequenceMap", 17, ImportSequenceMap, {.required = "body"}},
      {"SplitToSequence", 11, ImportSplitToSequence, {.integers = Inputs({1})}},
  };
}

}  // namespace tilewright::graph
