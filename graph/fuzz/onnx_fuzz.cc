// Any bytes as an ONNX file: a graph, a list of what is not supported, or an error with a message.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "base/check.h"
#include "graph/host/host_ops.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/import.h"
#include "graph/onnx/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tilewright;
  static const graph::OpTable* const ops = [] {
    auto* table = new graph::OpTable;
    graph::AddBasicOps(table);
    graph::AddHostOps(table);
    return table;
  }();
  // Tensors point into the file, so the bytes are copied to where nothing else lies next to them.
  const auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(data), size);
  auto file = graph::ModelFile::FromBytes(
      bytes, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()), "");
  if (!file.ok()) {
    TW_CHECK(!file.status().message().empty());
    return 0;
  }
  const auto imported = graph::ImportModel(**file, *ops);
  TW_CHECK(imported.ok() || !imported.status().message().empty());
  return 0;
}
