#include "codegen/foreign/front_end.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/run_command.h"
#include "base/temporary_folder.h"
#include "codegen/foreign/header_text.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tilewright::foreign {
namespace {

constexpr const char* kCompilers[] = {"clang++-19", "clang++-18", "clang++"};
// As a GPU's compiler reads it, with nothing optimized yet and no product and sum joined.
constexpr const char* kFlags[] = {"-x",
                                  "cuda",
                                  "--cuda-device-only",
                                  "--cuda-gpu-arch=sm_90a",
                                  "--cuda-path=/tilewright-without-cuda",
                                  "-nocudainc",
                                  "-nocudalib",
                                  "-emit-llvm",
                                  "-c",
                                  "-O1",
                                  "-Xclang",
                                  "-disable-llvm-passes",
                                  "-gline-tables-only",
                                  "-std=c++20",
                                  "-ffp-contract=off",
                                  "-fwrapv",
                                  "-fno-strict-aliasing",
                                  "-fno-discard-value-names",
                                  "-fno-caret-diagnostics",
                                  "-w"};

// Headers of CUDA's that say nothing new here.
constexpr const char* kEmptyHeaders[] = {"cuda_profiler_api.h", "device_atomic_functions.h", "driver_types.h",
                                         "math_functions.h",    "sm_60_atomic_functions.h",  "vector_functions.h"};
// Those that are outside, so that an installation of CUDA is not read in their place.
constexpr const char* kOutsideHeaders[] = {"cooperative_groups/memcpy_async.h",
                                           "cooperative_groups/scan.h",
                                           "cublasLt.h",
                                           "cublas_v2.h",
                                           "cuda_fp4.h",
                                           "cuda_fp6.h",
                                           "cuda_fp8.h",
                                           "cudnn.h",
                                           "cufft.h",
                                           "curand.h",
                                           "curand_kernel.h",
                                           "cusolverDn.h",
                                           "cusparse.h",
                                           "nvrtc.h",
                                           "nvToolsExt.h",
                                           "nvml.h",
                                           "texture_types.h"};
constexpr char kOutside[] = "outside of what emulate takes (docs/emulate.md)";

// A template becomes a kernel where the host's part names it, which this does.
std::string Instantiation(const std::string& path, const std::string& kernel) {
  return absl::StrCat("#include \"", path, "\"\nnamespace { __attribute__((unused)) const void* TilewrightKernel() {\n",
                      "  return reinterpret_cast<const void*>(&", kernel, ");\n} }\n");
}

// What the compiler says, without the folders that only this run knows.
std::string Diagnostics(const std::string& output, const std::string& folder) {
  std::vector<std::string> lines;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(output, '\n'))) {
    if (line.empty() || line.find("generated when compiling") != std::string::npos) continue;
    if (line.starts_with("In file included from") && line.find(folder) != std::string::npos) continue;
    lines.emplace_back(line);
    if (line.ends_with("file not found")) {
      absl::StrAppend(&lines.back(),
                      ", and none of the headers of docs/emulate.md; \"include\" of the launch names folders");
    }
  }
  return absl::StrReplaceAll(absl::StrJoin(lines, "\n"), {{folder + "/", ""}});
}

absl::Status Compile(const std::string& path, const ForeignSource& options, const TemporaryFolder& folder) {
  const std::string headers = (folder.path() / kHeaderFolder).string();
  std::string output;
  for (const char* compiler : kCompilers) {
    std::vector<std::string> command = {compiler};
    command.insert(command.end(), std::begin(kFlags), std::end(kFlags));
    command.insert(command.end(), {"-I", headers, "-include", headers + "/tilewright_builtins.h"});
    const std::string parent = std::filesystem::path(path).parent_path().string();
    command.push_back(absl::StrCat("-I", parent.empty() ? "." : parent));
    for (const std::string& include : options.include_dirs) command.push_back("-I" + include);
    for (const std::string& definition : options.definitions) command.push_back("-D" + definition);
    const bool instantiates = options.kernel.find('<') != std::string::npos;
    command.push_back(instantiates ? (folder.path() / "instantiation.cu").string() : path);
    command.insert(command.end(), {"-o", (folder.path() / "kernel.bc").string()});
    const int status = RunCommand(command, &output);
    if (status == 0) return absl::OkStatus();
    // 127: there is no such program.
    if (status > 0 && status != 127) {
      return absl::InvalidArgumentError(Diagnostics(output, folder.path().string()));
    }
  }
  return absl::FailedPreconditionError(absl::StrCat("reading CUDA C++ needs clang 18 or 19: none of ",
                                                    absl::StrJoin(kCompilers, ", "), " is installed"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::Module>> ReadCuda(const std::string& path, const ForeignSource& options,
                                                       llvm::LLVMContext& context) {
  const TemporaryFolder folder;
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  bool written = !folder.path().empty() && folder.Write("instantiation.cu", Instantiation(absolute, options.kernel));
  for (const Header& header : Headers()) {
    written = written && folder.Write(absl::StrCat(kHeaderFolder, "/", std::string(header.name)), header.text);
  }
  for (const char* name : kEmptyHeaders) {
    written = written && folder.Write(absl::StrCat(kHeaderFolder, "/", name), "#include \"cuda_runtime.h\"\n");
  }
  for (const char* name : kOutsideHeaders) {
    written = written && folder.Write(absl::StrCat(kHeaderFolder, "/", name), absl::StrCat("#error ", kOutside, "\n"));
  }
  if (!written) return absl::InternalError(absl::StrCat("cannot write into ", folder.path().string()));
  if (const absl::Status status = Compile(path, options, folder); !status.ok()) return status;
  auto buffer = llvm::MemoryBuffer::getFile((folder.path() / "kernel.bc").string());
  if (!buffer) return absl::InternalError("what the compiler wrote cannot be read");
  auto module = llvm::parseBitcodeFile((*buffer)->getMemBufferRef(), context);
  if (!module) return absl::InternalError(llvm::toString(module.takeError()));
  return std::move(*module);
}

}  // namespace tilewright::foreign
