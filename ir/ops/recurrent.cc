#include "ir/ops/recurrent.h"

#include <array>

#include "ir/ops/broadcast.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::ops {
namespace {

constexpr std::array kActivations = {"affine",  "elu",      "hardsigmoid", "leakyrelu", "relu",           "scaledtanh",
                                     "sigmoid", "softplus", "softsign",    "tanh",      "thresholdedrelu"};

// The type that a layer computes in: narrow floats in f32.
DataType Computing(DataType type) { return type.bits() < 32 ? DataType::Float(32) : type; }

Expr Apply(const Activation& activation, const Expr& x) {
  const DataType type = x.dtype();
  const Expr alpha = ConstFloat(type, activation.alpha), beta = ConstFloat(type, activation.beta);
  const Expr zero = Const(type, 0), one = Const(type, 1);
  const std::string& name = activation.name;
  if (name == "sigmoid") return Sigmoid(x);
  if (name == "tanh") return Unary("tanh", x);
  if (name == "relu") return Max(zero, x);
  if (name == "affine") return alpha * x + beta;
  if (name == "leakyrelu") return Select(x < zero, alpha * x, x);
  if (name == "thresholdedrelu") return Select(x > alpha, x, zero);
  if (name == "scaledtanh") return alpha * Unary("tanh", beta * x);
  if (name == "hardsigmoid") return Max(zero, Min(one, alpha * x + beta));
  if (name == "elu") return Select(x < zero, alpha * (Unary("exp", x) - one), x);
  if (name == "softsign") return Div(x, one + Unary("abs", x));
  return Softplus(x);
}

// Writes the blocks of one layer.
class Layer {
 public:
  Layer(FunctionBuilder& f, const RecurrentOperands& operands, const RecurrentOptions& options)
      : f_(f), in_(operands), how_(options), given_(operands.x->dtype), type_(Computing(given_)) {
    time_ = in_.x->shape[0];
    batch_ = in_.x->shape[1];
    hidden_ = Expr(how_.hidden);
    gates_ = Expr(GatesOf(how_.cell) * how_.hidden);
  }

  RecurrentResults Run() {
    const Expr directions = Expr(static_cast<int64_t>(how_.reverse.size()));
    const std::vector<Expr> state = {directions, batch_, hidden_};
    RecurrentResults out;
    out.y = f_.Alloc("Y", {time_, directions, batch_, hidden_}, given_);
    out.h = f_.Alloc("Y_h", state, given_);
    if (how_.cell == Cell::kLstm) out.c = f_.Alloc("Y_c", state, given_);
    // The loops over time follow each other: they have nothing to do with each other.
    std::vector<State> states;
    for (size_t d = 0; d < how_.reverse.size(); ++d) states.push_back(Begin(static_cast<int64_t>(d)));
    for (size_t d = 0; d < states.size(); ++d) Steps(static_cast<int64_t>(d), states[d], out);
    for (size_t d = 0; d < states.size(); ++d) {
      StoreLast(static_cast<int64_t>(d), states[d].h, out.h);
      if (out.c) StoreLast(static_cast<int64_t>(d), states[d].c, out.c);
    }
    return out;
  }

 private:
  // What a direction's steps read and keep.
  struct State {
    Buffer inputs, h, c;
  };

  // Products of the inputs of all steps and the weights, with the input's bias: one matrix multiplication.
  Buffer InputProducts(int64_t d) {
    ReduceAxis k("k", in_.x->shape[2]);
    Buffer product = f_.Compute("input_product", {time_, batch_, gates_}, [&](Var t, Var b, Var g) {
      return Sum(Wide(in_.x(t, b, k)) * Wide(in_.w(Expr(d), g, k)), k);
    });
    if (!in_.bias) return product;
    return f_.Compute("input_gates", {time_, batch_, gates_},
                      [&](Var t, Var b, Var g) { return product(t, b, g) + Wide(in_.bias(Expr(d), g)); });
  }

  Expr Wide(const Expr& x) const { return CastTo(type_, x); }
  Expr RecurrentBias(int64_t d, const Expr& gate) const {
    return in_.bias ? Wide(in_.bias(Expr(d), gates_ + gate)) : Const(type_, 0);
  }
  Expr Gate(int64_t gate, const Expr& h) const { return Expr(gate * how_.hidden) + h; }
  Expr Clip(const Expr& x) const {
    if (how_.clip <= 0) return x;
    return Max(ConstFloat(type_, -how_.clip), Min(ConstFloat(type_, how_.clip), x));
  }
  Expr Activate(int64_t d, size_t which, const Expr& x) const {
    const size_t count = how_.cell == Cell::kLstm ? 3 : how_.cell == Cell::kGru ? 2 : 1;
    return Apply(how_.activations[static_cast<size_t>(d) * count + which], Clip(x));
  }

