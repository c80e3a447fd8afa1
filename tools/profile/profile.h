// Times of calls and of their parts: kernels of a model, nests of a program.
//
//   Profile profile;
//   profile.calls.push_back({.start = 0, .seconds = 1.2e-3});
//   profile.parts.push_back({.name = "conv1", .place = "k0", .bound_seconds = 4e-4, .times = {{0, 1.1e-3}}});
//   PrintProfile(profile, std::cout);
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace tilewright {

struct Span {
  double start = 0;  // in seconds, from any moment that is the same for all of a profile
  double seconds = 0;
};

struct ProfiledPart {
  std::string name;
  std::string place;         // "k3" or "for i_0"
  double bound_seconds = 0;  // what no schedule takes less than; 0: not known
  std::vector<Span> times;   // one for each call
};

struct Profile {
  std::vector<ProfiledPart> parts;  // in the order in which they run
  std::vector<Span> calls;
  double bound_seconds = 0;  // of a whole call
};

std::vector<double> SecondsOf(const std::vector<Span>& spans);

// A table, the part that takes longest first; what is outside of all parts is its last line.
void PrintProfile(const Profile& profile, std::ostream& out);
// All parts in the order in which they run, with share, median, spread and percent of the bound.
nlohmann::json ToJson(const Profile& profile);
// Chrome's trace format (chrome://tracing, Perfetto): an event for each call, and below it one for each part.
nlohmann::json TraceEvents(const Profile& profile, const std::string& title);

}  // namespace tilewright
