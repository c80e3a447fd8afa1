// How fast the host's cores run.
#pragma once

namespace tilewright {

// Cycles per second of this core under load, 0.05 at least. Each addition waits for the one before it and takes one cycle.
// A core that rested takes some milliseconds until it is at full speed. A program may stand still for all of that time,
// for other programs or for its pages to be read, so there are many runs, of which some are not interrupted.
double MeasureClockGhz();

}  // namespace tilewright
