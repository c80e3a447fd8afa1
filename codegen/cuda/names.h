// Names of a program in C++ text: distinct, and none that C++ or CUDA has another use for.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace tilewright::cuda {

class Names {
 public:
  // The name itself where it is free, else the name with a number: `i`, `i_1`, `i_2`. Characters that no identifier has
  // become underscores.
  std::string Make(std::string_view name);

 private:
  std::unordered_set<std::string> taken_;
};

}  // namespace tilewright::cuda
