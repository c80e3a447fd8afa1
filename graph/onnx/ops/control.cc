// Control flow, and operators whose results' extents depend on data.
#include <algorithm>
#include <numeric>

#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"
#include "graph/onnx/node.h"
#include "graph/onnx/node_order.h"
#include "graph/onnx/operators.h"
#include "graph/onnx/unrolled_control.h"
#include "ir/ops/broadcast.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

absl::StatusOr<const onnx::GraphProto*> BodyOf(OnnxNode& n, const char* name) {
  const auto* attribute = n.Attr(name);
  if (attribute == nullptr || !attribute->has_g()) return n.Error("it has no ", name);
  return &attribute->g();
}

absl::StatusOr<std::vector<Value>> ValuesOf(OnnxNode& n, const Items& items) {
  std::vector<Value> values;
  for (const Item& item : items) {
    if (!item.is_tensor()) return n.Unsupported("a sequence or optional as the result of a body");
    values.push_back(item.value);
  }
  return values;
}

// Items for the fields of a tuple, of which `types` say what is known.
absl::StatusOr<Items> FieldsOf(OnnxNode& n, const Var& tuple, const Items& types) {
  Items results;
  BlockBuilder& b = n.emit().builder();
  for (size_t i = 0; i < types.size(); ++i) {
    TW_ASSIGN_OR_RETURN(Var field, b.Emit(TupleGetItem(tuple, static_cast<int>(i))));
    const auto* type = dyn_cast<TensorTypeNode>(field->type);
    if (type == nullptr || !type->shape) {
      TW_ASSIGN_OR_RETURN(field, b.Emit(MatchCast(field, TensorType(types[i].dtype, types[i].shape))));
    }
    const auto* known = cast<TensorTypeNode>(field->type);
    Item item = Item::Tensor(field, known->dtype, *known->shape);
    item.values = known->values;
    results.push_back(std::move(item));
  }
  return results;
}

absl::Status ImportIf(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_ASSIGN_OR_RETURN(const onnx::GraphProto* then_graph, BodyOf(n, "then_branch"));
  TW_ASSIGN_OR_RETURN(const onnx::GraphProto* else_graph, BodyOf(n, "else_branch"));
  if (then_graph->output_size() != else_graph->output_size()) {
    return n.Error("its branches have different numbers of outputs");
  }
  // A condition that is known leaves one branch.
  if (n.In(0).values && n.In(0).values->size() == 1) {
    if (const auto condition = AsInt((*n.In(0).values)[0])) {
      return n.Out(n.importer().ImportBody(*condition != 0 ? *then_graph : *else_graph, {}));
    }
  }
  BlockBuilder& b = n.emit().builder();
  const size_t before = n.importer().num_unsupported();
  const auto branch = [&](const onnx::GraphProto& graph, Items* items) -> absl::StatusOr<Seq> {
    b.BeginBranch();
    auto imported = n.importer().ImportBody(graph, {});
    if (!imported.ok() || n.importer().num_unsupported() > before) {
      (void)b.EndBranch(Tuple({}));
      // The branch that is not taken may be the one that cannot be imported.
      const std::string& condition = n.proto().input(0);
      if (n.importer().CanBind(condition)) n.importer().NeedsValues(condition);
      if (!imported.ok()) return imported.status();
      return Seq({}, Tuple({}));
    }
    *items = *std::move(imported);
    auto values = ValuesOf(n, *items);
    if (!values.ok()) {
      (void)b.EndBranch(Tuple({}));
      const bool bound_helps = n.importer().NeedsValues(n.proto().input(0));
      return bound_helps ? absl::FailedPreconditionError(values.status().message()) : values.status();
    }
    return b.EndBranch(Tuple(*std::move(values)));
  };
  Items then_items, else_items;
  TW_ASSIGN_OR_RETURN(Seq then_branch, branch(*then_graph, &then_items));
  TW_ASSIGN_OR_RETURN(Seq else_branch, branch(*else_graph, &else_items));
  if (n.importer().num_unsupported() > before) return absl::OkStatus();
  for (size_t i = 0; i < then_items.size(); ++i) {
    if (then_items[i].dtype != else_items[i].dtype) {
      return n.Error("its branches give ", then_items[i].dtype.ToString(), " and ", else_items[i].dtype.ToString());
    }
    if (then_items[i].rank() != else_items[i].rank()) {
      const char* text = "its branches give different ranks, and the condition is not known";
      if (n.importer().NeedsValues(n.proto().input(0))) return absl::FailedPreconditionError(text);
      return n.Unsupported(text);
    }
  }
  TW_ASSIGN_OR_RETURN(Var result, b.Emit(If(n.In(0).value, then_branch, else_branch)));
  return n.Out(FieldsOf(n, result, then_items));
}

