#include "graph/onnx/declared_outputs.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/onnx/model_file.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

// " of (2, n, ?)"; nothing where no shape is declared.
std::string DeclaredShape(const onnx::TypeProto::Tensor& type) {
  if (!type.has_shape()) return "";
  std::vector<std::string> extents;
  for (const auto& dim : type.shape().dim()) {
    const std::string symbol = dim.dim_param().empty() ? "?" : dim.dim_param();
    extents.push_back(dim.has_dim_value() ? absl::StrCat(dim.dim_value()) : symbol);
  }
  return absl::StrCat(" of (", absl::StrJoin(extents, ", "), ")");
}

}  // namespace

std::string Describe(const Item& item) {
  switch (item.kind) {
    case Item::Kind::kAbsent:
      return "-";
    case Item::Kind::kTensor:
      return ToString(item.type());
    case Item::Kind::kSequence:
      return absl::StrCat("sequence of ", item.elements.size());
    case Item::Kind::kOptional:
      return item.elements.empty() ? "optional without element" : absl::StrCat("optional ", Describe(item.elements[0]));
  }
  return "";
}

absl::Status CheckDeclared(const onnx::ValueInfoProto& output, const Item& item, absl::string_view from) {
  if (!item.is_tensor() || !output.type().has_tensor_type()) return absl::OkStatus();
  const auto& declared = output.type().tensor_type();
  const auto dtype = ElementType(declared.elem_type());
  if (!dtype.ok() || *dtype == item.dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("output \"", output.name(), "\" is declared as ",
                                                 OnnxTypeName(declared.elem_type()), DeclaredShape(declared), ", and ",
                                                 from, " ", Describe(item)));
}

}  // namespace tilewright::graph
