#include "graph/executor/kernel_cache.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/files.h"
#include "codegen/runtime/loaded_module.h"
#include "nlohmann/json.hpp"
#include "target/target_json.h"

namespace tilewright::graph {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// FNV-1a with two starting values, 128 bits together. The key is compared as well.
std::string Hash(const std::string& text) {
  uint64_t a = 0xcbf29ce484222325, b = 0x9ae16a3b2f90404f;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    b = (b ^ static_cast<unsigned char>(c)) * 0x100000001b3 + (a >> 32);
  }
  return absl::StrFormat("%016x%016x", a, b);
}

// The linker's identity of this program, from the note in its first loaded object.
std::string BuildId() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
          const char* const end = at + header.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* bytes = name + ((note.n_namesz + 3) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
              *static_cast<std::string*>(result) = absl::BytesToHexString({bytes, note.n_descsz});
              return 1;
            }
            at = bytes + ((note.n_descsz + 3) & ~3u);
          }
        }
        return 1;  // the program itself comes first
      },
      &id);
  return id;
}

// A program without the linker's note is told apart by its file.
std::string ProgramIdentity() {
  static const auto* const identity = [] {
    std::string id = BuildId();
    std::error_code error;
    if (id.empty()) {
      const auto size = fs::file_size("/proc/self/exe", error);
      const auto time = fs::last_write_time("/proc/self/exe", error).time_since_epoch().count();
      id = absl::StrCat(size, "-", time);
    }
    return new std::string(id);
  }();
  return *identity;
}

std::string FileIdentity(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  // What was written to a database last may be in its log.
  const auto log = fs::file_size(path + "-wal", error);
  return absl::StrCat(path, " ", size, " ", time, error ? "" : absl::StrCat(" ", log));
}

// Under another name first, so that nobody sees a part of it.
bool WriteWhole(const std::string& path, const std::string& bytes) {
  static std::atomic<uint64_t> next = 0;
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".", next++);
  std::ofstream file(temporary, std::ios::binary);
  file << bytes;
  std::error_code error;
  if (file.flush()) {
    fs::rename(temporary, path, error);
    if (!error) return true;
  }
  fs::remove(temporary, error);
  return false;
}

json ToJson(const ScheduledKernel& kernel, bool scheduled) {
  json packed = json::array();
  for (const KernelTensor& tensor : kernel.packed) {
    packed.push_back({{"dtype", tensor.dtype.ToString()}, {"shape", tensor.shape}});
  }
  json versions = json::array();
  for (const KernelVersion& version : kernel.versions) {
    json when = json::array();
    for (const KernelVersion::Extent& e : version.when) when.push_back({e.param, e.dim, e.extent});
    versions.push_back({{"name", version.function.name}, {"params", version.function.params}, {"when", when}});
  }
  return {{"versions", versions},
          {"main_params", kernel.main_params},
          {"pack_params", kernel.pack_params},
          {"packed", packed},
          {"pack", kernel.pack},
          {"seconds", kernel.pace.pace.seconds},
          {"limit_seconds", kernel.pace.pace.limit_seconds},
          {"limiter", kernel.pace.pace.limiter},
          {"slow", kernel.pace.pace.slow},
          {"why_not", kernel.pace.why_not},
          {"scheduled", scheduled}};
}

// Throws what nlohmann's accessors throw where the JSON has another form.
ScheduledKernel FromJson(const json& facts) {
  ScheduledKernel kernel;
  kernel.main_params = facts.at("main_params").get<std::vector<int>>();
  kernel.pack_params = facts.at("pack_params").get<std::vector<int>>();
  kernel.pack = facts.at("pack").get<std::string>();
  kernel.pace = {.pace = {.seconds = facts.at("seconds").get<double>(),
                          .limit_seconds = facts.at("limit_seconds").get<double>(),
                          .limiter = facts.at("limiter").get<std::string>(),
                          .slow = facts.at("slow").get<bool>()},
                 .why_not = facts.at("why_not").get<std::string>()};
  for (const json& version : facts.at("versions")) {
    kernel.versions.push_back({{}, {.name = version.at("name"), .params = version.at("params")}});
    for (const json& e : version.at("when")) kernel.versions.back().when.push_back({e.at(0), e.at(1), e.at(2)});
  }
  for (const json& tensor : facts.at("packed")) {
    const auto dtype = DataType::Parse(tensor.at("dtype").get<std::string>());
    kernel.packed.push_back({dtype.value_or(DataType()), tensor.at("shape").get<std::vector<int64_t>>()});
  }
  return kernel;
}

