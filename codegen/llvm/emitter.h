// From a lowered function to LLVM IR. Private to codegen/llvm.
//
// A function becomes three things: the exported one, which checks its arguments (emit_abi.cc); `NAME.compute`, which
// takes bare pointers and scalars (what this class emits); and one `NAME.parallelN` for each parallel loop, which takes
// the range of iterations and what the loop's body uses from outside (emit_parallel.cc). Pointers are parameters
// everywhere so that `noalias` holds for them: the exported function has checked that no tensor that is written
// overlaps another one, and temporaries are distinct anyway.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "codegen/call_sequence.h"
#include "codegen/llvm/types.h"
#include "intrin/instructions.h"
#include "ir/function.h"
#include "llvm/IR/Module.h"
#include "target/target.h"

namespace tilewright::codegen {

// What all functions of one LLVM module share.
struct ModuleContext {
  llvm::LLVMContext& llvm;
  llvm::Module& module;
  const Target& target;
};

// struct TwCall, TwTensor and TwParallelHook of codegen/runtime.
llvm::StructType* CallType(llvm::LLVMContext& context);
llvm::StructType* TensorType(llvm::LLVMContext& context);
llvm::StructType* ParallelHookType(llvm::LLVMContext& context);

class AmxEmitter;  // x86/amx.cc

// Emits the body of one LLVM function. Functions return an i32, a TwError.
class FunctionEmitter {
 public:
  // Binds `vars` to the parameters of `function` that follow the first `skip`. `call` is the TwCall*.
  FunctionEmitter(ModuleContext& context, llvm::Function* function, std::string name, bool inside_parallel);

  void Bind(const Var& var, llvm::Value* value) { values_[var.get()] = value; }
  void set_call(llvm::Value* call) { call_ = call; }
  // Memory of at least WorkspaceBytes() for temporaries; null when there are none that need it.
  void set_workspace(llvm::Value* workspace) { workspace_ = workspace; }

  // Emits `body` and returns from the function.
  absl::Status EmitBody(const Stmt& body);

  // ---- Expressions (emit_expr.cc, emit_memory.cc, emit_math.cc)
  llvm::Value* Emit(const Expr& e);
  // The value as it is held in memory (codegen/llvm/types.h).
  llvm::Value* EmitBits(const Expr& e);
  // A scalar index as an i64.
  llvm::Value* EmitIndex(const Expr& e);

  // ---- Statements (emit_stmt.cc, emit_parallel.cc)
  void Emit(const Stmt& s);

  Builder& builder() { return builder_; }
  const absl::Status& status() const { return status_; }
  int64_t workspace_bytes() const { return workspace_high_; }

 private:
  // Remembers the first thing that cannot be emitted; returns a value of the type so that emission can go on.
  llvm::Value* Fail(DataType type, const std::string& message);
  void FailStmt(const std::string& message);

