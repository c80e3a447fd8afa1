// Prints docs/primitives.md.
#include <cstdio>

#include "schedule/primitive_docs.h"

int main() {
  std::fputs(tilewright::PrimitiveDocs().c_str(), stdout);
  return 0;
}