// What a process left that was ended while it wrote, or that had no more room: nobody writes for an hour.
void RemoveLeftovers(const std::string& folder) {
  constexpr auto kWriting = std::chrono::hours(1);
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path extension = it->path().extension();
    std::error_code ignored;
    const bool whole = extension == ".json" ||
                       (extension == ".so" && fs::exists(fs::path(it->path()).replace_extension(".json"), ignored));
    const fs::file_time_type written = it->last_write_time(ignored);
    if (!whole && !ignored && fs::file_time_type::clock::now() - written > kWriting) leftovers.push_back(it->path());
  }
  for (const fs::path& path : leftovers) fs::remove(path, error);
}

}  // namespace

absl::StatusOr<Kernel> OpenKernel(const std::string& path, const ScheduledKernel& facts, bool scheduled) {
  std::string error;
  auto opened = runtime::LoadedModule::Open(path, &error);
  if (!opened) return absl::InternalError(error);
  auto code = std::make_shared<runtime::LoadedModule>(*std::move(opened));
  const auto function = [&](const std::string& name, const std::vector<int>& params) {
    return KernelFunction{code->FindUnchecked(name), name, code->WorkspaceBytes(name), params};
  };
  Kernel kernel{.main = function(kKernelMain, facts.main_params), .packed = facts.packed, .scheduled = scheduled};
  if (!facts.pack.empty()) kernel.pack = function(facts.pack, facts.pack_params);
  bool complete = true;
  for (const KernelVersion& version : facts.versions) {
    kernel.versions.push_back({version.when, function(version.function.name, version.function.params)});
    complete &= kernel.versions.back().function.run != nullptr;
  }
  if (!complete || kernel.main.run == nullptr || (!facts.pack.empty() && kernel.pack.run == nullptr)) {
    return absl::InternalError(absl::StrCat(path, " lacks the kernel's functions"));
  }
  kernel.pace = facts.pace;
  kernel.code = std::move(code);
  return kernel;
}

