#include "tools/onnxruntime/graph_reader.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/model_file.h"

namespace tilewright::onnxruntime {
namespace {

template <class Object, class Element>
absl::StatusOr<std::vector<const Element*>> List(const Ort& api, const Object* object,
                                                 Entry<ort::ReadCount<Object>> count,
                                                 Entry<ort::ReadList<Object, Element>> list) {
  size_t size = 0;
  TW_RETURN_IF_ERROR(api.Do(count, object, &size));
  std::vector<const Element*> elements(size);
  if (size > 0) TW_RETURN_IF_ERROR(api.Do(list, object, elements.data(), size));
  return elements;
}

template <class Object>
absl::StatusOr<std::string> TextOf(const Ort& api, const Object* object, Entry<ort::Read<Object, const char*>> entry) {
  const char* text = nullptr;
  TW_RETURN_IF_ERROR(api.Do(entry, object, &text));
  return std::string(text == nullptr ? "" : text);
}

absl::StatusOr<std::string> NameOf(const Ort& api, const OrtValueInfo* value) {
  if (value == nullptr) return std::string();  // an optional input or output that is not given
  return TextOf(api, value, ort::kGetValueInfoName);
}

// Fills the value's type where it is a tensor; false where it is something else.
absl::StatusOr<bool> ReadTensorType(const Ort& api, const OrtValueInfo* value, onnx::ValueInfoProto* result) {
  const OrtTypeInfo* type = nullptr;
  TW_RETURN_IF_ERROR(api.Do(ort::kGetValueInfoTypeInfo, value, &type));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  if (type != nullptr) TW_RETURN_IF_ERROR(api.Do(ort::kCastTypeInfoToTensorInfo, type, &tensor));
  if (tensor == nullptr) return false;
  int element = 0;
  TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorElementType, tensor, &element));
  auto* const message = result->mutable_type()->mutable_tensor_type();
  message->set_elem_type(element);
  if (!api[ort::kTensorTypeAndShapeHasShape](tensor)) return true;
  size_t rank = 0;
  TW_RETURN_IF_ERROR(api.Do(ort::kGetDimensionsCount, tensor, &rank));
  std::vector<int64_t> extents(rank);
  std::vector<const char*> names(rank);
  message->mutable_shape();
  if (rank == 0) return true;
  TW_RETURN_IF_ERROR(api.Do(ort::kGetDimensions, tensor, extents.data(), rank));
  TW_RETURN_IF_ERROR(api.Do(ort::kGetSymbolicDimensions, tensor, names.data(), rank));
  for (size_t i = 0; i < rank; ++i) {
    auto* const dim = message->mutable_shape()->add_dim();
    if (extents[i] >= 0) {
      dim->set_dim_value(extents[i]);
    } else if (names[i] != nullptr && *names[i] != '\0') {
      dim->set_dim_param(names[i]);
    }
  }
  return true;
}

// What a tensor is, and where its elements lie; they are not copied. An error for strings.
absl::StatusOr<GivenConstant> ConstantOf(const Ort& api, const OrtValue* value, const std::string& name) {
  GivenConstant constant;
  constant.tensor.set_name(name);
  OrtTensorTypeAndShapeInfo* found = nullptr;
  TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorTypeAndShape, value, &found));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> type(
      found, api[ort::kReleaseTensorTypeAndShapeInfo]);
  int element = 0;
  size_t rank = 0;
  TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorElementType, type.get(), &element));
  TW_RETURN_IF_ERROR(api.Do(ort::kGetDimensionsCount, type.get(), &rank));
  if (element == onnx::TensorProto::STRING) return absl::UnimplementedError("it has a constant of strings");
  std::vector<int64_t> extents(rank);
  if (rank > 0) TW_RETURN_IF_ERROR(api.Do(ort::kGetDimensions, type.get(), extents.data(), rank));
  constant.tensor.set_data_type(element);
  for (int64_t extent : extents) constant.tensor.add_dims(extent);
  TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorData, value, &constant.data));
  TW_RETURN_IF_ERROR(api.Do(ort::kGetTensorSizeInBytes, value, &constant.bytes));
  return constant;
}

