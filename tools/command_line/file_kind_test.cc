#include "tools/command_line/file_kind.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

constexpr char kOne[] = "from tvm.script import tir as T\n\n@T.prim_func\ndef f(): ...\n";

TEST(FileKind, IsToldByNameAndFirstLines) {
  EXPECT_EQ(KindOf("m.onnx", ""), FileKind::kModel);
  EXPECT_EQ(KindOf("k.cu", ""), FileKind::kCuda);
  EXPECT_EQ(KindOf("-", "extern \"C\" __global__ void f() {}\n"), FileKind::kCuda);
  EXPECT_EQ(KindOf("-", kOne), FileKind::kProgram);
  EXPECT_EQ(KindOf("-", std::string(kOne) + kOne), FileKind::kModule);
  EXPECT_EQ(KindOf("-", "class M:\n    @T.prim_func(private=True)\n    def f(): ...\n"), FileKind::kProgram);
  EXPECT_EQ(KindOf("-", std::string(kOne) + "@R.function\ndef main(): ...\n"), FileKind::kGraph);
  EXPECT_EQ(KindOf("-", "# @R.function\n" + std::string(kOne)), FileKind::kProgram);
  EXPECT_EQ(KindOf("-", "b = sch.get_block(\"C\")\nsch.parallel(b)\n"), FileKind::kSchedule);
  EXPECT_EQ(KindOf("-", "{\"trace\": []}"), FileKind::kSchedule);
  EXPECT_EQ(KindOf("-", "what is this?"), FileKind::kProgram);
}

TEST(FileKind, OtherFilesHaveNames) {
  EXPECT_EQ(WhatItIs(""), "empty");
  EXPECT_EQ(WhatItIs("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 7\n")->substr(0, 18),
            "a Git LFS pointer,");
  EXPECT_EQ(WhatItIs("\x1f\x8b\x08"), "compressed by gzip: unpack it first");
  EXPECT_EQ(WhatItIs(std::string("PK\x03\x04", 4)), "a zip archive: unpack it first");
  EXPECT_EQ(WhatItIs(std::string("\x18\0\0\0\0\0\0\0{\"a\"", 12)), "a safetensors file");
  EXPECT_EQ(WhatItIs(kOne), std::nullopt);
  EXPECT_EQ(WhatItIs("\x08\x08\x12\x01x"), std::nullopt);
  EXPECT_TRUE(BeginsAsModel("\x08\x08\x12\x01x"));
  EXPECT_FALSE(BeginsAsModel(kOne));
}

TEST(FileKind, SetsAreSentences) {
  EXPECT_EQ(NamesOf(kPrograms), "a program");
  EXPECT_EQ(NamesOf(kPrograms | kModels), "a program or an ONNX model");
  EXPECT_EQ(NamesOf(kPrograms | kGraphs | kModels), "a program, graph text or an ONNX model");
}

}  // namespace
}  // namespace tilewright
