#include "verify/rewrite/without_views.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/regions.h"
#include "ir/shared_memory.h"

namespace tilewright {
namespace {

// A memory with several names, as one array.
struct Memory {
  Buffer owner;          // the buffer that the program has for it
  Buffer merged;         // the array that takes its place; the owner where only views change
  int unit = 1;          // bytes of an element of the array
  bool parts = false;    // its last dimension counts the units of an element of the owner
  bool is_flat = false;  // the owner's dimensions are one
};

DataType BitsOf(int bytes) { return DataType::UInt(8 * bytes); }

Expr ToBits(const Expr& e) {
  if (e.dtype().is_uint()) return e;
  const DataType bits = BitsOf(e.dtype().bytes());
  return e.dtype().is_bool() ? CastTo(bits, e) : Call(bits, "reinterpret", {e});
}
Expr FromBits(const Expr& e, DataType type) {
  if (e.dtype() == type) return e;
  return type.is_bool() ? e != Const(e.dtype(), 0) : Call(type, "reinterpret", {e});
}

class Rewriter : public Mutator {
 public:
  using Mutator::Mutate;
  // False where a memory cannot be one array.
  bool Plan(const std::vector<Buffer>& names) {
    Memory memory{.owner = names[0]};
    const Buffer& owner = memory.owner;
    memory.unit = owner->dtype.bytes();
    for (const Buffer& name : names) {
      if (name->layout || !name->dtype.is_scalar() || name->dtype.bits() % 8 != 0) {
        if (!name->dtype.is_bool() || name->layout) return false;
      }
      const auto is_number = [](const Expr& e) { return isa<IntImmNode>(e); };
      if (!std::ranges::all_of(name->strides, is_number) || (name->elem_offset && !is_number(name->elem_offset))) {
        return false;
      }
      memory.unit = std::min(memory.unit, name->dtype.bytes());
    }
    memory.parts = owner->dtype.bytes() != memory.unit;
    memory.is_flat = !owner->strides.empty() || owner->elem_offset || owner->ndim() == 0;
    memory.merged = owner;
    if (memory.parts || memory.is_flat) {
      BufferNode::Fields fields = owner->fields();
      if (memory.is_flat) {
        std::vector<Expr> last;
        for (const Expr& extent : owner->shape) last.push_back(extent - 1);
        fields.shape = {arith::Simplify(ElementOffset(owner, last) + 1)};
        fields.strides.clear();
        fields.elem_offset = Expr();
      }
      if (memory.parts) {
        const DataType index = fields.shape.back().dtype();
        fields.shape.push_back(Const(index, owner->dtype.bytes() / memory.unit));
        fields.dtype = BitsOf(memory.unit);
      }
      memory.merged = Buffer(std::move(fields));
    }
    memories_[owner->data.get()] = std::move(memory);
    return true;
  }

  Buffer MutateBuffer(const Buffer& buffer) override {
    const Memory* memory = Find(buffer);
    return memory != nullptr && memory->owner.same_as(buffer) ? memory->merged : buffer;
  }
  bool failed() const { return failed_; }

