// ONNX's own tests: every model of libonnx-testdata on its inputs, compared with its expected outputs.
//
// backend_failures.txt lists the tests that do not pass, each with the reason. A listed test that passes is an error,
// so is one that fails and is not listed. Run alone, the program takes folders of tests: backend_test_run FOLDER...
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/test_data.h"

namespace tilewright::graph {
namespace {

namespace fs = std::filesystem;

// Relative and absolute, as ONNX's own runner has them; models of several layers and f16 need a larger one.
absl::Status Compare(const NDArray& got, const NDArray& want, const std::string& name) {
  if (got.dtype() != want.dtype()) {
    return absl::InternalError(absl::StrCat(name, " is ", got.dtype().ToString(), ", not ", want.dtype().ToString()));
  }
  if (got.shape() != want.shape()) return absl::InternalError(absl::StrCat(name, " has another shape"));
  const double relative = 1e-3, absolute = 1e-7;
  for (int64_t i = 0; i < got.size(); ++i) {
    if (!got.dtype().is_float()) {
      if (got.GetInt(i) == want.GetInt(i)) continue;
      return absl::InternalError(absl::StrCat(name, "[", i, "] is ", got.GetInt(i), ", not ", want.GetInt(i)));
    }
    const double a = got.Get(i), b = want.Get(i);
    const bool equal = std::isnan(a) ? std::isnan(b) : a == b || std::fabs(a - b) <= absolute + relative * std::fabs(b);
    if (!equal) return absl::InternalError(absl::StrCat(name, "[", i, "] is ", a, ", not ", b));
  }
  return absl::OkStatus();
}

absl::Status RunDataSet(const fs::path& model_path, const fs::path& data, const ExecutorOptions& options) {
  TW_ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, ModelFile::Open(model_path.string()));
  const onnx::GraphProto graph = file->model().graph();
  std::set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  OnnxModel::Inputs inputs;
  int number = 0;
  for (const auto& input : graph.input()) {
    if (initialized.contains(input.name())) continue;
    const fs::path path = data / absl::StrCat("input_", number++, ".pb");
    TW_ASSIGN_OR_RETURN(TestValue value, ReadTestValue(path.string(), input.type()));
    inputs[input.name()] = {value.kind, std::move(value.arrays)};
  }
  TW_ASSIGN_OR_RETURN(std::unique_ptr<OnnxModel> model,
                      OnnxModel::Load(std::move(file), {.inputs = &inputs, .executor = options}));
  TW_ASSIGN_OR_RETURN(const std::vector<OnnxModel::Tensors> outputs, model->Run(inputs));
  for (int i = 0; i < graph.output_size(); ++i) {
    const std::string& name = graph.output(i).name();
    const fs::path path = data / absl::StrCat("output_", i, ".pb");
    TW_ASSIGN_OR_RETURN(const TestValue want, ReadTestValue(path.string(), graph.output(i).type()));
    const Arrays& got = outputs[static_cast<size_t>(i)].arrays;
    if (got.size() != want.arrays.size()) return absl::InternalError(absl::StrCat(name, " has another length"));
    for (size_t k = 0; k < got.size(); ++k) TW_RETURN_IF_ERROR(Compare(got[k], want.arrays[k], name));
  }
  return absl::OkStatus();
}

absl::Status RunTest(const fs::path& folder, const ExecutorOptions& options) {
  const fs::path model = folder / "model.onnx";
  if (!fs::exists(model)) return absl::UnavailableError("its model is not part of the package");
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    TW_RETURN_IF_ERROR(RunDataSet(model, entry.path(), options));
  }
  return absl::OkStatus();
}

std::map<std::string, std::string> ReadList(const std::string& path) {
  std::map<std::string, std::string> listed;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    listed[line.substr(0, colon)] = colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return listed;
}

// Folders of tests, sorted; of this shard only.
std::vector<fs::path> Shard(std::vector<fs::path> folders) {
  const char* count = std::getenv("TEST_TOTAL_SHARDS");
  const char* index = std::getenv("TEST_SHARD_INDEX");
  if (const char* status = std::getenv("TEST_SHARD_STATUS_FILE")) std::ofstream touch(status);
  std::sort(folders.begin(), folders.end());
  if (count == nullptr || index == nullptr) return folders;
  std::vector<fs::path> own;
  for (size_t i = 0; i < folders.size(); ++i) {
    if (i % static_cast<size_t>(std::atoi(count)) == static_cast<size_t>(std::atoi(index))) own.push_back(folders[i]);
  }
  return own;
}

int Main(int argc, char** argv) {
  std::vector<fs::path> folders;
  std::map<std::string, std::string> listed;
  ExecutorOptions options{.num_threads = 1};
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--list=")) {
      listed = ReadList(argument.substr(7));
    } else if (argument == "--interpret") {
      options.interpret = true;
    } else if (argument == "--noschedule") {
      options.kernels.schedule = false;
    } else if (fs::exists(fs::path(argument) / "test_data_set_0")) {
      folders.emplace_back(argument);
    } else {
      for (const auto& kind : fs::directory_iterator(argument)) {
        if (!kind.is_directory()) continue;
        for (const auto& test : fs::directory_iterator(kind.path())) folders.push_back(test.path());
      }
    }
  }
  int passed = 0, failed = 0, wrong = 0;
  for (const fs::path& folder : Shard(folders)) {
    const std::string name = folder.filename().string();
    const absl::Status status = RunTest(folder, options);
    (status.ok() ? passed : failed) += 1;
    const bool is_listed = listed.contains(name);
    if (status.ok() == !is_listed) continue;
    ++wrong;
    std::cout << name << ": " << (status.ok() ? "passes, but is listed" : std::string(status.message())) << std::endl;
  }
  std::cout << passed << " passed, " << failed << " failed" << std::endl;
  return wrong == 0 && passed + failed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::graph

int main(int argc, char** argv) { return tilewright::graph::Main(argc, argv); }