absl::StatusOr<onnx::TensorProto> WithElements(GivenConstant constant) {
  constant.tensor.set_raw_data(constant.data, constant.bytes);
  return std::move(constant.tensor);
}

// Reads an attribute whose elements have this type.
template <class T>
absl::StatusOr<std::vector<T>> Elements(const Ort& api, const OrtOpAttr* attribute, int kind) {
  size_t bytes = 0;
  // The first call only asks for the size: it fails where there is anything.
  (void)api.Do(ort::kReadOpAttr, attribute, kind, nullptr, size_t{0}, &bytes);
  std::vector<T> elements((bytes + sizeof(T) - 1) / sizeof(T));
  if (bytes > 0) {
    TW_RETURN_IF_ERROR(api.Do(ort::kReadOpAttr, attribute, kind, elements.data(), elements.size() * sizeof(T), &bytes));
  }
  return elements;
}

// The texts of an attribute, each ended by a zero.
absl::StatusOr<std::vector<std::string>> Texts(const Ort& api, const OrtOpAttr* attribute, int kind) {
  TW_ASSIGN_OR_RETURN(const std::vector<char> bytes, Elements<char>(api, attribute, kind));
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < bytes.size();) {
    const std::string text(bytes.data() + begin, strnlen(bytes.data() + begin, bytes.size() - begin));
    begin += text.size() + 1;
    texts.push_back(text);
  }
  return texts;
}

absl::StatusOr<onnx::TensorProto> TensorOf(const Ort& api, const OrtOpAttr* attribute) {
  OrtValue* value = nullptr;
  TW_RETURN_IF_ERROR(api.Do(ort::kOpAttrGetTensorAttributeAsOrtValue, attribute, &value));
  if (value == nullptr) return absl::UnimplementedError("an attribute is a tensor that ONNX Runtime does not give");
  const std::unique_ptr<OrtValue, void (*)(OrtValue*)> owner(value, api[ort::kReleaseValue]);
  TW_ASSIGN_OR_RETURN(GivenConstant constant, ConstantOf(api, value, ""));
  return WithElements(std::move(constant));
}

absl::Status ReadAttribute(const Ort& api, const OrtOpAttr* attribute, int kind, onnx::AttributeProto* result) {
  switch (kind) {
    case kOrtInt:
    case kOrtInts: {
      TW_ASSIGN_OR_RETURN(const auto numbers, Elements<int64_t>(api, attribute, kind));
      result->set_type(kind == kOrtInt ? onnx::AttributeProto::INT : onnx::AttributeProto::INTS);
      if (kind == kOrtInt && !numbers.empty()) result->set_i(numbers[0]);
      if (kind == kOrtInts) result->mutable_ints()->Add(numbers.begin(), numbers.end());
      return absl::OkStatus();
    }
    case kOrtFloat:
    case kOrtFloats: {
      TW_ASSIGN_OR_RETURN(const auto numbers, Elements<float>(api, attribute, kind));
      result->set_type(kind == kOrtFloat ? onnx::AttributeProto::FLOAT : onnx::AttributeProto::FLOATS);
      if (kind == kOrtFloat && !numbers.empty()) result->set_f(numbers[0]);
      if (kind == kOrtFloats) result->mutable_floats()->Add(numbers.begin(), numbers.end());
      return absl::OkStatus();
    }
    case kOrtString:
    case kOrtStrings: {
      TW_ASSIGN_OR_RETURN(const auto texts, Texts(api, attribute, kind));
      result->set_type(kind == kOrtString ? onnx::AttributeProto::STRING : onnx::AttributeProto::STRINGS);
      if (kind == kOrtString) result->set_s(texts.empty() ? "" : texts[0]);
      if (kind == kOrtStrings) result->mutable_strings()->Add(texts.begin(), texts.end());
      return absl::OkStatus();
    }
    case kOrtTensor: {
      TW_ASSIGN_OR_RETURN(*result->mutable_t(), TensorOf(api, attribute));
      result->set_type(onnx::AttributeProto::TENSOR);
      return absl::OkStatus();
    }
    default:
      return absl::UnimplementedError(
          absl::StrCat("ONNX Runtime does not give the value of attribute \"", result->name(), "\""));
  }
}