// A body as a function of its own: parameters for its inputs, then for what it captures.
struct BodyFunction {
  std::string name;
  Items outputs;                // with the types that they have inside
  std::vector<Value> captured;  // what the parameters after the inputs are given
};

Item Parameter(std::vector<Var>* params, const std::string& name, DataType dtype, Exprs shape) {
  Var var(name, TensorType(dtype, shape));
  params->push_back(var);
  return Item::Tensor(var, dtype, std::move(shape));
}

// `inputs` are types. Nothing is returned where nodes of the body cannot be imported; they are listed then.
absl::StatusOr<std::optional<BodyFunction>> ImportBodyFunction(OnnxNode& n, const onnx::GraphProto& graph,
                                                               const Items& inputs) {
  GraphImporter& importer = n.importer();
  BlockBuilder& b = n.emit().builder();
  BodyFunction body;
  std::vector<Var> params;
  Items items;
  for (size_t i = 0; i < inputs.size(); ++i) {
    items.push_back(Parameter(&params, graph.input(static_cast<int>(i)).name(), inputs[i].dtype, inputs[i].shape));
    items.back().values = inputs[i].values;
  }
  std::map<std::string, Item> inner;
  for (const std::string& name : CapturesOf(graph)) {
    const Item* outer = importer.Find(name);
    if (outer == nullptr) continue;  // the body's import says so
    if (!outer->is_tensor() || outer->constant() != nullptr) continue;
    Item item = Parameter(&params, name, outer->dtype, outer->shape);
    item.values = outer->values;
    inner.emplace(name, std::move(item));
    body.captured.push_back(outer->value);
  }
  body.name = b.UniqueName("body");
  const size_t before = importer.num_unsupported();
  b.BeginFunction(body.name, params, {}, {}, /*is_private=*/true);
  importer.PushScope(std::move(inner));
  auto outputs = importer.ImportBody(graph, items);
  importer.PopScope();
  if (!outputs.ok() || importer.num_unsupported() > before) {
    b.AbandonFunction();
    if (!outputs.ok()) return outputs.status();
    return std::optional<BodyFunction>();
  }
  body.outputs = *std::move(outputs);
  auto values = ValuesOf(n, body.outputs);
  if (!values.ok()) {
    b.AbandonFunction();
    return values.status();
  }
  TW_RETURN_IF_ERROR(b.EndFunction(Tuple(*std::move(values))).status());
  return std::optional<BodyFunction>(std::move(body));
}

// Carried values whose extents the body changes get extents that are symbols; whether any did.
absl::StatusOr<bool> Generalize(OnnxNode& n, Items* carried, const Items& outputs, size_t first,
                                std::vector<Symbol>* general) {
  bool changed = false;
  for (size_t i = 0; i < carried->size(); ++i) {
    Item& in = (*carried)[i];
    const Item& out = outputs[first + i];
    if (in.dtype != out.dtype) return n.Error("a carried value changes its type");
    if (in.rank() != out.rank()) return n.Unsupported("a carried value changes its rank");
    for (size_t d = 0; d < in.rank(); ++d) {
      // An extent that is general already is any.
      bool any = false;
      for (const Symbol& symbol : *general) any |= in.shape[d].same_as(symbol);
      if (any || ops::SameExtent(in.shape[d], out.shape[d])) continue;
      general->emplace_back(absl::StrCat("carried", i, "_", d), DataType::Int(64));
      in.shape[d] = general->back();
      changed = true;
    }
  }
  return changed;
}

