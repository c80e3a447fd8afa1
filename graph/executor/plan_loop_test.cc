// Loops in plans of libraries: exported and loaded, they compute what the executor computes in this process.
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/abi/abi_type.h"
#include "codegen/runtime/loaded_module.h"
#include "gmock/gmock.h"
#include "graph/executor/export_model.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/planned_function.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "target/target.h"

namespace tilewright::graph {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;
using ::testing::HasSubstr;
using Dims = std::vector<ModelWriter::Dim>;

onnx::GraphProto& BodyOf(onnx::NodeProto* node) {
  auto* body = node->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  return *body->mutable_g();
}
void Add(onnx::GraphProto& g, const std::string& op, const std::vector<std::string>& in, const std::string& out) {
  ModelWriter::AddNode(g.add_node(), op, in, {out});
}
void In(onnx::GraphProto& g, const std::string& name, int32_t type, const Dims& dims) {
  ModelWriter::AddValue(g.add_input(), name, type, dims);
}
void Out(onnx::GraphProto& g, const std::string& name, int32_t type, const Dims& dims) {
  ModelWriter::AddValue(g.add_output(), name, type, dims);
}

NDArray Uniform(std::vector<int64_t> shape, uint64_t seed) {
  NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, seed, -1, 1);
  return array;
}
NDArray Int(int64_t value) {
  NDArray array(DataType::Int(64), {});
  array.SetInt(0, value);
  return array;
}

NDArray Ints(std::vector<int64_t> shape) { return {DataType::Int(64), std::move(shape)}; }

TwTensor View(const NDArray& array) {
  return {.data = array.data(),
          .device = {kTwCpu, 0},
          .ndim = static_cast<int32_t>(array.shape().size()),
          .dtype = AbiType(array.dtype()),
          .shape = const_cast<int64_t*>(array.shape().data())};
}

// A model in this process, and its library.
class Both {
 public:
  explicit Both(const ModelWriter& m) : folder_(fs::path(::testing::TempDir()) / "loops") {
    fs::create_directories(folder_);
    auto host = OnnxModel::Load(*m.File(), {}), library = OnnxModel::Load(*m.File(), {.as_library = true});
    EXPECT_TRUE(host.ok()) << host.status();
    EXPECT_TRUE(library.ok()) << library.status();
    if (!host.ok() || !library.ok()) return;
    host_ = *std::move(host);
    EXPECT_EQ(host_->executor().planned(), nullptr) << "the host runs the loop itself";
    const PlannedFunction* planned = (*library)->executor().planned();
    EXPECT_NE(planned, nullptr);
    if (planned == nullptr) return;
    loops_ = planned->plan().loops.size();
    const std::string path = (folder_ / "model.so").string();
    const absl::Status status = ExportFunction(*planned, {.name = "model", .path = path, .target = HostTarget()});
    EXPECT_TRUE(status.ok()) << status;
    std::string error;
    module_ = runtime::LoadedModule::Open(path, &error);
    EXPECT_TRUE(module_.has_value()) << error;
  }
  ~Both() { fs::remove_all(folder_); }

  bool good() const { return module_.has_value(); }
  size_t loops() const { return loops_; }

  // The message of a call with these inputs and results.
  std::string Refusal(const Arrays& arrays) const {
    char message[256] = "";
    EXPECT_NE(Call(arrays, message), kTwOk);
    return message;
  }

