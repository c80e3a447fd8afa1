#include "graph/fusion/fold_scales.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "autoschedule/program/contraction.h"
#include "base/status_macros.h"
#include "graph/fusion/program_form.h"
#include "graph/fusion/scale_range.h"
#include "graph/ir/functor.h"
#include "ir/builder.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ops/structured.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

using ops::StructuredOp;

// factor * x + term; a null factor is 0, a null term too.
struct Affine {
  Expr factor, term;
  // Whether the factor is other than 1.
  bool HasFactor() const {
    const auto* number = dyn_cast<FloatImmNode>(factor);
    return number == nullptr || number->value != 1;
  }
};

Expr Plus(const Expr& a, const Expr& b) { return !a ? b : !b ? a : a + b; }

// `e` as an affine function of `x`; nothing where it is none.
std::optional<Affine> AffineIn(const Expr& e, const SymbolNode* x) {
  if (e.get() == x) return Affine{Const(e.dtype(), 1), Expr()};
  bool mentions = false;
  PreOrder(e, [&](const Expr& part) {
    mentions |= part.get() == x;
    return !mentions;
  });
  if (!mentions) return Affine{Expr(), e};
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return std::nullopt;
  const std::optional<Affine> a = AffineIn(op->a, x), b = AffineIn(op->b, x);
  if (!a || !b) return std::nullopt;
  const auto times = [](const Expr& part, const Expr& by) { return part ? part * by : part; };
  switch (op->op) {
    case BinaryOp::kAdd:
      return Affine{Plus(a->factor, b->factor), Plus(a->term, b->term)};
    case BinaryOp::kSub: {
      const Expr minus = Const(e.dtype(), -1);
      return Affine{Plus(a->factor, times(b->factor, minus)), Plus(a->term, times(b->term, minus))};
    }
    case BinaryOp::kMul:
      if (a->factor && b->factor) return std::nullopt;
      if (a->factor) return Affine{times(a->factor, op->b), times(a->term, op->b)};
      return Affine{times(b->factor, op->a), times(b->term, op->a)};
    case BinaryOp::kDiv:
      if (b->factor) return std::nullopt;
      return Affine{Div(a->factor, op->b), a->term ? Div(a->term, op->b) : Expr()};
    default:
      return std::nullopt;
  }
}

// The blocks of a program with the structured operators that they compute; nothing where one of them is none.
std::optional<std::vector<StructuredOp>> OperatorsOf(const PrimFunc& program) {
  if (!IsRegular(program)) return std::nullopt;
  std::vector<StructuredOp> all;
  bool good = true;
  PreOrder(cast<BlockRealizeNode>(program->body)->block->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr) return true;
    std::optional<StructuredOp> op = ops::MatchStructured(*realize->block);
    good &= op.has_value() && op->outputs.size() == 1;
    if (op) all.push_back(*std::move(op));
    return false;
  });
  if (!good) return std::nullopt;
  return all;
}

int ParamOf(const PrimFunc& program, const Buffer& buffer) {
  for (size_t i = 0; i < program->params.size(); ++i) {
    if (program->params[i].buffer.same_as(buffer)) return static_cast<int>(i);
  }
  return -1;
}

// The only iterator that an index is; null where it is a number or an expression.
const SymbolNode* IteratorOf(const Expr& index) { return dyn_cast<SymbolNode>(index); }

// An elementwise program out[i...] = factor * x[i...] + term, both by constants along one dimension.
struct Scale {
  size_t x = 0;        // the operand's parameter
  int dimension = -1;  // of the result: along which the constants lie
  Affine affine;       // of elements of the constants
  StructuredOp op;
};

