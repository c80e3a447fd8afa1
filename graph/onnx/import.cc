#include "graph/onnx/import.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/graph_importer.h"

namespace tilewright::graph {

std::string UnsupportedNode::ToString() const {
  return absl::StrCat("node \"", name, "\", operator ", op, ", opset ", opset, ", inputs (", inputs, "): ", reason);
}

absl::StatusOr<ImportedModel> ImportModel(ModelFile& file, const OpTable& ops, const ImportOptions& options) {
  ImportedModel result;
  BlockBuilder builder(&ops);
  GraphImporter importer(&file, &builder, &options, &result);
  TW_RETURN_IF_ERROR(importer.ImportMain());
  if (result.unsupported.empty()) result.module = builder.module();
  return result;
}

absl::Status UnsupportedError(const ImportedModel& model) {
  if (model.unsupported.empty()) return absl::OkStatus();
  std::string text = absl::StrCat(model.unsupported.size(), " nodes cannot be imported:");
  for (const UnsupportedNode& node : model.unsupported) absl::StrAppend(&text, "\n  ", node.ToString());
  return absl::UnimplementedError(text);
}

}  // namespace tilewright::graph
