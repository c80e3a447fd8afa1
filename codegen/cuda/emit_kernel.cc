// Signatures, thread-bound loops and statements.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/cuda/kernel_emitter.h"
#include "codegen/cuda/type_text.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/bulk_stores.h"
#include "codegen/lower/gpu/grids/dependent_grids.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/builtin.h"
#include "ir/changes/known_inside.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright::cuda {
namespace {

// The most bytes of a local array: larger ones cannot be in registers.
constexpr int64_t kMostLocalBytes = 64 << 10;

// The variables that a kernel uses and does not define, in the order of the text, and the memory that it writes.
class Uses : public Visitor {
 public:
  using Visitor::Visit;
  std::vector<Var> vars;
  std::unordered_set<const VarNode*> written;
  std::vector<const CallNode*> maps;

  void Finish() {
    std::erase_if(vars, [&](const Var& var) { return bound_.contains(var.get()); });
  }

 protected:
  void VisitVar(const VarNode* op) override {
    Use(Var(op));
    if (op->dtype().is_handle()) written.insert(op);
  }
  void VisitLoad(const LoadNode* op) override {
    Use(op->buffer->data);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Use(op->buffer->data);
    written.insert(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitCall(const CallNode* op) override {
    if (IsTensorMap(*op)) return maps.push_back(op);
    // The array that the map of a bulk store describes.
    if (op->op == kBulkStore) {
      if (const auto* map = dyn_cast<CallNode>(op->args[0])) written.insert(cast<VarNode>(map->args[0]));
    }
    if (op->op == kAccessPtr && op->args.size() == 5) {
      const auto* data = dyn_cast<VarNode>(op->args[1]);
      if (data != nullptr) Use(Var(data));
      const std::optional<int64_t> mask = AsInt(op->args[4]);
      if (data != nullptr && (!mask || (*mask & kAccessWrite) != 0)) written.insert(data);
      Visit(op->args[2]);
      return;
    }
    if (op->op == kAddressOf) {
      if (const auto* load = dyn_cast<LoadNode>(op->args[0])) written.insert(load->buffer->data.get());
    }
    Visitor::VisitCall(op);
  }
  void VisitFor(const ForNode* op) override {
    bound_.insert(op->var.get());
    Visitor::VisitFor(op);
  }
  void VisitLet(const LetNode* op) override {
    bound_.insert(op->var.get());
    Visitor::VisitLet(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    bound_.insert(op->var.get());
    Visitor::VisitLetStmt(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    bound_.insert(op->buffer->data.get());
    Visitor::VisitAllocate(op);
  }

 private:
  void Use(const Var& var) {
    if (used_.insert(var.get()).second) vars.push_back(var);
  }
  std::unordered_set<const VarNode*> used_, bound_;
};

// The loops of a kernel, one a line, for people.
class LoopComment : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  std::string text;

 protected:
  void VisitFor(const ForNode* op) override {
    const std::optional<int64_t> extent = AsInt(op->extent);
    const std::string count = extent ? absl::StrCat(*extent) : "?";
    absl::StrAppend(&text, "//", std::string(2 * depth_ + 1, ' '), op->var.name(), " < ", count,
                    op->thread_tag.empty() ? "" : " in " + op->thread_tag, "\n");
    ++depth_;
    StmtVisitor::VisitFor(op);
    --depth_;
  }

 private:
  size_t depth_ = 1;
};

int Axis(std::string_view tag) {
  return tag.ends_with(".x") ? 0 : tag.ends_with(".y") ? 1 : tag.ends_with(".z") ? 2 : -1;
}

// The built-in variable of a thread tag; empty for tags of loops that one thread runs ("vthread").
std::string_view BuiltinOf(std::string_view tag) {
  if (Axis(tag) < 0) return "";
  for (std::string_view name : {"threadIdx", "blockIdx", "clusterCtaIdx"}) {
    if (tag.starts_with(name) && tag.size() == name.size() + 2) return name;
  }
  return "";
}

bool IsConcurrentThreadLoop(const ForNode* op) {
  return op->kind == ForKind::kThreadBound && !BuiltinOf(op->thread_tag).empty();
}

}  // namespace

Text KernelEmitter::Fail(const std::string& message) {
  if (status_.ok()) status_ = absl::UnimplementedError(message);
  return {"0"};
}

std::string KernelEmitter::TypeText(DataType type, bool stored) {
  const auto text = stored ? StoredType(type) : ValueType(type);
  if (text.ok()) return *text;
  Fail(std::string(text.status().message()));
  return "int";
}

void KernelEmitter::Line(const std::string& text) { lines_.push_back(std::string(2 * indent_, ' ') + text); }
void KernelEmitter::Open(const std::string& text) {
  Line(text + " {");
  ++indent_;
}
void KernelEmitter::Close(const std::string& text) {
  --indent_;
  Line(text);
}
void KernelEmitter::Append(const std::vector<std::string>& lines) {
  lines_.insert(lines_.end(), lines.begin(), lines.end());
}

std::vector<std::string> KernelEmitter::Captured(const std::function<void()>& emit) {
  std::vector<std::string> outer;
  outer.swap(lines_);
  emit();
  outer.swap(lines_);
  return outer;
}

void KernelEmitter::FindParams(const Stmt& body) {
  Uses uses;
  uses.Visit(body);
  uses.Finish();
  // Arrays in the order of the function's parameters, then scalars in the order of the text.
  std::vector<std::pair<size_t, Var>> ordered;
  for (size_t i = 0; i < uses.vars.size(); ++i) {
    const auto known = host_buffers_.find(uses.vars[i].get());
    ordered.emplace_back(known == host_buffers_.end() ? host_buffers_.size() + i : known->second.place, uses.vars[i]);
  }
  std::ranges::sort(ordered, {}, &std::pair<size_t, Var>::first);
  for (const auto& [place, var] : ordered) {
    const auto known = host_buffers_.find(var.get());
    if (!var.dtype().is_handle()) {
      kernel_.params.push_back({var, Buffer(), false});
      values_[var.get()] = names_.Make(var.name());
    } else if (known == host_buffers_.end()) {
      Fail(absl::StrCat("pointer ", var.name(), " is neither a parameter nor allocated"));
    } else {
      const Buffer& buffer = known->second.buffer;
      kernel_.params.push_back({var, buffer, uses.written.contains(var.get())});
      pointers_[var.get()] = {names_.Make(buffer->name), buffer->dtype.element(), Space::kGlobal};
    }
  }
  for (const CallNode* map : uses.maps) AddTensorMap(map, uses.written.contains(cast<VarNode>(map->args[0])));
}

// The extents of all loops of a tag; the launch has the largest, where they are not all the same.
void KernelEmitter::FindLaunch(const Stmt& body) {
  std::unordered_set<const VarNode*> inside;
  PreOrder(body, [&](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) inside.insert(loop->var.get());
    if (const auto* let = dyn_cast<LetStmtNode>(s)) inside.insert(let->var.get());
    return true;
  });
  PreOrder(body, [&](const Stmt& s) {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop == nullptr || !IsConcurrentThreadLoop(loop)) return true;
    bool fixed = !UsesVar(loop->extent, [&](const VarNode* var) { return inside.contains(var); });
    PreOrder(loop->extent, [&](const Expr& e) {
      fixed = fixed && !isa<LoadNode>(e);
      return fixed;
    });
    if (!fixed)
      Fail(absl::StrCat("the extent of loop ", loop->var.name(), " in ", loop->thread_tag, " changes within a launch"));
    std::vector<Expr>& extents = extents_[loop->thread_tag];
    const bool known = std::ranges::any_of(extents, [&](const Expr& e) { return StructuralEqual(e, loop->extent); });
    if (!known) extents.push_back(loop->extent);
    return true;
  });
  const auto launch = [&](const std::string& name, int axis) {
    Expr most;
    for (const Expr& extent : extents_[absl::StrCat(name, ".", std::string(1, "xyz"[axis]))]) {
      const Expr wide = CastTo(DataType::Int(64), extent);
      most = most ? Max(most, wide) : wide;
    }
    return most ? arith::Simplify(most) : Const(DataType::Int(64), 1);
  };
  for (int axis = 0; axis < 3; ++axis) {
    const auto i = static_cast<size_t>(axis);
    kernel_.block[i] = launch("threadIdx", axis);
    kernel_.cluster[i] = launch("clusterCtaIdx", axis);
    kernel_.grid[i] = arith::Simplify(launch("blockIdx", axis) * kernel_.cluster[i]);
  }
}

std::string KernelEmitter::Signature() const {
  std::vector<std::string> params;
  for (const KernelParam& param : kernel_.params) {
    if (param.map) {
      params.push_back(absl::StrCat("const __grid_constant__ TwTensorMap ", values_.at(param.var.get())));
    } else if (param.buffer) {
      const Pointer& pointer = pointers_.at(param.var.get());
      const auto type = StoredType(pointer.type);
      // Compilers move accesses of memory that nobody else writes in front of a wait for those who do.
      const bool alone = !kernel_.dependent || host_buffers_.at(param.var.get()).constant;
      params.push_back(absl::StrCat("tw::Global<", param.written ? "" : "const ", type.ok() ? *type : "int", "> ",
                                    alone ? "__restrict__ " : "", pointer.name));
    } else {
      const auto type = ValueType(param.var.dtype());
      params.push_back(absl::StrCat(type.ok() ? *type : "int", " ", values_.at(param.var.get())));
    }
  }
  const int64_t most = target_.gpu_part().max_threads_per_block;
  int64_t threads = 1, cluster = 1;
  for (const Expr& extent : kernel_.block) threads *= AsInt(extent).value_or(most);
  for (const Expr& extent : kernel_.cluster) cluster *= AsInt(extent).value_or(1);
  std::string bounds = absl::StrCat("__launch_bounds__(", std::min(threads, most), moves_registers_ ? ", 1)" : ")");
  if (cluster > 1) {
    absl::StrAppend(&bounds, " __cluster_dims__(", AsInt(kernel_.cluster[0]).value_or(1), ", ",
                    AsInt(kernel_.cluster[1]).value_or(1), ", ", AsInt(kernel_.cluster[2]).value_or(1), ")");
  }
  return absl::StrCat("extern \"C\" __global__ void ", bounds, "\n", kernel_.name, "(", absl::StrJoin(params, ", "),
                      ") {\n");
}

absl::StatusOr<Kernel> KernelEmitter::Emit(const std::string& name, const Stmt& body) {
  kernel_.name = name;
  names_.Make(name);
  FindParams(body);
  FindLaunch(body);
  if (status_.ok()) Statement(body);
  if (!status_.ok()) return status_;
  kernel_.shared_bytes = shared_.most();
  LoopComment comment;
  comment.Visit(body);
  kernel_.text = absl::StrCat("// ", kernel_.name, ": ", kernel_.shared_bytes, " bytes of shared memory.\n",
                              comment.text, Signature());
  for (const std::string& line : lines_) absl::StrAppend(&kernel_.text, line, "\n");
  absl::StrAppend(&kernel_.text, "}\n");
  return std::move(kernel_);
}

void KernelEmitter::Statement(const Stmt& s) {
  if (!status_.ok()) return;
  switch (s->kind()) {
    case Kind::kFor:
      return EmitFor(cast<ForNode>(s));
    case Kind::kWhile:
      return EmitWhile(cast<WhileNode>(s));
    case Kind::kIf:
      return EmitIf(cast<IfNode>(s));
    case Kind::kSeq:
      for (const Stmt& stmt : cast<SeqNode>(s)->stmts) Statement(stmt);
      return;
    case Kind::kStore:
      return EmitStore(cast<StoreNode>(s));
    case Kind::kEvaluate:
      return EmitEvaluate(cast<EvaluateNode>(s));
    case Kind::kLetStmt: {
      const auto* op = cast<LetStmtNode>(s);
      if (op->var.dtype().is_handle()) {
        const Text address = Address(op->value);
        const std::string name = names_.Make(op->var.name());
        Line(absl::StrCat("const auto ", name, " = ", address.text, ";"));
        pointers_[op->var.get()] = {name, DataType::UInt(8), Space::kGlobal};
        return Statement(op->body);
      }
      if (op->var.dtype().lanes() > 1) {
        std::vector<Expr> lanes = Lanes(op->value);
        for (Expr& lane : lanes) {
          const Var var(op->var.name(), lane.dtype());
          values_[var.get()] = Named(lane.dtype(), op->var.name(), Value(lane).text);
          lane = var;
        }
        lanes_of_[op->var.get()] = std::move(lanes);
        return Statement(op->body);
      }
      values_[op->var.get()] = Named(op->var.dtype(), op->var.name(), Value(op->value).text);
      if (op->var.dtype().is_index() && !MayChange(op->value, op->body)) {
        analyzer_.Bind(op->var, {op->value, Const(op->var.dtype(), 1)});
      }
      return Statement(op->body);
    }
    case Kind::kAttrStmt:
      return Statement(cast<AttrStmtNode>(s)->body);
    case Kind::kAllocate:
      return EmitAllocate(cast<AllocateNode>(s));
    case Kind::kDeclBuffer:
      return Statement(cast<DeclBufferNode>(s)->body);
    case Kind::kSync:
      return EmitSync(cast<SyncNode>(s));
    case Kind::kAssert:
      Fail(absl::StrCat("an assertion inside of a kernel (\"", cast<AssertNode>(s)->message, "\")"));
      return;
    default:
      Fail("a block is left in the lowered program");
  }
}

// `const int64_t name = value;`; returns the name.
std::string KernelEmitter::Named(DataType type, const std::string& name, const std::string& value) {
  const std::string unique = names_.Make(name);
  Line(absl::StrCat("const ", TypeText(type, false), " ", unique, " = ", value, ";"));
  return unique;
}

void KernelEmitter::EmitFor(const ForNode* op) {
  if (IsConcurrentThreadLoop(op)) return EmitThreadLoop(op);
  arith::Analyzer::Scope inside(&analyzer_);
  const bool from_zero = IsInt(op->min, 0);
  const std::string type = TypeText(op->var.dtype(), false);
  const std::string first = from_zero ? "0" : Value(op->min).text;
  std::string end = Value(from_zero ? op->extent : arith::Simplify(op->min + op->extent)).Within(kSum);
  if (!AsInt(op->extent) && !isa<VarNode>(op->extent)) {
    // The end is evaluated once, as in the program.
    end = Named(op->var.dtype(), op->var.name() + "_end", end);
  }
  BindInside(*op, &analyzer_);
  const std::string name = names_.Make(op->var.name());
  values_[op->var.get()] = name;
  const Unrolling unrolling = UnrollingOf(op);
  if (unrolling == Unrolling::kRegisters) Line("#pragma unroll");
  if (unrolling == Unrolling::kAddresses && options_.unroll_addresses) Line("#pragma unroll  // addresses");
  Open(absl::StrCat("for (", type, " ", name, " = ", first, "; ", name, " < ", end, "; ++", name, ")"));
  Statement(op->body);
  Close();
}

void KernelEmitter::EmitThreadLoop(const ForNode* op) {
  arith::Analyzer::Scope inside(&analyzer_);
  analyzer_.Bind(op->var, {op->min, op->extent});
  const std::string axis(1, op->thread_tag.back());
  const auto i = static_cast<size_t>(Axis(op->thread_tag));
  std::string index = absl::StrCat(op->thread_tag);
  if (!IsInt(kernel_.cluster[i], 1)) {
    const std::string size = Value(kernel_.cluster[i]).Within(kUnary);
    if (absl::StartsWith(op->thread_tag, "blockIdx")) index = absl::StrCat("blockIdx.", axis, " / ", size);
    if (absl::StartsWith(op->thread_tag, "clusterCtaIdx")) index = absl::StrCat("blockIdx.", axis, " % ", size);
  } else if (absl::StartsWith(op->thread_tag, "clusterCtaIdx")) {
    index = "0";
  }
  const std::string type = TypeText(op->var.dtype(), false);
  const std::string name = names_.Make(op->var.name());
  values_[op->var.get()] = name;
  const std::string min = IsInt(op->min, 0) ? "" : Value(op->min).Within(kSum) + " + ";
  const std::string count = AsInt(op->extent) ? absl::StrCat("of ", *AsInt(op->extent)) : "";
  Line(absl::StrCat("const ", type, " ", name, " = ", min, type, "(", index, ");",
                    count.empty() ? "" : "  // " + count));
  const std::vector<Expr>& extents = extents_[op->thread_tag];
  if (extents.size() > 1) {
    Open(absl::StrCat("if (", type, "(", index, ") < ", Value(op->extent).Within(kSum), ")"));
    Statement(op->body);
    Close();
  } else {
    Statement(op->body);
  }
}

void KernelEmitter::EmitIf(const IfNode* op) {
  Open(absl::StrCat("if (", Condition(op->condition).text, ")"));
  {
    arith::Analyzer::Scope inside(&analyzer_);
    AssumeInside(op->condition, op->then_case, &analyzer_);
    Statement(op->then_case);
  }
  if (op->else_case) {
    --indent_;
    Open("} else");
    Statement(op->else_case);
  }
  Close();
}

void KernelEmitter::EmitWhile(const WhileNode* op) {
  Text condition;
  ++indent_;
  const std::vector<std::string> before = Captured([&] { condition = Condition(op->condition); });
  --indent_;
  if (before.empty()) {
    Open(absl::StrCat("while (", condition.text, ")"));
  } else {
    Open("while (true)");
    Append(before);
    Line(absl::StrCat("if (!", condition.Within(kUnary), ") break;"));
  }
  Statement(op->body);
  Close();
}

void KernelEmitter::EmitAllocate(const AllocateNode* op) {
  const Buffer& buffer = op->buffer;
  const DataType type = buffer->dtype.element();
  int64_t count = buffer->dtype.lanes();
  for (const Expr& extent : buffer->shape) {
    const std::optional<int64_t> constant = AsInt(arith::Simplify(extent));
    if (!constant) {
      Fail(absl::StrCat("buffer ", buffer->name, " in a kernel does not have a constant size"));
      return;
    }
    count *= *constant;
  }
  count = std::max<int64_t>(count, 1);
  const std::string name = names_.Make(buffer->name);
  const std::string stored = TypeText(type, true);
  const MemoryKind kind = buffer->scope.kind();
  if (op->annotations.contains(kCudaAccumulator)) return EmitAccumulator(op, name, count);
  if (kind == MemoryKind::kShared) {
    const int64_t offset = shared_.Take(count * type.bytes(), std::max(buffer->alignment, 16));
    pointers_[buffer->data.get()] = {name, type, Space::kShared};
    Line(absl::StrCat("const tw::Shared<", stored, "> ", name, " = tw::SharedAt<", stored, ">(", offset, ");"));
    Statement(op->body);
    return shared_.Release(offset);
  }
  if (kind == MemoryKind::kFragment || kind == MemoryKind::kWarp) {
    Fail(absl::StrCat("buffer ", buffer->name, " is in scope ", buffer->scope.text(), ", which is not lowered"));
    return;
  }
  if (count * type.bytes() > kMostLocalBytes) {
    Fail(absl::StrCat("buffer ", buffer->name, " of ", count * type.bytes(),
                      " bytes is allocated by each thread, at most ", kMostLocalBytes, " are possible"));
    return;
  }
  pointers_[buffer->data.get()] = {name, type, Space::kLocal};
  Line(absl::StrCat("alignas(16) ", stored, " ", name, "[", count, "];"));
  Statement(op->body);
}

void KernelEmitter::EmitSync(const SyncNode* op) {
  switch (op->sync) {
    case SyncKind::kBarrier:
      if (op->participants == OwnerLevel::kThread || op->participants == OwnerLevel::kCore) return;
      if (op->participants == OwnerLevel::kWarp) return Line("__syncwarp();");
      if (op->participants == OwnerLevel::kBlock) return Line("__syncthreads();");
      if (op->participants == OwnerLevel::kCluster) return Line("tw::cluster_sync();");
      break;
    case SyncKind::kAsyncCommit:
      return Line("tw::cp_async_commit();");
    case SyncKind::kAsyncWait:
      if (const std::optional<int64_t> pending = AsInt(op->operand)) {
        return Line(absl::StrCat("tw::cp_async_wait<", *pending, ">();"));
      }
      break;
    default:
      break;
  }
  Fail("a synchronization that CUDA code has no text for");
}

void KernelEmitter::EmitEvaluate(const EvaluateNode* op) {
  if (IsNoOp(Stmt(op))) return;
  const auto* call = dyn_cast<CallNode>(op->value);
  if (call != nullptr && EffectOf(call->op) == CallEffect::kRead) return;  // prefetch
  kernel_.dependent = kernel_.dependent || (call != nullptr && call->op == kGridWait);
  moves_registers_ = moves_registers_ || (call != nullptr && call->op.starts_with("cuda.setmaxnreg"));
  Line(Value(op->value).text + ";");
}

}  // namespace tilewright::cuda