  llvm::Value* EmitVar(const VarNode* op);
  llvm::Value* EmitBinary(const BinaryNode* op);
  // `wraps`: overflow of a signed type has a value.
  llvm::Value* EmitIntegerBinary(BinaryOp op, DataType type, llvm::Value* a, llvm::Value* b, bool wraps = false);
  llvm::Value* EmitFloatBinary(BinaryOp op, llvm::Value* a, llvm::Value* b);
  bool DividesFastBy(const BinaryNode* op) const;
  llvm::Value* EmitQuotients(llvm::Value* a, llvm::Value* b);
  // Conversions of f32 that round to nearest; null without an instruction for it. On AArch64 to bytes alone
  // (aarch64/rounding.cc, x86/rounding.cc).
  llvm::Value* EmitRounding(const CastNode* op);
  llvm::Value* EmitSaturated(const CastNode* op);
  llvm::Value* EmitRoundingOfX86(const CastNode* op);
  llvm::Value* EmitBFloat16(DataType type, llvm::Value* value);
  // Narrow types (emit_narrow.cc). Null where the operation is like any other.
  bool HasHalves() const;
  llvm::Value* EmitNarrowCast(const CastNode* op);
  llvm::Value* EmitNarrowBinary(const BinaryNode* op);
  llvm::Value* EmitWhole(const CastNode* op, DataType type);
  // A float16 value as f32, not rounded where it is a whole number; others as Emit gives them.
  llvm::Value* EmitWide(const Expr& e);
  llvm::Value* EmitLogic(const BinaryNode* op);
  // `bits`: of values as they are held in memory.
  llvm::Value* EmitShuffle(const ShuffleNode* op, bool bits);
  // Neighbouring lanes across two vectors by one instruction; null without one. For vectors of floating point LLVM
  // makes a shuffle that holds a register for each distance (x86/shuffles.cc).
  llvm::Value* EmitWindow(llvm::Value* low, llvm::Value* high, const std::vector<int>& lanes);
  llvm::Value* EmitLet(const LetNode* op);
  llvm::Value* EmitIfThenElse(const CallNode* op);
  llvm::Value* EmitCall(const CallNode* op);
  llvm::Value* EmitExternCall(const CallNode* op);
  llvm::Value* EmitLlvmIntrinsic(const CallNode* op);
  llvm::Value* EmitDotAdd(const CallNode* op);
  llvm::Value* EmitLookup(const CallNode* op);  // null where the target has no instruction for it
  // Few bytes that are repeated; null when it is another cast, or without an instruction (x86/shuffles.cc).
  llvm::Value* EmitWidenedBytes(const CastNode* op);
  llvm::Value* EmitDotInstruction(const MachineInstruction& instruction, llvm::Value* sum, const Expr& a,
                                  const Expr& b);
  llvm::Value* CallOfTwo(const MachineInstruction& instruction, llvm::Value* first, llvm::Value* second);
  llvm::Value* EmitDotByParts(const MachineInstruction& instruction, llvm::Value* rows, llvm::Value* columns);
  llvm::Value* EmitAmxDotAdd(const CallNode* op);
  llvm::Value* EmitAmxZero(const CallNode* op);
  // Whether `zero` sets the sums to zero that stay in tile registers while `next` runs.
  bool ZeroesNextSums(const Stmt& zero, const Stmt& next) const;
  // Emits a loop whose sums stay in tile registers; false when it has none.
  bool EmitLoopKeepingTiles(const ForNode* op);
  void EmitWithSums(const CallNode* dot, const std::function<void()>& body);
  // At the end of the innermost loop's body, where its products of tiles need that.
  void StoreTileAmongProducts(const Stmt& body);
  void EmitConfigured(const AmxEmitter& calls, const std::function<void()>& body);
  // Configures the tile registers once for all that `body` does with them, if that is possible; before each return they
  // are released.
  void ConfigureTiles(const Stmt& body);
  void ReleaseTiles();
  llvm::Value* EmitMath(const CallNode* op);         // null when `op` is not a function of numbers
  llvm::Value* EmitBitwise(const CallNode* op);      // null when it is not a bit operation
  llvm::Value* EmitAddressCall(const CallNode* op);  // null when it makes no address
  llvm::Value* Compare(llvm::CmpInst::Predicate predicate, llvm::Value* a, llvm::Value* b);  // of floats
  llvm::Value* Narrowed(DataType type, llvm::Value* value);
  llvm::Value* OpaqueConstant(llvm::Constant* constant);

