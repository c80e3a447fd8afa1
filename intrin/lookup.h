// What instructions of the family "lookup" (intrin/instructions.h) find in tables, and what larger tables take.
//
//   vpermps      16 lanes    16 entries    the entry whose number is in the low bits
//   vpermi2b     64 lanes   128 entries    the same
//   vpshufb      32 lanes    16 entries    the same in each part of 16 lanes; 0 where the number's highest bit is set
//
// A row's lanes are its columns (n), the entries of its table are along K. Tables of bytes with more entries are looked
// up in parts, by 2^i instructions, and the number's high bits choose one of the results.
#pragma once

#include "intrin/instructions.h"

namespace tilewright {

// Whether an instruction has its table in each part of a register, and finds 0 where the highest bit of a number is
// set.
constexpr bool FindsZeros(const MachineInstruction& row) { return row.k < row.n; }

// Entries that numbers choose among by their high bits where an instruction finds zeros: numbers without their highest
// bit, from which multiples of the entries are taken, have that bit afterwards where they are of an earlier part.
constexpr int kEntriesBelowHighestBit = 128;

// Instructions for one vector of numbers and a table of so many entries, 2^i times those of the row, with those that
// load the table's parts where registers do not hold them.
int InstructionsToLookUp(const MachineInstruction& row, int entries);

}  // namespace tilewright
