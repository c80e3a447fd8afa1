// From the syntax tree of one function to the IR. Internal to //ir/script:parser.
//
// A method that reads an expression returns null (or false) after an error; the first error is kept in `error()`. No
// program makes it crash: whatever a node constructor CHECKs is verified before the node is made.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/function.h"
#include "ir/script/python/ast.h"
#include "ir/script/python/diagnostic.h"
#include "ir/script/value.h"

namespace tilewright::script {

// What functions of one text share.
struct ModuleContext {
  std::string_view text, file;
  std::set<std::string> dialect_names = {"T"};             // names that stand for the dialect: T
  absl::flat_hash_map<std::string, Value> constants;       // NAME = value before the functions
  std::set<std::string> type_vars;                         // NAME = TypeVar("NAME"): sizes, new ones in each function
  absl::flat_hash_map<std::string, uint32_t> other_names;  // names that other Python gives values to, and where
};

// The arguments of a call by the names of their parameters.
class Arguments {
 public:
  // Null where an argument was not given.
  const PyExpr* operator[](std::string_view name) const;

 private:
  friend class FunctionReader;
  std::vector<std::pair<std::string_view, const PyExpr*>> given_;
};

// How T.Buffer, T.match_buffer, T.alloc_buffer, ... describe a buffer.
struct BufferDefaults {
  DataType dtype = DataType::Float(32);
  std::string scope = "global";
  Var data;  // null: a new one
};

// Loops, blocks, lets, ... inside each other. Whoever walks the program may recurse.
// TVM's common subexpressions are some hundred lets.
inline constexpr int kMaxNesting = 1000;

class FunctionReader {
 public:
  explicit FunctionReader(const ModuleContext& module) : module_(module) {}

  // `definition` is a kFunction. Null after an error.
  Function Read(const PyStmt& definition);
  // A value outside of any function: NAME = value.
  bool ReadConstant(const PyExpr& e, Value* out) { return Eval(e, out); }
  // Values of T.func_attr, annotations and I.module_attrs: numbers, strings, lists, dictionaries.
  bool ReadAnnotations(const PyExpr& e, Annotations* out);

  const std::optional<Diagnostic>& error() const { return error_; }

 private:
  // The block that is being read; blocks nest.
  struct BlockScope {
    BlockNode::Fields block;
    std::vector<Expr> bindings;
    Expr predicate;
    bool has_reads = false, has_writes = false;
    size_t level = 0;  // of places_ in the block's own list of statements
  };
  // A list of statements that is being read. A let, a declaration or an attribute written without `with` covers the
  // statements after it: each such statement opens a segment, which `wrap` puts around what follows.
  struct Segment {
    std::vector<Stmt> stmts;
    std::function<Stmt(Stmt)> wrap;
  };
  using Segments = std::vector<Segment>;
  // A loop and, where it has a step, what its name stands for: min + var * step.
  struct LoopRange {
    ForNode::Fields loop;  // of the numbers 0, 1, ... where there is a step
    Expr first;            // null without a step
    int64_t step = 1;
    Range values;  // which the name may take
  };

  // --- Errors and names (reader.cc).
  bool Fail(uint32_t offset, std::string message);
  bool Define(const std::string& name, uint32_t offset, Value value);
  const Value* Lookup(const std::string& name) const;
  // "axis.spatial" for T.axis.spatial, nothing for anything else.
  std::optional<std::string> DialectName(const PyExpr& e) const;
  // The dialect name of the function that `e` calls.
  std::optional<std::string> CalledName(const PyExpr& e) const;
  bool Bind(const PyExpr& call, std::initializer_list<std::string_view> names, Arguments* out, size_t skip = 0);
  // Fails unless the argument was given.
  bool Require(const PyExpr& call, const Arguments& args, std::string_view name);

  // --- The function (reader.cc).
  bool ReadParameters(const PyStmt& definition);
  bool ReadParameter(const PyParameter& parameter);
  void FindSymbols(const std::vector<PyStmt>& body);
  // The type of T.int64() or T.var("int64"), which make a variable for a size.
  std::optional<DataType> SizeType(const PyExpr& value) const;
  Var Symbol(const std::string& name, DataType dtype, uint32_t offset);
  bool IsDocstring(const PyStmt& s) const;
  Stmt ReadBody(const std::vector<PyStmt>& body);
  Stmt AddRootBlock(Stmt body);

