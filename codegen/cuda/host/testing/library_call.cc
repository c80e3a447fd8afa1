#include "codegen/cuda/host/testing/library_call.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files.h"
#include "base/run_command.h"
#include "base/temporary_folder.h"
#include "codegen/abi/abi_type.h"
#include "codegen/abi/c_symbol.h"

namespace tilewright::cuda::testing {
namespace {

constexpr char kFolder[] = "codegen/cuda/host/testing";

std::string FileOf(const NDArray& array) {
  const TwDataType type = AbiType(array.dtype());
  std::vector<int64_t> head = {type.code, type.bits, array.shape().empty() ? 0 : 1,
                               static_cast<int64_t>(array.shape().size())};
  head.insert(head.end(), array.shape().begin(), array.shape().end());
  std::string text(reinterpret_cast<const char*>(head.data()), head.size() * sizeof(int64_t));
  text.append(static_cast<const char*>(array.data()), static_cast<size_t>(array.bytes()));
  return text;
}

}  // namespace

LibraryCall CallLibrary(std::string_view library, const std::string& function, const std::vector<NDArray*>& arrays,
                        const LibraryCallOptions& options) {
  const TemporaryFolder folder;
  folder.Write("library.so", library);
  std::vector<std::string> command = {"env"};
  if (options.driver) command.push_back(absl::StrCat("LD_LIBRARY_PATH=", kFolder));
  if (!options.environment.empty()) command.push_back(options.environment);
  for (const std::string& argument : {absl::StrCat(kFolder, "/call_library"), (folder.path() / "library.so").string(),
                                      CSymbol(function), options.place, absl::StrCat(options.calls)}) {
    command.push_back(argument);
  }
  std::vector<std::string> paths;
  for (const NDArray* array : arrays) {
    const std::string name = absl::StrCat("argument", paths.size());
    folder.Write(name, FileOf(*array));
    paths.push_back((folder.path() / name).string());
    command.push_back(paths.back());
  }
  std::string output;
  const int status = RunCommand(command, &output);
  LibraryCall call;
  for (const auto line : absl::StrSplit(output, '\n', absl::SkipEmpty())) {
    if (absl::StartsWith(line, "allocations")) {
      call.costs.emplace_back(line);
    } else {
      absl::StrAppend(&call.sentence, line);
    }
  }
  if (status != 0) absl::StrAppend(&call.sentence, " (exit status ", status, ")");
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto bytes = ReadFile(paths[i] + ".out");
    if (bytes.ok() && bytes->size() == static_cast<size_t>(arrays[i]->bytes())) {
      std::memcpy(arrays[i]->data(), bytes->data(), bytes->size());
    }
  }
  return call;
}

}  // namespace tilewright::cuda::testing