  // Whether the target's instructions multiply by an element of a register (aarch64/elements.cc).
  bool MultipliesByElements() const;
  // The constraints of inline assembly that leaves a value in its vector register.
  const char* SameVectorRegister() const;
  // The same vector; LLVM does not see where it comes from.
  llvm::Value* OpaqueVector(llvm::Value* vector);
  // A number in all lanes of a vector.
  llvm::Value* SplatElement(llvm::Value* number, unsigned lanes);
  // Neighbours of `load`, as one number, in all lanes of a vector; null where they are in no line of lines_. `flip`:
  // bits of an integer that are flipped.
  llvm::Value* SplatOfLine(const LoadNode* load, llvm::Type* number, uint32_t flip = 0);
  // Remembers which lines a store of so many bits to a register buffer fills.
  void NoteLines(const Buffer& buffer, const Expr& first, int bits);

  llvm::Value* EmitLoad(const LoadNode* op);
  llvm::Value* EmitLoadedBits(const LoadNode* op);
  void EmitStore(const StoreNode* op);
  void NoteUpdates(const Stmt& s);  // in a store or a variable's statement
  llvm::Value* DataPointer(const Buffer& buffer);
  llvm::Value* ElementPointer(const Buffer& buffer, llvm::Value* index);
  // Ends a function in which stores have gone past the caches: other threads see those late.
  void FenceStreams();
  llvm::Align AlignmentOf(const Buffer& buffer, const Expr& first, int lanes) const;
  // Whether elements of the type at places of their own are loaded and stored one by one: no instruction does it.
  bool MovesOneByOne(DataType type) const;
  // Elements that lie a constant distance apart, at constant offsets from the first one: of a vector of addresses each
  // would be taken out of a register.
  llvm::Value* EmitStridedLoads(llvm::FixedVectorType* memory, const Buffer& buffer, const Expr& index);
  void EmitStridedStores(const Buffer& buffer, const Expr& index, llvm::Value* value);
  llvm::Value* EmitLanePointers(const Buffer& buffer, const Expr& index);
  llvm::Value* EmitLaneLoads(llvm::FixedVectorType* memory, llvm::Value* pointers, llvm::Value* mask,
                             llvm::Align align);

  void EmitSeq(const SeqNode* op);
  void EmitStatements(const SeqNode* op);
  // A list as functions for its statements, where it is long or has long statements that are alike (emit_parts.cc);
  // false where it is emitted as it stands.
  bool EmitParts(const SeqNode* op);
  bool MayCallParts(const SeqNode* op) const;
  void EmitInParts(const SeqNode* op, const std::vector<uint64_t>& alike, bool is_long);
  // A function for statements, and what it needs of the workspace.
  struct Part {
    llvm::Function* function;
    int64_t workspace_bytes;
  };
  // One for each statement that is not alike another one with a part.
  struct SharedPart {
    Stmt stmt;
    std::vector<llvm::Value*> given;  // to the first statement
    bool streams;                     // its stores go past the caches
    Part part;
  };
  void EmitShared(const Stmt& stmt, const std::string& name, std::vector<SharedPart>& known);
  // What a part is given: the values of its free variables.
  std::vector<llvm::Value*> ValuesFor(const Stmt& part);
  Part MakePart(const Stmt& part, const std::string& name, const std::vector<llvm::Value*>& given);
  void CallPart(const Part& part, const std::vector<llvm::Value*>& given);
  // This function's parameters from number `first` on are the variables; outside of it they are `captured`. `distinct`:
  // pointers among them lead to different memory.
  void BindCaptures(const std::vector<const VarNode*>& variables, llvm::ArrayRef<llvm::Value*> captured, size_t first,
                    bool distinct);
  void EmitFor(const ForNode* op);
  void EmitSerialLoop(const Var& var, llvm::Value* begin, llvm::Value* extent, bool nonempty, const Stmt& body);
  void EmitParallel(const ForNode* op);
  // Calls the body of a parallel loop by the caller's hook, or itself. `args` are the body's: the range, the call, what
  // it captures. `closure` has room for the captures.
  void ForkOrCall(llvm::Function* body, const std::vector<llvm::Value*>& args, llvm::Value* closure,
                  llvm::StructType* closure_type);
  void EmitWhile(const WhileNode* op);
  void EmitIf(const IfNode* op);
  void EmitAllocate(const AllocateNode* op);
  void EmitAssert(const AssertNode* op);
  void Return(llvm::Value* code);
  void ReturnIfError(llvm::Value* code);
  llvm::BasicBlock* NewBlock(const char* name);
  llvm::AllocaInst* EntryAlloca(llvm::Type* type, llvm::Value* count, uint64_t align, const std::string& name);
  llvm::Value* LibcCall(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> args);

