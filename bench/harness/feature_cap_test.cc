#include "bench/harness/feature_cap.h"

#include <cstdlib>
#include <map>

#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

constexpr char kVariable[] = "TILEWRIGHT_HOST_FEATURES";

std::map<std::string, std::string> Switches() {
  const auto switches = PeerSwitches();
  return {switches.begin(), switches.end()};
}

TEST(FeatureCap, PeersWithASwitchGetIt) {
  setenv(kVariable, "avx2", /*overwrite=*/1);
  EXPECT_EQ(Switches()["DNNL_MAX_CPU_ISA"], "AVX2");
  EXPECT_EQ(Switches()["OPENBLAS_CORETYPE"], "Haswell");
  setenv(kVariable, "avx512vnni", /*overwrite=*/1);
  EXPECT_EQ(Switches()["ONEDNN_MAX_CPU_ISA"], "AVX512_CORE_VNNI");
  EXPECT_EQ(WhyNotCapped("onednn"), "");
}

TEST(FeatureCap, PeersWithoutASwitchAreNamed) {
  setenv(kVariable, "avx2", /*overwrite=*/1);
  EXPECT_EQ(WhyNotCapped("xnnpack"), "takes features that TILEWRIGHT_HOST_FEATURES=avx2 hides");
}

TEST(FeatureCap, WithoutACapNothingIsSet) {
  unsetenv(kVariable);
  EXPECT_TRUE(PeerSwitches().empty());
  EXPECT_EQ(WhyNotCapped("xnnpack"), "");
}

}  // namespace
}  // namespace tilewright::bench
