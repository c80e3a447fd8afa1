#include "codegen/lower/common/instruction_attributes.h"

#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"

namespace tilewright {

bool IsInstruction(const Stmt& s) {
  const auto* attr = dyn_cast<AttrStmtNode>(s);
  return attr != nullptr && (attr->key == kCudaInstruction || attr->key == kCudaValue || attr->key == kCudaRegisters);
}

Stmt WithoutInstructions(const Stmt& s) {
  return RewriteStmt(s, [](const Stmt& part) { return IsInstruction(part) ? cast<AttrStmtNode>(part)->body : part; });
}

Expr ElementsOf(const Buffer& buffer) {
  if (!buffer->strides.empty()) return arith::Simplify(buffer->strides[0] * buffer->shape[0]);
  Expr elements = Expr(1);
  for (const Expr& extent : buffer->shape) elements = elements * CastTo(elements.dtype(), extent);
  return arith::Simplify(elements);
}

int64_t LanesOf(const Scope& scope, const GpuTarget& gpu) {
  return scope.owner() == OwnerLevel::kWarpgroup ? gpu.warpgroup_size : gpu.warp_size;
}

Expr MovedPointer(const CallNode* pointer, const Buffer& from, const Var& data, const Expr& elements,
                  const GpuTarget& gpu) {
  std::vector<Expr> args = pointer->args;
  const int64_t bytes = from->dtype.bytes(), unit = args[0].dtype().bytes();
  const DataType type = DataType::Int(32);
  Expr moved = CastTo(type, elements);
  const MemoryKind kind = from->scope.kind();
  if (kind == MemoryKind::kFragment || kind == MemoryKind::kWarp) {
    moved = FloorDiv(moved, Expr(LanesOf(from->scope, gpu)));
  }
  if (bytes != unit) moved = FloorDiv(moved * Expr(bytes), Expr(unit));
  args[1] = data;
  args[2] = arith::Simplify(CastTo(args[2].dtype(), moved) + args[2]);
  return Call(pointer->dtype(), pointer->op, std::move(args));
}

}  // namespace tilewright
