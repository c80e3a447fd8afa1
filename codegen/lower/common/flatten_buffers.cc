#include "codegen/lower/common/flatten_buffers.h"

#include <limits>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/ramp.h"
#include "codegen/lower/common/scoped_mutator.h"

namespace tilewright {
namespace {

// In 64 bits: the elements of an array may be more than its extents' type counts.
Expr Wide(const Expr& e) { return CastTo(DataType::Int(64, e.dtype().lanes()), e); }

Expr Product(const std::vector<Expr>& extents) {
  Expr product = Const(DataType::Int(64), 1);
  for (const Expr& extent : extents) product = product * Wide(extent);
  return product;
}

class Flattener : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;
  const absl::Status& status() const { return status_; }

  // Declares the flat views of parameters around the body.
  Stmt Run(const Function& function) {
    Stmt body = Mutate(function->body);
    for (auto it = function->params.rbegin(); it != function->params.rend(); ++it) {
      if (it->buffer && flat_.contains(it->buffer)) {
        body = Stmt(new DeclBufferNode(flat_.at(it->buffer), std::move(body)));
      }
    }
    return body;
  }

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt&) override {
    const Buffer flat = Flat(op->buffer);
    return Stmt(new AllocateNode(flat, op->annotations, Mutate(op->body)));
  }
  Stmt MutateDeclBuffer(const DeclBufferNode* op, const Stmt&) override {
    const Buffer flat = Flat(op->buffer);
    return Stmt(new DeclBufferNode(flat, Mutate(op->body)));
  }
  Expr MutateLoad(const LoadNode* op, const Expr&) override {
    Expr index = FlatIndex(op->buffer, MutateAll(op->indices));
    return Flat(op->buffer).Load({std::move(index)}, Mutate(op->predicate));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt&) override {
    Expr index = FlatIndex(op->buffer, MutateAll(op->indices));
    return Store(Flat(op->buffer), Mutate(op->value), {std::move(index)}, Mutate(op->predicate));
  }

 private:
  Buffer Flat(const Buffer& buffer) {
    auto it = flat_.find(buffer);
    if (it != flat_.end()) return it->second;
    if (buffer->layout && buffer->layout.owner_dims > 0 && status_.ok()) {
      status_ = absl::UnimplementedError(
          absl::StrCat("buffer ", buffer->name, " has a layout that spreads it over several owners"));
    }
    BufferNode::Fields fields = buffer->fields();
    fields.shape = {Narrowed(analyzer_.Simplify(buffer->layout ? Product(buffer->layout.shape) : Extent(buffer)))};
    fields.layout = Layout();
    fields.strides.clear();
    fields.elem_offset = Expr();
    return flat_.emplace(buffer, Buffer(std::move(fields))).first->second;
  }

  // Elements from `data` to behind the last one.
  static Expr Extent(const Buffer& buffer) {
    if (buffer->strides.empty()) return Product(buffer->shape);
    Expr last = buffer->elem_offset ? Wide(buffer->elem_offset) : Const(DataType::Int(64), 0);
    for (size_t d = 0; d < buffer->ndim(); ++d) last = last + (Wide(buffer->shape[d]) - 1) * Wide(buffer->strides[d]);
    return last + 1;
  }

  // A number of elements that 32 bits count, in 32 bits.
  static Expr Narrowed(const Expr& elements) {
    const std::optional<int64_t> number = AsInt(elements);
    return number && *number <= std::numeric_limits<int32_t>::max() ? Const(DataType::Int(32), *number) : elements;
  }

  Expr FlatIndex(const Buffer& buffer, std::vector<Expr> indices) {
    const std::optional<int64_t> size = AsInt(Flat(buffer)->shape[0]);
    if (!size || *size > std::numeric_limits<int32_t>::max()) {
      for (Expr& index : indices) index = Wide(index);
    }
    if (!buffer->layout) return Simplified(ElementOffset(buffer, indices));
    const Layout& layout = buffer->layout;
    const std::vector<Expr> place = layout.map.Apply(indices);
    Expr offset = Expr(0);
    for (size_t d = 0; d < place.size(); ++d) offset = offset * layout.shape[d] + place[d];
    return Simplified(offset);
  }

  // Products of the strides must be constants before a ramp's stride can be seen to be 1.
  Expr Simplified(const Expr& offset) { return analyzer_.Simplify(FoldRamp(analyzer_.Simplify(FoldRamp(offset)))); }

  absl::Status status_;
  std::unordered_map<Buffer, Buffer, IdentityHash, IdentityEqual> flat_;
};

}  // namespace

absl::StatusOr<Function> FlattenBuffers(const Function& function) {
  Flattener flattener;
  Stmt body = flattener.Run(function);
  if (!flattener.status().ok()) return flattener.status();
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
