// From a function to bytecode.
//
// Registers are given out as a stack: what a loop or block needs while it runs, then the temporaries of one statement.
// Constants get numbers from kFirstConstant on, which Finish moves behind the others. Within a statement, equal
// expressions (by node) are computed once.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/interp/bytecode.h"
#include "ir/interp/thread_sums.h"

namespace tilewright::interp::internal {

using Reg = int;
using Lanes = absl::InlinedVector<Reg, 1>;  // one register per lane

class Compiler {
 public:
  Compiler(const Function& function, const CompileOptions& options);
  absl::StatusOr<Code> Compile();

 private:
  // Expressions (compile_expr.cc, compile_call.cc). After an error they return some register.
  Lanes Value(const Expr& e);
  Reg ScalarValue(const Expr& e);
  Lanes NewValue(const Expr& e);
  Lanes SelectValue(const SelectNode* op);
  Lanes ShuffleValue(const ShuffleNode* op);
  Lanes Binary(const BinaryNode* op);
  bool MayFail(const Expr& e) const;
  // `wraps`: signed integers that overflow wrap.
  Reg BinaryLane(BinaryOp op, DataType dtype, Reg a, Reg b, bool wraps = false);
  Reg IntegerLane(BinaryOp op, DataType dtype, Reg a, Reg b, bool wraps = false);
  Reg FloatLane(BinaryOp op, DataType dtype, Reg a, Reg b);
  Reg CompareLane(BinaryOp op, DataType dtype, Reg a, Reg b);
  Reg CastLane(DataType from, DataType to, Reg value);
  Reg Wrap(DataType dtype, Reg value);   // an integer into the range of its type
  Reg Round(DataType dtype, Reg value);  // a double to the type
  Lanes Choose(const Expr& condition, const Expr& true_value, const Expr& false_value, DataType dtype);
  Lanes CallValue(const CallNode* op);
  Lanes DotAdd(const CallNode* op);
  bool MathCall(const CallNode* op, Lanes* result);
  bool MathCall1(const CallNode* op, DataType element, Lanes* result);
  bool MathCall2(const CallNode* op, DataType element, Lanes* result);
  bool BitCall(const CallNode* op, Lanes* result);
  bool Reinterpret(const CallNode* op, Lanes* result);
  Lanes ExternCallValue(const CallNode* op);
  ExternCall::Arg ExternArg(const Expr& e);
  void InlineCall(const CallNode* op, const Function& callee, size_t first_arg);
  Reg Pointer(const Expr& e, Buffer* buffer = nullptr);  // a handle; `buffer`: what it points into, when known

  // Memory (compile_memory.cc).
  Lanes Load(const LoadNode* op);
  void Store(const StoreNode* op);
  void NoteUpdates(const Stmt& s);  // in a store or a variable's statement
  // The offset in elements of an element from its slot.
  Reg Offset(const Buffer& buffer, const std::vector<Reg>& indices);
  Reg Slot(const Buffer& buffer);
  Reg SlotFromHandle(Reg handle);
  int AddAccess(const Buffer& buffer, const std::vector<Reg>& indices, bool is_store);
  // One register per dimension for each element that is accessed; empty after an error.
  std::vector<std::vector<Reg>> ElementIndices(const Buffer& buffer, const std::vector<Expr>& indices);
  void EmitChecks(const Buffer& buffer, const std::vector<Reg>& indices, int access, bool is_store);
  void CheckDeclared(const Buffer& buffer, const std::vector<Reg>& indices, int access, bool is_store);
  void AllocateBuffer(const Buffer& buffer);
  void MatchSubBuffer(const MatchBuffer& match);
  // Gives `variable` the value of `reg` when it is a variable without one, else requires the two to be equal.
  void BindOrCheck(const Expr& variable, Reg reg, const std::string& what);
  std::vector<Reg> Strides(const Buffer& buffer);

