#include "codegen/runtime/available_cpus.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::runtime {
namespace {

namespace fs = std::filesystem;

// A /proc and /sys of our own.
class CgroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/cgroup_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const fs::path file = root_ + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  std::string root_;
};

TEST_F(CgroupTest, NoFilesMeanNoLimit) { EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt); }

TEST_F(CgroupTest, Version2RoundsUp) {
  Write("/proc/self/cgroup", "0::/app\n");
  Write("/sys/fs/cgroup/app/cpu.max", "150000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 2);
}

TEST_F(CgroupTest, Version2WithoutLimit) {
  Write("/proc/self/cgroup", "0::/app\n");
  Write("/sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt);
}

TEST_F(CgroupTest, LeastLimitOfAllAncestorsCounts) {
  Write("/proc/self/cgroup", "0::/slice/app\n");
  Write("/sys/fs/cgroup/slice/app/cpu.max", "800000 100000\n");
  Write("/sys/fs/cgroup/slice/cpu.max", "300000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 3);
}

TEST_F(CgroupTest, Version1AmongOtherHierarchies) {
  Write("/proc/self/cgroup", "4:memory:/m\n3:cpuset:/\n1:cpu,cpuacct:/app\n0::/\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 1);
}

TEST_F(CgroupTest, Version1WithoutLimit) {
  Write("/proc/self/cgroup", "1:cpu:/\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt);
}

TEST_F(CgroupTest, PathThatAContainerHidesFallsBackToTheMount) {
  Write("/proc/self/cgroup", "0::/docker/abc\n");
  Write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root_), 2);
}

TEST_F(CgroupTest, NonsenseIsNoLimit) {
  Write("/proc/self/cgroup", "garbage\n0::/app\n");
  Write("/sys/fs/cgroup/app/cpu.max", "lots of time\n");
  EXPECT_EQ(CgroupCpuQuota(root_), std::nullopt);
}

TEST(AvailableCpus, NeverEmptyAndWithinTheMask) {
  const std::vector<int> cpus = AvailableCpus();
  EXPECT_FALSE(cpus.empty());
  EXPECT_THAT(AffinityCpus(), ::testing::IsSupersetOf(cpus));
}

TEST(SetAffinity, RefusesCpusThatDoNotExist) {
  EXPECT_FALSE(SetAffinity({-1}));
  EXPECT_FALSE(SetAffinity({1 << 20}));
  EXPECT_FALSE(SetAffinity({}));
}

}  // namespace
}  // namespace tilewright::runtime
