// Values of a graph: variables, constants, calls of operators and of programs, control flow, and whole functions.
//
//   @R.function
//   def main(x: R.Tensor(("n", 784), dtype="float32")) -> R.Tensor((n, 128), dtype="float32"):
//       n = T.int64()
//       with R.dataflow():                                                  # BindingBlock, dataflow
//           lv: R.Tensor((n, 128), dtype="float32") = R.matmul(x, w0)       # Binding of a Call
//           lv1: R.Tensor((n, 128), dtype="float32") = R.nn.relu(lv)
//           R.output(lv1)                                                   # BindingBlock.outputs
//       return lv1                                                          # Seq.result
//
// Functions are in A-normal form: each call, projection and branch is bound to a variable, and its arguments are
// *atoms* (variables, constants, shapes, tuples of atoms, and null for an optional argument that is absent). Only a
// BlockBuilder (graph/ir/block_builder.h) makes bindings, so every function has that form, and every variable has its
// type.
//
// A dataflow block is pure: nothing in it has an effect, and there is no control flow, so its bindings may be moved,
// shared and dropped. Variables that it binds are visible outside only if they are among its outputs.
//
// Nodes are immutable and shared (ir/node.h). Variables are compared by identity, their names are for people.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/attrs.h"
#include "graph/ir/constant_bytes.h"
#include "graph/ir/kinds.h"
#include "graph/ir/op.h"
#include "graph/ir/type.h"
#include "ir/ndarray.h"

namespace tilewright::graph {

class ValueNode : public Node {
 public:
  static bool ClassOf(Kind kind) { return kind >= AsKind(GraphKind::kVar) && kind <= AsKind(GraphKind::kSeq); }

 protected:
  explicit ValueNode(GraphKind kind) : Node(AsKind(kind)) {}
};

// Null: an argument that is absent.
class Value : public Ref<ValueNode> {
 public:
  Value() = default;
  template <class T, class = std::enable_if_t<std::is_base_of_v<ValueNode, T>>>
  Value(const Ref<T>& other) : Ref<ValueNode>(other) {}
  template <class T, class = std::enable_if_t<std::is_base_of_v<ValueNode, T>>>
  Value(Ref<T>&& other) : Ref<ValueNode>(std::move(other)) {}
  explicit Value(const ValueNode* node) : Ref<ValueNode>(node) {}
};

// A parameter, or what a binding defines.
class VarNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kVar);
  VarNode(std::string name, Type type) : ValueNode(GraphKind::kVar), name(std::move(name)), type(std::move(type)) {}
  const std::string name;
  const Type type;
};

class Var : public Ref<VarNode> {
 public:
  Var() = default;
  explicit Var(const VarNode* node) : Ref<VarNode>(node) {}
  Var(std::string name, Type type) : Ref<VarNode>(new VarNode(std::move(name), std::move(type))) {}
};

class ConstantNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kConstant);
  ConstantNode(DataType dtype, std::vector<int64_t> shape, ConstantBytes bytes);
  const DataType dtype;
  const std::vector<int64_t> shape;
  const ConstantBytes bytes;
  const TensorType type;  // with values where it is small and integer

  NDArray ToNDArray() const;  // a copy
};

class Constant : public Ref<ConstantNode> {
 public:
  explicit Constant(const ConstantNode* node) : Ref<ConstantNode>(node) {}
  // `bytes.size()` is what the shape needs: (bits + 7) / 8 bytes an element.
  Constant(DataType dtype, std::vector<int64_t> shape, ConstantBytes bytes)
      : Ref<ConstantNode>(new ConstantNode(dtype, std::move(shape), std::move(bytes))) {}
  // Shares the array's memory, which must not change any more.
  explicit Constant(const NDArray& array);
  // A tensor of rank 0.
  static Constant Scalar(DataType dtype, double value);
  static Constant Int64s(const std::vector<int64_t>& values);  // of rank 1
};

class TupleNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kTuple);
  explicit TupleNode(std::vector<Value> fields) : ValueNode(GraphKind::kTuple), fields(std::move(fields)) {}
  const std::vector<Value> fields;
};

class Tuple : public Ref<TupleNode> {
 public:
  explicit Tuple(std::vector<Value> fields) : Ref<TupleNode>(new TupleNode(std::move(fields))) {}
};

// A list of extents as a value.
class ShapeExprNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kShape);
  explicit ShapeExprNode(std::vector<Expr> values);
  const std::vector<Expr> values;
  const ShapeType type;
};

class ShapeExpr : public Ref<ShapeExprNode> {
 public:
  explicit ShapeExpr(std::vector<Expr> values) : Ref<ShapeExprNode>(new ShapeExprNode(std::move(values))) {}
};

class TupleGetItemNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kTupleGetItem);
  TupleGetItemNode(Value tuple, int index)
      : ValueNode(GraphKind::kTupleGetItem), tuple(std::move(tuple)), index(index) {}
  const Value tuple;
  const int index;
};

class TupleGetItem : public Ref<TupleGetItemNode> {
 public:
  TupleGetItem(Value tuple, int index) : Ref<TupleGetItemNode>(new TupleGetItemNode(std::move(tuple), index)) {}
};

// A call of a high-level operator.
class CallNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kCall);
  CallNode(Op op, std::vector<Value> args, Attrs attrs)
      : ValueNode(GraphKind::kCall), op(std::move(op)), args(std::move(args)), attrs(std::move(attrs)) {}
  const Op op;
  const std::vector<Value> args;
  const Attrs attrs;
};