  // `arrays`: of the model's inputs, in order.
  void Compare(const Arrays& arrays) const {
    ASSERT_TRUE(good());
    OnnxModel::Inputs inputs;
    for (size_t i = 0; i < arrays.size(); ++i) {
      inputs[host_->imported().inputs[i].name] = {Item::Kind::kTensor, {arrays[i]}};
    }
    const auto want = host_->Run(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    Arrays all = arrays;
    for (const OnnxModel::Tensors& result : *want) {
      all.emplace_back(result.arrays[0].dtype(), result.arrays[0].shape());
      std::memset(all.back().data(), 77, static_cast<size_t>(all.back().bytes()));
    }
    char message[256] = "";
    ASSERT_EQ(Call(all, message), kTwOk) << message;
    for (size_t i = 0; i < want->size(); ++i) {
      EXPECT_LE(MaxError(all[arrays.size() + i], (*want)[i].arrays[0]).max_rel, 1e-5) << "result " << i;
    }
  }

 private:
  int Call(const Arrays& arrays, char (&message)[256]) const {
    std::vector<TwTensor> tensors;
    for (const NDArray& array : arrays) tensors.push_back(View(array));
    std::vector<TwTensor*> args;
    for (TwTensor& tensor : tensors) args.push_back(&tensor);
    const TwCall call = {.message = message, .message_bytes = sizeof message};
    return module_->Find("model")(&call, args.data(), static_cast<int32_t>(args.size()));
  }

  const fs::path folder_;
  std::unique_ptr<OnnxModel> host_;
  size_t loops_ = 0;
  std::optional<runtime::LoadedModule> module_;
};

// A recurrence with weights: h' = tanh(x W + h V), of any length and batch; the rows of a second sequence are added.
ModelWriter Recurrence(const std::vector<int64_t>& directions) {
  ModelWriter m(17);
  m.Input("h0", TensorProto::FLOAT, {"b", 8});
  m.Input("x", TensorProto::FLOAT, {"n", "b", 4});
  m.Input("more", TensorProto::FLOAT, {"n", 8});
  std::vector<float> w(32), v(64);
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0.1f * static_cast<float>(i % 7) - 0.3f;
  for (size_t i = 0; i < v.size(); ++i) v[i] = 0.05f * static_cast<float>(i % 11) - 0.2f;
  m.Floats("w", {4, 8}, w);
  m.Floats("v", {8, 8}, v);
  onnx::NodeProto* scan = m.Node("Scan", {"h0", "x", "more"}, {"last", "all"});
  ModelWriter::SetInt(scan, "num_scan_inputs", 2);
  if (!directions.empty()) {
    for (const char* name : {"scan_input_directions", "scan_output_directions"}) {
      auto* attribute = scan->add_attribute();
      attribute->set_name(name);
      attribute->set_type(onnx::AttributeProto::INTS);
      for (const int64_t d : directions) attribute->add_ints(d);
      if (std::string(name) == "scan_output_directions") attribute->mutable_ints()->Truncate(1);
    }
  }
  onnx::GraphProto& g = BodyOf(scan);
  Add(g, "MatMul", {"xt", "w"}, "xw");
  Add(g, "MatMul", {"h", "v"}, "hv");
  Add(g, "Add", {"xw", "hv"}, "sum");
  Add(g, "Add", {"sum", "mt"}, "more_sum");
  Add(g, "Tanh", {"more_sum"}, "next");
  Add(g, "Neg", {"next"}, "row");
  In(g, "h", TensorProto::FLOAT, {"b", 8});
  In(g, "xt", TensorProto::FLOAT, {"b", 4});
  In(g, "mt", TensorProto::FLOAT, {8});
  Out(g, "next", TensorProto::FLOAT, {"b", 8});
  Out(g, "row", TensorProto::FLOAT, {"b", 8});
  m.Node("Mul", {"last", "h0"}, {"scaled"});
  m.Output("scaled");
  m.Output("all");
  return m;
}

TEST(PlanLoop, ScansOfAnyLength) {
  for (const std::vector<int64_t>& directions : {std::vector<int64_t>{}, {1, 0}, {1, 1}}) {
    const Both both(Recurrence(directions));
    ASSERT_TRUE(both.good());
    EXPECT_EQ(both.loops(), 1u);
    for (const int64_t n : {1, 3, 17}) {
      for (const int64_t b : {1, 5}) {
        SCOPED_TRACE(absl::StrCat(n, " x ", b));
        both.Compare({Uniform({b, 8}, 1), Uniform({n, b, 4}, 2), Uniform({n, 8}, 3)});
      }
    }
  }
}

// More elements than are imported one by one.
TEST(PlanLoop, LongScans) {
  ModelWriter m(17);
  m.Input("s", TensorProto::FLOAT, {3});
  m.Input("x", TensorProto::FLOAT, {1500, 3});
  onnx::NodeProto* scan = m.Node("Scan", {"s", "x"}, {"last", "all"});
  ModelWriter::SetInt(scan, "num_scan_inputs", 1);
  onnx::GraphProto& g = BodyOf(scan);
  Add(g, "Add", {"state", "element"}, "next");
  Add(g, "Identity", {"next"}, "row");
  In(g, "state", TensorProto::FLOAT, {3});
  In(g, "element", TensorProto::FLOAT, {3});
  Out(g, "next", TensorProto::FLOAT, {3});
  Out(g, "row", TensorProto::FLOAT, {3});
  m.Output("last");
  m.Output("all");
  const Both both(m);
  EXPECT_EQ(both.loops(), 1u);
  both.Compare({Uniform({3}, 1), Uniform({1500, 3}, 2)});
}

// States that change places, one that stays, and one that is an element: (a, b, c, d) -> (b, a, c, x).
TEST(PlanLoop, StatesChangePlaces) {
  ModelWriter m(17);
  for (const char* name : {"a0", "b0", "c0", "d0"}) m.Input(name, TensorProto::FLOAT, {3});
  m.Input("x", TensorProto::FLOAT, {"n", 3});
  onnx::NodeProto* scan = m.Node("Scan", {"a0", "b0", "c0", "d0", "x"}, {"a9", "b9", "c9", "d9", "sums"});
  ModelWriter::SetInt(scan, "num_scan_inputs", 1);
  onnx::GraphProto& g = BodyOf(scan);
  for (const char* name : {"a", "b", "c", "d", "e"}) In(g, name, TensorProto::FLOAT, {3});
  Add(g, "Identity", {"b"}, "a1");
  Add(g, "Identity", {"a"}, "b1");
  Add(g, "Identity", {"c"}, "c1");
  Add(g, "Identity", {"e"}, "d1");
  Add(g, "Mul", {"a", "c"}, "ac");
  Add(g, "Add", {"ac", "d"}, "sum");
  for (const char* name : {"a1", "b1", "c1", "d1", "sum"}) Out(g, name, TensorProto::FLOAT, {3});
  for (const char* name : {"a9", "b9", "c9", "d9", "sums"}) m.Output(name);
  const Both both(m);
  for (const int64_t n : {1, 2, 5, 8}) {
    SCOPED_TRACE(n);
    both.Compare({Uniform({3}, 1), Uniform({3}, 2), Uniform({3}, 3), Uniform({3}, 4), Uniform({n, 3}, 5)});
  }
}

// The body of a Loop whose carried value v becomes v * x + i, of `x` outside.
void AddStep(onnx::GraphProto& g, const char* condition) {
  In(g, "i", TensorProto::INT64, {});
  In(g, "go", TensorProto::BOOL, {});
  In(g, "v", TensorProto::FLOAT, {3});
  Add(g, "Cast", {"i"}, "number");
  ModelWriter::SetInt(g.mutable_node(g.node_size() - 1), "to", TensorProto::FLOAT);
  Add(g, "Mul", {"v", "x"}, "scaled");
  Add(g, "Add", {"scaled", "number"}, "next");
  if (std::string(condition).empty()) {
    Add(g, "Identity", {"go"}, "goes_on");
  } else {
    Add(g, "ReduceSum", {"next"}, "size");
    ModelWriter::SetInt(g.mutable_node(g.node_size() - 1), "keepdims", 0);
    Add(g, "Less", {"size", condition}, "goes_on");
  }
  Out(g, "goes_on", TensorProto::BOOL, {});
  Out(g, "next", TensorProto::FLOAT, {3});
}

// As many iterations as an extent says: results are stacked.
TEST(PlanLoop, LoopsCountedByAnExtent) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {3});
  m.Input("y", TensorProto::FLOAT, {"n", 2});
  m.Int64s("zero", {0}, /*scalar=*/true);
  m.Node("Shape", {"y"}, {"shape"});
  m.Node("Gather", {"shape", "zero"}, {"trips"});
  onnx::NodeProto* loop = m.Node("Loop", {"trips", "", "x"}, {"last", "all"});
  onnx::GraphProto& g = BodyOf(loop);
  AddStep(g, "");
  Add(g, "Neg", {"next"}, "row");
  Out(g, "row", TensorProto::FLOAT, {3});
  m.Output("last");
  m.Output("all");
  const Both both(m);
  EXPECT_EQ(both.loops(), 1u);
  for (const int64_t n : {1, 2, 9}) both.Compare({Uniform({3}, 1), Uniform({n, 2}, 2)});
}

