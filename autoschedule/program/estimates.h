// What a difference of two estimates means: of projected times, of efficiencies, of the time that cores are busy.
#pragma once

namespace tilewright {

// A part of an estimate that does not tell which of two ways is better.
inline constexpr double kNearlyEqual = 0.01;

// Ways whose estimated speed is below this part of the best one's are not tried.
inline constexpr double kWorthATry = 0.6;

}  // namespace tilewright
