// Reads the tests that come with ONNX: folders of a model and of test_data_set_N/{input,output}_K.pb.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/item.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// The tensors of a file: of a tensor, a sequence or an optional, as `type` says.
struct TestValue {
  Item::Kind kind = Item::Kind::kTensor;
  std::vector<NDArray> arrays;
};
absl::StatusOr<TestValue> ReadTestValue(const std::string& path, const onnx::TypeProto& type);

}  // namespace tilewright::graph