  // A buffer of the sizes of a state, computed inside of the loop over time.
  Buffer Step(const std::string& name, const Expr& columns, const std::function<Expr(Var, Var)>& element) {
    Buffer buffer = f_.Alloc(name, {batch_, columns}, type_);
    Fill(name, buffer, columns, element);
    return buffer;
  }
  void Fill(const std::string& name, const Buffer& buffer, const Expr& columns,
            const std::function<Expr(Var, Var)>& element) {
    f_.Grid({batch_, columns}, [&](const std::vector<Var>& loops) {
      f_.Block(name, [&](BlockBuilder& block) {
        const Var b = block.Spatial(batch_, loops[0]), h = block.Spatial(columns, loops[1]);
        f_.Store(buffer, element(b, h), {b, h});
      });
    });
  }
  // state[b] times the transpose of r[d], for the gates in [first, first + columns).
  void StateProduct(const std::string& name, const Buffer& to, const Buffer& state, int64_t d, const Expr& first,
                    const Expr& columns) {
    f_.Grid({batch_, columns, hidden_}, [&](const std::vector<Var>& loops) {
      f_.Block(name, [&](BlockBuilder& block) {
        const Var b = block.Spatial(batch_, loops[0]), g = block.Spatial(columns, loops[1]);
        const Var k = block.Reduce(hidden_, loops[2]);
        block.Init([&] { f_.Store(to, Const(type_, 0), {b, g}); });
        f_.Store(to, to(b, g) + state(b, k) * Wide(in_.r(Expr(d), first + g, k)), {b, g});
      });
    });
  }

  State Begin(int64_t d) {
    State state{InputProducts(d), {}, {}};
    const auto initial = [&](const Buffer& from, Var b, Var h) {
      return from ? Wide(from(Expr(d), b, h)) : Const(type_, 0);
    };
    state.h = Step("state_h", hidden_, [&](Var b, Var j) { return initial(in_.initial_h, b, j); });
    if (how_.cell != Cell::kLstm) return state;
    state.c = Step("state_c", hidden_, [&](Var b, Var j) { return initial(in_.initial_c, b, j); });
    return state;
  }

  void Steps(int64_t d, const State& state, const RecurrentResults& out) {
    f_.Loop("t", time_, [&](Var t) {
      f_.Block("step", [&](BlockBuilder& block) {
        const Var step = block.Opaque(time_, t);
        OneStep(d, step, state.inputs, state.h, state.c, out);
      });
    });
  }

  void StoreLast(int64_t d, const Buffer& state, const Buffer& to) {
    f_.Grid({batch_, hidden_}, [&](const std::vector<Var>& loops) {
      f_.Block("last_state", [&](BlockBuilder& block) {
        const Var b = block.Spatial(batch_, loops[0]), j = block.Spatial(hidden_, loops[1]);
        f_.Store(to, CastTo(given_, state(b, j)), {Expr(d), b, j});
      });
    });
  }

  // The time that step `step` of a row looks at. Lengths beyond the sequence count as all of it, those below zero as
  // none: a length is data, and no data may lead outside of a buffer. (ONNX Runtime refuses such a run.)
  Expr TimeOf(int64_t d, const Expr& step, const Expr& b) const {
    if (!how_.reverse[static_cast<size_t>(d)]) return step;
    const Expr one = Const(step.dtype(), 1), zero = Const(step.dtype(), 0);
    if (!in_.lengths) return time_ - one - step;
    const Expr length = Max(Min(CastTo(step.dtype(), in_.lengths(b)), CastTo(step.dtype(), time_)), zero);
    return Max(length - one - step, zero);
  }
  static Expr Chosen(const Expr& condition, const Expr& yes, const Expr& no) {
    return IsTrue(condition) ? yes : Select(condition, yes, no);
  }
  // Whether row b has the step; a constant where all have all.
  Expr Runs(const Expr& step, const Expr& b) const {
    return in_.lengths ? step < CastTo(step.dtype(), in_.lengths(b)) : True();
  }