// `constant`: whether a parameter's argument is one.
std::optional<Scale> ScaleOf(const PrimFunc& program, const std::vector<bool>& constant) {
  const auto operators = OperatorsOf(program);
  if (!operators || operators->size() != 1) return std::nullopt;
  Scale scale{.op = (*operators)[0]};
  const StructuredOp::Output& out = scale.op.outputs[0];
  if (scale.op.is_reduction() || !out.buffer->dtype.is_float() || out.buffer->dtype.bits() < 32) return std::nullopt;
  std::optional<StructuredOp::Operand> x;
  for (const StructuredOp::Operand& input : scale.op.inputs) {
    const int param = ParamOf(program, input.buffer);
    if (param < 0 || input.buffer->dtype != out.buffer->dtype) return std::nullopt;
    if (!constant[static_cast<size_t>(param)]) {
      if (x || input.at.size() != out.at.size()) return std::nullopt;
      x = input;
      scale.x = static_cast<size_t>(param);
      continue;
    }
    for (const Expr& index : input.at) {
      if (IsInt(index, 0)) continue;
      int dimension = -1;
      for (size_t d = 0; d < out.at.size(); ++d) {
        if (IteratorOf(index) != nullptr && out.at[d].same_as(index)) dimension = static_cast<int>(d);
      }
      if (dimension < 0 || (scale.dimension >= 0 && scale.dimension != dimension)) return std::nullopt;
      scale.dimension = dimension;
    }
  }
  if (!x || scale.dimension < 0) return std::nullopt;
  for (size_t d = 0; d < out.at.size(); ++d) {
    const bool same = x->at[d].same_as(out.at[d]) || (IsInt(x->at[d], 0) && IsInt(x->buffer->shape[d], 1));
    if (!same || !(IsInt(out.at[d], 0) || IteratorOf(out.at[d]) != nullptr)) return std::nullopt;
    if (!AsInt(out.buffer->shape[static_cast<size_t>(scale.dimension)])) return std::nullopt;
  }
  const std::optional<Affine> affine = AffineIn(out.value, x->element.get());
  if (!affine || !affine->factor) return std::nullopt;
  scale.affine = *affine;
  return scale;
}

// A sum of products with weights along one dimension of the result, with or without a bias along it.
struct Linear {
  size_t weights = 0;
  size_t weights_dimension = 0;
  std::optional<size_t> bias;
};

std::optional<Linear> LinearOf(const PrimFunc& program, const std::vector<bool>& constant, int dimension) {
  const auto operators = OperatorsOf(program);
  if (!operators) return std::nullopt;
  Linear linear;
  std::optional<StructuredOp> product, last;
  for (const StructuredOp& op : *operators) {
    if (op.is_reduction()) {
      if (product) return std::nullopt;
      product = op;
    } else if (product) {
      if (last) return std::nullopt;
      last = op;
    }
  }
  if (!product || product->inputs.size() != 2) return std::nullopt;
  const StructuredOp::Output& sum = product->outputs[0];
  const SymbolNode* channel = IteratorOf(sum.at[static_cast<size_t>(dimension)]);
  const auto* add = dyn_cast<BinaryNode>(sum.value);
  const auto* times = add == nullptr || add->op != BinaryOp::kAdd ? nullptr : dyn_cast<BinaryNode>(add->b);
  if (channel == nullptr || times == nullptr || times->op != BinaryOp::kMul || !add->a.same_as(sum.element)) {
    return std::nullopt;
  }
  bool found = false;
  for (const StructuredOp::Operand& input : product->inputs) {
    const int param = ParamOf(program, input.buffer);
    size_t uses = 0, at = 0;
    for (size_t d = 0; d < input.at.size(); ++d) {
      PreOrder(input.at[d], [&](const Expr& part) {
        if (part.get() == channel) ++uses, at = d;
        return true;
      });
    }
    const bool is_weights = param >= 0 && constant[static_cast<size_t>(param)] && uses == 1 &&
                            IteratorOf(input.at[at]) == channel &&
                            (times->a.same_as(input.element) || times->b.same_as(input.element));
    if (!is_weights) continue;
    found = true;
    linear.weights = static_cast<size_t>(param);
    linear.weights_dimension = at;
  }
  if (!found) return std::nullopt;
  if (!last) return ParamOf(program, sum.buffer) >= 0 ? std::optional(linear) : std::nullopt;
  // sums + bias, of the same elements
  const StructuredOp::Output& out = last->outputs[0];
  if (last->inputs.size() != 2 || ParamOf(program, out.buffer) < 0) return std::nullopt;
  const bool first = last->inputs[0].buffer.same_as(sum.buffer);
  const StructuredOp::Operand &sums = last->inputs[first ? 0 : 1], &bias = last->inputs[first ? 1 : 0];
  const auto* plus = dyn_cast<BinaryNode>(out.value);
  const int param = ParamOf(program, bias.buffer);
  if (!sums.buffer.same_as(sum.buffer) || plus == nullptr || plus->op != BinaryOp::kAdd || param < 0)
    return std::nullopt;
  if (!constant[static_cast<size_t>(param)] || bias.at.size() != 1 || sums.at.size() != out.at.size())
    return std::nullopt;
  if (!bias.at[0].same_as(out.at[static_cast<size_t>(dimension)])) return std::nullopt;
  for (size_t d = 0; d < out.at.size(); ++d) {
    if (!sums.at[d].same_as(out.at[d])) return std::nullopt;
  }
  linear.bias = static_cast<size_t>(param);
  return linear;
}

