#include "codegen/cuda/emit_program.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/cuda/kernel_emitter.h"
#include "codegen/cuda/names.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/thread_tags.h"
#include "verify/structure/constant_params.h"

namespace tilewright::cuda {
namespace {

bool HasThreads(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& sub) {
    const auto* loop = dyn_cast<ForNode>(sub);
    found = found || (loop != nullptr && loop->kind == ForKind::kThreadBound &&
                      (IsBlockTag(loop->thread_tag) || absl::StartsWith(loop->thread_tag, "threadIdx")));
    return !found;
  });
  return found;
}

// Whether the host can compute the expression: it consists of integers and loads nothing.
bool IsOfHost(const Expr& e) {
  bool host = e.dtype().lanes() == 1 && (e.dtype().is_integer() || e.dtype().is_bool());
  PreOrder(e, [&](const Expr& sub) {
    host =
        host && !isa<LoadNode>(sub) && !isa<FloatImmNode>(sub) && !sub.dtype().is_float() && !sub.dtype().is_handle();
    if (const auto* call = dyn_cast<CallNode>(sub)) host = host && (call->op == "likely" || call->op == "if_then_else");
    return host;
  });
  return host;
}

Expr BytesOf(const Buffer& buffer) {
  Expr bytes = Const(DataType::Int(64), int64_t{buffer->dtype.bytes()} * buffer->dtype.lanes());
  for (const Expr& extent : buffer->shape) bytes = bytes * CastTo(DataType::Int(64), extent);
  return arith::Simplify(bytes);
}

void AddTemporary(const Buffer& buffer, const Expr& bytes, DeviceFunction& function, HostBuffers& buffers) {
  function.temporaries.push_back({buffer, bytes});
  buffers[buffer->data.get()] = {buffer, buffers.size()};
}

// Takes global memory of constant size out of what one thread runs in order: the host provides it. What each thread
// allocates for itself stays.
class GlobalMemoryOfHost : public StmtMutator {
 public:
  GlobalMemoryOfHost(DeviceFunction& function, HostBuffers& buffers) : function_(function), buffers_(buffers) {}
  using StmtMutator::Mutate;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    return op->kind == ForKind::kThreadBound ? self : StmtMutator::MutateFor(op, self);
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    const Expr bytes = BytesOf(op->buffer);
    if (op->buffer->scope.kind() != MemoryKind::kGlobal || !AsInt(bytes)) return StmtMutator::MutateAllocate(op, self);
    AddTemporary(op->buffer, bytes, function_, buffers_);
    return Mutate(op->body);
  }

 private:
  DeviceFunction& function_;
  HostBuffers& buffers_;
};

class FunctionSplitter {
 public:
  FunctionSplitter(const Target& target, const EmitOptions& options, Names& names)
      : target_(target), options_(options), names_(names) {}

  absl::StatusOr<DeviceFunction> Split(const Function& function) {
    result_.name = function->name;
    result_.params = function->params;
    const std::vector<Buffer> constants = ConstantParams(function);
    for (size_t i = 0; i < function->params.size(); ++i) {
      const Param& param = function->params[i];
      if (!param.buffer) continue;
      const bool constant = std::ranges::any_of(constants, [&](const Buffer& b) { return b.same_as(param.buffer); });
      if (constant) result_.constants.insert(i);
      const HostBuffer known{param.buffer, buffers_.size(), constant};
      buffers_[param.buffer->data.get()] = known;
      buffers_[param.var.get()] = known;
    }
    result_.host = Host(function->body);
    if (!status_.ok()) return status_;
    return std::move(result_);
  }

 private:
  // The host's part of a statement.
  Stmt Host(const Stmt& s) {
    if (!status_.ok()) return Sequence({});
    if (!HasThreads(s) && !isa<AssertNode>(s) && !AllocatesGlobal(s)) return IsNoOp(s) ? s : KernelFrom(s);
    switch (s->kind()) {
      case Kind::kSeq:
        return HostSequence(cast<SeqNode>(s)->stmts);
      case Kind::kFor: {
        const auto* op = cast<ForNode>(s);
        if (op->kind == ForKind::kThreadBound || !IsOfHost(op->extent) || !IsOfHost(op->min)) return KernelFrom(s);
        ForNode::Fields fields = op->fields();
        fields.kind = ForKind::kSerial;
        fields.body = Host(op->body);
        return For(std::move(fields));
      }
      case Kind::kIf: {
        const auto* op = cast<IfNode>(s);
        if (!IsOfHost(op->condition)) return KernelFrom(s);
        Stmt then_case = Host(op->then_case);
        return If(op->condition, std::move(then_case), op->else_case ? Host(op->else_case) : Stmt());
      }
      case Kind::kLetStmt: {
        const auto* op = cast<LetStmtNode>(s);
        if (op->var.dtype().is_handle() || Loads(op->value)) return KernelFrom(s);
        lets_.push_back(op);
        Stmt body = Host(op->body);
        lets_.pop_back();
        return IsOfHost(op->value) ? LetStmt(op->var, op->value, std::move(body)) : body;
      }
      case Kind::kAttrStmt:
        return Host(cast<AttrStmtNode>(s)->body);
      case Kind::kDeclBuffer:
        return Host(cast<DeclBufferNode>(s)->body);
      case Kind::kAllocate: {
        const auto* op = cast<AllocateNode>(s);
        if (op->buffer->scope.kind() != MemoryKind::kGlobal) return KernelFrom(s);
        return HostAllocate(op);
      }
      case Kind::kAssert:
        if (IsOfHost(cast<AssertNode>(s)->condition)) return s;
        Fail(absl::StrCat("an assertion that depends on memory (\"", cast<AssertNode>(s)->message, "\")"));
        return Sequence({});
      default:
        return KernelFrom(s);
    }
  }