// Reads graphs, nodes and their bodies. Errors are of what the messages cannot say, or ONNX Runtime does not give.
class Reader {
 public:
  Reader(const Ort& api, GivenGraph* result) : api_(api), result_(*result) {}

  absl::Status ReadNode(const OrtNode* handle, size_t number, onnx::NodeProto* node) {
    TW_ASSIGN_OR_RETURN(*node->mutable_op_type(), TextOf(api_, handle, ort::kNodeGetOperatorType));
    TW_ASSIGN_OR_RETURN(*node->mutable_domain(), TextOf(api_, handle, ort::kNodeGetDomain));
    TW_ASSIGN_OR_RETURN(std::string name, TextOf(api_, handle, ort::kNodeGetName));
    if (name.empty()) name = node->op_type();
    while (!result_.node_numbers.emplace(name, number).second) absl::StrAppend(&name, "_");
    node->set_name(name);
    TW_ASSIGN_OR_RETURN(const auto inputs, InputsOf(api_, handle));
    TW_ASSIGN_OR_RETURN(const auto outputs, OutputsOf(api_, handle));
    TW_ASSIGN_OR_RETURN(const auto reads, NamesOf(api_, inputs));
    TW_ASSIGN_OR_RETURN(const auto writes, NamesOf(api_, outputs));
    for (const std::string& read : reads) node->add_input(read);
    for (const std::string& write : writes) node->add_output(write);
    TW_RETURN_IF_ERROR(Note(inputs));
    TW_RETURN_IF_ERROR(Note(outputs));
    TW_RETURN_IF_ERROR(ReadAttributes(handle, node));
    return ReadBodies(handle, number, node);
  }