  // --- Statements (read_stmt.cc).
  bool ReadStmt(const PyStmt& s, Segments& out);
  bool ReadExprStmt(const PyStmt& s, Segments& out);
  bool ReadFuncAttr(const PyExpr& e);
  bool ReadAssign(const PyStmt& s, Segments& out);
  // `known`: what the target's name stands for so far, or null.
  bool ReadEnvThread(const PyExpr& value, const PyExpr& target, const Value* known);
  bool ReadAnnotated(const PyStmt& s, Segments& out);
  bool ReadTupleAssign(const PyStmt& s, Segments& out);
  bool ReadReturn(const PyStmt& s, Segments& out);
  void OpenLet(Var var, Expr value, Segments& out);

  // --- Variables of the program, and what attributes mention before it is defined (read_scalar.cc).
  void FindNames(const std::vector<PyStmt>& body);
  bool Assigns(const std::vector<PyStmt>& body, size_t first, const std::string& name) const;
  bool MakeCell(const std::string& name, DataType dtype, const std::string& scope, uint32_t offset, Segments& out);
  bool IsCellCall(const PyExpr& value, std::string* function) const;
  bool ReadCellCall(const PyStmt& s, const std::string& function, Segments& out);
  bool AssignCell(const PyStmt& s, const Cell& cell, Segments& out);
  // C = T.Buffer(...) without data, which attributes mention: C is allocated below, or gone.
  bool IsForwardBuffer(const std::string& name, const PyExpr& call) const;
  // Called where T.attr mentions a variable.
  void Announce(const Expr& node);
  // Forgets what was named and announced in the innermost frame.
  void LeaveFrame();
  // The variable of that name that an attribute mentioned, else a new one.
  Var TakeAnnounced(const std::string& name, DataType dtype);
  bool IsTaken(const Value& value) const;
  bool ReadStore(const PyStmt& s, Segments& out);
  bool ReadVectorStore(const PyExpr& call, Segments& out);
  bool StoreTo(const Buffer& buffer, std::vector<Expr> indices, Expr value, Expr predicate, uint32_t offset,
               Segments& out);
  bool IsNamelessSize(const PyExpr& e) const;
  bool ReadFor(const PyStmt& s, Segments& out);
  bool ReadLoops(const PyExpr& iterator, size_t count, std::vector<LoopRange>* loops);
  bool ReadLoopRange(const PyExpr& iterator, std::string_view kind, const PyExpr* start, const PyExpr* stop,
                     const PyExpr* step, LoopRange* out);
  bool ApplyStep(const PyExpr& step, Expr first, const Expr& last, LoopRange* out);
  Expr ReadLoopBound(const PyExpr& e);
  bool ReadIf(const PyStmt& s, Segments& out);
  bool ReadWhile(const PyStmt& s, Segments& out);
  bool ReadAssert(const PyStmt& s, Segments& out);
  bool EndsWithAllocation(const PyStmt& with) const;
  bool ReadWith(const PyStmt& s, Segments& out);
  bool ReadSync(const PyExpr& call, const std::string& name, Stmt* out);
  // Statements that cover what follows, with or without `with`. Sets `wrap` and the name's value.
  bool IsCovering(const std::string& name) const;
  bool ReadCovering(const PyExpr& call, const std::string& name, const PyExpr* target, std::function<Stmt(Stmt)>* wrap);
  bool ReadLaunch(const PyExpr& call, const PyExpr* target, std::function<Stmt(Stmt)>* wrap);
  bool RescaleShape(const BufferNode& source, uint32_t offset, BufferNode::Fields* view);
  bool ReadView(const PyExpr& call, const PyExpr& target, Segments& out);
  bool ReadDeclaration(const PyExpr& call, const std::string& name, const PyExpr* target,
                       std::function<Stmt(Stmt)>* wrap);