  // Neighbouring statements without thread-bound loops are one kernel, of one thread.
  Stmt HostSequence(const std::vector<Stmt>& stmts) {
    std::vector<Stmt> host, plain;
    const auto flush = [&] {
      if (!plain.empty()) host.push_back(Host(Sequence(std::exchange(plain, {}))));
    };
    for (const Stmt& s : stmts) {
      if (HasThreads(s) || isa<AssertNode>(s) || AllocatesGlobal(s)) {
        flush();
        host.push_back(Host(s));
      } else {
        plain.push_back(s);
      }
    }
    flush();
    return Sequence(std::move(host));
  }

  // Large memory of a kernel of one thread is not local.
  bool AllocatesGlobal(const Stmt& s) const {
    const auto* op = dyn_cast<AllocateNode>(s);
    return op != nullptr && op->buffer->scope.kind() == MemoryKind::kGlobal;
  }

  static bool Loads(const Expr& e) {
    bool found = false;
    PreOrder(e, [&](const Expr& sub) {
      found = found || isa<LoadNode>(sub) || isa<CallNode>(sub);
      return !found;
    });
    return found;
  }

  Stmt HostAllocate(const AllocateNode* op) {
    const Expr bytes = BytesOf(op->buffer);
    if (!IsOfHost(bytes)) {
      Fail(absl::StrCat("the size of buffer ", op->buffer->name, " depends on memory"));
      return Sequence({});
    }
    AddTemporary(op->buffer, bytes, result_, buffers_);
    return Host(op->body);
  }

  Stmt KernelFrom(const Stmt& s) {
    Stmt body = GlobalMemoryOfHost(result_, buffers_).Mutate(s);
    for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
      if (UsesVar(body, (*let)->var)) body = LetStmt((*let)->var, (*let)->value, body);
    }
    const std::string suffix = result_.kernels.empty() ? "" : absl::StrCat("_", result_.kernels.size());
    auto kernel = KernelEmitter(target_, buffers_, options_)
                      .Emit(names_.Make(absl::StrCat(result_.name, "_kernel", suffix)), body);
    if (!kernel.ok()) {
      status_ = absl::Status(kernel.status().code(),
                             absl::StrCat("function ", result_.name, ": ", std::string(kernel.status().message())));
      return Sequence({});
    }
    result_.kernels.push_back(*std::move(kernel));
    return Evaluate(Call(DataType::Void(), kLaunch, {Expr(static_cast<int>(result_.kernels.size() - 1))}));
  }

  void Fail(const std::string& message) {
    if (status_.ok()) status_ = absl::UnimplementedError(absl::StrCat("function ", result_.name, ": ", message));
  }

  const Target& target_;
  const EmitOptions& options_;
  Names& names_;
  DeviceFunction result_;
  HostBuffers buffers_;
  std::vector<const LetStmtNode*> lets_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Program> EmitProgram(const Module& lowered, const Target& target, const EmitOptions& options) {
  Program program{.gpu = target.gpu_part()};
  Names names;
  for (const Function& function : lowered.functions()) {
    TW_ASSIGN_OR_RETURN(auto split, FunctionSplitter(target, options, names).Split(function));
    for (const Kernel& kernel : split.kernels) {
      if (kernel.shared_bytes > program.gpu.max_shared_bytes_per_block) {
        return absl::InvalidArgumentError(absl::StrCat("the kernel ", kernel.name, " needs ", kernel.shared_bytes,
                                                       " bytes of shared memory, ", target.name, " has ",
                                                       program.gpu.max_shared_bytes_per_block));
      }
      absl::StrAppend(&program.text, program.text.empty() ? "" : "\n", kernel.text);
    }
    program.functions.push_back(std::move(split));
  }
  return program;
}

}  // namespace tilewright::cuda
