#include "codegen/lower/gpu/async_copies.h"

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/scoped_mutator.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/builtin.h"

namespace tilewright {
namespace {

// What is loaded, and where: padding of a padded array is a choice in a choice. Nothing: always.
struct Source {
  const LoadNode* load = nullptr;
  Expr condition;
};

Source SourceOf(const Expr& value) {
  if (const auto* load = dyn_cast<LoadNode>(value)) return {load, {}};
  const auto* call = dyn_cast<CallNode>(value);
  if (call == nullptr || call->op != kIfThenElse || !IsZero(call->args[2])) return {};
  Source source = SourceOf(call->args[1]);
  const Expr& condition = call->args[0];
  if (source.condition && source.condition.dtype() != condition.dtype()) return {};
  source.condition = source.condition ? And(condition, source.condition) : condition;
  return source;
}

class CopyMaker : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;

 protected:
  Stmt MutateAttrStmt(const AttrStmtNode* op, const Stmt& self) override {
    if (op->key != kAsyncCopy) return ScopedMutator::MutateAttrStmt(op, self);
    const bool outer = std::exchange(inside_, true);
    Stmt body = Mutate(op->body);
    inside_ = outer;
    return body;
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!inside_ || op->predicate || MemoryOwner(op->buffer->scope) != OwnerLevel::kBlock) return self;
    const Source source = SourceOf(op->value);
    if (source.load == nullptr || source.load->predicate) return self;
    if (MemoryOwner(source.load->buffer->scope) != OwnerLevel::kDevice) return self;
    if (source.condition && !source.condition.dtype().is_scalar()) return self;
    const std::optional<Expr> to = First(op->indices[0]), from = First(source.load->indices[0]);
    const int lanes = op->value.dtype().lanes();
    const int64_t bytes = int64_t{lanes} * op->buffer->dtype.bytes();
    if (!to || !from || (bytes != 4 && bytes != 8 && bytes != 16)) return self;
    const auto aligned = [&](const Expr& index) {
      return lanes == 1 || analyzer_.CanProveDivisible(index, Const(index.dtype(), lanes));
    };
    if (!aligned(*to) || !aligned(*from)) return self;
    std::vector<Expr> args = {String(absl::StrCat(bytes)), Pointer(op->buffer, *to, lanes, kAccessWrite),
                              Pointer(source.load->buffer, *from, lanes, kAccessRead)};
    if (source.condition) args.push_back(Select(source.condition, Expr(bytes), Expr(0)));
    const Expr call = Call(DataType::Void(), "cuda.cp_async", std::move(args));
    return Stmt(new AttrStmtNode(Expr(0), kCudaInstruction, call, self));
  }

 private:
  static std::optional<Expr> First(const Expr& index) {
    if (index.dtype().is_scalar()) return index;
    const auto* ramp = dyn_cast<RampNode>(index);
    if (ramp == nullptr || !IsInt(ramp->stride, 1)) return std::nullopt;
    return ramp->base;
  }
  static Expr Pointer(const Buffer& buffer, const Expr& first, int lanes, int access) {
    const Expr type = Call(buffer->dtype, std::string(kTypeAnnotation), {});
    return Call(DataType::Handle(), std::string(kAccessPtr),
                {type, buffer->data, first, Const(first.dtype(), lanes), Expr(access)});
  }

  bool inside_ = false;
};

}  // namespace

Function MakeAsyncCopies(const Function& function) {
  return function.WithBody(CopyMaker().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
