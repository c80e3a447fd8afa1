#include "codegen/lower/cpu/whole_stores.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// The end of a whole store whose mask excludes exactly the lanes behind the end of the buffer.
std::optional<int64_t> EndOfWhole(const StoreNode& op) {
  if (op.indices.size() != 1 || !op.predicate) return std::nullopt;
  const auto* place = dyn_cast<RampNode>(op.indices[0]);
  const auto* mask = dyn_cast<BinaryNode>(op.predicate);
  if (place == nullptr || !IsInt(place->stride, 1) || mask == nullptr || mask->op != BinaryOp::kLT) return std::nullopt;
  const auto* lanes = dyn_cast<RampNode>(mask->a);
  const auto* limit = dyn_cast<BroadcastNode>(mask->b);
  if (lanes == nullptr || limit == nullptr || !IsInt(lanes->stride, 1)) return std::nullopt;
  const std::optional<int64_t> first = AsInt(place->base), lane = AsInt(lanes->base), end = AsInt(limit->value),
                               size = AsInt(op.buffer->shape[0]);
  if (!first || !lane || !end || !size || *first + *end - *lane != *size) return std::nullopt;
  if (*end <= *lane) return std::nullopt;  // Nothing is stored.
  return *first + place->dtype().lanes();
}

// Finds the lengths that temporaries need, by the variables of their data.
class Lengths : public Visitor {
 public:
  using Visitor::Visit;
  absl::flat_hash_map<const VarNode*, int64_t> of_data;

 protected:
  void VisitStore(const StoreNode* op) override {
    if (const std::optional<int64_t> end = EndOfWhole(*op)) {
      int64_t& length = of_data[op->buffer->data.get()];
      length = std::max(length, *end);
    }
  }
};

class Storer : public Mutator {
 public:
  explicit Storer(const Lengths& lengths) : lengths_(lengths) {}
  using Mutator::Mutate;
  Buffer MutateBuffer(const Buffer& buffer) override {
    const auto it = longer_.find(buffer);
    return it == longer_.end() ? buffer : it->second;
  }

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    const auto found = lengths_.of_data.find(op->buffer->data.get());
    if (found == lengths_.of_data.end() || op->buffer->ndim() != 1 ||
        op->buffer->scope.kind() == MemoryKind::kRegister) {
      return Mutator::MutateAllocate(op, self);
    }
    BufferNode::Fields fields = op->buffer->fields();
    fields.shape = {Const(op->buffer->shape[0].dtype(), found->second)};
    longer_[op->buffer] = Buffer(std::move(fields));
    return Stmt(new AllocateNode(longer_[op->buffer], op->annotations, Mutate(op->body)));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const auto it = longer_.find(op->buffer);
    if (it == longer_.end() || !EndOfWhole(*op)) return Mutator::MutateStore(op, self);
    return Stmt(new StoreNode(it->second, Mutate(op->value), op->indices));
  }

 private:
  const Lengths& lengths_;
  BufferMap longer_;
};

}  // namespace

Function StoreWhole(const Function& function) {
  Lengths lengths;
  lengths.Visit(function->body);
  if (lengths.of_data.empty()) return function;
  return function.WithBody(Storer(lengths).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