// As many as an input says, none too.
TEST(PlanLoop, LoopsCountedByAValue) {
  ModelWriter m(17);
  m.Input("trips", TensorProto::INT64, {});
  m.Input("x", TensorProto::FLOAT, {3});
  m.Node("Exp", {"x"}, {"first"});
  AddStep(BodyOf(m.Node("Loop", {"trips", "", "first"}, {"last"})), "");
  m.Node("Sub", {"last", "first"}, {"difference"});
  m.Output("difference");
  const Both both(m);
  EXPECT_EQ(both.loops(), 1u);
  for (const int64_t n : {0, 1, 6, -2}) both.Compare({Int(n), Uniform({3}, 1)});
}

// Until a sum is large enough, at most so many times or with no bound.
TEST(PlanLoop, LoopsThatDataEnds) {
  for (const bool bounded : {false, true}) {
    ModelWriter m(17);
    m.Input("limit", TensorProto::FLOAT, {});
    m.Input("x", TensorProto::FLOAT, {3});
    m.Int64s("most", {7}, /*scalar=*/true);
    AddStep(BodyOf(m.Node("Loop", {bounded ? "most" : "", "", "x"}, {"last"})), "limit");
    m.Output("last");
    const Both both(m);
    EXPECT_EQ(both.loops(), 1u);
    for (const double limit : {-10.0, 3.0, 12.0, 60.0}) {
      NDArray array(DataType::Float(32), {});
      array.Set(0, limit);
      both.Compare({array, Uniform({3}, 1)});
    }
  }
}

