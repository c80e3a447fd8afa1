#include "autoschedule/measure/executor/candidate_library.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright {

absl::StatusOr<CandidateLibrary> CandidateLibrary::Open(const std::vector<std::string>& command,
                                                        const std::vector<std::string>& others,
                                                        const std::string& path) {
  CandidateLibrary library;
  if (command.empty()) {
    std::string error;
    library.here_ = runtime::LoadedModule::Open(path, &error);
    if (!library.here_) return absl::FailedPreconditionError(error);
    return library;
  }
  std::vector<std::string> paths = others;
  paths.push_back(path);
  std::vector<std::string> contents;
  for (const std::string& name : paths) {
    std::ifstream file(name, std::ios::binary);
    if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", name));
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  TW_ASSIGN_OR_RETURN(auto elsewhere, remote::RemoteModule::Open(command, std::move(contents)));
  library.elsewhere_ = std::move(elsewhere);
  return library;
}

TwFunction CandidateLibrary::Find(const std::string& name) const {
  return here_ ? here_->Find(name) : elsewhere_->Find(name);
}

int64_t CandidateLibrary::WorkspaceBytes(const std::string& name) const {
  return here_ ? here_->WorkspaceBytes(name) : elsewhere_->WorkspaceBytes(name);
}

}  // namespace tilewright
