#include "codegen/lower/gpu/merge_shared.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/math.h"
#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/warp_roles.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

bool IsSharedMemory(const Buffer& buffer) {
  return buffer->scope.kind() == MemoryKind::kShared && MemoryOwner(buffer->scope) == OwnerLevel::kBlock;
}

struct Life {
  Buffer buffer;
  int64_t bytes = 0;
  int first = -1, last = -1;  // positions in the text of the kernel
  int last_around = -1;       // the end of the outermost loop around the allocation
  int64_t offset = 0;
};

// Alignment of every buffer: each may be a matrix of any instruction, and filled by bulk copies.
int64_t AlignmentOf(const Life& life, const GpuTarget& gpu) {
  return std::max<int64_t>(gpu.bulk_shared_alignment, life.buffer->alignment);
}

// Finds the lives of buffers: positions count statements.
class LifeFinder : public Visitor {
 public:
  using Visitor::Visit;
  std::vector<Life> lives;
  absl::Status status;

  // Adds an allocation whose scope is the kernel, or the statement that is visited now.
  void Add(const Buffer& buffer) {
    const std::optional<int64_t> elements = AsInt(buffer->shape[0]);
    if (!elements && status.ok()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("shared memory ", buffer->name, " has an extent that is not a constant"));
    }
    number_.emplace(buffer->data.get(), lives.size());
    depth_.emplace(buffer->data.get(), starts_.size());
    lives.push_back({buffer, elements.value_or(0) * buffer->dtype.bytes()});
  }
  void Visit(const Stmt& s) override {
    if (!s) return;
    ++position_;
    Visitor::Visit(s);
  }

 protected:
  void VisitVar(const VarNode* op) override { Use(op); }
  void VisitLoad(const LoadNode* op) override {
    Use(op->buffer->data.get());
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Use(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    if (IsSharedMemory(op->buffer)) Add(op->buffer);
    Visitor::VisitAllocate(op);
  }
  void VisitFor(const ForNode* op) override {
    Loop([&] { Visitor::VisitFor(op); });
  }
  void VisitWhile(const WhileNode* op) override {
    Loop([&] { Visitor::VisitWhile(op); });
  }

 private:
  template <class Body>
  void Loop(Body body) {
    starts_.push_back(position_);
    used_.emplace_back();
    const int start = position_;
    body();
    // What the loop uses and does not allocate lives until its end.
    for (const size_t i : used_.back()) {
      lives[i].last = position_;
      if (used_.size() > 1 && depth_.at(lives[i].buffer->data.get()) < starts_.size() - 1) {
        used_[used_.size() - 2].push_back(i);
      }
    }
    used_.pop_back();
    starts_.pop_back();
    if (!starts_.empty()) return;
    for (Life& life : lives) {
      if (life.first >= start) life.last_around = position_;
    }
  }
  void Use(const VarNode* data) {
    const auto known = number_.find(data);
    if (known == number_.end()) return;
    Life& life = lives[known->second];
    const size_t depth = depth_.at(data);
    const int from = depth < starts_.size() ? starts_[depth] : position_;
    if (life.first < 0) life.first = from;
    life.first = std::min(life.first, from);
    life.last = std::max(life.last, position_);
    if (depth < starts_.size()) used_.back().push_back(known->second);
  }

  int position_ = 0;
  std::vector<int> starts_;                // of the loops around
  std::vector<std::vector<size_t>> used_;  // in the loops around: lives of buffers from outside of them
  std::unordered_map<const VarNode*, size_t> number_, depth_;
};

// Offsets such that lives that overlap have bytes of their own, the largest first. The size of all.
int64_t Place(std::vector<Life>* lives, const GpuTarget& gpu) {
  std::vector<Life*> order;
  for (Life& life : *lives) order.push_back(&life);
  std::sort(order.begin(), order.end(),
            [](const Life* a, const Life* b) { return a->bytes != b->bytes ? a->bytes > b->bytes : a < b; });
  const auto up = [&](int64_t bytes, const Life& life) { return RoundUp(bytes, AlignmentOf(life, gpu)); };
  std::vector<Life*> placed;
  int64_t size = 0;
  for (Life* life : order) {
    std::vector<Life*> at_once;
    std::copy_if(placed.begin(), placed.end(), std::back_inserter(at_once),
                 [&](const Life* other) { return life->first <= other->last && other->first <= life->last; });
    std::sort(at_once.begin(), at_once.end(), [](const Life* a, const Life* b) { return a->offset < b->offset; });
    for (const Life* other : at_once) {
      if (life->offset + life->bytes <= other->offset) break;
      life->offset = std::max(life->offset, up(other->offset + other->bytes, *life));
    }
    placed.push_back(life);
    size = std::max(size, life->offset + life->bytes);
  }
  return size;
}

