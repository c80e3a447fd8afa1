// amx_zero and amx_dot_add (intrin/amx_tile.h) by AMX's tile registers, which are named here: LLVM's own assignment
// moves tiles through memory in nested loops.
//
// C stays in registers while a loop runs that does nothing else with it:
//
//   amx_zero(C, ...)                                          tilezero
//   for k: amx_dot_add(C, ..., A + k, ..., B + k, ...)   =>   for k: tileloadd A + k, B + k; tdp*
//                                                             tilestored C
//
// The registers are configured once in a function where all calls agree on it, since that takes as long as some steps
// of a loop; otherwise, and where calls may use them too, for each C.
//
// Sapphire Rapids stalls for as long as some 55 products take at the first store of a tile after more than 132 products
// without one, as measured. Many sums are longer, so loops store a tile now and then, to a line of the stack.
//
// What the next tile reads of A and B again is loaded into the first cache level, what it does not (the loop around
// moves that operand only, and no window reads it twice) passes by it (tileloaddt1): both together seldom fit.
#include <algorithm>
#include <array>
#include <utility>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/x86/amx_calls.h"
#include "intrin/instructions.h"
#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "target/amx_registers.h"

namespace tilewright::codegen {
namespace {

using llvm::Intrinsic::ID;

// The instruction for the types, or not_intrinsic.
ID MultiplyTiles(DataType a, DataType b) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.InTileRegisters() && row.a.type == a && row.b.type == b) return llvm::Function::lookupIntrinsicID(row.llvm);
  }
  return llvm::Intrinsic::not_intrinsic;
}

// What ldtilecfg reads: palette 1; from byte 16 on the bytes of a row of each register, 2 bytes each; from byte 48 on
// the number of its rows.
class TileConfiguration {
 public:
  TileConfiguration() { bytes_[0] = 1; }

  // False where the register is wanted otherwise.
  bool Set(int number, int64_t rows, int64_t row_bytes) {
    uint8_t& its_rows = bytes_[static_cast<size_t>(48 + number)];
    uint8_t& its_bytes = bytes_[static_cast<size_t>(16 + 2 * number)];
    if (its_rows != 0) return its_rows == rows && its_bytes == row_bytes;
    its_rows = static_cast<uint8_t>(rows);
    its_bytes = static_cast<uint8_t>(row_bytes);
    return true;
  }

  void Load(ModuleContext& context, Builder& builder) const {
    llvm::Constant* data = llvm::ConstantDataArray::get(context.llvm, bytes_);
    auto* constant = new llvm::GlobalVariable(context.module, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                              data, "tile_configuration");
    constant->setAlignment(llvm::Align(64));
    builder.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {constant});
  }

 private:
  std::array<uint8_t, 64> bytes_ = {};
};

}  // namespace

// What calls on one C do, in parts.
class AmxEmitter {
 public:
  // For amx_zero alone `dot` is null.
  AmxEmitter(FunctionEmitter& emitter, const CallNode* call, const CallNode* dot)
      : emitter_(emitter), b_(emitter.builder_), call_(call), dot_(dot) {
    const auto size = [&](size_t i) { return AsInt(call->args[(dot != nullptr ? size_t{kTiles} : kZeroTiles) + i]); };
    if (!size(0) || !size(1) || !size(2) || !emitter_.context_.target.has("amx-tile")) return;
    tiles_ = AmxTilesOf(*size(0), *size(1), *size(2));
    if (dot == nullptr) return;
    const DataType a = PointedType(dot->args[kA]), b = PointedType(dot->args[kB]);
    multiply_ = MultiplyTiles(a, b);
    const int64_t depth = AsInt(dot->args[kDepth]).value_or(0);
    element_bytes_ = a.bytes();
    depth_bytes_ = depth * element_bytes_;
    if (multiply_ == llvm::Intrinsic::not_intrinsic || depth < 1 || depth_bytes_ % kAmxGroupBytes != 0 ||
        depth_bytes_ > kAmxRowBytes || !emitter_.context_.target.has(a.is_float() ? "amx-bf16" : "amx-int8")) {
      tiles_ = std::nullopt;
    }
  }