  // Keeps the types of values that are tensors.
  absl::Status Note(const std::vector<const OrtValueInfo*>& values) {
    for (const OrtValueInfo* value : values) {
      if (value == nullptr) continue;
      onnx::ValueInfoProto tensor;
      TW_ASSIGN_OR_RETURN(*tensor.mutable_name(), NameOf(api_, value));
      if (tensor.name().empty() || result_.tensors.contains(tensor.name())) continue;
      TW_ASSIGN_OR_RETURN(const bool is_tensor, ReadTensorType(api_, value, &tensor));
      if (is_tensor) result_.tensors.emplace(tensor.name(), tensor);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ReadAttributes(const OrtNode* handle, onnx::NodeProto* node) {
    TW_ASSIGN_OR_RETURN(const auto attributes, List(api_, handle, ort::kNodeGetNumAttributes, ort::kNodeGetAttributes));
    for (const OrtOpAttr* attribute : attributes) {
      int kind = 0;
      onnx::AttributeProto message;
      TW_RETURN_IF_ERROR(api_.Do(ort::kOpAttrGetType, attribute, &kind));
      if (kind == kOrtGraph) continue;  // read as a body
      TW_ASSIGN_OR_RETURN(*message.mutable_name(), TextOf(api_, attribute, ort::kOpAttrGetName));
      TW_RETURN_IF_ERROR(ReadAttribute(api_, attribute, kind, &message));
      *node->add_attribute() = std::move(message);
    }
    return absl::OkStatus();
  }

  absl::Status ReadBodies(const OrtNode* handle, size_t number, onnx::NodeProto* node) {
    size_t count = 0;
    TW_RETURN_IF_ERROR(api_.Do(ort::kNodeGetNumSubgraphs, handle, &count));
    std::vector<const OrtGraph*> bodies(count);
    std::vector<const char*> names(count);
    if (count > 0) {
      TW_RETURN_IF_ERROR(api_.Do(ort::kNodeGetSubgraphs, handle, bodies.data(), count, names.data()));
    }
    for (size_t i = 0; i < count; ++i) {
      onnx::AttributeProto* const attribute = node->add_attribute();
      attribute->set_name(names[i]);
      attribute->set_type(onnx::AttributeProto::GRAPH);
      TW_RETURN_IF_ERROR(ReadBody(bodies[i], number, attribute->mutable_g()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadBody(const OrtGraph* body, size_t number, onnx::GraphProto* message) {
    message->set_name("body");
    TW_ASSIGN_OR_RETURN(const auto inputs, List(api_, body, ort::kGraphGetNumInputs, ort::kGraphGetInputs));
    TW_ASSIGN_OR_RETURN(const auto outputs, List(api_, body, ort::kGraphGetNumOutputs, ort::kGraphGetOutputs));
    TW_ASSIGN_OR_RETURN(const auto constants,
                        List(api_, body, ort::kGraphGetNumInitializers, ort::kGraphGetInitializers));
    TW_ASSIGN_OR_RETURN(const auto nodes, NodesOf(api_, body));
    for (const OrtValueInfo* constant : constants) {
      const OrtValue* value = nullptr;
      TW_RETURN_IF_ERROR(api_.Do(ort::kValueInfoGetInitializerValue, constant, &value));
      TW_ASSIGN_OR_RETURN(const std::string name, NameOf(api_, constant));
      if (value == nullptr) return absl::UnimplementedError(absl::StrCat("the value of \"", name, "\" is not given"));
      TW_ASSIGN_OR_RETURN(GivenConstant given, ConstantOf(api_, value, name));
      TW_ASSIGN_OR_RETURN(*message->add_initializer(), WithElements(std::move(given)));
    }
    for (const OrtNode* node : nodes) TW_RETURN_IF_ERROR(ReadNode(node, number, message->add_node()));
    for (const OrtValueInfo* input : inputs) TW_RETURN_IF_ERROR(Declare(input, message->add_input()));
    for (const OrtValueInfo* output : outputs) TW_RETURN_IF_ERROR(Declare(output, message->add_output()));
    return absl::OkStatus();
  }

  absl::Status Declare(const OrtValueInfo* value, onnx::ValueInfoProto* message) {
    TW_ASSIGN_OR_RETURN(*message->mutable_name(), NameOf(api_, value));
    return ReadTensorType(api_, value, message).status();
  }

  const Ort& api_;
  GivenGraph& result_;
};

absl::Status ReadVersions(const Ort& api, const OrtGraph* graph, onnx::ModelProto* head) {
  int64_t version = 0;
  size_t count = 0;
  TW_RETURN_IF_ERROR(api.Do(ort::kGraphGetOnnxIRVersion, graph, &version));
  TW_RETURN_IF_ERROR(api.Do(ort::kGraphGetNumOperatorSets, graph, &count));
  std::vector<const char*> domains(count);
  std::vector<int64_t> versions(count);
  if (count > 0) {
    TW_RETURN_IF_ERROR(api.Do(ort::kGraphGetOperatorSets, graph, domains.data(), versions.data(), count));
  }
  head->set_ir_version(version);
  for (size_t i = 0; i < count; ++i) {
    auto* const opset = head->add_opset_import();
    opset->set_domain(domains[i]);
    opset->set_version(versions[i]);
  }
  return absl::OkStatus();
}

// Constants that no caller may replace. Those that cannot be given are left out.
absl::Status ReadConstants(const Ort& api, const OrtGraph* graph, GivenGraph* result) {
  TW_ASSIGN_OR_RETURN(const auto values, List(api, graph, ort::kGraphGetNumInitializers, ort::kGraphGetInitializers));
  for (const OrtValueInfo* info : values) {
    bool is_constant = false;
    const OrtValue* value = nullptr;
    TW_RETURN_IF_ERROR(api.Do(ort::kValueInfoIsConstantInitializer, info, &is_constant));
    if (!is_constant) continue;
    TW_RETURN_IF_ERROR(api.Do(ort::kValueInfoGetInitializerValue, info, &value));
    TW_ASSIGN_OR_RETURN(const std::string name, NameOf(api, info));
    if (value == nullptr) continue;
    auto constant = ConstantOf(api, value, name);
    if (constant.ok()) result->constants.emplace(name, *std::move(constant));
  }
  return absl::OkStatus();
}

// In order: each node after those whose results it reads.
std::vector<GivenNode> InOrder(std::vector<GivenNode> nodes) {
  std::map<std::string, size_t> writers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].node.output()) writers.emplace(output, i);
  }
  std::vector<std::vector<size_t>> readers(nodes.size());
  std::vector<size_t> waits(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& read : nodes[i].reads) {
      const auto writer = writers.find(read);
      if (writer == writers.end()) continue;
      readers[writer->second].push_back(i);
      ++waits[i];
    }
  }
  std::set<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (waits[i] == 0) ready.insert(i);
  }
  std::vector<GivenNode> ordered;
  while (!ready.empty()) {
    const size_t next = *ready.begin();
    ready.erase(ready.begin());
    for (size_t reader : readers[next]) {
      if (--waits[reader] == 0) ready.insert(reader);
    }
    ordered.push_back(std::move(nodes[next]));
  }
  return ordered;
}

void AppendVarint(uint64_t number, std::string* bytes) {
  for (; number >= 0x80; number >>= 7) bytes->push_back(static_cast<char>(number | 0x80));
  bytes->push_back(static_cast<char>(number));
}

// The first byte of a field whose value is preceded by its length.
void AppendField(int field, uint64_t length, std::string* bytes) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | 2, bytes);
  AppendVarint(length, bytes);
}