// Types of results seen from outside: extents that only the body knows are new symbols.
Item Outside(const Item& inside, const Items& known) {
  Item item = inside;
  item.value = {};
  item.values.reset();
  for (Expr& extent : item.shape) {
    if (AsInt(extent)) continue;
    bool is_known = false;
    for (const Item& other : known) {
      for (const Expr& e : other.shape) is_known |= ops::SameExtent(e, extent);
    }
    if (!is_known) extent = Symbol("d", DataType::Int(64));
  }
  return item;
}

struct Carried {
  Items types;
  std::optional<BodyFunction> body;
};
// Imports the body until the types of carried values hold. `make_inputs` puts them among the body's inputs.
absl::StatusOr<Carried> ImportCarrying(OnnxNode& n, const onnx::GraphProto& graph, Items carried, size_t first_output,
                                       size_t least_outputs, const std::function<Items(const Items&)>& make_inputs) {
  for (Item& item : carried) {
    if (!item.is_tensor()) return n.Unsupported("a sequence or optional as a carried value");
    item.values.reset();
  }
  std::vector<Symbol> general;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Items inputs = make_inputs(carried);
    if (inputs.size() != static_cast<size_t>(graph.input_size())) {
      return n.Error("its body takes ", graph.input_size(), " inputs, not ", inputs.size());
    }
    TW_ASSIGN_OR_RETURN(auto body, ImportBodyFunction(n, graph, inputs));
    if (!body) return Carried{};
    if (body->outputs.size() < least_outputs) return n.Error("its body has ", body->outputs.size(), " outputs");
    TW_ASSIGN_OR_RETURN(const bool changed, Generalize(n, &carried, body->outputs, first_output, &general));
    if (!changed) return Carried{std::move(carried), std::move(body)};
    n.emit().builder().Remove(body->name);
  }
  return n.Unsupported("the extents of carried values do not settle");
}

StringList TypeNames(const Items& items) {
  StringList names;
  for (const Item& item : items) names.push_back(item.dtype.ToString());
  return names;
}

// The results of a loop after `known` items. The body's outputs from `first_stacked` on are stacked, `trips` of them.
Items ResultsOf(const Carried& loop, const Items& known, size_t first_stacked, const Expr& trips) {
  Items results;
  for (const Item& type : loop.types) results.push_back(Outside(type, known));
  for (size_t i = first_stacked; i < loop.body->outputs.size(); ++i) {
    Item stacked = Outside(loop.body->outputs[i], known);
    stacked.shape.insert(stacked.shape.begin(), trips);
    results.push_back(std::move(stacked));
  }
  return results;
}

