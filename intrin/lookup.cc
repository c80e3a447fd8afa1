#include "intrin/lookup.h"

#include <algorithm>

namespace tilewright {

int InstructionsToLookUp(const MachineInstruction& row, int entries) {
  const int parts = std::max(1, entries / row.k);
  // One result is chosen by two instructions.
  if (!FindsZeros(row)) return parts + 2 * (parts - 1);
  const int halves = std::max(1, entries / kEntriesBelowHighestBit), differences = parts / halves;
  // A part is loaded, looked up and added to the others.
  return 3 * parts + differences + 2 * (halves - 1);
}

}  // namespace tilewright
