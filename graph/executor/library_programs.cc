#include "graph/executor/library_programs.h"

#include "absl/strings/str_cat.h"
#include "graph/ir/call_types.h"
#include "ir/ops/determinant.h"
#include "ir/ops/selection.h"

namespace tilewright::graph {
namespace {

absl::StatusOr<Value> LowerTopK(BlockBuilder& builder, const CallNode& call, const Type& out) {
  const int64_t axis = *call.attrs.at("axis").As<int64_t>();
  const bool largest = *call.attrs.at("largest").As<bool>();
  const Expr& count = (*TensorsOf(out)[0]->shape)[static_cast<size_t>(axis)];
  if (const auto k = AsInt(count); k && *k < 1) {
    return absl::UnimplementedError(absl::StrCat("TopK in a library takes a k of at least 1, not ", *k));
  }
  ProgramWriter p(&builder, "top_k");
  const Buffer x = p.Input(call.args[0]);
  builder.Assume(AsExtent(count) >= Extent(1));
  builder.Assume(AsExtent(x->shape[static_cast<size_t>(axis)]) >= AsExtent(count));
  const auto best = tilewright::ops::TopK(p.f(), x, static_cast<int>(axis), count, largest);
  return p.Call({best.values, best.positions}, out);
}

absl::StatusOr<Value> LowerDeterminant(BlockBuilder& builder, const CallNode& call, const Type& out) {
  ProgramWriter p(&builder, "determinant");
  const Buffer x = p.Input(call.args[0]);
  return p.Call({tilewright::ops::Determinant(p.f(), x)}, out);
}

}  // namespace

void AddLibraryPrograms(LoweringTable* lowerings) {
  lowerings->Add("host.determinant", LowerDeterminant);
  lowerings->Add("host.top_k", LowerTopK);
}

}  // namespace tilewright::graph