// Makes views of the region of what was allocated by itself.
class Viewer : public Mutator {
 public:
  using Mutator::Mutate;
  Viewer(const std::vector<Life>& lives, const Buffer& region) {
    for (const Life& life : lives) {
      BufferNode::Fields fields = life.buffer->fields();
      const int64_t size = life.buffer->dtype.bytes();
      fields.shape = {Expr((life.offset + life.bytes) / size)};
      fields.scope = region->scope;
      fields.data = region->data;
      views.push_back(Buffer(fields));
      const auto offset = Const(life.buffer->shape[0].dtype(), life.offset / size);
      view_of_.emplace(life.buffer->data.get(), View{views.back(), offset});
    }
  }
  std::vector<Buffer> views;

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const View* view = ViewOf(op->buffer->data.get());
    if (view == nullptr) return Mutator::MutateLoad(op, self);
    return view->buffer.Load({At(Mutate(op->indices[0]), view->offset)}, Mutate(op->predicate));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const View* view = ViewOf(op->buffer->data.get());
    if (view == nullptr) return Mutator::MutateStore(op, self);
    return Store(view->buffer, Mutate(op->value), {At(Mutate(op->indices[0]), view->offset)}, Mutate(op->predicate));
  }
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const auto* data = op->op == kAccessPtr ? dyn_cast<VarNode>(op->args[1]) : nullptr;
    const View* view = data == nullptr ? nullptr : ViewOf(data);
    if (view == nullptr) return Mutator::MutateCall(op, self);
    std::vector<Expr> args = MutateAll(op->args);
    args[1] = view->buffer->data;
    args[2] = At(args[2], view->offset);
    return Call(op->dtype(), op->op, std::move(args));
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    return ViewOf(op->buffer->data.get()) != nullptr ? Mutate(op->body) : Mutator::MutateAllocate(op, self);
  }

 private:
  struct View {
    Buffer buffer;
    Expr offset;  // in elements
  };
  const View* ViewOf(const VarNode* data) const {
    const auto known = view_of_.find(data);
    return known == view_of_.end() ? nullptr : &known->second;
  }
  static Expr At(const Expr& index, const Expr& offset) {
    if (IsInt(offset, 0)) return index;
    if (const auto* ramp = dyn_cast<RampNode>(index)) {
      return Ramp(At(ramp->base, offset), ramp->stride, index.dtype().lanes());
    }
    return arith::Simplify(index + CastTo(index.dtype().element(), offset));
  }

  std::unordered_map<const VarNode*, View> view_of_;
};

// What bulk copies fill.
std::unordered_set<const VarNode*> FilledInBulk(const Stmt& body) {
  std::unordered_set<const VarNode*> filled;
  PreOrder(body, [&](const Stmt& s) {
    const auto* attr = IsInstruction(s) ? cast<AttrStmtNode>(s) : nullptr;
    const auto* call = attr == nullptr ? nullptr : dyn_cast<CallNode>(attr->value);
    if (call == nullptr || !IsBulkLoad(*call)) return true;
    PreOrder(attr->body, [&](const Stmt& part) {
      if (const auto* store = dyn_cast<StoreNode>(part)) filled.insert(store->buffer->data.get());
      return true;
    });
    return false;
  });
  return filled;
}