  // --- What older versions of TVM write (read_legacy.cc).
  bool IsLegacyCovering(const std::string& name) const;
  bool ReadLegacyCovering(const PyExpr& call, const std::string& name, const PyExpr* target,
                          std::function<Stmt(Stmt)>* wrap);
  bool ReadConstantAllocation(const PyExpr& call, const PyExpr* target, std::function<Stmt(Stmt)>* wrap);
  bool ReadThreadAttribute(const PyExpr& iter_var, const PyExpr& extent, std::function<Stmt(Stmt)>* wrap);
  bool ReadFlatAccess(const PyExpr& call, const Arguments& args, Buffer* buffer, std::vector<Expr>* indices,
                      Expr* mask);
  Expr ReadFlatLoad(const PyExpr& call);
  bool ReadFlatStore(const PyExpr& call, Segments& out);

  // --- Blocks (read_block.cc).
  bool ReadBlock(const PyStmt& s, Segments& out);
  // Gives the block an iterator for each loop around it that it uses directly, as TVM's kernels do.
  void BindOuterLoops(BlockScope* scope, size_t loops);
  bool ReadInit(const PyStmt& s);
  // T.reads, T.where, ...: true when `name` is such a directive, and `*ok` tells whether it was read.
  bool ReadDirective(const PyExpr& call, const std::string& name, bool* ok);
  bool ReadAxis(const PyExpr& call, const std::string& name, const PyExpr& target);
  bool ReadRemap(const PyExpr& call, const PyExpr& target);
  bool IsOutside(const Expr& e, const BlockNode::Fields& block, uint32_t offset);
  bool AddIterVar(const PyExpr& target, Range domain, IterKind kind, Expr binding, DataType dtype, uint32_t offset);
  bool ReadRegions(const PyExpr& call, std::vector<BufferRegion>* out);
  bool ReadRegion(const PyExpr& e, BufferRegion* out);
  BlockScope* CurrentBlock(uint32_t offset, const std::string& what);
  // The block whose own list of statements is being read: its signature does not stand in loops.
  BlockScope* OwnBlock(uint32_t offset, const std::string& what);

  // --- Buffers (read_buffer.cc).
  Buffer ReadBuffer(const PyExpr& call, const std::string& name, const Arguments& args, const BufferDefaults& defaults);
  bool ReadShape(const PyExpr& e, const std::string& buffer, bool strides, std::vector<Expr>* out);
  Expr ReadExtentText(const PyExpr& text);
  bool DefineSize(const std::string& name, uint32_t offset);
  bool DefineSizes(const PyExpr& e, bool every_name = false);
  bool ReadLayout(const PyExpr& e, const BufferNode::Fields& buffer, Layout* out);
  void NoteSizes(const Buffer& buffer);
  bool ReadMatchBuffer(const PyExpr& call, const PyExpr& target);
  bool ReadAllocBuffer(const PyExpr& call, const std::string& name, const PyExpr& target, Segments& out);
  bool ReadAllocAnnotations(const PyExpr& e, Annotations* out);
  Expr ReadData(const PyExpr& e);
  bool ReadTypeName(const PyExpr& e, DataType* out);
  bool ReadString(const PyExpr& e, std::string* out);
  bool ReadInt(const PyExpr& e, int64_t least, int64_t greatest, int64_t* out);

  // --- Expressions (read_expr.cc, read_call.cc, read_spelled_call.cc, read_reducer.cc).
  bool Eval(const PyExpr& e, Value* out);
  Expr ReadExpr(const PyExpr& e);
  Expr ReadIndex(const PyExpr& e);      // of an index type, or a vector of one
  Expr ReadCondition(const PyExpr& e);  // a bool
  bool ReadExprs(const std::vector<PyExprPtr>& items, size_t first, std::vector<Expr>* out);
  Expr ToExpr(const Value& value, uint32_t offset);
  bool EvalName(const PyExpr& e, Value* out);
  bool EvalConditional(const PyExpr& e, Value* out);
  bool EvalAttribute(const PyExpr& e, Value* out);
  bool EvalSubscript(const PyExpr& e, Value* out);
  bool EvalMetadata(const PyExpr& e, Value* out);
  bool ReadIndices(const PyExpr& subscript, const Buffer& buffer, std::vector<Expr>* out);
  bool ReadAccessSlice(const PyExpr& slice, const Expr& extent, Expr* out);
  bool EvalUnary(const PyExpr& e, Value* out);
  bool EvalBinary(const PyExpr& e, Value* out);
  bool FoldBinary(const PyExpr& e, const Value& a, const Value& b, Value* out, bool* folded);
  bool FoldIntegers(const PyExpr& e, Integer x, Integer y, Value* out, bool* folded);
  // Whether a shift by a constant is by fewer bits than the type has; no error for other calls.
  bool ShiftFits(std::string_view call, const Expr& a, const Expr& b, uint32_t offset);
  Expr MakeOperator(const std::string& op, Expr a, Expr b, uint32_t offset);
  Expr MakeBinaryChecked(BinaryOp op, Expr a, Expr b, uint32_t offset);
  // Gives both one type as IR constructors do, or fails.
  bool Unify(Expr* a, Expr* b, uint32_t offset);
  // An immediate as `dtype`, or fails when it does not fit.
  bool ConvertImmediate(Expr* e, DataType dtype, uint32_t offset);
  // A value as it is stored into a buffer of `dtype`.
  bool ConvertStored(Expr* e, DataType dtype, uint32_t offset);