  bool CanBeEmitted() const { return tiles_.has_value(); }

  // Adds what the call wants of each register; whether that is possible.
  bool AddTo(TileConfiguration& configuration) const {
    const int column_bytes = tiles_->columns * kAmxGroupBytes;
    bool possible = true;
    ForEachSum([&](int row, int column) {
      possible = possible && configuration.Set(tiles_->Sum(row, column), tiles_->rows, column_bytes);
    });
    if (dot_ == nullptr) return possible;
    for (int row = 0; row < tiles_->row_tiles; ++row) {
      possible = possible && configuration.Set(tiles_->A(row), tiles_->rows, depth_bytes_);
    }
    for (int column = 0; column < tiles_->column_tiles; ++column) {
      possible = possible && configuration.Set(tiles_->B(column), depth_bytes_ / kAmxGroupBytes, column_bytes);
    }
    return possible;
  }

  void ZeroSums() {
    ForEachSum([&](int row, int column) { Emit(llvm::Intrinsic::x86_tilezero, {Register(tiles_->Sum(row, column))}); });
  }

  void LoadSums() {
    const Operand c = Matrix(kC, kTileStrideC, kStrideC, kAmxGroupBytes);
    ForEachSum([&](int row, int column) {
      Emit(llvm::Intrinsic::x86_tileloadd64, {Register(tiles_->Sum(row, column)), TileAt(c, row, column), c.stride});
    });
  }

  void StoreSums() {
    const Operand c = Matrix(kC, kTileStrideC, kStrideC, kAmxGroupBytes);
    ForEachSum([&](int row, int column) {
      Emit(llvm::Intrinsic::x86_tilestored64, {Register(tiles_->Sum(row, column)), TileAt(c, row, column), c.stride});
    });
  }

  void Multiply() {
    const Operand a = Matrix(kA, kTileStrideA, kStrideA, element_bytes_);
    const Operand b = Matrix(kB, kStrideB, kStrideB, element_bytes_);
    auto load_row = [&](int row) { Emit(LoadOf(kA), {Register(tiles_->A(row)), TileAt(a, row, 0), a.stride}); };
    auto load_column = [&](int column) {
      Emit(LoadOf(kB), {Register(tiles_->B(column)), TileAt(b, 0, column), b.stride});
    };
    auto multiply = [&](int row, int column) {
      Emit(multiply_, {Register(tiles_->Sum(row, column)), Register(tiles_->A(row)), Register(tiles_->B(column))});
    };
    if (tiles_->keeps_columns()) {
      for (int column = 0; column < tiles_->column_tiles; ++column) load_column(column);
      for (int row = 0; row < tiles_->row_tiles; ++row) {
        load_row(row);
        for (int column = 0; column < tiles_->column_tiles; ++column) multiply(row, column);
      }
    } else {
      for (int row = 0; row < tiles_->row_tiles; ++row) load_row(row);
      for (int column = 0; column < tiles_->column_tiles; ++column) {
        load_column(column);
        for (int row = 0; row < tiles_->row_tiles; ++row) multiply(row, column);
      }
    }
  }

 private:
  void Emit(ID instruction, llvm::ArrayRef<llvm::Value*> args) { b_.CreateIntrinsic(instruction, {}, args); }

  llvm::Value* Register(int number) { return b_.getInt8(static_cast<uint8_t>(number)); }

  template <class Do>
  void ForEachSum(const Do& what) const {
    for (int row = 0; row < tiles_->row_tiles; ++row) {
      for (int column = 0; column < tiles_->column_tiles; ++column) what(row, column);
    }
  }

  // One operand in memory; strides are of bytes.
  struct Operand {
    llvm::Value *pointer, *tile_stride, *stride;
  };

