// Places of the loops and blocks of a parsed program in its text.
//
//   absl::StatusOr<Module> module = ParseModule(text, "matmul.py");
//   SourcePlaces places(text, *module);
//   if (auto offset = places.Find(function->name, id)) ... MakeDiagnostic(text, "matmul.py", *offset, message)
//
// The tree of the text and the program are walked side by side, loops and blocks in the order in which both have them.
// Where they do not agree (a form of text that makes loops in another way), the function has no places.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/function.h"

namespace tilewright::script {

class SourcePlaces {
 public:
  SourcePlaces(std::string_view text, const Module& module);
  // The byte of the text where the loop's variable or the block's `with` stands, or where the function's `def` does
  // when the id is 0.
  std::optional<uint32_t> Find(const std::string& function, uint32_t id) const;

 private:
  std::map<std::pair<std::string, uint32_t>, uint32_t> offsets_;
};

}  // namespace tilewright::script