  friend class AmxEmitter;
  friend class MathEmitter;

  ModuleContext& context_;
  llvm::Function* function_;
  const std::string name_;
  const bool inside_parallel_;
  Builder builder_;
  std::unordered_map<const VarNode*, llvm::Value*> values_;
  std::unordered_set<const BinaryNode*> wrapping_;  // ir/changes/updates.h
  llvm::Value* call_ = nullptr;
  llvm::Value* workspace_ = nullptr;
  int64_t workspace_top_ = 0;    // bytes of the workspace in use at this place
  int64_t workspace_high_ = 0;   // most bytes in use anywhere
  int64_t workspace_parts_ = 1;  // of that size: the iterations of the parallel loop have one each
  int64_t stack_bytes_ = 0;
  // The sums of amx_dot_add: zeros yet, or in tile registers while the statement is emitted.
  enum class TileSums { kInMemory, kZero, kKept };
  TileSums tile_sums_ = TileSums::kInMemory;
  bool tiles_configured_ = false;
  struct Loop {
    const VarNode* var;
    int64_t extent;  // the largest number where it is not constant
  };
  std::vector<Loop> loops_;       // around what is emitted
  size_t loops_around_sums_ = 0;  // those outside of where sums are kept
  // Whether the parallel loop that is emitted next has enough to do for threads; null: it always has.
  llvm::Value* worth_threads_ = nullptr;
  bool streams_ = false;   // the store that is emitted goes past the caches
  bool streamed_ = false;  // some store did
  std::unordered_map<llvm::Constant*, llvm::Value*> opaque_constants_;
  // Lines of register buffers, each a vector register's worth, that were stored as a whole: by the buffer's address and
  // their number. None where the target does not multiply by elements.
  std::set<std::pair<llvm::Value*, int64_t>> lines_;
  std::vector<llvm::Value*> heap_;  // allocations to free before a return
  bool defines_pointers_ = false;   // some variable may lead to the memory of another one
  int lists_around_ = 0;            // lists of statements around what is emitted
  std::unordered_map<uint64_t, std::vector<SharedPart>> shared_;
  absl::Status status_;
};

// snprintf(call->message, call->message_bytes, format, args...).
void EmitMessage(ModuleContext& context, Builder& builder, llvm::Value* call, const std::string& format,
                 llvm::ArrayRef<llvm::Value*> args);

// Whether a function uses AMX's tile registers, which a program has to be allowed first (x86/amx.cc).
bool UsesAmx(const Stmt& body);

// The exported function and its workspace function, which call `compute`.
struct ComputeFunction {
  llvm::Function* function;  // (ptr call, ptr workspace, buffers' data..., scalars...) -> i32
  int64_t workspace_bytes;
  std::vector<Var> scalars;  // variables of shapes, strides and scalar parameters, in the order of their parameters
};
absl::Status EmitAbi(ModuleContext& context, const Function& function, const ComputeFunction& compute);

// A function that calls those of the module, which were emitted before (emit_sequence.cc).
absl::Status EmitSequence(ModuleContext& context, const CallSequence& sequence);

// After optimization: the functions of vectors that it has put in the place of the C library's (vector_variants.h).
void DefineVariants(llvm::Module& module, const Target& target);

// All functions of a lowered module, and the sequence where there is one.
absl::Status EmitModule(ModuleContext& context, const Module& module, const CallSequence* sequence = nullptr);

}  // namespace tilewright::codegen