// Why a value cannot cross the border of a set; empty: it can.
std::string BorderObstacle(const GivenGraph& graph, const std::string& name, bool enters) {
  const auto value = graph.tensors.find(name);
  if (value == graph.tensors.end()) return absl::StrCat("\"", name, "\" is not a tensor");
  const auto& type = value->second.type().tensor_type();
  if (!graph::ElementType(type.elem_type()).ok() || graph::NarrowBits(type.elem_type()) != 0) {
    return absl::StrCat("\"", name, "\" is a tensor of ", graph::OnnxTypeName(type.elem_type()));
  }
  if (enters && !type.has_shape()) return absl::StrCat("the rank of \"", name, "\" is not known");
  return "";
}

}  // namespace

absl::StatusOr<std::vector<std::string>> NamesOf(const Ort& api, const std::vector<const OrtValueInfo*>& values) {
  std::vector<std::string> names;
  for (const OrtValueInfo* value : values) {
    TW_ASSIGN_OR_RETURN(names.emplace_back(), NameOf(api, value));
  }
  return names;
}

absl::StatusOr<std::vector<const OrtValueInfo*>> InputsOf(const Ort& api, const OrtNode* node) {
  return List(api, node, ort::kNodeGetNumInputs, ort::kNodeGetInputs);
}

absl::StatusOr<std::vector<const OrtValueInfo*>> OutputsOf(const Ort& api, const OrtNode* node) {
  return List(api, node, ort::kNodeGetNumOutputs, ort::kNodeGetOutputs);
}

absl::StatusOr<std::vector<const OrtNode*>> NodesOf(const Ort& api, const OrtGraph* graph) {
  return List(api, graph, ort::kGraphGetNumNodes, ort::kGraphGetNodes);
}

