// A scheduled program as a list of numbers of fixed length, for learned cost models.
//
//   Features x = FeaturesOf(function, target);      // x.numbers.size() == FeatureNames().size()
//
// The numbers are what the projected model computes on its way (times by limiter, traffic by memory level,
// instructions), what the innermost loop that takes most of the time looks like (the tensor instruction and its tile
// among it), and how the working set grows from that loop outwards. Large quantities are on a logarithmic scale.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autoschedule/cost/program_facts.h"
#include "target/target.h"

namespace tilewright {

struct Features {
  std::vector<float> numbers;
  double projected_seconds = 0;  // Project(function, target).seconds
};

Features FeaturesOf(const Function& function, const Target& target);

// What each number says, for people who look at a model.
std::vector<std::string> FeatureNames();

// As bytes, for a file, and back; nothing for bytes that are none, or features by other names than this version's.
std::string Pack(const Features& features);
std::optional<Features> Unpack(std::string_view bytes);

}  // namespace tilewright
