// Programs that are written as long as a test wants them, for questions about growth.
//
//   for (const GrowingProgram& kind : GrowingPrograms()) Compare(kind.text(12), kind.text(24));
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tilewright {

struct GrowingProgram {
  std::string name;
  std::function<std::string(int size)> text;  // a module with one function, `main`
};

const std::vector<GrowingProgram>& GrowingPrograms();

}  // namespace tilewright
