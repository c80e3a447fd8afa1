// Makes a program with @tilewright//ir, tiles its loop by hand, and asks whether the result is another program.

#include <cstdio>

#include "ir/buffer.h"
#include "ir/check.h"
#include "ir/function.h"
#include "ir/stmt.h"
#include "ir/structural.h"

namespace {

using tilewright::Buffer;
using tilewright::DataType;
using tilewright::Expr;
using tilewright::For;
using tilewright::Function;
using tilewright::Stmt;
using tilewright::Store;
using tilewright::Var;

constexpr int kElements = 1024;
constexpr int kTile = 16;

// B[i] = A[i] + A[i]
Function MakeFunction(bool tiled) {
  const Buffer a("A", {kElements}, DataType::Float(32));
  const Buffer b("B", {kElements}, DataType::Float(32));
  const auto store = [&](const Expr& i) { return Store(b, a(i) + a(i), {i}); };
  Stmt body;
  if (tiled) {
    const Var outer("i_0");
    const Var inner("i_1");
    body = For({.var = inner, .extent = kTile, .body = store(outer * kTile + inner)});
    body = For({.var = outer, .extent = kElements / kTile, .body = body});
  } else {
    const Var i("i");
    body = For({.var = i, .extent = kElements, .body = store(i)});
  }
  return Function({.name = "twice", .params = {{a->data, a}, {b->data, b}}, .body = body});
}

}  // namespace

int main() {
  const Function original = MakeFunction(/*tiled=*/false);
  TW_CHECK(StructuralEqual(original, MakeFunction(/*tiled=*/false))) << "the same text is the same program";
  tilewright::Mismatch mismatch;
  TW_CHECK(!StructuralEqual(original, MakeFunction(/*tiled=*/true), &mismatch)) << "tiling must show";
  std::printf("%s: %s\n", mismatch.path.c_str(), mismatch.reason.c_str());
}
