// From calls of operators to calls of programs.
//
//   LoweringTable lowerings;
//   AddBasicLowerings(&lowerings);
//   lowerings.Add("nn.relu", [](BlockBuilder& b, const CallNode& call, const Type& out) -> absl::StatusOr<Value> {
//     ProgramWriter p(&b, "relu");
//     const Buffer x = p.Input(call.args[0]);
//     const Buffer y = p.Compute("y", out, [&](const std::vector<Expr>& i) { return Max(x.Load(i), zero); });
//     return p.Call({y}, out);
//   });
//
// A lowering gives any value: a call of a program it wrote, or calls of simpler operators, which are lowered in turn.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/block_builder.h"
#include "ir/builder.h"

namespace tilewright::graph {

// `call` has atoms as arguments and complete attributes; `out` is its inferred type.
using Lowering = std::function<absl::StatusOr<Value>(BlockBuilder&, const CallNode& call, const Type& out)>;

class LoweringTable {
 public:
  // CHECKs that the operator has none yet.
  void Add(std::string op, Lowering lowering);
  // Null when there is none.
  const Lowering* Find(std::string_view op) const;

 private:
  std::map<std::string, Lowering, std::less<>> lowerings_;
};

// Writes the program of one call. Its extents and index expressions use the symbols of the graph as they are; symbols
// that are not a whole extent of a parameter become scalar parameters.
class ProgramWriter {
 public:
  ProgramWriter(BlockBuilder* builder, std::string name) : b_(*builder), name_(std::move(name)), f_(name_) {}

  FunctionBuilder& f() { return f_; }
  // A parameter for the tensor, whose rank must be known. The same tensor twice gives the same parameter.
  Buffer Input(const Value& tensor);
  // A buffer of that tensor type, whose element at the indices is what `element` gives.
  Buffer Compute(const std::string& name, const Type& type,
                 const std::function<ComputeBody(const std::vector<Expr>&)>& element);
  // Ends the program and calls it. `outputs` are the tensors of `out`, in order.
  absl::StatusOr<Value> Call(const std::vector<Buffer>& outputs, const Type& out);

 private:
  BlockBuilder& b_;
  const std::string name_;
  FunctionBuilder f_;
  std::vector<Value> args_;
  std::vector<Buffer> inputs_;
};

// The program with a scalar parameter, at the end, for each variable that it uses and nothing defines: symbols that are
// no whole extent of a parameter. `symbols` receives them in that order.
PrimFunc WithSymbolParams(const PrimFunc& program, std::vector<Expr>* symbols);

// The element of `x` that meets the element `indices` of a result of that shape by Numpy's broadcasting.
Expr LoadBroadcast(const Buffer& x, const std::vector<Expr>& indices, const std::vector<Expr>& shape);

}  // namespace tilewright::graph
