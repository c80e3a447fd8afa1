// Steps of optimizers (domain ai.onnx.preview.training). Inputs are the rate R and the step count T, then all tensors
// X, all gradients G and all states; outputs are the new tensors and states.
#include <cmath>

#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

// Calls `step` with (R, T as a float, x, g, states...) of each tensor; it gives the new x and states.
absl::Status ForEachTensor(OnnxNode& n, const char* name, size_t states,
                           const std::function<Exprs(const Expr& rate, const Expr& count, const Exprs& e)>& step) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, n.in().size()));
  const size_t parts = 2 + states;
  if (n.in().size() < 2 || (n.in().size() - 2) % parts != 0) return n.Error("it has ", n.in().size(), " inputs");
  const size_t count = (n.in().size() - 2) / parts;
  std::vector<Items> outputs(1 + states);
  for (size_t i = 0; i < count; ++i) {
    Items inputs = {n.In(0), n.In(1)};
    for (size_t k = 0; k < parts; ++k) inputs.push_back(n.In(2 + k * count + i));
    const Exprs shape = inputs[2].shape;
    TW_ASSIGN_OR_RETURN(const Items results, n.Program(name, inputs, [&](ProgramParts& p) {
      Buffers out;
      for (size_t o = 0; o < 1 + states; ++o) {
        out.push_back(ops::MapTo(p.f, name, p.in[2]->shape, p.in, [&](const Exprs& e) {
          const Expr t = CastTo(e[2].dtype(), e[1]);
          return step(CastTo(e[2].dtype(), e[0]), t, Exprs(e.begin() + 2, e.end()))[o];
        }));
      }
      return out;
    }));
    for (size_t o = 0; o < results.size(); ++o) outputs[o].push_back(results[o]);
  }
  Items all;
  for (const Items& part : outputs) all.insert(all.end(), part.begin(), part.end());
  return n.Out(std::move(all));
}

Expr Real(const Expr& like, double value) { return ConstFloat(like.dtype(), value); }

absl::Status ImportAdagrad(OnnxNode& n) {
  const double decay = n.Float("decay_factor", 0), epsilon = n.Float("epsilon", 1e-6f);
  const double norm = n.Float("norm_coefficient", 0);
  return ForEachTensor(n, "adagrad", 1, [&](const Expr& rate, const Expr& t, const Exprs& e) {
    const Expr r = Div(rate, Real(t, 1) + t * Real(t, decay));
    const Expr g = e[0] * Real(e[0], norm) + e[1];
    const Expr h = e[2] + g * g;
    return Exprs{e[0] - Div(r * g, ops::Unary("sqrt", h) + Real(h, epsilon)), h};
  });
}

absl::Status ImportAdam(OnnxNode& n) {
  const double alpha = n.Float("alpha", 0.9f), beta = n.Float("beta", 0.999f), epsilon = n.Float("epsilon", 1e-6f);
  const double norm = n.Float("norm_coefficient", 0), after = n.Float("norm_coefficient_post", 0);
  return ForEachTensor(n, "adam", 2, [&](const Expr& rate, const Expr& t, const Exprs& e) {
    const Expr g = e[0] * Real(e[0], norm) + e[1], one = Real(t, 1);
    const Expr v = Real(t, alpha) * e[2] + Real(t, 1 - alpha) * g;
    const Expr h = Real(t, beta) * e[3] + Real(t, 1 - beta) * g * g;
    const auto unbiased = [&](double of) { return one - tilewright::Call(t.dtype(), "pow", {Real(t, of), t}); };
    const Expr corrected = Div(rate * ops::Unary("sqrt", unbiased(beta)), unbiased(alpha));
    const Expr r = Select(t > Real(t, 0), corrected, rate);
    const Expr x = e[0] - Div(r * v, ops::Unary("sqrt", h) + Real(h, epsilon));
    return Exprs{x * Real(x, 1 - after), v, h};
  });
}

absl::Status ImportMomentum(OnnxNode& n) {
  const double alpha = n.Float("alpha", 0), beta = n.Float("beta", 0), norm = n.Float("norm_coefficient", 0);
  const bool nesterov = n.String("mode", "standard") == "nesterov";
  return ForEachTensor(n, "momentum", 1, [&](const Expr& rate, const Expr& t, const Exprs& e) {
    const Expr g = e[0] * Real(e[0], norm) + e[1];
    // The first gradient counts fully.
    const Expr weight = Select(t > Real(t, 0), Real(t, beta), Real(t, 1));
    const Expr v = Real(t, alpha) * e[2] + weight * g;
    return Exprs{e[0] - rate * (nesterov ? g + Real(t, alpha) * v : v), v};
  });
}

}  // namespace

OnnxOperators TrainingOperators() {
  constexpr const char* kDomain = "ai.onnx.preview.training";
  return {{"Adagrad", 1, ImportAdagrad, {}, kDomain},
          {"Adam", 1, ImportAdam, {}, kDomain},
          {"Momentum", 1, ImportMomentum, {}, kDomain}};
}

}  // namespace tilewright::graph
