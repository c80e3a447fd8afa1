#include "tools/tune_report.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TuneResult Result(double others_share, double waited) {
  return {.schedule = Schedule(Module()),
          .statistics = {.measured = 9, .wait_seconds = waited, .beside_preferred = true},
          .others_share = others_share};
}

TEST(TuneReport, SaysThatTheMachineIsBusy) {
  EXPECT_EQ(BusyLine(Result(0.02, 0.3)), "");
  EXPECT_EQ(BusyLine(Result(0.5, 0)),
            "the machine is busy: other processes took 50% of the CPU time; times may be too long\n");
  EXPECT_EQ(BusyLine(Result(0.5, 2)),
            "the machine is busy: other processes took 50% of the CPU time, 2.0 s went by until others had measured; "
            "times may be too long\n");
  EXPECT_EQ(BusyLine(Result(0, 2)),
            "the machine is busy: 2.0 s went by until others had measured; times may be too long\n");
}

TEST(TuneReport, SaysWhenTheRulesWereNotMeasuredBeside) {
  TuneResult result = Result(0, 0);
  EXPECT_EQ(NotBesideRulesLine(result), "");
  result.statistics.beside_preferred = false;
  EXPECT_NE(NotBesideRulesLine(result), "");
  result.statistics.measured = 1;
  EXPECT_EQ(NotBesideRulesLine(result), "") << "nothing but the rules' was measured";
}

TEST(TuneReport, SaysThatNothingWasSearched) {
  TuneResult result = Result(0, 0);
  result.seconds = 2e-3;
  result.bound.seconds = 1e-3;
  result.statistics.measure_seconds = 0.8;
  EXPECT_EQ(NothingSearchedLine(result, 2), "") << "nine were measured";
  result.statistics.measured = 1;
  EXPECT_EQ(NothingSearchedLine(result, 2),
            "nothing was searched: the 2 s were over after the schedule of the rules was measured\n");
  EXPECT_EQ(NothingSearchedLine(result, 60), "") << "time is left: there are no other schedules";
  result.seconds = 1.01e-3;
  EXPECT_EQ(NothingSearchedLine(result, 2), "") << "nothing is faster";
}

TEST(TuneReport, NamesThePeakAndItsSource) {
  const SpeedOfLight bound = {.seconds = 1e-3, .arithmetic_seconds = 1e-3, .multiply_adds = 1e9};
  Target target = *NamedTarget("x86-haswell");
  target.cores = 2;
  target.clock_ghz = 3;
  EXPECT_EQ(PeakLine(bound, target, 2e-3, false),
            "peak: 2000.0 GFLOP/s: 2 cores at 3.00 GHz, by the description of x86-haswell\n");
  target.name = "host";
  EXPECT_EQ(PeakLine(bound, target, 0.99e-3, false),
            "peak: 2000.0 GFLOP/s: 2 cores at 3.00 GHz, measured when this program started; rates of similar CPUs\n");
  EXPECT_NE(PeakLine(bound, target, 0.5e-3, false).find("; error: more than that is not possible"), std::string::npos);
  EXPECT_NE(PeakLine(bound, target, 0.5e-3, true).find("; more than that: fewer operations"), std::string::npos);
  EXPECT_EQ(PeakLine({.bytes = 5, .whole = true}, target, 1, false), "") << "nothing is multiplied";
}

}  // namespace
}  // namespace tilewright
