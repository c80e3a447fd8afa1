// Files of intrinsics: programs, and which of them form an intrinsic.
//
//   TensorIntrin.register("tile8", tile_description, tile_implementation)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/script/parser.h"

namespace tilewright::script {

// Functions by their names.
struct IntrinRegistration {
  std::string name, description, implementation;
};

struct IntrinFile {
  ParseResult programs;
  std::vector<IntrinRegistration> registrations;
};
IntrinFile ParseIntrinFile(std::string_view text, std::string_view file_name);

}  // namespace tilewright::script