class ScaleFolder : public Mutator {
 public:
  using Mutator::Mutator;

  absl::StatusOr<Function> Run(const Function& function) {
    uses_ = CountUses(function);
    return MutateFunction(function);
  }

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    const auto* call = dyn_cast<CallTirNode>(binding.value);
    if (call == nullptr || !isa<TensorTypeNode>(call->out)) return Mutator::MutateBinding(binding);
    const PrimFunc program = builder().module().FindProgram(call->function);
    const std::vector<Value> args = ReplacedArgs(*call);
    const std::optional<Scale> scale = ScaleOf(program, AreConstants(args, program));
    if (!scale || !StaysNormalAhead(*scale, args, program)) return Note(binding, Mutator::MutateBinding(binding));
    const auto* x = dyn_cast<VarNode>(call->args[scale->x]);
    const auto producer = calls_.find(x);
    if (x != nullptr && producer != calls_.end() && uses_[x] == 1) {
      TW_ASSIGN_OR_RETURN(const bool folded, FoldInto(*producer->second, *scale, *call, args, binding.var));
      if (folded) return absl::OkStatus();
    }
    return Note(binding, WriteScale(*scale, *call, args, binding.var));
  }

 private:
  std::vector<Value> ReplacedArgs(const CallTirNode& call) const {
    std::vector<Value> args;
    for (const Value& arg : call.args) args.push_back(Replaced(arg));
    return args;
  }

  static std::vector<bool> AreConstants(const std::vector<Value>& args, const PrimFunc& program) {
    std::vector<bool> constant(program->params.size(), false);
    for (size_t i = 0; i < args.size(); ++i) constant[i] = isa<ConstantNode>(args[i]);
    return constant;
  }

  absl::Status Note(const Binding& binding, absl::Status status) {
    calls_[binding.var.get()] = cast<CallTirNode>(binding.value);
    return status;
  }

  using AffineValue = std::function<Expr(const Affine&, const std::vector<Expr>&)>;

  // A program of constants, and these.
  struct Computation {
    PrimFunc program;
    std::vector<Value> args;
    const Buffer& result() const { return program->params.back().buffer; }
  };

  // A program over one vector of the constants: `value` of their elements, times or plus what `with` holds. `shape` is
  // that of the result, along whose dimension `dimension` the constants lie.
  static Computation Write(const Scale& scale, const std::vector<Value>& args, const PrimFunc& program,
                           const std::vector<Expr>& shape, size_t dimension, const std::vector<Value>& with,
                           const AffineValue& value) {
    FunctionBuilder f("scaled");
    const DataType type = scale.op.outputs[0].buffer->dtype;
    std::vector<Value> used = with;
    std::vector<Buffer> operands;
    for (const Value& operand : with) {
      const TensorTypeNode* tensor = TensorTypeOf(operand);
      operands.push_back(f.Input("w" + std::to_string(operands.size()), *tensor->shape, tensor->dtype));
    }
    std::vector<std::pair<const StructuredOp::Operand*, Buffer>> constants;
    for (const StructuredOp::Operand& input : scale.op.inputs) {
      const int param = ParamOf(program, input.buffer);
      if (param == static_cast<int>(scale.x)) continue;
      const auto known = std::find_if(constants.begin(), constants.end(),
                                      [&](const auto& c) { return c.first->buffer.same_as(input.buffer); });
      if (known != constants.end()) {
        constants.emplace_back(&input, known->second);
        continue;
      }
      constants.emplace_back(&input, f.Input("c" + std::to_string(constants.size()), input.buffer->shape, type));
      used.push_back(args[static_cast<size_t>(param)]);
    }
    const Expr along = scale.op.outputs[0].at[static_cast<size_t>(scale.dimension)];
    const Buffer result = f.Compute("scaled", shape, [&](const std::vector<Symbol>& v) {
      VarMap elements;
      for (const auto& [input, buffer] : constants) {
        std::vector<Expr> at;
        for (const Expr& index : input->at) at.push_back(index.same_as(along) ? Expr(v[dimension]) : Expr(0));
        elements[input->element] = buffer.Load(at);
      }
      const auto put = [&](const Expr& e) { return e ? Substitute(e, elements) : e; };
      const Affine affine{put(scale.affine.factor), put(scale.affine.term)};
      std::vector<Expr> others;
      for (const Buffer& operand : operands) {
        others.push_back(operand.Load(std::vector<Expr>(v.begin(), v.end())));
      }
      return value(affine, others);
    });
    return {f.Build({result}), std::move(used)};
  }

  absl::StatusOr<Var> Emit(const Computation& computation) {
    const std::string name = builder().AddProgram(computation.program, "scaled");
    const Buffer& result = computation.result();
    return builder().Emit(CallTir(name, computation.args, TensorType(result->dtype, result->shape)), "scaled");
  }

  // What the program gives; an error where it does.
  static absl::StatusOr<NDArray> ResultOf(const Computation& computation) {
    std::vector<interp::Argument> arguments;
    for (const Value& arg : computation.args) arguments.emplace_back(cast<ConstantNode>(arg)->ToNDArray());
    const auto shape = ConstantExtents(computation.result()->shape);
    if (!shape) return absl::InternalError("constants of symbolic extents");
    NDArray result(computation.result()->dtype, *shape);
    arguments.emplace_back(result);
    TW_ASSIGN_OR_RETURN(const interp::Program program, interp::Compile(computation.program, {.wrap_signed = true}));
    TW_RETURN_IF_ERROR(program.Run(arguments));
    return result;
  }

  static bool AllHold(const Computation& conditions) {
    const auto result = ResultOf(conditions);
    if (!result.ok()) return false;
    for (int64_t i = 0; i < result->size(); ++i) {
      if (result->GetInt(i) == 0) return false;
    }
    return true;
  }

  // Whether factor and term can be computed ahead of x.
  static bool StaysNormalAhead(const Scale& scale, const std::vector<Value>& args, const PrimFunc& program) {
    return AllHold(VectorOf(scale, args, program, [](const Affine& affine, const std::vector<Expr>&) {
      const Expr factor = StaysNormal(affine.factor);
      return affine.term ? And(factor, StaysNormal(affine.term)) : factor;
    }));
  }

  // The producer with scaled weights; false where it is not a sum of products with constant weights.
  absl::StatusOr<bool> FoldInto(const CallTirNode& producer, const Scale& scale, const CallTirNode& call,
                                const std::vector<Value>& args, const Var& var) {
    const PrimFunc program = builder().module().FindProgram(producer.function);
    const PrimFunc own = builder().module().FindProgram(call.function);
    std::vector<Value> operands = ReplacedArgs(producer);
    const std::optional<Linear> linear = LinearOf(program, AreConstants(operands, program), scale.dimension);
    if (!linear || !SameType(producer.out, call.out, false)) return false;
    const DataType type = scale.op.outputs[0].buffer->dtype;
    const auto* weights = cast<ConstantNode>(operands[linear->weights]);
    if (weights->dtype != type) return false;
    const auto bias_with = [&](const AffineValue& value) {
      const auto* bias = cast<ConstantNode>(operands[*linear->bias]);
      return Write(scale, args, own, Extents(bias->shape), 0, {operands[*linear->bias]}, value);
    };
    const auto biased = [](const Affine& affine, const std::vector<Expr>& with) {
      return Plus(with[0] * affine.factor, affine.term);
    };
    if (linear->bias && !AllHold(bias_with([&](const Affine& affine, const std::vector<Expr>& with) {
          return StaysNormal(biased(affine, with));
        }))) {
      return false;
    }
    if (scale.affine.HasFactor()) {
      TW_ASSIGN_OR_RETURN(const NDArray factors, ResultOf(VectorOf(scale, args, own, FactorOf)));
      if (!WeightsStayNormal(*weights, linear->weights_dimension, factors)) return false;
      const auto product = [](const Affine& affine, const std::vector<Expr>& with) { return with[0] * affine.factor; };
      TW_ASSIGN_OR_RETURN(operands[linear->weights],
                          Emit(Write(scale, args, own, Extents(weights->shape), linear->weights_dimension,
                                     {operands[linear->weights]}, product)));
    } else if (!linear->bias) {
      return false;  // an addition after a sum without one: nothing is saved
    }
    if (linear->bias) {
      TW_ASSIGN_OR_RETURN(operands[*linear->bias], Emit(bias_with(biased)));
    }
    const CallTir scaled(producer.function, operands, producer.out, producer.symbols);
    TW_ASSIGN_OR_RETURN(Var sum, builder().Emit(scaled, var->name));
    if (!linear->bias && scale.affine.term) {
      TW_ASSIGN_OR_RETURN(sum, WriteAdd(scale, call, args, sum));
    }
    Replace(var, sum);
    return true;
  }

  static Expr FactorOf(const Affine& affine, const std::vector<Expr>&) { return affine.factor; }
  static Expr TermOf(const Affine& affine, const std::vector<Expr>&) { return affine.term; }

  // One number for each channel.
  static Computation VectorOf(const Scale& scale, const std::vector<Value>& args, const PrimFunc& program,
                              const AffineValue& value) {
    const Expr extent = scale.op.outputs[0].buffer->shape[static_cast<size_t>(scale.dimension)];
    return Write(scale, args, program, {extent}, 0, {}, value);
  }

  // out = x * factor + term with vectors for these; what is null is left out.
  absl::StatusOr<Var> WriteAffine(const Scale& scale, const CallTirNode& call, const Value& x, const Value& factor,
                                  const Value& term, const std::string& name) {
    FunctionBuilder f(factor ? "scale" : "bias_add");
    const PrimFunc own = builder().module().FindProgram(call.function);
    const Buffer in = f.Input("x", own->params[scale.x].buffer->shape, scale.op.outputs[0].buffer->dtype);
    std::vector<Value> args = {x};
    const auto vector = [&](const Value& of) {
      args.push_back(of);
      return f.Input("v" + std::to_string(args.size()), *TensorTypeOf(of)->shape, in->dtype);
    };
    const Buffer by = factor ? vector(factor) : Buffer(), plus = term ? vector(term) : Buffer();
    const Buffer out = f.Compute("scaled", in->shape, [&](const std::vector<Symbol>& v) {
      const Symbol& channel = v[static_cast<size_t>(scale.dimension)];
      Expr value = in.Load(std::vector<Expr>(v.begin(), v.end()));
      if (by) value = value * by(channel);
      return plus ? value + plus(channel) : value;
    });
    const std::string program = builder().AddProgram(f.Build({out}), factor ? "scale" : "bias_add");
    return builder().Emit(CallTir(program, args, call.out), name);
  }

  absl::StatusOr<Var> WriteAdd(const Scale& scale, const CallTirNode& call, const std::vector<Value>& args,
                               const Var& sum) {
    const PrimFunc own = builder().module().FindProgram(call.function);
    TW_ASSIGN_OR_RETURN(const Var term, Emit(VectorOf(scale, args, own, TermOf)));
    return WriteAffine(scale, call, sum, Value(), term, sum->name);
  }

  // If there is nothing to fold into, a factor and a term that take several operations are computed once.
  absl::Status WriteScale(const Scale& scale, const CallTirNode& call, const std::vector<Value>& args, const Var& var) {
    const PrimFunc own = builder().module().FindProgram(call.function);
    const bool simple =
        scale.op.inputs.size() < 3 || !call.symbols.empty() || !SameType(TypeOf(args[scale.x]), call.out, false);
    if (simple) {
      TW_ASSIGN_OR_RETURN(Var same, builder().Emit(CallTir(call.function, args, call.out, call.symbols), var->name));
      Replace(var, same);
      return absl::OkStatus();
    }
    TW_ASSIGN_OR_RETURN(const Var factor, Emit(VectorOf(scale, args, own, FactorOf)));
    Value term;
    if (scale.affine.term) {
      TW_ASSIGN_OR_RETURN(term, Emit(VectorOf(scale, args, own, TermOf)));
    }
    TW_ASSIGN_OR_RETURN(Var scaled, WriteAffine(scale, call, args[scale.x], factor, term, var->name));
    Replace(var, scaled);
    return absl::OkStatus();
  }

  std::unordered_map<const VarNode*, int> uses_;
  std::unordered_map<const VarNode*, const CallTirNode*> calls_;  // of the old function
};

}  // namespace

absl::StatusOr<GraphModule> FoldScales(const GraphModule& module, const OpTable& ops) {
  BlockBuilder builder(&ops, module);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(ScaleFolder(&builder).Run(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
