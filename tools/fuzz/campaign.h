// Many random programs, each judged; what is found is shrunk and printed with the seed and pieces that make it again.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <set>
#include <string>

#include "tools/fuzz/judge.h"

namespace tilewright {

struct ProgramCampaign {
  uint64_t first_seed = 1;
  int64_t count = 1000;
  double seconds = 1e9;  // or the time after which to stop
};

struct ProgramCounts {
  std::map<Judgement::Result, int64_t> by_kind;
  std::map<std::string, int64_t> reasons;  // of programs that were not judged, without what differs between them
};

// Judges in child processes: a program that crashes is a finding as well. Findings are printed as they come.
ProgramCounts RunProgramCampaign(const ProgramCampaign& campaign, std::ostream& out);

// The judgement of one program, in a child process; a crash is kWrong.
Judgement JudgeApart(uint64_t seed, const std::set<int>& without);

}  // namespace tilewright