 protected:
  Stmt MutateDeclBuffer(const DeclBufferNode* op, const Stmt& self) override {
    return Find(op->buffer) != nullptr ? Mutate(op->body) : Mutator::MutateDeclBuffer(op, self);
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (const BufferRegion* part = PartOf(op->buffer)) {
      return Mutate(part->buffer.Load(Within(*part, op->indices), op->predicate));
    }
    const Memory* memory = Find(op->buffer);
    if (memory == nullptr || IsItself(*memory, op->buffer)) return Mutator::MutateLoad(op, self);
    const std::vector<Expr> indices = MutateAll(op->indices);
    const int units = Units(*memory, op->buffer);
    if (!CanFollow(*memory, indices, op->predicate, units)) return self;
    if (units == 1) return FromStored(memory->merged.Load(Place(*memory, op->buffer, indices, 0)), op->dtype());
    const DataType bits = BitsOf(op->dtype().bytes());
    Expr whole;
    for (int k = 0; k < units; ++k) {
      const Expr part = CastTo(bits, ToBits(memory->merged.Load(Place(*memory, op->buffer, indices, k))));
      const Expr moved = k == 0 ? part : Call(bits, "shift_left", {part, Const(bits, 8 * memory->unit * k)});
      whole = k == 0 ? moved : Call(bits, "bitwise_or", {whole, moved});
    }
    return FromBits(whole, op->dtype());
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (const BufferRegion* part = PartOf(op->buffer)) {
      return Mutate(Store(part->buffer, op->value, Within(*part, op->indices), op->predicate));
    }
    const Memory* memory = Find(op->buffer);
    if (memory == nullptr || IsItself(*memory, op->buffer)) return Mutator::MutateStore(op, self);
    const std::vector<Expr> indices = MutateAll(op->indices);
    const Expr value = Mutate(op->value);
    const int units = Units(*memory, op->buffer);
    if (!CanFollow(*memory, indices, op->predicate, units)) return self;
    const DataType stored = memory->merged->dtype;
    if (units == 1) return Store(memory->merged, ToStored(value, stored), Place(*memory, op->buffer, indices, 0));
    const DataType bits = BitsOf(value.dtype().bytes());
    const Var whole("stored", bits);
    std::vector<Stmt> stores;
    for (int k = 0; k < units; ++k) {
      const Expr moved = k == 0 ? Expr(whole) : Call(bits, "shift_right", {whole, Const(bits, 8 * memory->unit * k)});
      stores.push_back(Store(memory->merged, ToStored(CastTo(BitsOf(memory->unit), moved), stored),
                             Place(*memory, op->buffer, indices, k)));
    }
    return LetStmt(whole, ToBits(value), Sequence(std::move(stores)));
  }
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    failed_ |= parts_.contains(op);  // its address is taken
    return Mutator::MutateVar(op, self);
  }
  Block MutateBlock(const Block& block) override {
    std::vector<MatchBuffer> kept;
    for (const MatchBuffer& match : block->match_buffers) {
      const Memory* memory = Find(match.source.buffer);
      failed_ |= memory != nullptr && match.buffer->dtype != match.source.buffer->dtype;
      if (memory == nullptr || IsItself(*memory, match.source.buffer)) {
        kept.push_back(match);
      } else if (IsPlainPart(match)) {
        parts_.emplace(match.buffer->data.get(), match.source);
      } else {
        failed_ = true;
      }
    }
    BlockNode::Fields plain = block->fields();
    plain.match_buffers = std::move(kept);
    const Block mutated = Mutator::MutateBlock(Block(std::move(plain)));
    const auto is_ours = [&](const BufferRegion& region) { return Find(Whole(region.buffer)) != nullptr; };
    if (std::ranges::none_of(block->reads, is_ours) && std::ranges::none_of(block->writes, is_ours)) return mutated;
    const AccessRegions found = DetectRegions(*mutated);
    BlockNode::Fields fields = mutated->fields();
    Replace(block->reads, found.reads, &fields.reads);
    Replace(block->writes, found.writes, &fields.writes);
    return Block(std::move(fields));
  }

 private:
  const Memory* Find(const Buffer& buffer) const {
    const auto found = memories_.find(buffer->data.get());
    return found == memories_.end() ? nullptr : &found->second;
  }
  // What the buffer is a part of; null where it is not a matched one.
  const BufferRegion* PartOf(const Buffer& buffer) const {
    const auto found = parts_.find(buffer->data.get());
    return found == parts_.end() ? nullptr : &found->second;
  }
  Buffer Whole(const Buffer& buffer) const {
    const BufferRegion* part = PartOf(buffer);
    return part == nullptr ? buffer : Whole(part->buffer);
  }
  // Whether the last dimensions of the source are those of the part, and the others have one index.
  static bool IsPlainPart(const MatchBuffer& match) {
    const std::vector<Range>& region = match.source.region;
    if (match.buffer->ndim() > region.size()) return false;
    const size_t fixed = region.size() - match.buffer->ndim();
    for (size_t d = 0; d < region.size(); ++d) {
      const Expr& extent = region[d].extent;
      const auto is_whole = [&](const Expr& size) { return arith::SameExpr(extent, CastTo(extent.dtype(), size)); };
      if (d < fixed ? !IsInt(extent, 1) : !is_whole(match.buffer->shape[d - fixed])) return false;
    }
    return true;
  }
  static std::vector<Expr> Within(const BufferRegion& part, const std::vector<Expr>& indices) {
    std::vector<Expr> whole;
    const size_t fixed = part.region.size() - indices.size();
    for (size_t d = 0; d < part.region.size(); ++d) {
      const Expr& min = part.region[d].min;
      if (d < fixed) {
        whole.push_back(min);
      } else {
        const Expr& index = indices[d - fixed];
        whole.push_back(index.dtype().is_scalar() ? min + index : Broadcast(min, index.dtype().lanes()) + index);
      }
    }
    return whole;
  }
  static bool IsItself(const Memory& memory, const Buffer& buffer) {
    return memory.owner.same_as(buffer) && memory.merged.same_as(buffer);
  }
  static int Units(const Memory& memory, const Buffer& buffer) { return buffer->dtype.bytes() / memory.unit; }