  void OneStep(int64_t d, const Var& step, const Buffer& inputs, const Buffer& h, const Buffer& c,
               const RecurrentResults& out) {
    const auto input = [&](const Var& b, int64_t gate, const Var& j) {
      return inputs(TimeOf(d, step, b), b, Gate(gate, j));
    };
    Buffer products = f_.Alloc("state_product", {batch_, gates_}, type_);
    StateProduct("state_product", products, h, d, Expr(0), gates_);
    const auto gate = [&](const Var& b, int64_t index, const Var& j) {
      return input(b, index, j) + products(b, Gate(index, j)) + RecurrentBias(d, Gate(index, j));
    };
    Buffer next_c, next_h;
    if (how_.cell == Cell::kLstm) {
      const auto peep = [&](const Expr& x, int64_t which, const Buffer& state, const Var& b, const Var& j) {
        return in_.peepholes ? x + Wide(in_.peepholes(Expr(d), Gate(which, j))) * state(b, j) : x;
      };
      next_c = Step("next_c", hidden_, [&](Var b, Var j) {
        const Expr in = Activate(d, 0, peep(gate(b, 0, j), 0, c, b, j));
        const Expr forget = how_.input_forget ? Const(type_, 1) - in : Activate(d, 0, peep(gate(b, 2, j), 2, c, b, j));
        return forget * c(b, j) + in * Activate(d, 1, gate(b, 3, j));
      });
      next_h = Step("next_h", hidden_, [&](Var b, Var j) {
        const Expr output = Activate(d, 0, peep(gate(b, 1, j), 1, next_c, b, j));
        return output * Apply(how_.activations[static_cast<size_t>(d) * 3 + 2], next_c(b, j));
      });
    } else if (how_.cell == Cell::kGru) {
      next_h = GruState(d, gate, input, products, h);
    } else {
      next_h = Step("next_h", hidden_, [&](Var b, Var j) { return Activate(d, 0, gate(b, 0, j)); });
    }
    Advance(d, step, next_h, h, out.y);
    if (next_c) {
      Fill("keep_c", c, hidden_, [&](Var b, Var j) { return Chosen(Runs(step, b), next_c(b, j), c(b, j)); });
    }
  }

  template <class GateOf, class InputOf>
  Buffer GruState(int64_t d, const GateOf& gate, const InputOf& input, const Buffer& products, const Buffer& h) {
    Buffer reset = Step("reset", hidden_, [&](Var b, Var j) { return Activate(d, 0, gate(b, 1, j)); });
    Buffer candidate;
    if (how_.linear_before_reset) {
      candidate = Step("candidate", hidden_, [&](Var b, Var j) {
        const Expr linear = products(b, Gate(2, j)) + RecurrentBias(d, Gate(2, j));
        return Activate(d, 1, input(b, 2, j) + reset(b, j) * linear);
      });
    } else {
      Buffer scaled = Step("scaled_h", hidden_, [&](Var b, Var j) { return reset(b, j) * h(b, j); });
      Buffer product = f_.Alloc("candidate_product", {batch_, hidden_}, type_);
      StateProduct("candidate_product", product, scaled, d, Expr(2 * how_.hidden), hidden_);
      candidate = Step("candidate", hidden_, [&](Var b, Var j) {
        return Activate(d, 1, input(b, 2, j) + product(b, j) + RecurrentBias(d, Gate(2, j)));
      });
    }
    return Step("next_h", hidden_, [&](Var b, Var j) {
      const Expr update = Activate(d, 0, gate(b, 0, j));
      return (Const(type_, 1) - update) * candidate(b, j) + update * h(b, j);
    });
  }

  // Stores the step's state where its row still runs; rows that have ended give zeros and keep their state.
  void Advance(int64_t d, const Var& step, const Buffer& next, const Buffer& h, const Buffer& y) {
    f_.Grid({batch_, hidden_}, [&](const std::vector<Var>& loops) {
      f_.Block("store_y", [&](BlockBuilder& block) {
        const Var b = block.Spatial(batch_, loops[0]), j = block.Spatial(hidden_, loops[1]);
        const Expr runs = Runs(step, b);
        const Expr time = how_.reverse[static_cast<size_t>(d)] ? Chosen(runs, TimeOf(d, step, b), step) : Expr(step);
        f_.Store(y, CastTo(given_, Chosen(runs, next(b, j), Const(type_, 0))), {time, Expr(d), b, j});
        // The time is read from memory where the row's last step comes first.
        if (in_.lengths && how_.reverse[static_cast<size_t>(d)]) {
          BufferRegion written = BufferRegion::Point(y, {Expr(0), Expr(d), b, j});
          written.region[0] = BufferRegion::Full(y).region[0];
          block.Writes({std::move(written)});
        }
      });
    });
    Fill("keep_h", h, hidden_, [&](Var b, Var j) { return Chosen(Runs(step, b), next(b, j), h(b, j)); });
  }

  FunctionBuilder& f_;
  const RecurrentOperands& in_;
  const RecurrentOptions& how_;
  const DataType given_, type_;  // of the operands and results; of states and sums
  Expr time_, batch_, hidden_, gates_;
};

}  // namespace

int64_t GatesOf(Cell cell) { return cell == Cell::kPlain ? 1 : cell == Cell::kGru ? 3 : 4; }

bool IsActivation(const std::string& name) {
  for (const char* known : kActivations) {
    if (name == known) return true;
  }
  return false;
}

RecurrentResults Recurrent(FunctionBuilder& f, const RecurrentOperands& operands, const RecurrentOptions& options) {
  return Layer(f, operands, options).Run();
}

}  // namespace tilewright::ops
