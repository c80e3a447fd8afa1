#include "schedule/program/change_storage.h"

#include <utility>

#include "ir/functor.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"

namespace tilewright {
namespace {

Buffer WithType(const Buffer& buffer, DataType dtype) {
  BufferNode::Fields fields = buffer->fields();
  fields.dtype = dtype;
  fields.data = Var();
  return Buffer(std::move(fields));
}

class FormChanger : public Mutator {
 public:
  FormChanger(const Buffer& from, const Buffer& to, const StorageForm& form) : from_(from), to_(to), form_(form) {}
  bool has_vectors = false;

  Buffer MutateBuffer(const Buffer& buffer) override { return buffer.same_as(from_) ? to_ : buffer; }

 protected:
  Expr MutateCast(const CastNode* op, const Expr& self) override {
    const auto* load = dyn_cast<LoadNode>(op->value);
    const bool changes = load != nullptr && load->buffer.same_as(from_);
    return changes ? LoadAs(load, op->dtype()) : Mutator::MutateCast(op, self);
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    return op->buffer.same_as(from_) ? LoadAs(op, from_->dtype) : Mutator::MutateLoad(op, self);
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!op->buffer.same_as(from_)) return Mutator::MutateStore(op, self);
    has_vectors |= op->value.dtype().lanes() != 1 || op->predicate;
    if (has_vectors) return self;
    return Store(to_, form_.store(Mutate(op->value)), MutateAll(op->indices));
  }

 private:
  Expr LoadAs(const LoadNode* op, DataType wanted) {
    has_vectors |= op->dtype().lanes() != 1 || op->predicate;
    return has_vectors ? Expr(op) : form_.load(to_.Load(MutateAll(op->indices)), wanted);
  }

  const Buffer& from_;
  const Buffer& to_;
  const StorageForm& form_;
};

}  // namespace

Outcome<Buffer> WrittenBuffer(const char* primitive, const Function& function, uint32_t block, int write_index) {
  Outcome<Path> path = PathToInnerBlock(primitive, function, block);
  if (!path.ok()) return path.refusal();
  Outcome<BufferRegion> region = WriteRegion(primitive, *cast<BlockRealizeNode>(path->back())->block, write_index);
  if (!region.ok()) return region.refusal();
  return region->buffer;
}

Outcome<Function> ChangeStorage(const char* primitive, const Function& function, uint32_t block, const Buffer& buffer,
                                const StorageForm& form) {
  const BufferUses uses = FindBufferUses(function, buffer);
  if (uses.allocated_by == nullptr) {
    return Refusal{
        primitive, "{text0}, which {block0} writes, is not allocated by a block", {block}, {}, {buffer->name}};
  }
  if (uses.matched_by != nullptr) {
    return Refusal{primitive, "{block0} matches a part of {text0}", {uses.matched_by->id}, {}, {buffer->name}};
  }
  if (uses.addressed_by != nullptr) {
    return Refusal{primitive, "{block0} takes the address of {text0}", {uses.addressed_by->id}, {}, {buffer->name}};
  }
  const Buffer changed = WithType(buffer, form.dtype);
  FormChanger changer(buffer, changed, form);
  Stmt body = changer.Mutate(function->body);
  if (changer.has_vectors) {
    return Refusal{primitive, "vectors of {text0} are accessed", {block}, {}, {buffer->name}};
  }
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
