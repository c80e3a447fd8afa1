// How fast the host's cores run.
#pragma once

namespace tilewright {

// Cycles per second of this core under load, 0.05 at least. Each addition waits for the one before it and takes one
// cycle. A core that rested takes some milliseconds until it is at full speed, so runs of some 40 us go on until 100 of
// them (4 ms) have not been faster. A program may stand still for longer than that, for other programs or for its pages
// to be read: runs count and not time, and the fastest one was not interrupted.
double MeasureClockGhz();

}  // namespace tilewright
