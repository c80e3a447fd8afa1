// Models that are written as long as a test wants them, for questions about growth.
//
//   for (const GrowingModel& kind : GrowingModels()) Compare(kind.write(12), kind.write(24));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/onnx/testing.h"

namespace tilewright::graph {

struct GrowingModel {
  std::string name;
  std::function<ModelWriter(int size)> write;
};

const std::vector<GrowingModel>& GrowingModels();

}  // namespace tilewright::graph
