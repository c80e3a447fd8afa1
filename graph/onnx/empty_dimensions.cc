#include "graph/onnx/empty_dimensions.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "graph/onnx/model_file.h"

namespace tilewright::graph {
namespace {

// An operator that takes a cache, the number of that input, and the dimension along which the cache grows.
struct CacheInput {
  const char* domain;
  const char* op;
  int input, axis;
};
constexpr CacheInput kCacheInputs[] = {
    {"com.microsoft", "GroupQueryAttention", 3, 2},
    {"com.microsoft", "GroupQueryAttention", 4, 2},
    {"com.microsoft", "MultiHeadAttention", 6, 2},
    {"com.microsoft", "MultiHeadAttention", 7, 2},
    {"com.microsoft", "Attention", 4, 3},
    {"", "Attention", 4, 2},
    {"", "Attention", 5, 2},
};

class Reader {
 public:
  explicit Reader(const onnx::GraphProto& graph) {
    for (const auto& input : graph.input()) inputs_[input.name()] = &input;
    ReadNodes(graph);
  }

  std::set<std::string> Find() const {
    std::set<std::string> joined, other;
    for (const auto& [name, input] : inputs_) {
      const auto& dims = input->type().tensor_type().shape().dim();
      for (int i = 0; i < dims.size(); ++i) {
        if (dims[i].has_dim_value()) continue;
        (joined_.contains({name, i}) && !other_.contains({name, i}) ? joined : other).insert(DimensionName(*input, i));
      }
    }
    for (const std::string& name : other) joined.erase(name);
    return joined;
  }

 private:
  void ReadNodes(const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (int i = 0; i < node.input_size(); ++i) {
        if (const auto input = inputs_.find(node.input(i)); input != inputs_.end()) AddUse(node, i, *input->second);
      }
      for (const auto& attribute : node.attribute()) {
        ReadNodes(attribute.g());
        for (const auto& body : attribute.graphs()) ReadNodes(body);
      }
    }
  }

  void AddUse(const onnx::NodeProto& node, int number, const onnx::ValueInfoProto& input) {
    const std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    if (domain.empty() && node.op_type() == "Shape") return;
    const int rank = input.type().tensor_type().shape().dim_size();
    int axis = -1;
    // Joined to what is not an input, and so has elements.
    const auto is_computed = [&](const std::string& name) { return !inputs_.contains(name); };
    if (domain.empty() && node.op_type() == "Concat" && std::ranges::any_of(node.input(), is_computed)) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() != "axis") continue;
        axis = static_cast<int>(attribute.i() < 0 ? attribute.i() + rank : attribute.i());
      }
    }
    for (const CacheInput& cache : kCacheInputs) {
      if (domain == cache.domain && node.op_type() == cache.op && number == cache.input) axis = cache.axis;
    }
    for (int i = 0; i < rank; ++i) (i == axis ? joined_ : other_).insert({input.name(), i});
  }

  std::map<std::string, const onnx::ValueInfoProto*> inputs_;
  std::set<std::pair<std::string, int>> joined_, other_;  // dimensions along which something is joined; other uses
};

}  // namespace

std::set<std::string> DimensionsThatMayBeEmpty(const onnx::GraphProto& graph) { return Reader(graph).Find(); }

}  // namespace tilewright::graph
