#include "codegen/foreign/places.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/foreign/front_end.h"

namespace tilewright::foreign {

TextPlace PlaceOf(const llvm::DILocation* location) {
  TextPlace place;
  for (; location != nullptr; location = location->getInlinedAt()) {
    const std::string file = location->getFilename().str();
    if (location->getLine() == 0 || file.find(kHeaderFolder) != std::string::npos) continue;
    place.lines.push_back({file, location->getLine()});
  }
  return place;
}

uint32_t Places::Of(const llvm::DILocation* location) {
  if (location == nullptr) return 0;
  const auto [at, is_new] = numbers_.try_emplace(location, 0);
  if (is_new) {
    TextPlace place = PlaceOf(location);
    if (place.lines.empty()) return 0;
    at->second = static_cast<uint32_t>(places_.size());
    places_.push_back(std::move(place));
  }
  return at->second;
}

std::string Places::Name(const llvm::Instruction& instruction) {
  const TextPlace place = PlaceOf(instruction.getDebugLoc().get());
  if (place.lines.empty()) return "the text";
  return absl::StrCat(place.lines[0].file, ":", place.lines[0].line);
}

}  // namespace tilewright::foreign
