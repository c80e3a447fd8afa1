#include "bench/peers/plain_c.h"

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/temporary_folder.h"

namespace tilewright::bench {
namespace {

constexpr size_t kMostArgs = 8;

// For a shell.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// What the command says, with its standard error; whether it succeeded.
bool RunCommand(const std::string& command, std::string* output) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return false;
  char buffer[256];
  while (const size_t count = fread(buffer, 1, sizeof(buffer), pipe)) output->append(buffer, count);
  return pclose(pipe) == 0;
}

}  // namespace

absl::StatusOr<PlainC> PlainC::Compile(const std::string& path, const std::string& compiler) {
  const std::string name = std::filesystem::path(path).stem();
  const TemporaryFolder folder;  // an open library needs no file
  if (folder.path().empty()) return absl::InternalError("cannot make a folder for what C becomes");
  const std::string library = folder.path() / (name + ".so");
  std::string output;
  const bool compiled =
      RunCommand(absl::StrCat(compiler, " -shared -fPIC -o ", Quoted(library), " ", Quoted(path), " -lm"), &output);
  void* handle = compiled ? dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!compiled) return absl::InvalidArgumentError(absl::StrCat(compiler, " does not compile ", path, ":\n", output));
  if (handle == nullptr) return absl::InternalError(dlerror());
  std::shared_ptr<void> owner(handle, [](void* open) { dlclose(open); });
  void* function = dlsym(handle, name.c_str());
  const void* iterations = dlsym(handle, absl::StrCat(name, "_iterations").c_str());
  if (function == nullptr || iterations == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no function ", name, " with a constant ", name, "_iterations"));
  }
  return PlainC(std::move(owner), function, *static_cast<const long*>(iterations));
}

void PlainC::Run(runtime::ThreadPool& pool, std::span<void* const> args) const {
  TW_CHECK(args.size() <= kMostArgs);
  void* a[kMostArgs] = {};
  std::copy(args.begin(), args.end(), a);
  // Arguments that the function does not have stay in registers and on the stack, unused.
  using Function = void (*)(long, long, void*, void*, void*, void*, void*, void*, void*, void*);
  const auto function = reinterpret_cast<Function>(function_);
  pool.ParallelFor(iterations_, [&](int64_t begin, int64_t end) {
    function(begin, end, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
  });
}

}  // namespace tilewright::bench
