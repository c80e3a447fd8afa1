// Compiled kernels on disk, and what was decided about them.
//
//   std::unique_ptr<KernelCache> cache = KernelCache::Default();        // null where it is turned off
//   if (std::optional<Kernel> kernel = cache->Load(key)) ...
//   cache->Store(key, kernel_facts, library_bytes);
//
// A kernel is a shared library and a JSON file beside it, named after the hash of its key; the key itself is in the
// JSON and is compared, and the library's checksum is, so a damaged or foreign file is a kernel that is not there. The
// key says everything that the code depends on: the program, which of its parameters are constants, the target, the
// effort of the back end, and this build of the compiler. Several processes may use a folder at the same time: files
// appear whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "graph/executor/kernel.h"
#include "graph/executor/scheduled_kernel.h"
#include "target/target.h"

namespace tilewright::graph {

class KernelCache {
 public:
  // Files of more than `max_bytes` together are thinned out, the least recently used first.
  explicit KernelCache(std::string folder, int64_t max_bytes = int64_t{2} << 30);
  // In the folder that TILEWRIGHT_KERNEL_CACHE names, else in ~/.cache/tilewright/kernels; null where the variable is
  // "off" or there is no home folder.
  static std::unique_ptr<KernelCache> Default();

  const std::string& folder() const { return folder_; }
  std::optional<Kernel> Load(const std::string& key) const;
  // Keeps a kernel. Failure to write is not an error: nothing is kept then.
  void Store(const std::string& key, const ScheduledKernel& kernel, bool scheduled, const std::string& library) const;
  void Thin() const;

  // Texts by keys, kept and thinned out like kernels, in files of their own.
  std::optional<std::string> LoadText(const std::string& key) const;
  void StoreText(const std::string& key, const std::string& text) const;

 private:
  void Touch(const std::string& key) const;  // it was used now
  std::string PathOf(const std::string& key, const char* extension) const;
  const std::string folder_;
  const int64_t max_bytes_;
};

// This build of the compiler, and what a decision of it depends on beside the program.
std::string CompilerAndTarget(const Target& target);

// Changes when the file does; of no database "database none".
std::string DatabaseIdentity(const std::string& path);

// `canonical`: the text of CanonicalProgram of the program.
std::string KernelKey(const std::string& canonical, const std::vector<bool>& constant, const KernelOptions& options,
                      CodeEffort effort);

// The functions of a library that was made of the module.
absl::StatusOr<Kernel> OpenKernel(const std::string& path, const ScheduledKernel& facts, bool scheduled);

}  // namespace tilewright::graph