  Operand Matrix(Arg pointer, Arg tile_stride, Arg stride, int element_bytes) {
    llvm::Value* bytes = b_.getInt64(static_cast<uint64_t>(element_bytes));
    auto in_bytes = [&](Arg arg) { return b_.CreateMul(emitter_.EmitIndex(call_->args[arg]), bytes); };
    return {emitter_.Emit(call_->args[pointer]), in_bytes(tile_stride), in_bytes(stride)};
  }

  llvm::Value* TileAt(const Operand& matrix, int row_tile, int column_tile) {
    const auto column_bytes = static_cast<uint64_t>(column_tile * tiles_->columns * kAmxGroupBytes);
    llvm::Value* rows = b_.CreateMul(matrix.tile_stride, b_.getInt64(static_cast<uint64_t>(row_tile)));
    return b_.CreateGEP(b_.getInt8Ty(), matrix.pointer, b_.CreateAdd(rows, b_.getInt64(column_bytes)));
  }

  // The instruction that loads an operand.
  ID LoadOf(Arg operand) const {
    const auto& loops = emitter_.loops_;
    for (size_t i = emitter_.loops_around_sums_; i-- > 0;) {
      const bool moves_a = MovedBy(loops[i], kA), moves_b = MovedBy(loops[i], kB);
      if (!moves_a && !moves_b) continue;
      const bool read_again = operand == kA ? moves_b : moves_a;
      // What the tiles of this loop read that they do not share.
      double bytes = moves_a ? BytesOfLoops(kA, i) : 0;
      bytes += moves_b ? BytesOfLoops(kB, i) : 0;
      return read_again || bytes <= emitter_.context_.target.Nearest().bytes || OverlapsItself(operand, i + 1)
                 ? llvm::Intrinsic::x86_tileloadd64
                 : llvm::Intrinsic::x86_tileloaddt164;
    }
    return llvm::Intrinsic::x86_tileloadd64;
  }

  bool MovedBy(const FunctionEmitter::Loop& loop, Arg operand) const {
    return UsesVar(dot_->args[operand], [&](const VarNode* var) { return var == loop.var; });
  }

  // What is read of an operand in the loops from the i-th on inwards, were nothing read twice.
  double BytesOfLoops(Arg operand, size_t i) const {
    const int lines =
        operand == kA ? tiles_->row_tiles * tiles_->rows : tiles_->column_tiles * depth_bytes_ / kAmxGroupBytes;
    double bytes = static_cast<double>(lines) * kAmxRowBytes;
    for (; i < emitter_.loops_.size(); ++i) {
      if (MovedBy(emitter_.loops_[i], operand)) bytes *= static_cast<double>(emitter_.loops_[i].extent);
    }
    return bytes;
  }

  // Whether some of the loops from the i-th on may move A by fewer rows, or tiles of rows, than there are: windows of a
  // convolution read the same rows.
  bool OverlapsItself(Arg operand, size_t i) const {
    if (operand == kB) return false;
    std::vector<Var> vars;
    for (; i < emitter_.loops_.size(); ++i) vars.emplace_back(emitter_.loops_[i].var);
    const auto* pointer = dyn_cast<CallNode>(dot_->args[kA]);
    arith::Analyzer analyzer;
    const auto form = arith::DetectLinear(pointer->args[2], vars, &analyzer);
    const std::optional<int64_t> stride = AsInt(dot_->args[kStrideA]), tile_stride = AsInt(dot_->args[kTileStrideA]);
    if (!form || !stride || !tile_stride) return true;
    // Tiles that follow each other are one of all their rows.
    const int rows = *tile_stride == *stride * tiles_->rows ? tiles_->row_tiles * tiles_->rows : tiles_->rows;
    return std::ranges::any_of(form->coefficients, [&](const Expr& coefficient) {
      const auto moves_within = [&](int64_t distance, int count) {
        const int64_t moved = AsInt(coefficient).value_or(0);
        return distance != 0 && moved != 0 && moved % distance == 0 && moved / distance < count;
      };
      return moves_within(*stride, rows) || moves_within(*tile_stride, tiles_->row_tiles);
    });
  }