class Merger : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit Merger(const GpuTarget& gpu) : gpu_(gpu) {}
  absl::Status status;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) return StmtMutator::MutateFor(op, self);
    std::vector<const ForNode*> nest;
    std::vector<const AllocateNode*> between;
    Stmt body = self;
    for (Stmt inside = self;;) {
      if (const auto* allocate = dyn_cast<AllocateNode>(inside)) {
        between.push_back(allocate);
        inside = allocate->body;
      } else if (const auto* loop = dyn_cast<ForNode>(inside); loop != nullptr && loop->kind == ForKind::kThreadBound) {
        nest.push_back(loop);
        inside = body = loop->body;
      } else {
        break;
      }
    }
    for (const AllocateNode* allocate : outside_) {
      if (IsUsed(allocate->buffer->data, body)) between.push_back(allocate);
    }
    // Allocations inside of the innermost loop are part of the body.
    std::erase_if(between, [&](const AllocateNode* allocate) { return IsBelow(body, allocate); });
    return Kernel(nest, between, body);
  }

  // Memory of threads that stands around kernels goes into the one that uses it.
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    if (MemoryOwner(op->buffer->scope) == OwnerLevel::kDevice) return StmtMutator::MutateAllocate(op, self);
    outside_.push_back(op);
    Stmt body = Mutate(op->body);
    outside_.pop_back();
    return body;
  }

 private:
  static bool IsUsed(const Var& data, const Stmt& s) {
    bool used = false;
    PreOrderExprs(s, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      used |= e.same_as(data) || (load != nullptr && load->buffer->data.same_as(data));
      return !used;
    });
    PreOrder(s, [&](const Stmt& part) {
      const auto* store = dyn_cast<StoreNode>(part);
      used |= store != nullptr && store->buffer->data.same_as(data);
      return !used;
    });
    return used;
  }
  static bool IsBelow(const Stmt& body, const AllocateNode* allocate) {
    for (Stmt s = body; isa<AllocateNode>(s); s = cast<AllocateNode>(s)->body) {
      if (s.get() == allocate) return true;
    }
    return false;
  }

  Stmt Kernel(const std::vector<const ForNode*>& nest, const std::vector<const AllocateNode*>& between, Stmt body) {
    LifeFinder finder;
    for (const AllocateNode* allocate : between) {
      if (IsSharedMemory(allocate->buffer)) finder.Add(allocate->buffer);
    }
    finder.Visit(body);
    if (status.ok()) status = finder.status;
    // A producer writes ahead of what consumers do: what it fills lives from the beginning on, and until the end of a
    // loop around it, of which it begins the next iteration. All copies are waited for before what they fill is used
    // for the last time, so that others may have its bytes afterwards.
    if (AsksForRoles(body)) {
      const std::unordered_set<const VarNode*> filled = FilledInBulk(body);
      for (Life& life : finder.lives) {
        if (!filled.contains(life.buffer->data.get())) continue;
        life.first = 0;
        life.last = std::max(life.last, life.last_around);
      }
    }
    if (!finder.lives.empty()) {
      const int64_t size = Place(&finder.lives, gpu_);
      BufferNode::Fields fields;
      fields.name = "shared_region";
      fields.dtype = DataType::UInt(8);
      fields.shape = {Expr(size)};
      fields.scope = Scope::Parse("shared.dyn");
      int64_t alignment = gpu_.bulk_shared_alignment;
      for (const Life& life : finder.lives) alignment = std::max(alignment, AlignmentOf(life, gpu_));
      fields.alignment = static_cast<int>(alignment);
      const Buffer region(fields);
      Viewer viewer(finder.lives, region);
      body = viewer.Mutate(body);
      for (size_t i = viewer.views.size(); i-- > 0;) body = Stmt(new DeclBufferNode(viewer.views[i], std::move(body)));
      body = Stmt(new AllocateNode(region, {}, std::move(body)));
    }
    for (size_t i = between.size(); i-- > 0;) {
      if (IsSharedMemory(between[i]->buffer)) continue;
      body = Stmt(new AllocateNode(between[i]->buffer, between[i]->annotations, std::move(body)));
    }
    for (size_t i = nest.size(); i-- > 0;) {
      ForNode::Fields fields = nest[i]->fields();
      fields.body = std::move(body);
      body = For(std::move(fields));
    }
    return body;
  }

  const GpuTarget& gpu_;
  std::vector<const AllocateNode*> outside_;  // allocations around the kernel
};

}  // namespace

absl::StatusOr<Function> MergeShared(const Function& function, const GpuTarget& gpu) {
  Merger merger(gpu);
  Stmt body = merger.Mutate(function->body);
  if (!merger.status.ok()) return merger.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