// A loop inside of a scan; both capture a value of the outside.
TEST(PlanLoop, LoopsInsideOfScans) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {3});
  m.Input("trips", TensorProto::INT64, {});
  m.Input("rows", TensorProto::FLOAT, {"n", 3});
  onnx::NodeProto* scan = m.Node("Scan", {"x", "rows"}, {"end", "all"});
  ModelWriter::SetInt(scan, "num_scan_inputs", 1);
  onnx::GraphProto& g = BodyOf(scan);
  In(g, "state", TensorProto::FLOAT, {3});
  In(g, "row", TensorProto::FLOAT, {3});
  Add(g, "Add", {"state", "row"}, "begin");
  onnx::NodeProto* loop = g.add_node();
  ModelWriter::AddNode(loop, "Loop", {"trips", "", "begin"}, {"inner"});
  AddStep(BodyOf(loop), "");
  Add(g, "Tanh", {"inner"}, "after");
  Add(g, "Mul", {"after", "begin"}, "kept");
  Out(g, "after", TensorProto::FLOAT, {3});
  Out(g, "kept", TensorProto::FLOAT, {3});
  m.Output("end");
  m.Output("all");
  const Both both(m);
  EXPECT_EQ(both.loops(), 2u);
  for (const int64_t n : {1, 4}) {
    for (const int64_t trips : {0, 3}) both.Compare({Uniform({3}, 1), Int(trips), Uniform({n, 3}, 2)});
  }
}

// k is an input: the caller who makes room for the results knows it.
TEST(PlanLoop, ElementsOfInputsAreExtentsOfResults) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"m", "n"});
  m.Input("k", TensorProto::INT64, {1});
  m.Node("TopK", {"x", "k"}, {"values", "places"});
  m.Node("Exp", {"values"}, {"powers"});
  m.Output("powers");
  m.Output("places");
  const Both both(m);
  ASSERT_TRUE(both.good());
  for (const int64_t n : {4, 30}) {
    for (const int64_t k : {1, 3, 4}) {
      NDArray count(DataType::Int(64), {1});
      count.SetInt(0, k);
      both.Compare({Uniform({2, n}, 1), count});
      // Room for another number of elements.
      const int64_t other = k == 1 ? 2 : k - 1;
      EXPECT_THAT(both.Refusal({Uniform({2, n}, 1), count, Uniform({2, other}, 0), Ints({2, other})}),
                  HasSubstr(absl::StrCat("element 0 of k is ", k, ", but what is written has an extent of ", other)));
    }
  }
  NDArray count(DataType::Int(64), {1});
  count.SetInt(0, 5);
  EXPECT_THAT(both.Refusal({Uniform({2, 4}, 1), count, Uniform({2, 5}, 0), Ints({2, 5})}),
              HasSubstr("the model needs"));
}

// k is computed from an extent.
TEST(PlanLoop, ElementsThatExtentsSay) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {2, "n"});
  m.Int64s("most", {4});
  m.Int64s("one", {1});
  m.Int64s("two", {2});
  m.Node("Shape", {"x"}, {"shape"});
  m.Node("Slice", {"shape", "one", "two"}, {"n"});
  m.Node("Min", {"n", "most"}, {"k"});
  m.Node("TopK", {"x", "k"}, {"values", "places"});
  m.Output("values");
  m.Output("places");
  const Both both(m);
  ASSERT_TRUE(both.good());
  for (const int64_t n : {1, 3, 4, 30}) both.Compare({Uniform({2, n}, 1)});
}

// Nobody could make room for the results, and what grows has no place.
TEST(PlanLoop, WhatHasNoExtentIsRefused) {
  ModelWriter stacked(17);
  stacked.Input("trips", TensorProto::INT64, {});
  stacked.Input("x", TensorProto::FLOAT, {3});
  onnx::GraphProto& g = BodyOf(stacked.Node("Loop", {"trips", "", "x"}, {"last", "all"}));
  AddStep(g, "");
  Add(g, "Neg", {"next"}, "row");
  Out(g, "row", TensorProto::FLOAT, {3});
  stacked.Output("all");
  const auto library = OnnxModel::Load(*stacked.File(), {.as_library = true});
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ((*library)->executor().planned(), nullptr);
}

// A plan with a loop is not run in this process.
TEST(PlanLoop, RunsInLibrariesOnly) {
  const auto library = OnnxModel::Load(*Recurrence({}).File(), {.as_library = true});
  ASSERT_TRUE(library.ok()) << library.status();
  const auto run = (*library)->Run({{"h0", {Item::Kind::kTensor, {Uniform({1, 8}, 1)}}},
                                    {"x", {Item::Kind::kTensor, {Uniform({2, 1, 4}, 1)}}},
                                    {"more", {Item::Kind::kTensor, {Uniform({2, 8}, 1)}}}});
  EXPECT_THAT(std::string(run.status().message()), HasSubstr("in its plan: a library runs it, not this process"));
}

}  // namespace
}  // namespace tilewright::graph