  bool EvalCall(const PyExpr& e, Value* out);
  bool EvalDialectCall(const PyExpr& e, const std::string& name, Value* out);
  bool EvalMethod(const PyExpr& e, Value* out, bool* is_method);
  Expr ReadTypeCall(const PyExpr& e, DataType dtype);
  bool IsScalable(const PyExpr& lanes) const;
  Expr ReadScalable(const char* op, std::vector<Expr> args, const PyExpr& lanes);
  Expr ReadSmallCall(const PyExpr& e, const std::string& name);
  Expr ReadBinaryCall(const PyExpr& e, BinaryOp op);
  Expr ReadChoice(const PyExpr& e, bool lazy);
  Expr ReadLet(const PyExpr& e, const std::string& name);
  Expr ReadShuffle(const PyExpr& e);
  Expr ReadAccessPtr(const PyExpr& e, const Buffer& buffer);
  // The elements from the first one of the buffer to its end; null after an error, which is at `offset`.
  Expr ExtentOf(const Buffer& buffer, uint32_t offset);
  // The index list and the predicate (null when absent) of A.vload and A.vstore.
  bool ReadVectorAccess(const Buffer& buffer, const PyExpr& indices, const PyExpr* predicate, std::vector<Expr>* out,
                        Expr* mask);
  Expr ReadSpelledCall(const PyExpr& e, const std::string& name);
  Expr ReadCallIntrin(const PyExpr& e);
  Expr ReadCast(const PyExpr& value, DataType dtype, uint32_t offset, bool keep_immediate);
  bool ReadKeywords(const PyExpr& e, std::vector<Expr>* args);
  bool ReadArguments(const PyExpr& e, bool type_first, bool type_last, std::optional<DataType>* dtype,
                     std::vector<Expr>* args);
  Expr ReadReducer(const PyExpr& e);

  const ModuleContext& module_;
  std::optional<Diagnostic> error_;
  std::vector<absl::flat_hash_map<std::string, Value>> frames_;
  absl::flat_hash_map<std::string, DataType> symbols_;         // NAME = T.int64() anywhere in the function
  std::unordered_map<const VarNode*, uint32_t> size_offsets_;  // where each such variable is introduced
  std::unordered_map<const ExprNode*, Range> loop_ranges_;     // what names of loops stand for, and its values
  std::vector<Expr> stepped_;                 // those of them that are not variables: they keep their addresses
  std::unordered_set<const VarNode*> sizes_;  // symbols that buffers define
  // Symbols that attributes mention and nothing has defined yet, with the number of frames where the first one does:
  // what comes after the last of these is not a definition of it.
  std::unordered_map<const VarNode*, size_t> announced_;
  std::unordered_set<const VarNode*> taken_;                           // those that were defined since
  std::set<std::string> attribute_nodes_;                              // names in T.attr, T.block_attr and annotations
  std::vector<std::pair<const std::vector<PyStmt>*, size_t>> places_;  // the statement that is being read, per body
  std::vector<BlockScope*> blocks_;
  std::vector<Var> open_loops_;  // around the statement that is being read
  std::vector<Buffer> root_buffers_;
  FunctionNode::Fields function_;
  bool has_attrs_ = false;
  int nesting_ = 0;
};

}  // namespace tilewright::script
