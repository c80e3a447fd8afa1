// Statements: loops, blocks, stores and what lowering turns them into.
//
// A program is a nest of loops around blocks. A block is a computation over regions of buffers, parameterized by its
// iterators; code outside of it looks only at its signature (iterators with domains and kinds, the regions it reads and
// writes). BlockRealize gives the iterators their values at one place of the loop nest:
//
//   for i, j, k in T.grid(64, 64, 64):                         // three For
//       with T.block("C"):                                     // BlockRealize{bindings: i, j, k; predicate: true}
//           vi, vj, vk = T.axis.remap("SSR", [i, j, k])        // Block.iter_vars
//           T.reads(A[vi, vk], B[vk, vj]); T.writes(C[vi, vj])
//           with T.init():
//               C[vi, vj] = T.float32(0)                       // Block.init, run where all reduce iterators are least
//           C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]      // Block.body
//
// Every loop and every block has an id, unique in its function and kept by rewrites; ids are how schedules name them.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.h"
#include "ir/expr.h"

namespace tilewright {

class StmtNode : public Node {
 public:
  static bool ClassOf(Kind kind) { return kind >= Kind::kFor && kind <= Kind::kSync; }

 protected:
  using Node::Node;
};

class Stmt : public Ref<StmtNode> {
 public:
  Stmt() = default;
  template <class T, class = std::enable_if_t<std::is_base_of_v<StmtNode, T>>>
  Stmt(const Ref<T>& other) : Ref<StmtNode>(other) {}
  template <class T, class = std::enable_if_t<std::is_base_of_v<StmtNode, T>>>
  Stmt(Ref<T>&& other) : Ref<StmtNode>(std::move(other)) {}
  explicit Stmt(const StmtNode* node) : Ref<StmtNode>(node) {}
};

// Values of annotations and function attributes: an expression (numbers, strings), a list, or a dictionary.
struct Annotation {
  using List = std::vector<Annotation>;
  using Dict = std::map<std::string, Annotation>;
  std::variant<Expr, List, Dict> value;
};
using Annotations = std::map<std::string, Annotation>;

enum class ForKind : uint8_t { kSerial, kParallel, kVectorized, kUnrolled, kThreadBound };

class ForNode : public StmtNode {
 public:
  static constexpr Kind kKind = Kind::kFor;
  struct Fields {
    uint32_t id = 0;
    Var var;
    Expr min;  // null: 0
    Expr extent;
    ForKind kind = ForKind::kSerial;
    std::string thread_tag;  // "blockIdx.x", "threadIdx.y", "vthread.x"...: only of thread-bound loops
    Annotations annotations;
    Stmt body;
  };
  explicit ForNode(Fields fields);
  const uint32_t id;
  const Var var;
  const Expr min, extent;
  const ForKind kind;
  const std::string thread_tag;
  const Annotations annotations;
  const Stmt body;
  Fields fields() const;  // a copy to change and make another loop from
};

class WhileNode : public StmtNode {
 public:
  static constexpr Kind kKind = Kind::kWhile;
  WhileNode(Expr condition, Stmt body) : StmtNode(kKind), condition(std::move(condition)), body(std::move(body)) {}
  const Expr condition;
  const Stmt body;
};

class IfNode : public StmtNode {
 public:
  static constexpr Kind kKind = Kind::kIf;
  IfNode(Expr condition, Stmt then_case, Stmt else_case = {})
      : StmtNode(kKind),
        condition(std::move(condition)),
        then_case(std::move(then_case)),
        else_case(std::move(else_case)) {}
  const Expr condition;
  const Stmt then_case, else_case;  // else_case may be null
};

class SeqNode : public StmtNode {  // At least two statements, none of them a Seq: use Sequence() to make one.
 public:
  static constexpr Kind kKind = Kind::kSeq;
  explicit SeqNode(std::vector<Stmt> stmts) : StmtNode(kKind), stmts(std::move(stmts)) {}
  const std::vector<Stmt> stmts;
};

class StoreNode : public StmtNode {
 public:
  static constexpr Kind kKind = Kind::kStore;
  StoreNode(Buffer buffer, Expr value, std::vector<Expr> indices, Expr predicate = {})
      : StmtNode(kKind),
        buffer(std::move(buffer)),
        value(std::move(value)),
        indices(std::move(indices)),
        predicate(std::move(predicate)) {}
  const Buffer buffer;
  const Expr value;
  const std::vector<Expr> indices;
  const Expr predicate;  // null, or a bool vector that masks the lanes
};

class EvaluateNode : public StmtNode {  // An expression run for its effect; Evaluate(0) does nothing.
 public:
  static constexpr Kind kKind = Kind::kEvaluate;
  explicit EvaluateNode(Expr value) : StmtNode(kKind), value(std::move(value)) {}
  const Expr value;
};

class LetStmtNode : public StmtNode {
 public:
  static constexpr Kind kKind = Kind::kLetStmt;
  LetStmtNode(Var var, Expr value, Stmt body)
      : StmtNode(kKind), var(std::move(var)), value(std::move(value)), body(std::move(body)) {}
  const Var var;
  const Expr value;
  const Stmt body;
};

class AttrStmtNode
    : public StmtNode {  // A hint on `body`: `T.attr(node, key, value)`. `node` may be a string or a variable.
 public:
  static constexpr Kind kKind = Kind::kAttrStmt;
  AttrStmtNode(Expr node, std::string key, Expr value, Stmt body)
      : StmtNode(kKind), node(std::move(node)), key(std::move(key)), value(std::move(value)), body(std::move(body)) {}
  const Expr node;
  const std::string key;
  const Expr value;
  const Stmt body;
};

class AssertNode : public StmtNode {  // Stops the program with `message` when the condition is false.
 public:
  static constexpr Kind kKind = Kind::kAssert;
  AssertNode(Expr condition, std::string message)
      : StmtNode(kKind), condition(std::move(condition)), message(std::move(message)) {}
  const Expr condition;
  const std::string message;
};

class AllocateNode : public StmtNode {  // Storage for `buffer` while `body` runs.
 public:
  static constexpr Kind kKind = Kind::kAllocate;
  AllocateNode(Buffer buffer, Annotations annotations, Stmt body)
      : StmtNode(kKind), buffer(std::move(buffer)), annotations(std::move(annotations)), body(std::move(body)) {}
  const Buffer buffer;
  const Annotations annotations;
  const Stmt body;
};

class DeclBufferNode : public StmtNode {  // Another view of memory that exists (buffer->data is defined outside).
 public:
  static constexpr Kind kKind = Kind::kDeclBuffer;
  DeclBufferNode(Buffer buffer, Stmt body) : StmtNode(kKind), buffer(std::move(buffer)), body(std::move(body)) {}
  const Buffer buffer;
  const Stmt body;
};

// Synchronization between the threads of an owner level.
enum class SyncKind : uint8_t {
  kBarrier,      // all participants wait for each other; orders their accesses to `memory`
  kAsyncCommit,  // closes the group of asynchronous copies this thread has issued
  kAsyncWait,    // waits until at most `operand` groups are in flight
  kArrive,       // counts this thread in on phase `operand` of the barrier object `object`
  kWait,         // waits for phase `operand` of `object`
};
class SyncNode : public StmtNode {
 public:
  static constexpr Kind kKind = Kind::kSync;
  SyncNode(SyncKind sync, Scope memory, OwnerLevel participants, Expr operand = {}, Expr object = {})
      : StmtNode(kKind),
        sync(sync),
        memory(std::move(memory)),
        participants(participants),
        operand(std::move(operand)),
        object(std::move(object)) {}
  const SyncKind sync;
  const Scope memory;
  const OwnerLevel participants;
  const Expr operand, object;  // as the kind needs, else null
};

enum class IterKind : uint8_t {
  kSpatial,  // instances are independent and may run in any order: "S"
  kReduce,   // instances combine into the same output: "R"
  kScan,     // instances run in order
  kOpaque,   // nothing is known: "O"
};

struct IterVar {
  Var var;
  Range domain;
  IterKind kind = IterKind::kSpatial;
};

// `buffer`, whose `data`, offset and strides are defined here, is the part `source` of a buffer outside of the block.
// Variables in the buffer's elem_offset and strides get their values from the source at the block's entry.
struct MatchBuffer {
  Buffer buffer;
  BufferRegion source;
};

class BlockNode : public Node {
 public:
  static constexpr Kind kKind = Kind::kBlock;
  struct Fields {
    uint32_t id = 0;
    std::string name;
    std::vector<IterVar> iter_vars;
    std::vector<BufferRegion> reads, writes;
    Stmt init;  // null when there is none
    std::vector<Buffer> alloc_buffers;
    std::vector<MatchBuffer> match_buffers;
    Annotations annotations;
    Stmt body;
  };
  explicit BlockNode(Fields fields);
  const uint32_t id;
  const std::string name;
  const std::vector<IterVar> iter_vars;
  const std::vector<BufferRegion> reads, writes;
  const Stmt init;
  const std::vector<Buffer> alloc_buffers;
  const std::vector<MatchBuffer> match_buffers;
  const Annotations annotations;
  const Stmt body;
  Fields fields() const;  // a copy to change and make another block from
};

class Block : public Ref<BlockNode> {
 public:
  Block() = default;
  explicit Block(const BlockNode* node) : Ref<BlockNode>(node) {}
  explicit Block(BlockNode::Fields fields) : Ref<BlockNode>(new BlockNode(std::move(fields))) {}
};

class BlockRealizeNode : public StmtNode {
 public:
  static constexpr Kind kKind = Kind::kBlockRealize;
  BlockRealizeNode(std::vector<Expr> bindings, Expr predicate, Block block)
      : StmtNode(kKind), bindings(std::move(bindings)), predicate(std::move(predicate)), block(std::move(block)) {}
  const std::vector<Expr> bindings;  // one per iterator of the block
  const Expr predicate;              // the block runs only where it holds; never null, True() when always
  const Block block;
};

// Constructors.
Stmt For(ForNode::Fields fields);
Stmt While(Expr condition, Stmt body);
Stmt If(Expr condition, Stmt then_case, Stmt else_case = {});
// Flattens nested sequences and drops statements that do nothing; one statement stays itself, none is Evaluate(0).
Stmt Sequence(std::vector<Stmt> stmts);
Stmt Store(Buffer buffer, Expr value, std::vector<Expr> indices, Expr predicate = {});
Stmt Evaluate(Expr value);
Stmt LetStmt(Var var, Expr value, Stmt body);
Stmt Realize(std::vector<Expr> bindings, Expr predicate, Block block);
// Evaluate of a constant.
bool IsNoOp(const Stmt& stmt);

// Annotation values.
Annotation MakeAnnotation(Expr value);
Annotation MakeAnnotation(std::string value);

const char* ForKindName(ForKind kind);    // "serial", "parallel", "vectorized", "unroll", "thread_binding"
const char* IterKindName(IterKind kind);  // "spatial", "reduce", "scan", "opaque"

}  // namespace tilewright
