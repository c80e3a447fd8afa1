#include "autoschedule/measure/executor/gpu_candidate.h"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "target/target_json.h"

namespace tilewright {
namespace {

// Takes the next part off: its length, a newline, and so many bytes.
bool TakePart(std::string& text, std::string* part) {
  const size_t end = text.find('\n');
  size_t bytes = 0;
  if (end == std::string::npos || !absl::SimpleAtoi(text.substr(0, end), &bytes)) return false;
  if (bytes > text.size() - end - 1) return false;
  *part = text.substr(end + 1, bytes);
  text.erase(0, end + 1 + bytes);
  return true;
}

}  // namespace

absl::Status WriteGpuCandidate(const GpuCandidate& candidate, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (const std::string& part : {TargetToJson(candidate.target), candidate.program, candidate.cubin}) {
    file << part.size() << "\n" << part;
  }
  return file.flush() ? absl::OkStatus() : absl::InternalError(absl::StrCat(path, " cannot be written"));
}

absl::StatusOr<GpuCandidate> ReadGpuCandidate(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  GpuCandidate candidate;
  std::string target;
  if (!TakePart(text, &target) || !TakePart(text, &candidate.program) || !TakePart(text, &candidate.cubin)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a candidate for a GPU"));
  }
  TW_ASSIGN_OR_RETURN(auto known, TargetFromJson(target));
  candidate.target = std::move(known);
  return candidate;
}

}  // namespace tilewright
