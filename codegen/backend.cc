#include "codegen/backend.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace tilewright {

std::string_view NameOf(CodeEffort effort) {
  if (effort == CodeEffort::kFull) return "full";
  return effort == CodeEffort::kQuick ? "quick" : "small share";
}

absl::Status CompiledModule::Run(std::string_view name, std::span<TwTensor* const> args,
                                 const TwParallelHook* parallel) const {
  const TwFunction function = Find(name);
  if (function == nullptr) return absl::NotFoundError(absl::StrCat("no function ", std::string(name)));
  char message[256] = "";
  TwCall call = {.parallel = parallel, .message = message, .message_bytes = sizeof(message)};
  const int code = function(&call, args.data(), static_cast<int32_t>(args.size()));
  if (code == kTwOk) return absl::OkStatus();
  if (code == kTwErrorAssertion) return absl::FailedPreconditionError(message);
  if (code == kTwErrorMemory) return absl::ResourceExhaustedError(message);
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<const Backend*> BackendRegistry::For(const Target& target) const {
  for (const std::unique_ptr<Backend>& backend : backends_) {
    if (backend->Supports(target)) return backend.get();
  }
  return absl::UnimplementedError(absl::StrCat("no back end of this build generates code for ", target.name));
}

absl::StatusOr<Artifact> BackendRegistry::Compile(const Module& module, const Target& target,
                                                  const CompileOptions& options) const {
  TW_ASSIGN_OR_RETURN(const Backend* backend, For(target));
  const std::vector<std::string> formats = backend->formats();
  if (std::ranges::find(formats, options.format) == formats.end()) {
    return absl::InvalidArgumentError(absl::StrCat("code for ", target.name, " is written as one of .",
                                                   absl::StrJoin(formats, ", ."), ", not as .", options.format));
  }
  TW_ASSIGN_OR_RETURN(Artifact artifact, backend->Compile(module, target, options));
  for (const Function& function : module.functions()) artifact.entry_points.push_back(function->name);
  return artifact;
}

absl::StatusOr<std::unique_ptr<CompiledModule>> BackendRegistry::CompileAndLoad(const Module& module,
                                                                                const Target& target,
                                                                                const CompileOptions& options) const {
  const absl::StatusOr<const Backend*> backend = For(target);
  return backend.ok() ? (*backend)->Load(module, target, options) : backend.status();
}

}  // namespace tilewright
