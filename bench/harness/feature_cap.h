// What TILEWRIGHT_HOST_FEATURES (docs/targets.md) means for peers.
//
// The variable caps the features that this compiler takes the host to have. Peers look at the CPU themselves. Those
// that have a switch of their own get it here. The others are named, since they still take all of the CPU.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::bench {

// Environment variables that cap the peers as the variable caps this compiler; none where it is not set.
std::vector<std::pair<std::string, std::string>> PeerSwitches();

// Why times of a peer are not compared: it has no such switch. Empty where it has one, and without a cap.
std::string WhyNotCapped(std::string_view peer);

}  // namespace tilewright::bench
