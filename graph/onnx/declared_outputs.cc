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

bool ExtentsFit(const onnx::TensorShapeProto& declared, const std::vector<Expr>& shape) {
  if (static_cast<size_t>(declared.dim_size()) != shape.size()) return false;
  for (int d = 0; d < declared.dim_size(); ++d) {
    const auto& dim = declared.dim(d);
    const auto extent = AsInt(shape[static_cast<size_t>(d)]);
    // Some tools write a negative extent where they know none.
    if (extent && dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() != *extent) return false;
  }
  return true;
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

absl::Status CheckDeclared(const onnx::ValueInfoProto& output, const Item& item, absl::string_view from, bool extents) {
  if (!item.is_tensor() || !output.type().has_tensor_type()) return absl::OkStatus();
  const auto& declared = output.type().tensor_type();
  const auto dtype = ElementType(declared.elem_type());
  const bool type_fits = !dtype.ok() || *dtype == item.dtype;
  const bool shape_fits = !extents || !declared.has_shape() || ExtentsFit(declared.shape(), item.shape);
  if (type_fits && shape_fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("output \"", output.name(), "\" is declared as ",
                                                 OnnxTypeName(declared.elem_type()), DeclaredShape(declared), ", and ",
                                                 from, " ", Describe(item)));
}

}  // namespace tilewright::graph
