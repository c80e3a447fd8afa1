#include "autoschedule/database/version_1.h"

#include "ir/annotations.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

class FlipsAsXor : public Mutator {
 public:
  using Mutator::Mutate;

 protected:
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    Expr mutated = Mutator::MutateCall(op, self);
    if (op->op != kFlipSignBit) return mutated;
    const DataType type = op->dtype();
    const int64_t sign = WithSignBitFlipped(0, type.bits(), type.is_int());
    return Call(type, "bitwise_xor", {cast<CallNode>(mutated)->args[0], Const(type, sign)});
  }
};

}  // namespace

uint64_t HashOfVersion1(const Module& module) {
  Module old = module;
  for (const Function& function : module.functions()) {
    FunctionNode::Fields fields = function->fields();
    fields.attrs.erase(kPrepackOf);
    fields.body = FlipsAsXor().Mutate(fields.body);
    old.Set(Function(new FunctionNode(std::move(fields))));
  }
  return StructuralHash(old);
}

}  // namespace tilewright