  FunctionEmitter& emitter_;
  Builder& b_;
  const CallNode* const call_;
  const CallNode* const dot_;
  ID multiply_ = llvm::Intrinsic::not_intrinsic;
  std::optional<AmxTiles> tiles_;
  int element_bytes_ = 0;  // of A and B
  int64_t depth_bytes_ = 0;
};

bool FunctionEmitter::ZeroesNextSums(const Stmt& zero, const Stmt& next) const {
  const CallNode* call = CallOf(zero, "amx_zero");
  const CallNode* sums = call == nullptr ? nullptr : SumsThatStay(next);
  return sums != nullptr && ZeroesSums(call, sums);
}

bool FunctionEmitter::EmitLoopKeepingTiles(const ForNode* op) {
  if (tile_sums_ == TileSums::kKept) return false;
  const CallNode* sums = SumsThatStay(Stmt(op));
  if (sums == nullptr) return false;
  EmitWithSums(sums, [&] { Emit(Stmt(op)); });
  return true;
}

llvm::Value* FunctionEmitter::EmitAmxDotAdd(const CallNode* op) {
  if (tile_sums_ == TileSums::kKept) {
    AmxEmitter(*this, op, op).Multiply();
  } else {
    EmitWithSums(op, [&] { AmxEmitter(*this, op, op).Multiply(); });
  }
  return builder_.getInt32(0);
}

void FunctionEmitter::EmitWithSums(const CallNode* dot, const std::function<void()>& body) {
  AmxEmitter emitter(*this, dot, dot);
  if (!emitter.CanBeEmitted()) return FailStmt("amx_dot_add of types or sizes that the target has no instruction for");
  const TileSums before = tile_sums_;
  EmitConfigured(emitter, [&] {
    if (before == TileSums::kZero) {
      emitter.ZeroSums();
    } else {
      emitter.LoadSums();
    }
    tile_sums_ = TileSums::kKept;
    loops_around_sums_ = loops_.size();
    body();
    tile_sums_ = TileSums::kInMemory;
    emitter.StoreSums();
  });
}

void FunctionEmitter::StoreTileAmongProducts(const Stmt& body) {
  if (tile_sums_ != TileSums::kKept) return;
  const int64_t products = ProductsOfTiles(body);
  if (products == 0 || products > kMostProducts || loops_.back().extent <= kMostProducts / products) return;
  // The rows of the first sums all go to the same line.
  llvm::Value* line =
      EntryAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), kAmxRowBytes), nullptr, kAmxRowBytes, "tile");
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {}, {builder_.getInt8(0), line, builder_.getInt64(0)});
}

llvm::Value* FunctionEmitter::EmitAmxZero(const CallNode* op) {
  AmxEmitter emitter(*this, op, nullptr);
  if (!emitter.CanBeEmitted()) return Fail(op->dtype(), "amx_zero of sizes that the target has no registers for");
  EmitConfigured(emitter, [&] {
    emitter.ZeroSums();
    emitter.StoreSums();
  });
  return builder_.getInt32(0);
}

void FunctionEmitter::EmitConfigured(const AmxEmitter& calls, const std::function<void()>& body) {
  if (tiles_configured_) return body();
  TileConfiguration configuration;
  calls.AddTo(configuration);
  configuration.Load(context_, builder_);
  body();
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

void FunctionEmitter::ConfigureTiles(const Stmt& body) {
  const TileUses uses = TileUsesOf(body, inside_parallel_);
  if (uses.others || uses.calls.empty()) return;
  TileConfiguration configuration;
  for (const CallNode* call : uses.calls) {
    const AmxEmitter emitter(*this, call, call->op == "amx_zero" ? nullptr : call);
    if (!emitter.CanBeEmitted() || !emitter.AddTo(configuration)) return;
  }
  configuration.Load(context_, builder_);
  tiles_configured_ = true;
}

void FunctionEmitter::ReleaseTiles() {
  if (tiles_configured_) builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

bool UsesAmx(const Stmt& body) { return !TileUsesOf(body, true).calls.empty(); }

}  // namespace tilewright::codegen