absl::Status ImportLoop(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const onnx::GraphProto* graph, BodyOf(n, "body"));
  const size_t count = n.in().size() < 2 ? 0 : n.in().size() - 2;
  Items initial;
  for (size_t i = 0; i < count; ++i) {
    if (!n.Has(2 + i)) return n.Error("initial value ", i, " is missing");
    initial.push_back(n.In(2 + i));
  }
  // Lengths of sequences and optionals are known when their iterations are imported.
  const bool has_others = std::ranges::any_of(initial, [](const Item& item) { return !item.is_tensor(); });
  if (has_others || (n.importer().unrolls() && UnrollsLoop(n, *graph, initial))) {
    return UnrollLoop(n, *graph, std::move(initial));
  }
  TW_ASSIGN_OR_RETURN(Carried loop, ImportCarrying(n, *graph, initial, 1, 1 + count, [](const Items& carried) {
                        Items inputs = {Item::Tensor({}, DataType::Int(64), {}),
                                        Item::Tensor({}, DataType::Bool(), {})};
                        inputs[1].values = Exprs{Extent(1)};  // an iteration that runs
                        inputs.insert(inputs.end(), carried.begin(), carried.end());
                        return inputs;
                      }));
  if (!loop.body) return absl::OkStatus();
  Items known = initial;
  for (const Item& item : n.in()) known.push_back(item);
  const auto holds = [](const Item& condition) { return condition.values && AsInt((*condition.values)[0]) == 1; };
  const bool counted = n.Has(0) && holds(loop.body->outputs[0]) && (!n.Has(1) || holds(n.In(1)));
  Expr trips = Symbol("trips", DataType::Int(64));
  if (counted && n.In(0).values) trips = n.emit().Simplify(Max(AsExtent((*n.In(0).values)[0]), Extent(0)));
  const Items results = ResultsOf(loop, known, 1 + count, trips);
  const auto scanned = static_cast<int64_t>(loop.body->outputs.size() - 1 - count);
  // Without a condition the loop goes on. (Absent arguments at the end of a call would be dropped.)
  TW_ASSIGN_OR_RETURN(const Item always, n.emit().FromValues(DataType::Bool(), {}, {Extent(1)}));
  std::vector<Value> args = {n.Has(0) ? n.In(0).value : Value(), n.Has(1) ? n.In(1).value : always.value};
  for (const Item& item : initial) args.push_back(item.value);
  args.insert(args.end(), loop.body->captured.begin(), loop.body->captured.end());
  BlockBuilder& b = n.emit().builder();
  TW_ASSIGN_OR_RETURN(Var result, b.Emit(b.CallOp("host.loop", std::move(args),
                                                  {{"body", FunctionName{loop.body->name}},
                                                   {"types", TypeNames(results)},
                                                   {"carried", static_cast<int64_t>(count)},
                                                   {"scanned", scanned},
                                                   {"counted", counted}})));
  return n.Out(FieldsOf(n, result, results));
}

// The dimension that sequence i of rank `rank` is scanned along.
absl::StatusOr<int> ScanAxis(OnnxNode& n, const Int64s& axes, size_t i, size_t rank) {
  return n.Axis(i < axes.size() ? axes[i] : 0, rank);
}

