// Random tensors. The same node gives the same numbers whenever the model runs: they are a function of the node's seed
// and of the position of the element.
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/movement.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kU32 = DataType::UInt(32);

Expr Word(uint32_t value) { return Const(kU32, static_cast<int64_t>(value)); }
Expr Bits(const char* name, const Expr& a, const Expr& b) { return tilewright::Call(kU32, name, {a, b}); }

// Two rounds of multiply and shift, so that neighbours and seeds that differ in a bit have nothing in common.
Expr Mixed(Expr x) {
  for (const uint32_t factor : {0x7FEB352Du, 0x846CA68Bu}) {
    x = Bits("bitwise_xor", x, Bits("shift_right", x, Word(16))) * Word(factor);
  }
  return Bits("bitwise_xor", x, Bits("shift_right", x, Word(15)));
}

// A number in [0, 1) of 24 bits.
Expr Uniform(const Expr& position, uint32_t seed) {
  const Expr mixed = Mixed(Mixed(position + Word(seed)) + Word(seed * 0x9E3779B9u));
  return CastTo(kF32, Bits("shift_right", mixed, Word(8))) * ConstFloat(kF32, std::ldexp(1, -24));
}

// The seed that the node gives; else its name stands for one.
uint32_t SeedOf(OnnxNode& n) {
  uint32_t seed = 2166136261u;
  const auto add = [&](unsigned char byte) { seed = (seed ^ byte) * 16777619u; };
  if (n.Attr("seed") != nullptr) {
    const auto given = static_cast<float>(n.Float("seed", 0));
    unsigned char bytes[sizeof(given)];
    std::memcpy(bytes, &given, sizeof(given));
    for (unsigned char byte : bytes) add(byte);
    return seed;
  }
  for (char c : n.proto().output(0)) add(static_cast<unsigned char>(c));
  return seed;
}

using Drawn = std::function<Expr(const Expr& position)>;
// A tensor whose elements are drawn by their row-major position.
absl::StatusOr<Items> Draw(OnnxNode& n, const Exprs& shape, DataType type, const Drawn& drawn) {
  if (!type.is_float()) return n.Error("random numbers of the type ", type.ToString());
  return n.Program("random", {}, [&](ProgramParts& p) {
    const std::vector<Expr> extents = p.local(shape);
    return Buffers{p.f.Compute("random", extents, [&](const std::vector<Symbol>& v) {
      const Expr position = v.empty() ? Word(0) : CastTo(kU32, ops::Flatten(extents, {v.begin(), v.end()}));
      return CastTo(type, drawn(position));
    })};
  });
}

Drawn UniformOf(OnnxNode& n) {
  const double low = n.Float("low", 0), high = n.Float("high", 1);
  const uint32_t seed = SeedOf(n);
  return [=](const Expr& position) {
    return Uniform(position, seed) * ConstFloat(kF32, high - low) + ConstFloat(kF32, low);
  };
}
Drawn NormalOf(OnnxNode& n) {
  const double mean = n.Float("mean", 0), scale = n.Float("scale", 1);
  const uint32_t seed = SeedOf(n);
  return [=](const Expr& position) {
    // Box and Muller's pair, of which the first is taken; the logarithm's argument is above 0.
    const Expr radius = Const(kF32, 1) - Uniform(position, seed), angle = Uniform(position, seed ^ 0x5BD1E995u);
    const Expr length = ops::Unary("sqrt", ConstFloat(kF32, -2) * ops::Unary("log", radius));
    const Expr normal = length * ops::Unary("cos", angle * ConstFloat(kF32, 2 * M_PI));
    return normal * ConstFloat(kF32, scale) + ConstFloat(kF32, mean);
  };
}

absl::Status OfShape(OnnxNode& n, const Drawn& drawn) {
  const auto shape = n.Ints("shape");
  if (!shape) return n.Error("it has no shape");
  for (int64_t extent : *shape) {
    if (extent < 0) return n.Error("an extent is ", extent);
  }
  TW_ASSIGN_OR_RETURN(const DataType type, ElementType(static_cast<int32_t>(n.Int("dtype", 1))));
  return n.Out(Draw(n, Extents(*shape), type, drawn));
}
absl::Status LikeInput(OnnxNode& n, const Drawn& drawn) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  DataType type = n.In(0).dtype;
  if (n.Attr("dtype") != nullptr) {
    TW_ASSIGN_OR_RETURN(type, ElementType(static_cast<int32_t>(n.Int("dtype", 1))));
  }
  return n.Out(Draw(n, n.In(0).shape, type, drawn));
}
absl::Status ImportRandomUniform(OnnxNode& n) { return OfShape(n, UniformOf(n)); }
absl::Status ImportRandomNormal(OnnxNode& n) { return OfShape(n, NormalOf(n)); }
absl::Status ImportRandomUniformLike(OnnxNode& n) { return LikeInput(n, UniformOf(n)); }
absl::Status ImportRandomNormalLike(OnnxNode& n) { return LikeInput(n, NormalOf(n)); }

// 1 with the probability that the element is, else 0.
absl::Status ImportBernoulli(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  DataType type = n.In(0).dtype;
  if (n.Attr("dtype") != nullptr) {
    TW_ASSIGN_OR_RETURN(type, ElementType(static_cast<int32_t>(n.Int("dtype", 1))));
  }
  const uint32_t seed = SeedOf(n);
  return n.Out(n.Program("bernoulli", {n.In(0)}, [&](ProgramParts& p) {
    const Buffer& x = p.in[0];
    return Buffers{p.f.Compute("bernoulli", x->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const Expr position = v.empty() ? Word(0) : CastTo(kU32, ops::Flatten(x->shape, at));
      return Select(Uniform(position, seed) < CastTo(kF32, x.Load(at)), Const(type, 1), Const(type, 0));
    })};
  }));
}

}  // namespace

OnnxOperators RandomOperators() {
  return {
      {"Bernoulli", 15, ImportBernoulli, {.elements = Elements::kFloats}},
      {"RandomNormal", 1, ImportRandomNormal, {.required = "shape"}},
      {"RandomNormalLike", 1, ImportRandomNormalLike, {.reads_shape_only = true}},
      {"RandomUniform", 1, ImportRandomUniform, {.required = "shape"}},
      {"RandomUniformLike", 1, ImportRandomUniformLike, {.reads_shape_only = true}},
  };
}

}  // namespace tilewright::graph
