#include "base/phases.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

std::vector<std::string> PathsOf(const std::vector<PhaseReport::Entry>& entries) {
  std::vector<std::string> paths;
  for (const PhaseReport::Entry& entry : entries) {
    paths.push_back(entry.subject.empty() ? entry.path : entry.subject + ":" + entry.path);
  }
  return paths;
}

void Kernel(const std::string& name) {
  const PhaseSubject subject(name);
  const Phase lower("lower");
  Phase unroll("unroll");
  unroll.End();
  unroll.Nodes(10, 30);
}

TEST(Phases, WithoutAReportNothingHappens) {
  Phase phase("import");
  EXPECT_FALSE(phase.reported());
  EXPECT_TRUE(PhaseContext::OfThisThread().path.empty());
}

TEST(Phases, LieInsideOfEachOther) {
  PhaseReport report;
  {
    const ReportPhases here({.report = &report});
    {
      const Phase import("import");
    }
    const Phase kernels("kernels");
    Kernel("a");
    Kernel("b");
  }
  EXPECT_EQ(PathsOf(report.entries()),
            (std::vector<std::string>{"import", "kernels", "a:kernels/lower", "a:kernels/lower/unroll",
                                      "b:kernels/lower", "b:kernels/lower/unroll"}));
  const std::vector<PhaseReport::Entry> phases = report.Phases();
  EXPECT_EQ(PathsOf(phases), (std::vector<std::string>{"import", "kernels", "kernels/lower", "kernels/lower/unroll"}));
  EXPECT_EQ(phases[3].calls, 2);
  EXPECT_EQ(phases[3].nodes_before, 20);
  EXPECT_EQ(phases[3].nodes_after, 60);
  EXPECT_EQ(phases[3].name(), "unroll");
  EXPECT_EQ(phases[3].depth(), 2);
  EXPECT_EQ(phases[0].nodes_before, -1);
  EXPECT_GT(phases[0].peak_bytes, 0);
  EXPECT_GE(phases[2].seconds, phases[3].seconds);
  const std::vector<PhaseReport::Entry> subjects = report.Subjects();
  EXPECT_EQ(PathsOf(subjects), (std::vector<std::string>{"a:", "b:"}));
  EXPECT_EQ(subjects[0].nodes_before, -1);  // of the outermost phase, which said none
  EXPECT_FALSE(Phase("later").reported());
}

// A phase that a later subject alone has stands with those around it.
TEST(Phases, OfLaterSubjectsStandInTheirPlace) {
  PhaseReport report;
  const ReportPhases here({.report = &report});
  {
    const Phase kernels("kernels");
    const PhaseSubject subject("a");
    const Phase lower("lower");
  }
  {
    const Phase constants("constants");
  }
  {
    const Phase kernels("kernels");
    const PhaseSubject subject("b");
    {
      const Phase lower("lower");
    }
    const Phase link("link");
  }
  EXPECT_EQ(PathsOf(report.Phases()),
            (std::vector<std::string>{"kernels", "kernels/lower", "kernels/link", "constants"}));
}

TEST(Phases, OfThreadsBelongToTheContextOfTheirStarter) {
  PhaseReport report;
  {
    const ReportPhases here({.report = &report});
    const Phase kernels("kernels");
    std::thread thread([context = PhaseContext::OfThisThread()] {
      const ReportPhases there(context);
      Kernel("a");
    });
    thread.join();
  }
  const std::vector<PhaseReport::Entry> entries = report.entries();
  EXPECT_EQ(PathsOf(entries), (std::vector<std::string>{"kernels", "a:kernels/lower", "a:kernels/lower/unroll"}));
  EXPECT_GE(entries[0].seconds, entries[1].seconds);
  EXPECT_EQ(report.Seconds(), entries[0].seconds);
}

TEST(Phases, CountOtherProgramsThatRanForThem) {
  PhaseReport report;
  const ReportPhases here({.report = &report});
  {
    const Phase link("link");
    AddSecondsOfChild(5);
  }
  EXPECT_GE(report.entries()[0].seconds, 5);
  EXPECT_LT(report.entries()[0].seconds, 6);
}

}  // namespace
}  // namespace tilewright
