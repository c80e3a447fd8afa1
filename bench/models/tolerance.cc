#include "bench/models/tolerance.h"

#include <algorithm>

namespace tilewright::bench {
namespace {

constexpr double kOfRoundedActivations = 1e-2;
constexpr int64_t kLevelOfBytes = 4;

bool RoundsActivations(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
    return attribute.name() == "accuracy_level" && attribute.i() == kLevelOfBytes;
  });
}

}  // namespace

double ToleranceOf(const onnx::ModelProto& model, double of_type) {
  const bool rounds = std::ranges::any_of(model.graph().node(), RoundsActivations);
  return rounds ? std::max(of_type, kOfRoundedActivations) : of_type;
}

}  // namespace tilewright::bench
