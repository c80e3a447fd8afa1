#include "schedule/unsafe_set_dtype.h"

#include <string>
#include <utility>

#include "ir/functor.h"
#include "schedule/buffer_selector.h"
#include "schedule/buffer_uses.h"
#include "schedule/common_refusals.h"

namespace tilewright {
namespace {

constexpr const char* kName = "unsafe_set_dtype";

Buffer WithType(const Buffer& buffer, DataType dtype) {
  BufferNode::Fields fields = buffer->fields();
  fields.dtype = dtype;
  fields.data = Var();
  return Buffer(std::move(fields));
}

// Casts where values enter and leave the buffer.
class TypeChanger : public Mutator {
 public:
  TypeChanger(const Buffer& from, const Buffer& to) : from_(from), to_(to) {}
  bool has_vectors = false;

  Buffer MutateBuffer(const Buffer& buffer) override { return buffer.same_as(from_) ? to_ : buffer; }

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!op->buffer.same_as(from_)) return Mutator::MutateLoad(op, self);
    has_vectors |= op->dtype().lanes() != 1 || op->predicate;
    return CastTo(from_->dtype, to_.Load(MutateAll(op->indices)));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!op->buffer.same_as(from_)) return Mutator::MutateStore(op, self);
    has_vectors |= op->value.dtype().lanes() != 1 || op->predicate;
    if (has_vectors) return self;
    return Store(to_, Expr(new CastNode(to_->dtype, Mutate(op->value))), MutateAll(op->indices));
  }

 private:
  const Buffer& from_;
  const Buffer& to_;
};

}  // namespace

Outcome<Function> UnsafeSetDtype(const Function& function, uint32_t block_id, int write_index, std::string_view text) {
  Outcome<Path> path = PathToInnerBlock(kName, function, block_id);
  if (!path.ok()) return path.refusal();
  Outcome<BufferRegion> region = WriteRegion(kName, *cast<BlockRealizeNode>(path->back())->block, write_index);
  if (!region.ok()) return region.refusal();
  const std::optional<DataType> dtype = DataType::Parse(text);
  if (!dtype || !dtype->is_scalar() || !(dtype->is_integer() || dtype->is_float() || dtype->is_bool())) {
    return Refusal{kName, "\"{text0}\" is no type of numbers", {block_id}, {}, {std::string(text)}};
  }
  const Buffer buffer = region->buffer;
  if (buffer->dtype == *dtype) return function;
  const BufferUses uses = FindBufferUses(function, buffer);
  if (uses.allocated_by == nullptr) {
    return Refusal{
        kName, "{text0}, which {block0} writes, is not allocated by a block", {block_id}, {}, {buffer->name}};
  }
  if (uses.matched_by != nullptr) {
    return Refusal{kName, "{block0} matches a part of {text0}", {uses.matched_by->id}, {}, {buffer->name}};
  }
  if (uses.addressed_by != nullptr) {
    return Refusal{kName, "{block0} takes the address of {text0}", {uses.addressed_by->id}, {}, {buffer->name}};
  }
  const Buffer changed = WithType(buffer, *dtype);
  TypeChanger changer(buffer, changed);
  Stmt body = changer.Mutate(function->body);
  if (changer.has_vectors) {
    return Refusal{kName, "vectors of {text0} are accessed", {block_id}, {}, {buffer->name}};
  }
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