absl::Status ImportScan(OnnxNode& n) {
  if (n.opset() < 9) return n.Unsupported("Scan with a batch dimension, of opset 8");
  TW_ASSIGN_OR_RETURN(const onnx::GraphProto* graph, BodyOf(n, "body"));
  const int64_t given = n.Int("num_scan_inputs", 0);
  if (given < 1 || static_cast<size_t>(given) > n.in().size()) return n.Error("num_scan_inputs is ", given);
  TW_RETURN_IF_ERROR(n.RequireTensors(0, n.in().size()));
  const auto sequences = static_cast<size_t>(given);
  const size_t count = n.in().size() - sequences;
  const Int64s none, input_axes = n.Ints("scan_input_axes").value_or(none),
                     output_axes = n.Ints("scan_output_axes").value_or(none);
  const Items initial(n.in().begin(), n.in().begin() + static_cast<std::ptrdiff_t>(count));
  Items operands = initial, elements;
  for (size_t i = count; i < n.in().size(); ++i) {
    TW_ASSIGN_OR_RETURN(const int axis, ScanAxis(n, input_axes, i - count, n.In(i).rank()));
    TW_ASSIGN_OR_RETURN(const Item sequence, n.emit().MoveAxis(n.In(i), axis, 0));
    elements.push_back(Item::Tensor({}, sequence.dtype, {sequence.shape.begin() + 1, sequence.shape.end()}));
    operands.push_back(sequence);
  }
  const auto with_axes = [&](Items results) -> absl::Status {
    for (size_t i = count; i < results.size(); ++i) {
      TW_ASSIGN_OR_RETURN(const int axis, ScanAxis(n, output_axes, i - count, results[i].rank()));
      TW_ASSIGN_OR_RETURN(results[i], n.emit().MoveAxis(results[i], 0, axis));
    }
    return n.Out(std::move(results));
  };
  const Int64s reverse_inputs = n.Ints("scan_input_directions").value_or(none),
               reverse_outputs = n.Ints("scan_output_directions").value_or(none);
  if (n.importer().unrolls() && UnrollsScan(n, operands[count])) {
    const ScanSequences all = {{operands.begin() + static_cast<std::ptrdiff_t>(count), operands.end()},
                               {reverse_inputs.begin(), reverse_inputs.end()},
                               {reverse_outputs.begin(), reverse_outputs.end()}};
    TW_ASSIGN_OR_RETURN(Items results, UnrollScan(n, *graph, initial, all));
    return with_axes(std::move(results));
  }
  TW_ASSIGN_OR_RETURN(Carried scan, ImportCarrying(n, *graph, initial, 0, count, [&](const Items& carried) {
                        Items inputs = carried;
                        inputs.insert(inputs.end(), elements.begin(), elements.end());
                        return inputs;
                      }));
  if (!scan.body) return absl::OkStatus();
  const Items results = ResultsOf(scan, operands, count, operands[count].shape[0]);
  std::vector<Value> args;
  for (const Item& item : operands) args.push_back(item.value);
  args.insert(args.end(), scan.body->captured.begin(), scan.body->captured.end());
  BlockBuilder& b = n.emit().builder();
  TW_ASSIGN_OR_RETURN(Var result, b.Emit(b.CallOp("host.scan", std::move(args),
                                                  {{"body", FunctionName{scan.body->name}},
                                                   {"types", TypeNames(results)},
                                                   {"carried", static_cast<int64_t>(count)},
                                                   {"inputs", given},
                                                   {"scanned", static_cast<int64_t>(scan.body->outputs.size() - count)},
                                                   {"reverse_inputs", IntList(reverse_inputs)},
                                                   {"reverse_outputs", IntList(reverse_outputs)}})));
  TW_ASSIGN_OR_RETURN(Items fields, FieldsOf(n, result, results));
  return with_axes(std::move(fields));
}

absl::Status ImportNonZero(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  return n.Out(n.emit().Operator("host.nonzero", {n.In(0).value}));
}

absl::Status ImportTopK(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("axis", -1), n.In(0).rank()));
  Item k;
  if (n.opset() < 10) {
    k = n.emit().FromArray(*ArrayOf(n.emit().FromConstant(Constant::Int64s({n.Int("k", 1)}))));
  } else {
    TW_ASSIGN_OR_RETURN(const Exprs values, n.Values(1));
    if (values.size() != 1) return n.Error("k is not one number");
    TW_ASSIGN_OR_RETURN(k, n.emit().FromValues(DataType::Int(64), {Extent(1)}, values));
  }
  return n.Out(n.emit().Operator("host.top_k", {n.In(0).value, k.value},
                                 {{"axis", static_cast<int64_t>(axis)}, {"largest", n.Int("largest", 1) != 0}}));
}

// The first input and its axis; without one, its elements as a line.
struct AlongOneAxis {
  Item x;
  int64_t axis = 0;
};
absl::StatusOr<AlongOneAxis> AlongAxis(OnnxNode& n) {
  AlongOneAxis along{.x = n.In(0)};
  if (n.Attr("axis") != nullptr) {
    TW_ASSIGN_OR_RETURN(along.axis, n.Axis(n.Int("axis", 0), along.x.rank()));
  } else {
    TW_ASSIGN_OR_RETURN(along.x, n.emit().View(along.x, {NumElements(along.x.shape)}));
  }
  return along;
}