  bool CanFollow(const Memory& memory, const std::vector<Expr>& indices, const Expr& predicate, int units) {
    const bool scalar = std::ranges::all_of(indices, [](const Expr& index) { return index.dtype().is_scalar(); });
    const bool simple = units == 1 && !memory.parts && memory.merged->ndim() == 1;
    if (!predicate && (scalar || simple)) return true;
    failed_ = true;
    return false;
  }

  // Indices of the k-th unit of an element.
  static std::vector<Expr> Place(const Memory& memory, const Buffer& buffer, const std::vector<Expr>& indices, int k) {
    const int of_owner = memory.owner->dtype.bytes() / memory.unit, of_name = Units(memory, buffer);
    if (buffer.same_as(memory.owner) && !memory.is_flat) {
      std::vector<Expr> own = indices;
      if (memory.parts) own.push_back(Const(indices[0].dtype().element(), k));
      return own;
    }
    Expr at = ElementOffset(buffer, indices);
    const DataType type = at.dtype().element();
    const auto number = [&](int64_t value) { return Const(type, value); };
    Expr part = number(k);
    if (of_name != of_owner) {
      at = at * number(of_name) + number(k);
      part = FloorMod(at, number(of_owner));
      at = FloorDiv(at, number(of_owner));
    }
    const size_t rank = memory.merged->ndim() - (memory.parts ? 1 : 0);
    std::vector<Expr> place(rank);
    Expr inner;
    for (size_t d = rank; d-- > 0;) {
      const Expr extent = CastTo(type, memory.merged->shape[d]);
      const Expr outer = inner ? FloorDiv(at, inner) : at;
      place[d] = arith::Simplify(d == 0 ? outer : FloorMod(outer, extent));
      inner = inner ? inner * extent : extent;
    }
    if (memory.parts) place.push_back(arith::Simplify(part));
    return place;
  }

  static Expr FromStored(const Expr& e, DataType type) { return e.dtype() == type ? e : FromBits(ToBits(e), type); }
  static Expr ToStored(const Expr& e, DataType type) { return e.dtype() == type ? e : FromBits(ToBits(e), type); }

  // What the block declares of the memories becomes what was found; a hidden access cannot be followed.
  void Replace(const std::vector<BufferRegion>& declared, const std::vector<BufferRegion>& found,
               std::vector<BufferRegion>* regions) {
    std::erase_if(*regions, [&](const BufferRegion& region) { return Find(Whole(region.buffer)) != nullptr; });
    for (const BufferRegion& region : declared) {
      const Memory* memory = Find(Whole(region.buffer));
      if (memory == nullptr || Mentions(*regions, memory->merged)) continue;
      if (!Mentions(found, memory->merged)) failed_ = true;
      for (const BufferRegion& part : found) {
        if (part.buffer.same_as(memory->merged)) regions->push_back(part);
      }
    }
  }

  std::unordered_map<const VarNode*, Memory> memories_;
  std::unordered_map<const VarNode*, BufferRegion> parts_;  // matched buffers, by their data
  bool failed_ = false;
};

// Buffers that own their memory.
std::vector<Buffer> Owners(const Function& function) {
  std::vector<Buffer> owners;
  for (const Param& param : function->params) {
    if (param.buffer) owners.push_back(param.buffer);
  }
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* allocate = dyn_cast<AllocateNode>(s)) owners.push_back(allocate->buffer);
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      const std::vector<Buffer>& allocated = realize->block->alloc_buffers;
      owners.insert(owners.end(), allocated.begin(), allocated.end());
    }
    return true;
  });
  return owners;
}

}  // namespace

std::optional<Function> WithoutViews(const Function& function) {
  const SharedMemory memory(function);
  if (!memory.any()) return function;
  Rewriter rewriter;
  for (const Buffer& owner : Owners(function)) {
    if (!memory.IsShared(owner)) continue;
    const std::vector<Buffer> names = memory.NamesOf(owner);
    // Parameters may be given one memory; then the first of them is not the only owner.
    if (!names[0].same_as(owner) || !rewriter.Plan(names)) return std::nullopt;
  }
  FunctionNode::Fields fields = function->fields();
  for (Param& param : fields.params) {
    if (param.buffer) param.buffer = rewriter.MutateBuffer(param.buffer);
  }
  fields.body = rewriter.Mutate(fields.body);
  if (rewriter.failed()) return std::nullopt;
  Function result(std::move(fields));
  return SharedMemory(result).any() ? std::nullopt : std::optional<Function>(std::move(result));
}

}  // namespace tilewright