class Call : public Ref<CallNode> {
 public:
  Call(Op op, std::vector<Value> args, Attrs attrs = {})
      : Ref<CallNode>(new CallNode(std::move(op), std::move(args), std::move(attrs))) {}
};

// A call of a program of the module in destination-passing style: the program's parameters are the buffers of `args`,
// then those of the results (one for each tensor of `out`, a tensor or a tuple of tensors), then the scalars `symbols`.
class CallTirNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kCallTir);
  CallTirNode(std::string function, std::vector<Value> args, Type out, std::vector<Expr> symbols)
      : ValueNode(GraphKind::kCallTir),
        function(std::move(function)),
        args(std::move(args)),
        out(std::move(out)),
        symbols(std::move(symbols)) {}
  const std::string function;
  const std::vector<Value> args;
  const Type out;
  const std::vector<Expr> symbols;
};

class CallTir : public Ref<CallTirNode> {
 public:
  CallTir(std::string function, std::vector<Value> args, Type out, std::vector<Expr> symbols = {})
      : Ref<CallTirNode>(new CallTirNode(std::move(function), std::move(args), std::move(out), std::move(symbols))) {}
};

// A call of a graph function of the module.
class CallFunctionNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kCallFunction);
  CallFunctionNode(std::string function, std::vector<Value> args)
      : ValueNode(GraphKind::kCallFunction), function(std::move(function)), args(std::move(args)) {}
  const std::string function;
  const std::vector<Value> args;
};

class CallFunction : public Ref<CallFunctionNode> {
 public:
  CallFunction(std::string function, std::vector<Value> args)
      : Ref<CallFunctionNode>(new CallFunctionNode(std::move(function), std::move(args))) {}
};

// `value` seen as `type`, which is checked when the function runs; symbols that are whole extents of `type` and are not
// defined before are defined here.
class MatchCastNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kMatchCast);
  MatchCastNode(Value value, Type type)
      : ValueNode(GraphKind::kMatchCast), value(std::move(value)), type(std::move(type)) {}
  const Value value;
  const Type type;
};

class MatchCast : public Ref<MatchCastNode> {
 public:
  MatchCast(Value value, Type type) : Ref<MatchCastNode>(new MatchCastNode(std::move(value), std::move(type))) {}
};

struct Binding {
  Var var;
  Value value;
};

struct BindingBlock {
  bool dataflow = false;
  std::vector<Binding> bindings;
  std::vector<Var> outputs;  // of a dataflow block: what is visible outside
};

class SeqNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kSeq);
  SeqNode(std::vector<BindingBlock> blocks, Value result, std::vector<Expr> guards)
      : ValueNode(GraphKind::kSeq), blocks(std::move(blocks)), result(std::move(result)), guards(std::move(guards)) {}
  const std::vector<BindingBlock> blocks;
  const Value result;  // an atom
  // Conditions on symbols that the types of the bindings rely on (n == m, 1 <= n). Each is checked when the sequence
  // runs, as soon as its symbols have values.
  const std::vector<Expr> guards;
};

class Seq : public Ref<SeqNode> {
 public:
  Seq() = default;
  explicit Seq(const SeqNode* node) : Ref<SeqNode>(node) {}
  Seq(std::vector<BindingBlock> blocks, Value result, std::vector<Expr> guards = {})
      : Ref<SeqNode>(new SeqNode(std::move(blocks), std::move(result), std::move(guards))) {}
};

// Runs one of its branches. They see the variables around them.
class IfNode : public ValueNode {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kIf);
  IfNode(Value condition, Seq then_branch, Seq else_branch)
      : ValueNode(GraphKind::kIf),
        condition(std::move(condition)),
        then_branch(std::move(then_branch)),
        else_branch(std::move(else_branch)) {}
  const Value condition;  // a bool tensor with one element
  const Seq then_branch, else_branch;
};

class If : public Ref<IfNode> {
 public:
  If(Value condition, Seq then_branch, Seq else_branch)
      : Ref<IfNode>(new IfNode(std::move(condition), std::move(then_branch), std::move(else_branch))) {}
};

class FunctionNode : public Node {
 public:
  static constexpr Kind kKind = AsKind(GraphKind::kFunction);
  struct Fields {
    std::string name;
    std::vector<Var> params;
    Seq body;
    Type result_type;
    Attrs attrs;
    bool is_private = false;
  };
  explicit FunctionNode(Fields fields);
  const std::string name;
  const std::vector<Var> params;
  const Seq body;
  const Type result_type;
  const Attrs attrs;
  const bool is_private;
  Fields fields() const;  // a copy to change and make another function from
};

class Function : public Ref<FunctionNode> {
 public:
  Function() = default;
  explicit Function(const FunctionNode* node) : Ref<FunctionNode>(node) {}
  explicit Function(FunctionNode::Fields fields) : Ref<FunctionNode>(new FunctionNode(std::move(fields))) {}
};

// Whether the value may be an argument of a call as it is; null is an atom.
bool IsAtom(const Value& value);
// The type of an atom; null for null.
Type TypeOf(const Value& atom);
// The tensor type of an atom, or null when it is not a tensor.
const TensorTypeNode* TensorTypeOf(const Value& atom);

}  // namespace tilewright::graph
