// Emits programs into the graph that is being built.
//
//   TW_ASSIGN_OR_RETURN(Items y, emitter.Program("relu", {x}, [&](ProgramParts& p) {
//     return Buffers{ops::Map(p.f, "relu", p.in, [](auto& e) { return Max(Const(e[0].dtype(), 0), e[0]); })};
//   }));
//
// A program has its own variables for the extents of its operands; the emitter maps them to the graph's expressions,
// both ways. What the results are is then known from the program itself: their types from its output buffers, their
// elements, where all inputs are known, by running it (on numbers, or on expressions).
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/ir/block_builder.h"
#include "graph/onnx/item.h"
#include "ir/builder.h"
#include "ir/substitute.h"

namespace tilewright::graph {

using Buffers = std::vector<Buffer>;

// Variables of a program that stand for expressions of the graph.
class Locals {
 public:
  // The program's expression for one of the graph: a constant stays, everything else becomes a variable.
  Expr operator()(const Expr& outer);
  std::vector<Expr> operator()(const std::vector<Expr>& outer);
  // The graph's expression for one of the program.
  Expr Outer(const Expr& inner) const { return Substitute(inner, outer_); }
  const std::vector<std::pair<Expr, Symbol>>& all() const { return all_; }
  const VarMap& outer() const { return outer_; }

 private:
  std::vector<std::pair<Expr, Symbol>> all_;
  VarMap outer_;
};

// What a program is made of.
struct ProgramParts {
  tilewright::FunctionBuilder& f;
  Buffers in;  // one for each input that is present
  Locals& local;
};
using ProgramBody = std::function<Buffers(ProgramParts&)>;

class Emitter {
 public:
  explicit Emitter(BlockBuilder* builder) : builder_(builder) {}

  BlockBuilder& builder() { return *builder_; }
  // The name of the values that are computed from now on; empty: that of their program.
  void set_value_name(std::string name) { value_name_ = std::move(name); }

  // Adds the program that `body` writes and calls it. The inputs are tensors.
  absl::StatusOr<Items> Program(const std::string& name, const Items& inputs, const ProgramBody& body);

  // A constant of the graph.
  Item FromArray(const NDArray& array);
  Item FromConstant(const Constant& constant);
  // A tensor whose elements are expressions.
  absl::StatusOr<Item> FromValues(DataType dtype, std::vector<Expr> shape, std::vector<Expr> values);
  // The same elements under another shape.
  absl::StatusOr<Item> View(const Item& x, std::vector<Expr> shape);
  // Dimension `from` becomes dimension `to`; the others keep their order.
  absl::StatusOr<Item> MoveAxis(const Item& x, int from, int to);
  // A call of an operator that has no program; one item for each tensor of its result.
  absl::StatusOr<Items> Operator(const std::string& name, std::vector<Value> args, Attrs attrs = {});

  Expr Simplify(const Expr& e) { return builder_->analyzer().Simplify(AsExtent(e)); }

 private:
  absl::StatusOr<Items> Emit(const std::string& name, const Items& inputs, const PrimFunc& program, const Items& types,
                             std::vector<Expr> symbols);
  absl::StatusOr<Items> EmitCall(const std::string& name, const Items& inputs, const PrimFunc& program,
                                 const Items& types, std::vector<Expr> symbols);

  BlockBuilder* builder_;
  std::string value_name_;
};

// The elements of a constant, or nothing.
std::optional<NDArray> ArrayOf(const Item& item);

}  // namespace tilewright::graph
