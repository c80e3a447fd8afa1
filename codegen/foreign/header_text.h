// Our headers in place of CUDA's (include/), as text within this library.
#pragma once

#include <span>
#include <string_view>

namespace tilewright::foreign {

struct Header {
  std::string_view name;  // as #include names it
  std::string_view text;
};

std::span<const Header> Headers();

}  // namespace tilewright::foreign