KernelCache::KernelCache(std::string folder, int64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::unique_ptr<KernelCache> KernelCache::Default() {
  if (const char* named = std::getenv("TILEWRIGHT_KERNEL_CACHE"); named != nullptr && *named != '\0') {
    return std::string_view(named) == "off" ? nullptr : std::make_unique<KernelCache>(named);
  }
  if (const char* caches = std::getenv("XDG_CACHE_HOME"); caches != nullptr && *caches != '\0') {
    return std::make_unique<KernelCache>(absl::StrCat(caches, "/tilewright/kernels"));
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return nullptr;
  return std::make_unique<KernelCache>(absl::StrCat(home, "/.cache/tilewright/kernels"));
}

std::string KernelCache::PathOf(const std::string& key, const char* extension) const {
  return absl::StrCat(folder_, "/", Hash(key), extension);
}

void KernelCache::Touch(const std::string& key) const {
  std::error_code error;
  fs::last_write_time(PathOf(key, ".json"), fs::file_time_type::clock::now(), error);
}

std::optional<Kernel> KernelCache::Load(const std::string& key) const {
  const absl::StatusOr<std::string> text = ReadFile(PathOf(key, ".json"));
  if (!text.ok()) return std::nullopt;
  const std::string path = PathOf(key, ".so");
  try {
    const json facts = json::parse(*text);
    if (facts.at("key").get<std::string>() != key) return std::nullopt;
    const absl::StatusOr<std::string> library = ReadFile(path);
    if (!library.ok() || Hash(*library) != facts.at("library").get<std::string>()) return std::nullopt;
    auto kernel = OpenKernel(path, FromJson(facts), facts.at("scheduled").get<bool>());
    if (!kernel.ok()) return std::nullopt;
    kernel->from_cache = kernel->kept = true;
    Touch(key);
    return *std::move(kernel);
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

void KernelCache::Store(const std::string& key, const ScheduledKernel& kernel, bool scheduled,
                        const std::string& library) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  json facts = ToJson(kernel, scheduled);
  facts["key"] = key;
  facts["library"] = Hash(library);
  const std::string text = facts.dump(1, ' ', false, json::error_handler_t::replace);
  if (WriteWhole(PathOf(key, ".so"), library)) WriteWhole(PathOf(key, ".json"), text);
}

std::optional<std::string> KernelCache::LoadText(const std::string& key) const {
  const absl::StatusOr<std::string> file = ReadFile(PathOf(key, ".json"));
  if (!file.ok()) return std::nullopt;
  try {
    const json facts = json::parse(*file);
    if (facts.at("key").get<std::string>() != key) return std::nullopt;
    std::string text = facts.at("text").get<std::string>();
    if (Hash(text) != facts.at("hash").get<std::string>()) return std::nullopt;
    Touch(key);
    return text;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

void KernelCache::StoreText(const std::string& key, const std::string& text) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  const json facts = {{"key", key}, {"text", text}, {"hash", Hash(text)}};
  WriteWhole(PathOf(key, ".json"), facts.dump(1, ' ', false, json::error_handler_t::replace));
}

void KernelCache::Thin() const {
  RemoveLeftovers(folder_);
  struct Entry {
    fs::file_time_type used;
    int64_t bytes;
    fs::path facts;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".json") continue;
    std::error_code ignored;
    const auto library = fs::file_size(fs::path(it->path()).replace_extension(".so"), ignored);
    const auto bytes = static_cast<int64_t>(it->file_size(ignored) + (ignored ? 0 : library));
    entries.push_back({it->last_write_time(ignored), bytes, it->path()});
    total += bytes;
  }
  if (total <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= max_bytes_ / 2) break;
    fs::remove(entry.facts, error);
    fs::remove(fs::path(entry.facts).replace_extension(".so"), error);
    total -= entry.bytes;
  }
}

std::string CompilerAndTarget(const Target& target) {
  std::string caches;
  for (const MemoryLevel& level : target.levels) absl::StrAppend(&caches, " ", level.bytes, "/", level.shared_by);
  const std::string text = absl::StrCat("compiler ", ProgramIdentity(), "\ntarget ", target.triple, " ", target.cpu,
                                        " ", absl::StrJoin(target.features, ","), " cores ", target.cores);
  // A CPU's speeds, which are measured anew in each process, decide little, and code would be lost with them.
  return target.is_gpu() ? absl::StrCat(text, " ", TargetToJson(target))
                         : absl::StrCat(text, " vectors ", target.cpu_part().vector_bits, " caches", caches);
}

std::string DatabaseIdentity(const std::string& path) {
  return absl::StrCat("database ", path.empty() ? "none" : FileIdentity(path));
}

std::string KernelKey(const std::string& canonical, const std::vector<bool>& constant, const KernelOptions& options,
                      CodeEffort effort) {
  std::string constants;
  for (size_t i = 0; i < constant.size(); ++i) {
    if (constant[i]) absl::StrAppend(&constants, " ", i);
  }
  return absl::StrCat(CompilerAndTarget(options.target), "\nscheduled ", options.schedule, "\neffort ",
                      std::string(NameOf(effort)), "\n", DatabaseIdentity(options.database), "\nconstants", constants,
                      "\n", canonical);
}

}  // namespace tilewright::graph
