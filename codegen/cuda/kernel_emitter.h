// From a part of a lowered function to the text of one kernel. Private to codegen/cuda.
//
// The text reads like the program: its names, one statement for a statement, thread indices as constants where their
// loops stand. Vectors have no type in CUDA C++: their lanes are scalar expressions, and what adjacent lanes load or
// store goes through tw::Vec, as wide as its alignment is known to allow.
//
// Expressions may need statements in front of theirs (a vector that is loaded, a value that is named); these are
// written when the expression's text is made. Where only a branch evaluates them, the branch becomes one in the text.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/names.h"
#include "codegen/cuda/program.h"
#include "codegen/cuda/shared_arena.h"
#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::cuda {

// Loops that the compiler must unroll, since they are over registers, and those that it should, since they are over
// addresses. Loops of more iterations are neither.
enum class Unrolling { kNone, kAddresses, kRegisters };
inline constexpr int64_t kMostUnrolled = 256;

// How tightly the outermost operator of a text binds, as in C++.
enum Binding { kTernary, kOr, kAnd, kBitOr, kBitAnd, kEquality, kRelation, kShift, kSum, kProduct, kUnary, kAtom };

struct Text {
  std::string text;
  Binding binding = kAtom;
  // The text in parentheses where its operator binds less tightly.
  std::string Within(Binding least) const { return binding < least ? "(" + text + ")" : text; }
};

// Buffers whose memory the host provides, by their data pointers, and their places among a kernel's parameters.
struct HostBuffer {
  Buffer buffer;
  size_t place = 0;
  bool constant = false;  // the same contents in every call
};
using HostBuffers = std::unordered_map<const VarNode*, HostBuffer>;

class KernelEmitter {
 public:
  KernelEmitter(const Target& target, const HostBuffers& host_buffers, const EmitOptions& options)
      : target_(target), host_buffers_(host_buffers), options_(options) {}

  absl::StatusOr<Kernel> Emit(const std::string& name, const Stmt& body);

 private:
  enum class Space { kGlobal, kShared, kLocal };
  struct Pointer {
    std::string name;
    DataType type;  // of an element
    Space space = Space::kGlobal;
    // Sums of wgmma: an array of objects with so many registers each; 0 otherwise.
    int64_t registers = 0;
    size_t loaded_lanes = 0;  // of a vector that one access loaded; 0 otherwise
  };

  // ---- emit_kernel.cc: the signature, thread-bound loops, statements
  void FindParams(const Stmt& body);
  void AddTensorMap(const CallNode* call, bool written);
  void FindLaunch(const Stmt& body);
  std::string Signature() const;
  void Statement(const Stmt& s);
  void EmitFor(const ForNode* op);
  void EmitThreadLoop(const ForNode* op);
  void EmitIf(const IfNode* op);
  void EmitWhile(const WhileNode* op);
  void EmitAllocate(const AllocateNode* op);
  void EmitAccumulator(const AllocateNode* op, const std::string& name, int64_t count);
  void EmitSync(const SyncNode* op);
  void EmitEvaluate(const EvaluateNode* op);

  // ---- emit_expr.cc: scalars
  // Whose value is that of the expression.
  Text Value(const Expr& e);
  // A float that rounds to the value, for narrow types; the value for others.
  Text Unrounded(const Expr& e);
  // As memory holds it.
  std::string Stored(const Expr& e);
  Text Rounded(DataType type, const Text& unrounded);
  Text Condition(const Expr& e) { return Value(e); }
  Text Binary(const BinaryNode* op);
  Text IntegerBinary(const BinaryNode* op);
  Text FloatBinary(const BinaryNode* op);
  // `stored`: as memory holds it.
  Text Choose(const Expr& condition, const Expr& a, const Expr& b, DataType type, bool stored = false);
  Text Cast(const CastNode* op);
  Text Operand(const Expr& e, const Expr& other);
  Text Wrapped(DataType type, const Text& value);
  Text Let(const LetNode* op);
  // Runs `emit` and returns the statements that it wrote instead of writing them.
  std::vector<std::string> Captured(const std::function<void()>& emit);
  std::string Named(DataType type, const std::string& name, const std::string& value);

  // ---- emit_call.cc: builtins
  Text Call(const CallNode* op);
  bool MathCall(const CallNode* op, Text* result);
  bool BitCall(const CallNode* op, Text* result);
  bool WrapperCall(const CallNode* op, Text* result);
  Text Reinterpret(const CallNode* op);
  Text Address(const Expr& e);
  Text TensorMap(const CallNode* op);

  // ---- emit_memory.cc: loads, stores, vectors
  Text Load(const LoadNode* op, bool stored);
  void EmitStore(const StoreNode* op);
  std::string LoadedVector(std::span<const Expr> lanes, DataType type) const;
  void StoreLanes(const StoreNode* op);
  // Expressions of the lanes of a vector; of a scalar, itself.
  std::vector<Expr> Lanes(const Expr& e);
  std::vector<Expr> LoadLanes(const LoadNode* op);
  std::vector<Expr> CallLanes(const CallNode* op);
  std::vector<Expr> ChosenLanes(const CallNode* op);
  std::vector<Expr> ShuffleLanes(const ShuffleNode* op);
  std::vector<Expr> LetLanes(const LetNode* op);
  Expr NamedLane(const Expr& scalar, const std::string& name);
  int AccessLanes(const Buffer& buffer, const Expr& first, int lanes) const;
  const Pointer* FindPointer(const Buffer& buffer);
  std::string PointerText(const Pointer& pointer, DataType type) const;
  std::string ElementText(const Buffer& buffer, const Expr& index);
  std::string AccumulatorText(const Pointer& pointer, const Expr& index);
  bool PointsToRegisters(const CallNode* pointer) const;
  Unrolling UnrollingOf(const ForNode* op) const;

  // Remembers the first thing that cannot be emitted.
  Text Fail(const std::string& message);
  std::string TypeText(DataType type, bool stored);
  void Line(const std::string& text);
  void Open(const std::string& text);
  void Close(const std::string& text = "}");
  void Append(const std::vector<std::string>& lines);

  const Target& target_;
  const HostBuffers& host_buffers_;
  const EmitOptions& options_;
  Kernel kernel_;
  Names names_;
  std::vector<std::string> lines_;
  size_t indent_ = 1;
  std::unordered_map<const VarNode*, std::string> values_;
  std::unordered_map<const VarNode*, std::vector<Expr>> lanes_of_;  // named vectors
  std::unordered_map<const VarNode*, Pointer> pointers_;
  std::vector<std::pair<Expr, std::string>> maps_;    // calls that describe them, and their parameters' names
  std::map<std::string, std::vector<Expr>> extents_;  // of thread-bound loops, by tag
  // When the lanes that are being written are evaluated: always where it is null. Lanes that are apart have conditions
  // of their own.
  Expr lanes_under_;
  bool lanes_apart_ = false;
  bool moves_registers_ = false;  // between warpgroups: a block has a multiprocessor for itself
  SharedArena shared_;
  arith::Analyzer analyzer_;
  absl::Status status_;
};

}  // namespace tilewright::cuda
