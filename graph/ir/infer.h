// What a type rule of an operator sees, and helpers that rules share.
//
//   absl::StatusOr<Type> InferAdd(InferContext& c) {
//     TW_ASSIGN_OR_RETURN(const TensorTypeNode* a, c.Tensor(0));
//     TW_ASSIGN_OR_RETURN(const TensorTypeNode* b, c.Tensor(1));
//     TW_ASSIGN_OR_RETURN(std::vector<Expr> shape, c.Broadcast(*a->shape, *b->shape));
//     return TensorType(a->dtype, std::move(shape));
//   }
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/ir/value.h"
#include "ir/arith/analyzer.h"

namespace tilewright::graph {

class InferContext {
 public:
  // `assumptions` receives what Assume says.
  InferContext(const CallNode& call, arith::Analyzer* analyzer, std::vector<Expr>* assumptions)
      : call_(call), analyzer_(analyzer), assumptions_(assumptions) {}

  const CallNode& call() const { return call_; }
  size_t num_args() const { return call_.args.size(); }
  bool HasArg(size_t i) const { return i < call_.args.size() && call_.args[i]; }
  const Value& arg(size_t i) const { return call_.args[i]; }
  // Null when the argument is absent.
  Type TypeOfArg(size_t i) const { return HasArg(i) ? TypeOf(call_.args[i]) : Type(); }

  // The tensor type of an argument; an error when it is absent or no tensor.
  absl::StatusOr<const TensorTypeNode*> Tensor(size_t i) const;
  // The same; an error too when its rank is unknown, so that `*shape` may be used.
  absl::StatusOr<const TensorTypeNode*> RankedTensor(size_t i) const;
  // The extents of an argument that is a shape, or an integer tensor of rank 1 whose values are known.
  absl::StatusOr<std::vector<Expr>> ShapeArg(size_t i) const;

  // Attributes. CHECK that the attribute has that kind and is present (a default, `required`, or HasAttr).
  bool HasAttr(std::string_view name) const { return call_.attrs.contains(std::string(name)); }
  bool Bool(std::string_view name) const { return Attr<bool>(name); }
  int64_t Int(std::string_view name) const { return Attr<int64_t>(name); }
  double Float(std::string_view name) const { return Attr<double>(name); }
  const std::string& String(std::string_view name) const { return Attr<std::string>(name); }
  DataType Dtype(std::string_view name) const { return Attr<DataType>(name); }
  const IntList& Ints(std::string_view name) const { return Attr<IntList>(name); }

  // An InvalidArgument error that begins with the operator's name.
  template <class... Parts>
  absl::Status Error(const Parts&... parts) const {
    return ErrorText(absl::StrCat(parts...));
  }

  // Arithmetic under what is known of the symbols.
  arith::Analyzer& analyzer() const { return *analyzer_; }
  // Simplifies without what is assumed, so that guards do not change types.
  static Expr Simplify(const Expr& e) { return arith::Simplify(AsExtent(e)); }
  bool ProveEqual(const Expr& a, const Expr& b) const;
  bool ProveDifferent(const Expr& a, const Expr& b) const;
  // What must hold when the function runs; becomes one of its guards. Nothing is recorded where it is proven.
  void Assume(const Expr& condition) const;
  // Requires that the extents are equal: proven, or assumed; an error that names `what` when they are not.
  absl::Status RequireEqual(const Expr& a, const Expr& b, std::string_view what) const;

  // Numpy's broadcasting. Two symbolic extents that are not known to be equal are assumed equal (guarded); a symbolic
  // extent and a constant above 1 likewise.
  absl::StatusOr<std::vector<Expr>> Broadcast(const std::vector<Expr>& a, const std::vector<Expr>& b) const;
  absl::StatusOr<Expr> BroadcastExtent(const Expr& a, const Expr& b) const;

  // `axis` from 0, for a value of that rank; an error outside of [-rank, rank).
  absl::StatusOr<int64_t> Axis(int64_t axis, int64_t rank) const;

 private:
  template <class T>
  const T& Attr(std::string_view name) const {
    return *std::get_if<T>(&FindAttr(name));
  }
  const AttrValue& FindAttr(std::string_view name) const;
  absl::Status ErrorText(const std::string& text) const;
  std::string ArgName(size_t i) const;

  const CallNode& call_;
  arith::Analyzer* analyzer_;
  std::vector<Expr>* assumptions_;
};

}  // namespace tilewright::graph
