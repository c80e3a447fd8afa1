// What `tilewright tune` says beside the best time: what was in its way, and what the percentage is of.
#pragma once

#include <string>

#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/tune/tune.h"
#include "target/target.h"

namespace tilewright {

// A line that the machine was busy, and how much; empty when it was not.
std::string BusyLine(const TuneResult& result);

// A line for a best time that was not measured in turn with the schedule of the rules; empty when it was.
std::string NotBesideRulesLine(const TuneResult& result);

// A line for a time of `seconds` that was over before anything but the schedule of the rules was measured; empty where
// more was, or where that schedule is as fast as the bound allows.
std::string NothingSearchedLine(const TuneResult& result, double seconds);

// The peak of "% of peak", and where its numbers come from; empty where no products are counted. A time that is shorter
// than the peak allows is explained or called an error. `saves`: the schedule computes less than is counted.
std::string PeakLine(const SpeedOfLight& bound, const Target& target, double seconds, bool saves);

}  // namespace tilewright
