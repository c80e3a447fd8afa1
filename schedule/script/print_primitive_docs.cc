// Prints docs/primitives.md.
#include <cstdio>

#include "schedule/script/primitive_docs.h"

int main() {
  const auto examples = tilewright::ReadPrimitiveExamples(tilewright::kPrimitiveExamples);
  if (!examples.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(examples.status().message()).c_str());
    return 1;
  }
  std::fputs(tilewright::PrimitiveDocs(*examples).c_str(), stdout);
  return 0;
}