absl::Status ImportUnique(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  TW_ASSIGN_OR_RETURN(const auto along, AlongAxis(n));
  return n.Out(
      n.emit().Operator("host.unique", {along.x.value}, {{"axis", along.axis}, {"sorted", n.Int("sorted", 1) != 0}}));
}
// com.microsoft: the elements of a line as they first occur, which of them each element is, and how often they occur.
absl::Status ImportMicrosoftUnique(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  if (n.In(0).rank() != 1) return n.Error("its input has rank ", n.In(0).rank());
  TW_ASSIGN_OR_RETURN(const Items all, n.Call("Unique", 11, n.in(), {IntAttribute("sorted", 0)}, 4));
  return n.Out(Items{all[0], all[2], all[3]});
}

absl::Status ImportCompress(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  TW_ASSIGN_OR_RETURN(const auto along, AlongAxis(n));
  return n.Out(n.emit().Operator("host.compress", {along.x.value, n.In(1).value}, {{"axis", along.axis}}));
}

absl::Status ImportNonMaxSuppression(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  if (n.In(0).rank() != 3 || n.In(1).rank() != 3) return n.Error("boxes and scores have three dimensions");
  std::vector<Value> args;
  for (size_t i = 0; i < 5; ++i) args.push_back(n.Has(i) ? n.In(i).value : Value());
  return n.Out(
      n.emit().Operator("host.non_max_suppression", std::move(args), {{"center", n.Int("center_point_box", 0)}}));
}

absl::Status ImportTfIdfVectorizer(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  const Item& x = n.In(0);
  const auto counts = n.Ints("ngram_counts"), indexes = n.Ints("ngram_indexes"), pool = n.WideInts("pool_int64s");
  if (!pool || x.dtype.is_float()) return n.Unsupported("n-grams of strings");
  if (!counts || !indexes) return n.Error("it has no ngram_counts or no ngram_indexes");
  int64_t before = 0;
  for (int64_t count : *counts) {
    if (count < before || count > static_cast<int64_t>(pool->size()))
      return n.Error("ngram_counts do not fit the pool");
    before = count;
  }
  for (int64_t index : *indexes) {
    if (index < 0 || index > 1 << 24) return n.Error("an index of ", index);
  }
  const int64_t least = n.Int("min_gram_length", 1), most = n.Int("max_gram_length", 1);
  if (least < 1 || most > 1 << 16 || n.Int("max_skip_count", 0) < 0) return n.Error("n-grams of ", least, " to ", most);
  return n.Out(n.emit().Operator("host.ngrams", {x.value},
                                 {{"counts", IntList(*counts)},
                                  {"indexes", IntList(*indexes)},
                                  {"pool", IntList(*pool)},
                                  {"weights", FloatList(n.Floats("weights"))},
                                  {"mode", n.String("mode", "TF")},
                                  {"least", least},
                                  {"most", most},
                                  {"skips", n.Int("max_skip_count", 0)}}));
}

absl::Status ImportDet(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  return n.Out(n.emit().Operator("host.determinant", {n.In(0).value}));
}

}  // namespace

OnnxOperators ControlOperators() {
  return {
      {"Compress", 9, ImportCompress, {.booleans = Inputs({1})}},
      {"Det", 11, ImportDet},
      {"If", 1, ImportIf, {.elements = Elements::kBooleans, .required = "then_branch else_branch"}},
      {"Loop", 1, ImportLoop, {.elements = Elements::kIntegers, .booleans = Inputs({1}), .required = "body"}},
      {"NonMaxSuppression", 10, ImportNonMaxSuppression, {.integers = Inputs({2})}},
      {"NonZero", 9, ImportNonZero},
      {"Scan", 8, ImportScan, {.required = "body num_scan_inputs"}},
      {"TfIdfVectorizer", 9, ImportTfIdfVectorizer},
      {"TopK", 1, ImportTopK, {.elements = Elements::kNumbers, .integers = Inputs({1})}},
      {"Unique", 11, ImportUnique},
      {"Unique", 1, ImportMicrosoftUnique, {}, kMicrosoft},
  };
}

}  // namespace tilewright::graph
