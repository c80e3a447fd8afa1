#include "ir/script/buffer_printer.h"

#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "ir/functor.h"

namespace tilewright::script {

// Sizes are all known, everything else has its default: T.Buffer((16, 16), "float32") says it all.
bool BufferPrinter::IsSimple(const Buffer& buffer) {
  if (!buffer->strides.empty() || buffer->alignment != 64 || buffer->offset_factor != 1 || buffer->layout) return false;
  if (buffer->elem_offset && !IsInt(buffer->elem_offset, 0)) return false;
  if (buffer->scope.text() != "global") return false;
  bool known = true;
  for (const Expr& extent : buffer->shape) {
    PreOrder(extent, [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      known = known && (var == nullptr || names_.IsDefined(var));
      return known;
    });
  }
  return known;
}

std::vector<const VarNode*> BufferPrinter::SizesToDefine(const Buffer& buffer) {
  // Strides and the offset that are variables of their own are defined in place, unless they are used twice.
  std::unordered_map<const VarNode*, int> uses;
  std::vector<const VarNode*> order;
  auto count = [&](const Expr& e) {
    PreOrder(e, [&](const Expr& sub) {
      const auto* var = dyn_cast<VarNode>(sub);
      if (var != nullptr && !names_.IsDefined(var) && uses[var]++ == 0) order.push_back(var);
      return true;
    });
  };
  for (const Expr& extent : buffer->shape) count(extent);
  std::unordered_set<const VarNode*> in_place;
  const size_t from_shape = order.size();
  for (const Expr& stride : buffer->strides) {
    count(stride);
    const auto* var = dyn_cast<VarNode>(stride);
    if (var != nullptr && var->dtype() == DataType::Int(32)) in_place.insert(var);
  }
  if (buffer->elem_offset) {
    count(buffer->elem_offset);
    const auto* var = dyn_cast<VarNode>(buffer->elem_offset);
    const DataType assumed = buffer->shape.empty() ? DataType::Int(32) : buffer->shape[0].dtype();
    if (var != nullptr && var->dtype() == assumed) in_place.insert(var);
  }
  std::vector<const VarNode*> result;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool defined_in_place = i >= from_shape && in_place.contains(order[i]) && uses[order[i]] == 1;
    if (!defined_in_place) result.push_back(order[i]);
  }
  return result;
}

std::string BufferPrinter::Text(const Buffer& buffer, const BufferTextOptions& options, std::string* name) {
  std::string text = exprs_.Tuple(buffer->shape);
  if (options.type || buffer->dtype != DataType::Float(32)) {
    absl::StrAppend(&text, ", \"", buffer->dtype.ToString(), "\"");
  }
  if (options.data) absl::StrAppend(&text, ", data=", names_.TextOf(buffer->data.get()));
  const bool announced = !options.data && names_.IsAnnounced(buffer->data.get());
  *name = announced ? names_.DefineAnnounced(buffer.get()) : names_.Define(buffer.get());
  if (!names_.IsDefined(buffer->data.get())) names_.DefineAs(buffer->data.get(), absl::StrCat(*name, ".data"));
  if (!buffer->strides.empty()) {
    text += ", strides=(";
    for (size_t i = 0; i < buffer->strides.size(); ++i) {
      const Expr& stride = buffer->strides[i];
      const auto* var = dyn_cast<VarNode>(stride);
      if (i != 0) text += ", ";
      if (var != nullptr && !names_.IsDefined(var)) {
        text += Quote(var->name);
        names_.DefineAs(var, absl::StrCat(*name, ".strides[", i, "]"));
      } else {
        text += exprs_.Text(stride);
      }
    }
    text += buffer->strides.size() == 1 ? ",)" : ")";
  }
  bool needs_factor = buffer->offset_factor != 1;
  const auto* offset_var = dyn_cast<VarNode>(buffer->elem_offset);
  if (offset_var != nullptr && !names_.IsDefined(offset_var)) {
    names_.DefineAs(offset_var, absl::StrCat(*name, ".elem_offset"));
    needs_factor = true;
  } else if (buffer->elem_offset && !IsInt(buffer->elem_offset, 0)) {
    absl::StrAppend(&text, ", elem_offset=", exprs_.Text(buffer->elem_offset));
  } else if (needs_factor) {
    text += ", elem_offset=0";
  }
  if (options.scope || buffer->scope.text() != "global") {
    absl::StrAppend(&text, ", scope=", Quote(buffer->scope.text()));
  }
  if (buffer->alignment != 64) absl::StrAppend(&text, ", align=", buffer->alignment);
  if (needs_factor) absl::StrAppend(&text, ", offset_factor=", buffer->offset_factor);
  if (buffer->layout) {
    absl::StrAppend(&text, ", layout=T.layout(", exprs_.Text(buffer->layout.map),
                    ", owner_dims=", buffer->layout.owner_dims, ", shape=", exprs_.Tuple(buffer->layout.shape), ")");
  }
  return text;
}

}  // namespace tilewright::script