  // Statements (compile_stmt.cc).
  void Statement(const Stmt& s);
  void NewStatement(const Stmt& s);
  void While(const WhileNode* op);
  void If(const IfNode* op);
  void Loop(const ForNode* op);
  void SerialLoop(const ForNode* op, Reg var, Reg min, Reg end, bool concurrent);
  void ThreadLoop(const ForNode* op, Reg var, Reg min, Reg extent);
  void JoinedThreadLoop(const ForNode* op, Reg thread, Reg thread_extent);
  void Realize(const BlockRealizeNode* op);
  // What checks of the block's accesses compare them with.
  void Declare(const BufferRegion& region, bool write);
  void Init(const BlockNode& block);
  void Sync(const SyncNode* op);
  void Barrier(bool warp);
  // (number, count) of the running thread among all of its block.
  std::pair<Reg, Reg> LinearThread();
  void BindParams();
  void BindStrides(const Buffer& buffer, const ParamCode& param);

  // Emission.
  size_t Emit(Op op, Reg dst, Reg a = 0, Reg b = 0, Reg c = 0, int imm = 0, int t = 0);
  Reg EmitValue(Op op, Reg a, Reg b = 0, Reg c = 0, int imm = 0);  // into a new register
  void PatchToHere(size_t jump) { code_.instructions[jump].imm = static_cast<int>(code_.instructions.size()); }
  int Here() const { return static_cast<int>(code_.instructions.size()); }
  Reg NewReg(int count = 1);
  Reg Constant(int64_t value);
  Reg FloatConstant(double value);
  std::optional<int64_t> ConstantValue(Reg reg) const;
  int TypeIndex(DataType type);
  int MessageIndex(std::string message);
  void Error(absl::Status status);
  void Finish();

  static constexpr Reg kFirstConstant = 1 << 24;

  struct DeclaredRegion {
    const BufferNode* buffer;
    bool write;
    std::vector<std::pair<Reg, Reg>> ranges;  // (min, extent)
  };
  struct BlockFrame {
    const BlockNode* block = nullptr;  // null: the border of a call
    std::vector<DeclaredRegion> regions;
    std::vector<const VarNode*> own;  // data of what is allocated in it
    int combines = 0;                 // other than 0: threads combine into what it writes
    uint32_t combined_tags = 0;       // those of the threads
  };
  struct ThreadTag {
    std::string tag;
    Reg var, extent;
  };

  const CompileOptions& options_;
  bool declaring_ = false;                          // the regions of a block are being compiled
  std::unordered_set<const BinaryNode*> wrapping_;  // ir/changes/updates.h
  Code code_;
  absl::Status error_;
  Reg next_ = 0, most_ = 0;
  std::vector<Reg> memory_slots_;  // of memory and parts of it that are in scope, ascending
  std::vector<Scalar> constants_;
  std::vector<bool> constant_is_integer_;
  std::unordered_map<uint64_t, Reg> integer_constants_, float_constants_;
  std::unordered_map<const VarNode*, Lanes> vars_;
  std::unordered_set<const VarNode*> iteration_buffers_;  // BuffersOfParallelIterations
  ThreadSums thread_sums_;
  std::unordered_map<const VarNode*, Reg> slots_;       // of data variables
  std::unordered_map<const VarNode*, Buffer> buffers_;  // by data variable
  // A part of a buffer with a layout: its element i is the source's element start + i.
  struct View {
    Buffer source;
    std::vector<Reg> start;
    std::vector<size_t> dims;  // of the source, by dimension of the view
  };
  std::unordered_map<const BufferNode*, View> views_;
  struct CachedOffset {
    const BufferNode* buffer;
    std::vector<Reg> indices;
    Reg offset;
  };
  std::vector<std::pair<Expr, Lanes>> cache_;
  std::vector<CachedOffset> offset_cache_;
  std::vector<BlockFrame> blocks_;
  std::vector<std::pair<std::string, int>> loops_;  // names and registers of the loops around
  std::vector<ThreadTag> threads_;
  // Loops over threads, and iterators that depend on them: a bit for each tag (Executor::at).
  std::unordered_map<const VarNode*, uint32_t> thread_tags_;
  int reductions_of_threads_ = 0;
  int call_depth_ = 0;
};

}  // namespace tilewright::interp::internal
