#include "ir/well_formed.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

class Checker : public Visitor {
 public:
  explicit Checker(const Function& function) : function_(function) {}

  std::vector<WellFormedViolation> Run() {
    // Parameters first: extents of one may be symbols that another defines.
    for (const Param& param : function_->params) Define(param.var.get(), param.var.name(), true);
    for (const Param& param : function_->params) {
      if (param.buffer) DefineSymbols(*param.buffer);
    }
    for (const Param& param : function_->params) {
      if (param.buffer) DefineBuffer(param.buffer, /*symbols=*/true);
    }
    for (const Param& param : function_->params) {
      if (param.buffer) CheckBeginning(*param.buffer);
    }
    Visit(function_->body);
    return std::move(violations_);
  }

  using Visitor::Visit;

 protected:
  void VisitVar(const VarNode* op) override { Use(op, "variable ", op->name); }
  void VisitLoad(const LoadNode* op) override {
    Access(op->buffer, op->indices);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Access(op->buffer, op->indices);
    int lanes = 1;
    for (const Expr& index : op->indices) lanes = std::max(lanes, index.dtype().lanes());
    if (op->value.dtype() != op->buffer->dtype.with_lanes(op->buffer->dtype.lanes() * lanes)) {
      Report("a value of type " + op->value.dtype().ToString() + " is stored into buffer " + op->buffer->name + " of " +
             op->buffer->dtype.ToString());
    }
    Visitor::VisitStore(op);
  }
  void VisitLet(const LetNode* op) override {
    Visit(op->value);
    Define(op->var.get(), op->var.name(), true);
    Visit(op->body);
    defined_.erase(op->var.get());
  }
  void VisitFor(const ForNode* op) override {
    const uint32_t outer = object_;
    object_ = op->id;
    CheckId(op->id, "loop ", op->var.name());
    Visit(op->min);
    Visit(op->extent);
    if (!op->var.dtype().is_index()) Report("loop variable " + op->var.name() + " is not an integer");
    Define(op->var.get(), op->var.name(), false);
    Visit(op->body);
    defined_.erase(op->var.get());
    object_ = outer;
  }
  void VisitWhile(const WhileNode* op) override {
    Condition(op->condition);
    Visitor::VisitWhile(op);
  }
  void VisitIf(const IfNode* op) override {
    Condition(op->condition);
    Visitor::VisitIf(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    Visit(op->value);
    Define(op->var.get(), op->var.name(), true);
    Visit(op->body);
    defined_.erase(op->var.get());
  }
  void VisitAttrStmt(const AttrStmtNode* op) override {
    Visit(op->value);
    Visit(op->body);
  }
  void VisitAllocate(const AllocateNode* op) override {
    DefineBuffer(op->buffer, false);
    Visit(op->body);
    Forget(op->buffer);
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    Use(op->buffer->data.get(), "the memory of buffer ", op->buffer->name);
    buffers_.insert(op->buffer.get());
    Visit(op->body);
    buffers_.erase(op->buffer.get());
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VisitAll(op->bindings);
    Condition(op->predicate);
    Visit(op->predicate);
    VisitBlock(op->block.get());
  }
  void VisitBlock(const BlockNode* op) override {
    const uint32_t outer = object_;
    object_ = op->id;
    CheckId(op->id, "block ", op->name);
    // Domains may depend on what is outside.
    for (const IterVar& iter : op->iter_vars) {
      Visit(iter.domain.min);
      Visit(iter.domain.extent);
    }
    ++depth_;
    for (const IterVar& iter : op->iter_vars) Define(iter.var.get(), iter.var.name(), true);
    for (const Buffer& buffer : op->alloc_buffers) DefineBuffer(buffer, false);
    for (const BufferRegion& region : op->reads) Region(region);
    for (const BufferRegion& region : op->writes) Region(region);
    for (const MatchBuffer& match : op->match_buffers) {
      Region(match.source);
      MatchedShape(match);
      DefineBuffer(match.buffer, true);
    }
    Visit(op->init);
    Visit(op->body);
    for (const IterVar& iter : op->iter_vars) defined_.erase(iter.var.get());
    for (const Buffer& buffer : op->alloc_buffers) Forget(buffer);
    for (const MatchBuffer& match : op->match_buffers) Forget(match.buffer);
    --depth_;
    object_ = outer;
  }

 private:
  void Report(std::string reason) { violations_.push_back({object_, std::move(reason)}); }
  // `kind` and `name` together say what it is: "loop ", "i".
  void CheckId(uint32_t id, const char* kind, const std::string& name) {
    if (id == 0) return Report(kind + name + " has no id");
    if (id >= function_->next_id) Report(kind + name + " has an id that is not below the function's next id");
    if (!ids_.insert(id).second) Report(kind + name + " has the id of another loop or block");
  }
  // `everywhere`: visible inside of blocks, as all but loop variables is.
  void Define(const Node* node, const std::string& name, bool everywhere) {
    if (!ever_.insert(node).second) Report("variable " + name + " is defined twice");
    defined_[node] = everywhere ? kEverywhere : depth_;
  }
  bool IsDefined(const Node* node) const {
    const auto it = defined_.find(node);
    return it != defined_.end() && (it->second == kEverywhere || it->second == depth_);
  }
  // Extents that are variables: an extent before them may be computed from them.
  void DefineSymbols(const BufferNode& buffer) {
    for (const auto* sizes : {&buffer.shape, &buffer.strides}) {
      for (const Expr& size : *sizes) {
        const auto* var = dyn_cast<VarNode>(size);
        if (var != nullptr && !IsDefined(var)) Define(var, var->name, true);
      }
    }
  }
  // A caller passes the address of the first element, behind which nothing is known of the memory before it.
  void CheckBeginning(const BufferNode& param) {
    const Expr& offset = param.elem_offset;
    if (!offset || isa<VarNode>(offset) || IsInt(offset, 0)) return;
    const std::optional<int64_t> constant = AsInt(offset);
    Report("parameter " + param.name + " has elem_offset " +
           (constant ? std::to_string(*constant) : "of an expression") +
           ": an argument begins with its first element, so its offset is 0 or a variable");
  }
  void DefineBuffer(const Buffer& buffer, bool symbols) {
    if (!buffers_.insert(buffer.get()).second) Report("buffer " + buffer->name + " is defined twice");
    if (!IsDefined(buffer->data.get())) Define(buffer->data.get(), buffer->data.name(), true);
    auto define_or_visit = [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      if (symbols && var != nullptr && !IsDefined(var)) return Define(var, var->name, true);
      Visit(e);
    };
    for (const Expr& extent : buffer->shape) define_or_visit(extent);
    for (const Expr& stride : buffer->strides) define_or_visit(stride);
    define_or_visit(buffer->elem_offset);
  }
  void Forget(const Buffer& buffer) {
    buffers_.erase(buffer.get());
    defined_.erase(buffer->data.get());
  }
  void Use(const Node* node, const char* kind, const std::string& name) {
    if (!IsDefined(node)) Report(kind + name + " is used outside of its definition");
  }
  void UseBuffer(const Buffer& buffer) {
    if (!buffers_.contains(buffer.get())) Report("buffer " + buffer->name + " is used outside of its definition");
  }
  void Access(const Buffer& buffer, const std::vector<Expr>& indices) {
    UseBuffer(buffer);
    if (indices.size() != buffer->ndim()) {
      Report("buffer " + buffer->name + " has " + std::to_string(buffer->ndim()) + " dimensions and " +
             std::to_string(indices.size()) + " indices");
    }
    for (const Expr& index : indices) {
      if (!index.dtype().is_integer()) Report("an index of buffer " + buffer->name + " is not an integer");
    }
  }
  void Region(const BufferRegion& region) {
    UseBuffer(region.buffer);
    if (region.region.size() != region.buffer->ndim()) {
      Report("a region of buffer " + region.buffer->name + " has another number of dimensions");
    }
    VisitRegion(region.region);
  }
  // From the last dimension on, a matched buffer has those of its part; either may lack dimensions of one element.
  // Symbolic extents are compared where the buffer is lowered.
  void MatchedShape(const MatchBuffer& match) {
    const std::vector<Expr>& shape = match.buffer->shape;
    const std::vector<Range>& part = match.source.region;
    size_t next = shape.size(), d = part.size();
    while (next > 0 || d > 0) {
      const std::optional<int64_t> has = next > 0 ? AsInt(shape[next - 1]) : 1;
      const std::optional<int64_t> extent = d > 0 ? AsInt(part[d - 1].extent) : 1;
      if (!has || !extent) return;
      const bool same = next > 0 && d > 0 && has == extent, lacks = d > 0 ? extent == 1 : has == 1;
      if (!same && !lacks) {
        return Report("match_buffer " + match.buffer->name + ": its shape differs from the part of " +
                      match.source.buffer->name);
      }
      if (same || d == 0) --next;
      if (d > 0) --d;
    }
  }
  void Condition(const Expr& condition) {
    if (condition && !condition.dtype().is_bool()) Report("a condition is not boolean");
  }

  const Function& function_;
  uint32_t object_ = 0;
  std::vector<WellFormedViolation> violations_;
  // The scope of a variable: kEverywhere, or the number of blocks around a loop, in which alone its variable is
  // visible.
  static constexpr int kEverywhere = -1;
  int depth_ = 0;
  absl::flat_hash_map<const Node*, int> defined_;
  absl::flat_hash_set<const Node*> ever_, buffers_;
  absl::flat_hash_set<uint32_t> ids_;
};

}  // namespace

std::vector<WellFormedViolation> FindViolations(const Function& function) { return Checker(function).Run(); }

}  // namespace tilewright
