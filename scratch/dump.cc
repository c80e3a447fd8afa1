#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "codegen/llvm/object.h"
#include "codegen/llvm/testing/programs.h"
using namespace tilewright;
int main(int argc, char** argv) {
  testing::TiledMatmul s{atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), atoi(argv[6])};
  Module m(testing::MakeTiledMatmul(s));
  auto r = !strcmp(argv[1],"s") ? EmitAssembly(m, HostTarget()) : EmitLlvmIr(m, HostTarget());
  puts(r.ok() ? r->c_str() : std::string(r.status().message()).c_str());
}
