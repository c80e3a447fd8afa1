#include "codegen/lower/common/vector_width.h"

#include <algorithm>
#include <string_view>

#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Vectors of one statement that are a long chain each.
constexpr int64_t kVectorsAtOnce = 4;
// Narrower vectors may be those of threads, of which many take turns.
constexpr int kLeastBits = 256;
// Functions that are polynomials in the type of their operands.
constexpr std::string_view kChains[] = {"exp", "exp2", "log", "tanh", "erf", "sigmoid"};

// Bits of the widest element that a statement loads, stores or computes with; indices do not count.
class WidestElement : public Visitor {
 public:
  using Visitor::Visit;
  int bits = 8;

 protected:
  void VisitLoad(const LoadNode* op) override { Count(op->dtype()); }
  void VisitStore(const StoreNode* op) override {
    if (OnlyMoves(op->value)) {
      bits = std::max(bits, op->value.dtype().bits());
      return;
    }
    Count(op->value.dtype());
    Visit(op->value);
  }
  void VisitCast(const CastNode* op) override {
    Count(op->dtype());
    Visitor::VisitCast(op);
  }

 private:
  // Whether a value is stored as it was loaded, or a constant.
  static bool OnlyMoves(const Expr& value) {
    if (const auto* call = dyn_cast<CallNode>(value)) {
      return call->op == kIfThenElse && OnlyMoves(call->args[1]) && OnlyMoves(call->args[2]);
    }
    return isa<LoadNode>(value) || isa<FloatImmNode>(value) || isa<IntImmNode>(value);
  }
  // Narrow floats are computed with in 32 bits.
  void Count(DataType type) { bits = std::max(bits, type.is_float() ? std::max(type.bits(), 32) : type.bits()); }
};

// Whether a statement computes chains of f32 from f32, in memory and without conditions.
class ComputesChains : public Visitor {
 public:
  using Visitor::Visit;
  bool calls = false, plain = true;

 protected:
  void VisitIf(const IfNode*) override { plain = false; }
  void VisitFor(const ForNode*) override { plain = false; }
  void VisitCast(const CastNode*) override { plain = false; }
  void VisitLoad(const LoadNode* op) override { Check(op->buffer); }
  void VisitStore(const StoreNode* op) override {
    Check(op->buffer);
    Visit(op->value);
  }
  void VisitCall(const CallNode* op) override {
    calls |= std::ranges::find(kChains, op->op) != std::end(kChains);
    plain = plain && EffectOf(op->op) == CallEffect::kPure && op->op != kIfThenElse;
    Visitor::VisitCall(op);
  }

 private:
  void Check(const Buffer& buffer) {
    plain = plain && buffer->dtype == DataType::Float(32) && buffer->scope.kind() == MemoryKind::kGlobal;
  }
};

}  // namespace

VectorWidth VectorWidthOf(const Stmt& body, int vector_bits) {
  WidestElement widest;
  widest.Visit(body);
  ComputesChains chains;
  chains.Visit(body);
  const int64_t native = std::max(1, vector_bits / widest.bits);
  const bool at_once = chains.calls && chains.plain && vector_bits >= kLeastBits;
  return {.native = native, .most = at_once ? kVectorsAtOnce * native : native};
}

bool MovesRuns(const Stmt& vectors) {
  bool runs = true;
  PreOrderExprs(vectors, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load == nullptr || load->dtype().is_scalar()) return true;
    const auto* ramp = dyn_cast<RampNode>(load->indices[0]);
    runs = runs && ramp != nullptr && IsInt(ramp->stride, 1);
    return false;
  });
  return runs;
}

}  // namespace tilewright