absl::StatusOr<GivenGraph> ReadGraph(const Ort& api, const OrtGraph* graph) {
  GivenGraph result;
  TW_RETURN_IF_ERROR(ReadVersions(api, graph, &result.head));
  TW_ASSIGN_OR_RETURN(const auto outputs, List(api, graph, ort::kGraphGetNumOutputs, ort::kGraphGetOutputs));
  TW_ASSIGN_OR_RETURN(const auto output_names, NamesOf(api, outputs));
  result.outputs.insert(output_names.begin(), output_names.end());
  TW_RETURN_IF_ERROR(ReadConstants(api, graph, &result));
  TW_ASSIGN_OR_RETURN(const auto handles, NodesOf(api, graph));
  Reader reader(api, &result);
  for (const OrtNode* handle : handles) {
    GivenNode node{.handle = handle};
    node.obstacle = std::string(reader.ReadNode(handle, result.nodes.size(), &node.node).message());
    TW_ASSIGN_OR_RETURN(const auto implicit,
                        List(api, handle, ort::kNodeGetNumImplicitInputs, ort::kNodeGetImplicitInputs));
    TW_RETURN_IF_ERROR(reader.Note(implicit));
    TW_ASSIGN_OR_RETURN(const auto around, NamesOf(api, implicit));
    node.reads.insert(around.begin(), around.end());
    node.reads.insert(node.node.input().begin(), node.node.input().end());
    node.reads.erase("");
    result.nodes.push_back(std::move(node));
  }
  const std::map<std::string, size_t> numbers = std::exchange(result.node_numbers, {});
  std::map<const OrtNode*, size_t> places;
  std::vector<const OrtNode*> before;
  for (const GivenNode& node : result.nodes) before.push_back(node.handle);
  result.nodes = InOrder(std::move(result.nodes));
  for (size_t i = 0; i < result.nodes.size(); ++i) places[result.nodes[i].handle] = i;
  for (const auto& [name, number] : numbers) result.node_numbers[name] = places.at(before[number]);
  return result;
}

SetModel ModelOf(const GivenGraph& graph, const std::vector<size_t>& nodes) {
  SetModel result{.model = graph.head};
  onnx::GraphProto& message = *result.model.mutable_graph();
  message.set_name("nodes");
  const std::set<size_t> inside(nodes.begin(), nodes.end());
  std::set<std::string> written, entered, needed = graph.outputs;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!inside.contains(i)) needed.insert(graph.nodes[i].reads.begin(), graph.nodes[i].reads.end());
  }
  for (size_t i : nodes) {
    const GivenNode& node = graph.nodes[i];
    const auto forbid = [&](const std::string& obstacle) {
      if (!obstacle.empty()) result.obstacles.emplace(i, obstacle);
    };
    for (const std::string& read : node.reads) {
      if (written.contains(read)) continue;
      if (const auto constant = graph.constants.find(read); constant != graph.constants.end()) {
        if (entered.insert(read).second) result.constants.push_back(&constant->second);
        continue;
      }
      const std::string obstacle = BorderObstacle(graph, read, /*enters=*/true);
      forbid(obstacle);
      if (obstacle.empty() && entered.insert(read).second) *message.add_input() = graph.tensors.at(read);
    }
    *message.add_node() = node.node;
    for (const std::string& write : node.node.output()) {
      if (write.empty()) continue;
      written.insert(write);
      if (!needed.contains(write)) continue;
      forbid(BorderObstacle(graph, write, /*enters=*/false));
      auto* const output = message.add_output();
      output->set_name(write);
      const auto type = graph.tensors.find(write);
      if (type == graph.tensors.end()) continue;
      output->mutable_type()->mutable_tensor_type()->set_elem_type(type->second.type().tensor_type().elem_type());
    }
  }
  return result;
}

// Messages that stand twice are one: each constant is a graph of its own with one initializer, so that its elements are
// copied once, and that messages may take more than 2 GiB.
std::string SetModel::Bytes() const {
  constexpr int kGraph = onnx::ModelProto::kGraphFieldNumber, kTensor = onnx::GraphProto::kInitializerFieldNumber,
                kElements = onnx::TensorProto::kRawDataFieldNumber;
  std::string bytes = model.SerializeAsString();
  size_t all = bytes.size();
  constexpr size_t kMostHead = 64;  // bytes that fields take beside the tensor's own
  for (const GivenConstant* constant : constants) all += constant->bytes + constant->tensor.ByteSizeLong() + kMostHead;
  bytes.reserve(all);
  for (const GivenConstant* constant : constants) {
    std::string head = constant->tensor.SerializeAsString(), tensor;
    AppendField(kElements, constant->bytes, &head);
    AppendField(kTensor, head.size() + constant->bytes, &tensor);
    AppendField(kGraph, tensor.size() + head.size() + constant->bytes, &bytes);
    bytes.append(tensor).append(head);
    if (constant->bytes > 0) bytes.append(static_cast<const char*>(constant->data), constant->bytes);
  }
  return bytes;
}

}  // namespace tilewright::onnxruntime
