#include "graph/ir/infer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

const char* Describe(const Type& type) {
  if (!type) return "absent";
  if (isa<TupleTypeNode>(type)) return "a tuple";
  return isa<ShapeTypeNode>(type) ? "a shape" : "a tensor";
}

}  // namespace

std::string InferContext::ArgName(size_t i) const {
  const std::vector<std::string>& params = call_.op->params;
  if (i >= params.size() || params[i].ends_with('*')) return absl::StrCat("argument ", i);
  std::string name = params[i];
  if (name.ends_with('?')) name.pop_back();
  return name;
}

absl::Status InferContext::ErrorText(const std::string& text) const {
  return absl::InvalidArgumentError(absl::StrCat(call_.op->name, ": ", text));
}

absl::StatusOr<const TensorTypeNode*> InferContext::Tensor(size_t i) const {
  const Type type = TypeOfArg(i);
  // The node lives on in the argument.
  if (const auto* tensor = dyn_cast<TensorTypeNode>(type)) return tensor;
  return Error(ArgName(i), " is ", Describe(type), ", expected a tensor");
}

absl::StatusOr<const TensorTypeNode*> InferContext::RankedTensor(size_t i) const {
  TW_ASSIGN_OR_RETURN(const TensorTypeNode* const tensor, Tensor(i));
  if (!tensor->shape) return Error("the rank of ", ArgName(i), " is unknown");
  return tensor;
}

absl::StatusOr<std::vector<Expr>> InferContext::ShapeArg(size_t i) const {
  const Type type = TypeOfArg(i);
  if (const auto* shape = dyn_cast<ShapeTypeNode>(type)) return shape->values;
  const auto* tensor = dyn_cast<TensorTypeNode>(type);
  if (tensor == nullptr) return Error(ArgName(i), " is ", Describe(type), ", expected a shape");
  if (tensor->rank() != 1 || !tensor->dtype.is_integer()) {
    return Error(ArgName(i), " must be a list of integers, got ", ToString(type));
  }
  if (!tensor->values) return Error("the values of ", ArgName(i), " are not known");
  return *tensor->values;
}

const AttrValue& InferContext::FindAttr(std::string_view name) const {
  const auto it = call_.attrs.find(std::string(name));
  TW_CHECK(it != call_.attrs.end()) << call_.op->name << " without attribute " << name;
  return it->second;
}

bool InferContext::ProveEqual(const Expr& a, const Expr& b) const {
  return analyzer_->CanProveEqual(AsExtent(a), AsExtent(b));
}

bool InferContext::ProveDifferent(const Expr& a, const Expr& b) const {
  // Without what is assumed: two assumptions that contradict each other end the run, not the import.
  return arith::Analyzer().CanProve(AsExtent(a) != AsExtent(b));
}

void InferContext::Assume(const Expr& condition) const {
  if (analyzer_->CanProve(condition)) return;
  analyzer_->Assume(condition);
  assumptions_->push_back(condition);
}

absl::Status InferContext::RequireEqual(const Expr& a, const Expr& b, std::string_view what) const {
  if (ProveEqual(a, b)) return absl::OkStatus();
  if (ProveDifferent(a, b))
    return Error(std::string(what), " is ", PrintExtent(a), " in one operand and ", PrintExtent(b), " in the other");
  // One order of the operands for one condition: guards are compared.
  const bool swap = AsInt(a) || (!AsInt(b) && PrintExtent(b) < PrintExtent(a));
  Assume(swap ? AsExtent(b) == AsExtent(a) : AsExtent(a) == AsExtent(b));
  return absl::OkStatus();
}

absl::StatusOr<Expr> InferContext::BroadcastExtent(const Expr& a, const Expr& b) const {
  if (IsInt(a, 1)) return b;
  if (IsInt(b, 1)) return a;
  if (AsInt(a) && AsInt(b) && *AsInt(a) != *AsInt(b)) {
    return Error("cannot broadcast extents ", PrintExtent(a), " and ", PrintExtent(b));
  }
  // A symbol that is 1 at run time is refused by the guard: one general version computes with equal extents.
  TW_RETURN_IF_ERROR(RequireEqual(a, b, "an extent"));
  // Which of the two is taken does not depend on what is proven, so that guards do not change types.
  return AsInt(b) ? b : a;
}

absl::StatusOr<std::vector<Expr>> InferContext::Broadcast(const std::vector<Expr>& a,
                                                          const std::vector<Expr>& b) const {
  const std::vector<Expr>& longer = a.size() >= b.size() ? a : b;
  const std::vector<Expr>& shorter = a.size() >= b.size() ? b : a;
  std::vector<Expr> shape = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    TW_ASSIGN_OR_RETURN(shape[offset + i], BroadcastExtent(longer[offset + i], shorter[i]));
  }
  return shape;
}

absl::StatusOr<int64_t> InferContext::Axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) return Error("axis ", axis, " is out of range for rank ", rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace tilewright::graph
