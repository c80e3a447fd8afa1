// LSTM, GRU and RNN.
#include "ir/ops/recurrent.h"

#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
using ops::Activation;
using ops::Cell;

// Activations of all directions with their parameters.
absl::StatusOr<std::vector<Activation>> ActivationsOf(OnnxNode& n, Cell cell, size_t directions) {
  std::vector<std::string> names = n.Strings("activations");
  const std::vector<std::string> plain = cell == Cell::kLstm  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                         : cell == Cell::kGru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                              : std::vector<std::string>{"Tanh"};
  if (names.empty()) {
    for (size_t d = 0; d < directions; ++d) names.insert(names.end(), plain.begin(), plain.end());
  }
  // RNN's default names one for each of two directions, whatever there are, and tools write defaults.
  if (directions == 1 && names.size() == 2 * plain.size()) names.resize(plain.size());
  if (names.size() != plain.size() * directions) return n.Error(names.size(), " activations");
  const std::vector<double> alphas = n.Floats("activation_alpha"), betas = n.Floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> result;
  for (const std::string& name : names) {
    Activation activation{.name = absl::AsciiStrToLower(name)};
    if (!ops::IsActivation(activation.name)) return n.Unsupported("the activation ", name);
    const std::string& a = activation.name;
    // Only these take parameters from the lists.
    if (a == "affine" || a == "scaledtanh" || a == "hardsigmoid" || a == "leakyrelu" || a == "thresholdedrelu" ||
        a == "elu") {
      activation.alpha = a == "hardsigmoid" ? 0.2f : a == "leakyrelu" ? 0.01f : 1;
      if (next_alpha < alphas.size()) activation.alpha = alphas[next_alpha++];
    }
    if (a == "affine" || a == "scaledtanh" || a == "hardsigmoid") {
      activation.beta = a == "hardsigmoid" ? 0.5 : a == "scaledtanh" ? 1 : 0;
      if (next_beta < betas.size()) activation.beta = betas[next_beta++];
    }
    result.push_back(std::move(activation));
  }
  return result;
}

// The first two dimensions swapped, in a program.
Buffer Swapped(ProgramParts& p, const Buffer& x) {
  std::vector<int> permutation;
  for (size_t i = 0; i < x->ndim(); ++i) permutation.push_back(static_cast<int>(i));
  std::swap(permutation[0], permutation[1]);
  return ops::Transpose(p.f, x, permutation);
}

// com.microsoft's DynamicQuantizeLSTM: weights are integers, [direction, input, gates], with scales and zero points for
// each direction or each column after the other operands. They are dequantized; activations stay floats.
constexpr size_t kScales = 8;
Buffer Dequantized(ProgramParts& p, const Buffer& x, const Buffer& scale, const Buffer& zero) {
  const std::vector<Expr>& shape = x->shape;
  return p.f.Compute("dequantize", {shape[0], shape[2], shape[1]}, [&](Symbol d, Symbol g, Symbol i) {
    const auto parameter = [&](const Buffer& b) {
      return b->ndim() == 1 ? b(d) : b(d, IsInt(b->shape[1], 1) ? Expr(0) : Expr(g));
    };
    const DataType i32 = DataType::Int(32), type = scale->dtype;
    Expr value = CastTo(i32, x(d, i, g));
    if (zero) value = value - CastTo(i32, parameter(zero));
    return CastTo(type, value) * parameter(scale);
  });
}

// An error where an operand does not have the shape that the others ask for.
absl::Status RequireRecurrentShapes(OnnxNode& n, int64_t hidden, int64_t gates, bool quantized) {
  const Item& w = n.In(1);
  const Exprs& x = n.In(0).shape;
  const bool swapped = n.Int("layout", 0) != 0;
  const Expr directions = w.shape[0], batch = x[swapped ? 0 : 1], units = Extent(hidden);
  const Exprs state = swapped ? Exprs{batch, directions, units} : Exprs{directions, batch, units};
  const Expr input = x[2], all = Extent(gates);
  TW_RETURN_IF_ERROR(n.RequireShape(1, quantized ? Exprs{directions, input, all} : Exprs{directions, all, input}));
  TW_RETURN_IF_ERROR(n.RequireShape(2, quantized ? Exprs{directions, units, all} : Exprs{directions, all, units}));
  TW_RETURN_IF_ERROR(n.RequireShape(3, {directions, Extent(2 * gates)}));
  TW_RETURN_IF_ERROR(n.RequireShape(4, {batch}));
  TW_RETURN_IF_ERROR(n.RequireShape(5, state));
  TW_RETURN_IF_ERROR(n.RequireShape(6, state));
  TW_RETURN_IF_ERROR(n.RequireShape(7, {directions, Extent(3 * hidden)}));
  for (size_t i = kScales; quantized && i < n.in().size(); ++i) {
    if (!n.Has(i)) continue;
    TW_RETURN_IF_ERROR(n.RequireTensors(i, 1));
    if (n.In(i).rank() < 1 || n.In(i).rank() > 2) return n.Error("scales of rank ", n.In(i).rank());
    Exprs wanted = {directions};
    if (n.In(i).rank() == 2) wanted.push_back(IsInt(n.In(i).shape[1], 1) ? Extent(1) : all);
    TW_RETURN_IF_ERROR(n.RequireShape(i, wanted));
  }
  return absl::OkStatus();
}

