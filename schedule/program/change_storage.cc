#include "schedule/program/change_storage.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/functor.h"
#include "ir/substitute.h"
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
  FormChanger(const BufferMap& changed, const StorageForm& form) : changed_(changed), form_(form) {}
  bool has_vectors = false;

  Buffer MutateBuffer(const Buffer& buffer) override {
    const auto found = changed_.find(buffer);
    return found == changed_.end() ? buffer : found->second;
  }

 protected:
  Expr MutateCast(const CastNode* op, const Expr& self) override {
    const auto* load = dyn_cast<LoadNode>(op->value);
    const bool changes = load != nullptr && changed_.contains(load->buffer);
    return changes ? LoadAs(load, op->dtype()) : Mutator::MutateCast(op, self);
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    return changed_.contains(op->buffer) ? LoadAs(op, op->buffer->dtype) : Mutator::MutateLoad(op, self);
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!changed_.contains(op->buffer)) return Mutator::MutateStore(op, self);
    has_vectors |= op->value.dtype().lanes() != 1 || op->predicate;
    if (has_vectors) return self;
    return Store(MutateBuffer(op->buffer), form_.store(Mutate(op->value)), MutateAll(op->indices));
  }

 private:
  Expr LoadAs(const LoadNode* op, DataType wanted) {
    has_vectors |= op->dtype().lanes() != 1 || op->predicate;
    return has_vectors ? Expr(op) : form_.load(MutateBuffer(op->buffer).Load(MutateAll(op->indices)), wanted);
  }

  const BufferMap& changed_;
  const StorageForm& form_;
};

}  // namespace

Outcome<Buffer> WrittenBuffer(const char* primitive, const Function& function, uint32_t block, int write_index) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(primitive, function, block));
  TW_ASSIGN_OR_RETURN(BufferRegion region,
                      WriteRegion(primitive, *cast<BlockRealizeNode>(path.back())->block, write_index));
  return region.buffer;
}

Outcome<DataType> WiderFloat(const char* primitive, uint32_t block, const Buffer& buffer, std::string_view dtype) {
  const std::optional<DataType> wide = DataType::Parse(dtype);
  if (wide != DataType::Float(32) && wide != DataType::Float(64)) {
    return Refusal{primitive, "\"{text0}\" is not float32 or float64", {block}, {}, {std::string(dtype)}};
  }
  if (!buffer->dtype.is_float() || buffer->dtype.bits() >= wide->bits()) {
    return Refusal{primitive,
                   "{text0}, which {block0} writes, does not hold floating-point numbers narrower than {text1}",
                   {block},
                   {},
                   {buffer->name, std::string(dtype)}};
  }
  return *wide;
}

Outcome<Function> ChangeStorage(const char* primitive, const Function& function, uint32_t block, const Buffer& buffer,
                                const StorageForm& form) {
  if (FindBufferUses(function, buffer).allocated_by == nullptr) {
    return Refusal{
        primitive, "{text0}, which {block0} writes, is not allocated by a block", {block}, {}, {buffer->name}};
  }
  std::vector<Buffer> all = PartsOf(function, buffer);
  all.push_back(buffer);
  BufferMap changed;
  for (const Buffer& each : all) {
    if (each->dtype != buffer->dtype) {
      return Refusal{
          primitive, "a part of {text0} is matched as {text1}", {block}, {}, {buffer->name, each->dtype.ToString()}};
    }
    if (const BlockNode* by = FindBufferUses(function, each).addressed_by; by != nullptr) {
      return Refusal{primitive, "{block0} takes the address of {text0}", {by->id}, {}, {each->name}};
    }
    changed.emplace(each, WithType(each, form.dtype));
  }
  FormChanger changer(changed, form);
  Stmt body = changer.Mutate(function->body);
  if (changer.has_vectors) {
    return Refusal{primitive, "vectors of {text0} are accessed", {block}, {}, {buffer->name}};
  }
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
