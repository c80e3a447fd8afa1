// amx_dot_add (intrin/amx_tile.h): three tiles loaded, multiplied, one stored. LLVM assigns and configures registers.
#include "codegen/llvm/emitter.h"
#include "ir/builtin.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tilewright::codegen {
namespace {

// The instruction for the types, or not_intrinsic.
llvm::Intrinsic::ID MultiplyTiles(DataType a, DataType b) {
  if (a == DataType::BFloat16() && b == a) return llvm::Intrinsic::x86_tdpbf16ps_internal;
  if (a.bits() != 8 || b.bits() != 8 || !a.is_integer() || !b.is_integer()) return llvm::Intrinsic::not_intrinsic;
  if (a.is_int()) {
    return b.is_int() ? llvm::Intrinsic::x86_tdpbssd_internal : llvm::Intrinsic::x86_tdpbsud_internal;
  }
  return b.is_int() ? llvm::Intrinsic::x86_tdpbusd_internal : llvm::Intrinsic::x86_tdpbuud_internal;
}

// What the pointer of an access_ptr call points to; void for other expressions.
DataType PointedType(const Expr& pointer) {
  const auto* call = dyn_cast<CallNode>(pointer);
  return call != nullptr && call->op == kAccessPtr ? call->args[0].dtype() : DataType::Void();
}

}  // namespace

llvm::Value* FunctionEmitter::EmitAmxDotAdd(const CallNode* op) {
  const DataType a_type = PointedType(op->args[2]), b_type = PointedType(op->args[4]);
  const llvm::Intrinsic::ID multiply = MultiplyTiles(a_type, b_type);
  const std::optional<int64_t> rows = AsInt(op->args[6]), columns = AsInt(op->args[7]), depth = AsInt(op->args[8]);
  const bool has_type = context_.target.has(a_type.is_float() ? "amx-bf16" : "amx-int8");
  if (multiply == llvm::Intrinsic::not_intrinsic || !has_type || !rows || !columns || !depth) {
    return Fail(op->dtype(), "amx_dot_add of types or sizes that the target has no instruction for");
  }
  constexpr int64_t kResultBytes = 4;  // of an element of the output, and of a group
  struct Tile {
    llvm::Value *pointer, *stride;
    llvm::Value *rows, *row_bytes;
  };
  auto i16 = [&](int64_t value) { return builder_.getInt16(static_cast<uint16_t>(value)); };
  auto tile = [&](size_t arg, int64_t tile_rows, int64_t row_bytes, int64_t element_bytes) {
    llvm::Value* pointer = Emit(op->args[arg]);
    llvm::Value* stride =
        builder_.CreateMul(EmitIndex(op->args[arg + 1]), builder_.getInt64(static_cast<uint64_t>(element_bytes)));
    return Tile{pointer, stride, i16(tile_rows), i16(row_bytes)};
  };
  auto load = [&](const Tile& t) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64_internal, {},
                                    {t.rows, t.row_bytes, t.pointer, t.stride});
  };
  const int64_t bytes = a_type.bytes();
  const Tile c = tile(0, *rows, *columns * kResultBytes, kResultBytes);
  const Tile a = tile(2, *rows, *depth * bytes, bytes);
  const Tile b = tile(4, *depth * bytes / kResultBytes, *columns * kResultBytes, bytes);
  llvm::Value* sum = load(c);
  llvm::Value* left = load(a);
  llvm::Value* right = load(b);
  llvm::Value* result = builder_.CreateIntrinsic(multiply, {}, {c.rows, c.row_bytes, a.row_bytes, sum, left, right});
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64_internal, {},
                           {c.rows, c.row_bytes, c.pointer, c.stride, result});
  return builder_.getInt32(0);
}

}  // namespace tilewright::codegen
