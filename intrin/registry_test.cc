#include "intrin/registry.h"

#include <gtest/gtest.h>

#include "intrin/fma_tile.h"
#include "ir/well_formed.h"

namespace tilewright {
namespace {

TEST(IntrinRegistry, FamiliesMakeTheirExamples) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const IntrinFamily& family : intrins.families()) {
    ASSERT_FALSE(family.examples.empty()) << family.description;
    for (const std::string& name : family.examples) {
      const TensorIntrin* intrin = intrins.Find(name);
      ASSERT_NE(intrin, nullptr) << name;
      EXPECT_EQ(intrin->name, name);
      EXPECT_EQ(intrin, intrins.Find(name));
      EXPECT_FALSE(intrin->features.empty());
      EXPECT_TRUE(FindViolations(intrin->description).empty());
      EXPECT_TRUE(FindViolations(intrin->implementation).empty());
    }
  }
}

// The names of TVM 0.27 for CUDA, but those of four-bit integers.
std::vector<std::string> NamesOfTvm() {
  std::vector<std::string> names;
  const auto add = [&](std::initializer_list<absl::string_view> prefixes, const auto&... suffixes) {
    std::vector<std::string> made(prefixes.begin(), prefixes.end());
    const auto extend = [&](const std::vector<std::string>& parts) {
      std::vector<std::string> longer;
      for (const std::string& prefix : made) {
        for (const std::string& part : parts) longer.push_back(prefix + part);
      }
      made = longer;
    };
    (extend(suffixes), ...);
    names.insert(names.end(), made.begin(), made.end());
  };
  using Parts = std::vector<std::string>;
  add({"mma_ldmatrix_f16_"}, Parts{"a", "b"}, Parts{"", "_trans"}, Parts{"", "_dyn"});
  add({"mma_ldmatrix_"}, Parts{"i8", "e4m3", "e5m2"}, Parts{"_a", "_b", "_b_trans"});
  add({"mma_f16f16f32", "mma_f16f16f16"}, Parts{"", "_trans_a"}, Parts{"", "_trans_b"});
  add({"mma_i8i8i32", "mma_e4m3e4m3f32", "mma_e5m2e5m2f32"}, Parts{"", "_trans_b"});
  add({"mma_fill_16x16_"}, Parts{"f32", "f16", "i32"});
  add({"mma_store_16x16_"}, Parts{"f32_global_", "f16_global_", "i32_global_", "f32_shared_dyn_",
                                  "f32_shared_dyn_simple_", "f16_shared_dyn_simple_"});
  add({"mma_init_m16n8k8_"}, Parts{"f16", "f32"});
  add({"mma_store_m16n8k8_"}, Parts{"f16_global", "f32_global"});
  add({"mma_load_m16n8k8_f16_"}, Parts{"A", "B"}, Parts{"_shared_dyn"});
  add({"mma_sync_m16n8k8_f16f16"}, Parts{"f16", "f32"});
  add({"wmma_load_16x16x16_"}, Parts{"f16_", "s8_"}, Parts{"a_", "b_"}, Parts{"", "trans_"},
      Parts{"shared", "shared_dyn"});
  add({"wmma_sync_16x16x16_"}, Parts{"f16f16f32", "f16f16f16", "s8s8s32"}, Parts{"", "_trans"});
  add({"wmma_fill_16x16x16_"}, Parts{"f32", "f16", "s32"});
  add({"wmma_store_16x16x16_"}, Parts{"f32_", "f16_", "s32_"}, Parts{"shared", "shared_dyn", "global"});
  add({"dp4a_"}, Parts{"s8s8s32", "u8s8s32", "s8u8s32", "u8u8u32"});
  return names;
}

TEST(IntrinRegistry, KnowsTheNamesOfTvm) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const std::string& name : NamesOfTvm()) EXPECT_NE(intrins.Find(name), nullptr) << name;
}

TEST(IntrinRegistry, RefusesTilesThatDoNotFit) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const char* name :
       {"fma_f32_16x32x1_avx512", "fma_f32_12x24x1_avx512", "fma_f32_6x32x1_avx2", "fma_f32_0x16x1_avx512",
        "fma_f32_12x32_avx512", "fma_f32_12x32x1_neon", "fma_f32_", "unknown"}) {
    EXPECT_EQ(intrins.Find(name), nullptr) << name;
  }
}

constexpr char kPair[] = R"(
@T.prim_func
def copy4_desc(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4,), "float32")
    B = T.match_buffer(b, (4,), "float32")
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("copy"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]

@T.prim_func
def copy4_impl(a: T.handle, b: T.handle):
    T.func_attr({"features": ["avx2"]})
    A = T.match_buffer(a, (4,), "float32")
    B = T.match_buffer(b, (4,), "float32")
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in T.vectorized(4):
            B[i] = A[i]
)";

TEST(IntrinRegistry, LoadsPairsFromAScript) {
  IntrinRegistry intrins;
  ASSERT_TRUE(intrins.LoadScript(kPair, "copy.py").ok());
  const TensorIntrin* intrin = intrins.Find("copy4");
  ASSERT_NE(intrin, nullptr);
  EXPECT_EQ(intrin->features, std::vector<std::string>{"avx2"});
  EXPECT_EQ(intrins.LoadScript(kPair, "copy.py").message(), "there is an intrinsic copy4 already");
}

TEST(IntrinRegistry, NamesTheFunctionWithoutPartner) {
  IntrinRegistry intrins;
  std::string text(kPair);
  text.replace(text.find("copy4_impl"), 10, "copy5_impl");
  EXPECT_EQ(intrins.LoadScript(text, "copy.py").message(), "copy.py: function copy4_desc has no partner copy4_impl");
  text.replace(text.find("copy4_desc"), 10, "copy4_what");
  EXPECT_EQ(intrins.LoadScript(text, "copy.py").message(),
            "copy.py: function copy4_what is neither NAME_desc nor NAME_impl");
}

TEST(IntrinRegistry, TakesThePairsThatTheFileRegisters) {
  IntrinRegistry intrins;
  std::string text = "from tvm.tir import TensorIntrin\nNAME = \"tile\"\n" + std::string(kPair);
  text.replace(text.find("copy4_desc"), 10, "description");
  text.replace(text.find("copy4_impl"), 10, "first_way");
  text += "\n@T.prim_func\ndef alone(A: T.Buffer((4,), \"float32\")):\n    A[0] = 1\n\n";
  const std::string registered = text + "tir.TensorIntrin.register(NAME, description, impl=first_way)\nprint(NAME)\n";
  ASSERT_TRUE(intrins.LoadScript(registered, "copy.py").ok());
  ASSERT_NE(intrins.Find("tile"), nullptr);
  EXPECT_EQ(intrins.Find("tile")->implementation->name, "first_way");
  EXPECT_EQ(intrins.LoadScript(text + "TensorIntrin.register(\"x\", description, second_way)\n", "copy.py").message(),
            "copy.py: there is no function second_way for the intrinsic x");
  EXPECT_EQ(intrins.LoadScript(text + "\n)", "copy.py").code(), absl::StatusCode::kInvalidArgument);
}

TEST(IntrinRegistry, ParametersMustAgree) {
  IntrinRegistry intrins;
  std::string text(kPair);
  text.replace(text.rfind("(4,), \"float32\""), 15, "(4,), \"float64\"");
  EXPECT_FALSE(intrins.LoadScript(text, "copy.py").ok());
}

}  // namespace
}  // namespace tilewright
