#include "codegen/lower/cpu/widen_bytes.h"

#include <unordered_map>
#include <utility>

#include "intrin/instructions.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

constexpr DataType kS16 = DataType::Int(16), kS32 = DataType::Int(32);

// Whether all loads from a buffer are converted to 32-bit integers, and its address is not taken.
class Conversions : public Visitor {
 public:
  explicit Conversions(const VarNode* data) : data_(data) {}
  using Visitor::Visit;
  bool all() const { return all_; }

 protected:
  void VisitVar(const VarNode* op) override { all_ &= op != data_; }
  void VisitCast(const CastNode* op) override {
    const auto* load = dyn_cast<LoadNode>(op->value);
    const bool converted = load != nullptr && load->buffer->data.get() == data_ && op->dtype().element() == kS32;
    if (converted && !load->predicate) {
      VisitAll(load->indices);
    } else {
      Visitor::VisitCast(op);
    }
  }
  void VisitLoad(const LoadNode* op) override {
    all_ &= op->buffer->data.get() != data_;
    Visitor::VisitLoad(op);
  }

 private:
  void VisitAll(const std::vector<Expr>& exprs) {
    for (const Expr& e : exprs) Visit(e);
  }

  const VarNode* const data_;
  bool all_ = true;
};

bool IsByte(DataType type) { return type.is_integer() && type.bits() == 8 && type.is_scalar(); }

class Widener : public Mutator {
 public:
  using Mutator::Mutate;

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    const Buffer& buffer = op->buffer;
    if (buffer->scope.kind() != MemoryKind::kRegister || !IsByte(buffer->dtype)) {
      return Mutator::MutateAllocate(op, self);
    }
    Conversions conversions(buffer->data.get());
    conversions.Visit(op->body);
    if (!conversions.all()) return Mutator::MutateAllocate(op, self);
    BufferNode::Fields fields = buffer->fields();
    fields.dtype = kS16;
    fields.data = {};
    const Buffer wide = Buffer(std::move(fields));
    wide_.emplace(buffer->data.get(), wide);
    return Stmt(new AllocateNode(wide, op->annotations, Mutate(op->body)));
  }

  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const auto wide = wide_.find(op->buffer->data.get());
    if (wide == wide_.end()) return Mutator::MutateStore(op, self);
    const Expr value = Mutate(op->value);
    return Store(wide->second, CastTo(kS16.with_lanes(value.dtype().lanes()), value), op->indices, op->predicate);
  }

  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const auto wide = wide_.find(op->buffer->data.get());
    return wide == wide_.end() ? Mutator::MutateLoad(op, self) : wide->second.Load(op->indices);
  }

 private:
  std::unordered_map<const VarNode*, Buffer> wide_;  // by the data of the buffer of bytes
};

}  // namespace

Function WidenBytes(const Function& function, const Target& target) {
  if (FindInstruction(target, "widening", kS16, kS16, kS32) == nullptr) return function;
  return function.WithBody(Widener().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