Buffers RecurrentProgram(ProgramParts& p, OnnxNode& n, const ops::RecurrentOptions& how, bool quantized) {
  const bool batch_first = n.Int("layout", 0) != 0;
  size_t next = 0;
  const auto take = [&](size_t i) { return n.Has(i) ? p.in[next++] : Buffer(); };
  ops::RecurrentOperands operands;
  operands.x = take(0);
  operands.w = take(1);
  operands.r = take(2);
  operands.bias = take(3);
  operands.lengths = take(4);
  operands.initial_h = take(5);
  operands.initial_c = take(6);
  operands.peepholes = take(7);
  if (quantized) {
    const Buffer w_scale = take(kScales), w_zero = take(kScales + 1), r_scale = take(kScales + 2);
    const Buffer r_zero = take(kScales + 3);
    operands.w = Dequantized(p, operands.w, w_scale, w_zero);
    operands.r = Dequantized(p, operands.r, r_scale, r_zero);
  }
  if (batch_first) {
    operands.x = Swapped(p, operands.x);
    if (operands.initial_h) operands.initial_h = Swapped(p, operands.initial_h);
    if (operands.initial_c) operands.initial_c = Swapped(p, operands.initial_c);
  }
  ops::RecurrentResults results = ops::Recurrent(p.f, operands, how);
  if (batch_first) {
    results.y = ops::Transpose(p.f, results.y, {2, 0, 1, 3});
    results.h = Swapped(p, results.h);
    if (results.c) results.c = Swapped(p, results.c);
  }
  Buffers out = {results.y, results.h};
  if (results.c) out.push_back(results.c);
  return out;
}

absl::Status ImportRecurrent(OnnxNode& n, Cell cell, bool quantized = false) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  for (size_t i : {1, 2, 3, 5, 6, 7}) {
    if (quantized && i < 3) continue;
    if (n.Has(i) && n.In(i).dtype != n.In(0).dtype) return n.Error("input ", i, " has another type than the first");
  }
  const std::string direction = n.String("direction", "forward");
  ops::RecurrentOptions how{.cell = cell};
  if (direction == "forward") how.reverse = {false};
  if (direction == "reverse") how.reverse = {true};
  if (direction == "bidirectional") how.reverse = {false, true};
  if (how.reverse.empty()) return n.Error("the direction is \"", direction, "\"");
  const Item &w = n.In(1), &r = n.In(2);
  if (n.In(0).rank() != 3 || w.rank() != 3 || r.rank() != 3) return n.Error("operands without three dimensions");
  const auto hidden = AsInt(r.shape[quantized ? 1 : 2]), gates = AsInt(w.shape[quantized ? 2 : 1]);
  if (quantized && (!n.Has(kScales) || !n.Has(kScales + 2))) return n.Error("its weights have no scales");
  if (!hidden || !gates || *hidden < 1) return n.Unsupported("weights of symbolic extents");
  if (*gates != *hidden * ops::GatesOf(cell) || !IsInt(w.shape[0], static_cast<int64_t>(how.reverse.size()))) {
    return n.Error("the extents of its weights do not fit the number of gates and directions");
  }
  how.hidden = *hidden;
  TW_RETURN_IF_ERROR(RequireRecurrentShapes(n, *hidden, *gates, quantized));
  TW_ASSIGN_OR_RETURN(how.activations, ActivationsOf(n, cell, how.reverse.size()));
  how.clip = n.Float("clip", 0);
  how.linear_before_reset = n.Int("linear_before_reset", 0) != 0;
  how.input_forget = n.Int("input_forget", 0) != 0;
  const char* name = cell == Cell::kLstm ? "lstm" : cell == Cell::kGru ? "gru" : "rnn";
  return n.Out(n.Program(name, n.in(), [&](ProgramParts& p) { return RecurrentProgram(p, n, how, quantized); }));
}

absl::Status ImportLstm(OnnxNode& n) { return ImportRecurrent(n, Cell::kLstm); }
absl::Status ImportGru(OnnxNode& n) { return ImportRecurrent(n, Cell::kGru); }
absl::Status ImportDynamicQuantizeLstm(OnnxNode& n) { return ImportRecurrent(n, Cell::kLstm, true); }
absl::Status ImportRnn(OnnxNode& n) { return ImportRecurrent(n, Cell::kPlain); }

}  // namespace

OnnxOperators RecurrentOperators() {
  return {
      {"DynamicQuantizeLSTM", 1, ImportDynamicQuantizeLstm, {}, kMicrosoft},
      {"GRU", 1, ImportGru, {.elements = Elements::kFloats, .integers = Inputs({4})}},
      {"LSTM", 1, ImportLstm, {.elements = Elements::kFloats, .integers = Inputs({4})}},
      {"RNN", 1, ImportRnn, {.elements = Elements::kFloats, .integers = Inputs({4})}},
  };
}

}  // namespace tilewright::graph
