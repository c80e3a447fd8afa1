#include <cstdio>

#include "ir/check.h"

int main() {
  TW_CHECK(sizeof(int) == 4) << "the example prints nothing else";
  std::puts("built against single libraries of tilewright");
}
