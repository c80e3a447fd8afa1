// Random programs as text: element types and index types of every kind, guards, in-place blocks, function names, calls.
//
// A program is a chain of stages. Each writes an array from parameters, positions and arrays before it, in one of
// several forms (plain, guarded, reduced, in place, split behind a predicate). Each third program stores between reads
// and guards instead (changing_memory.h), another third has views (views_text.h). The parts that a program can do
// without are pieces with numbers: a program that fails is made again without some of them, until none can go
// (shrinking).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace tilewright {

struct ProgramText {
  std::string text;
  std::string function;
  int pieces = 0;                             // numbers of pieces are below it
  std::map<std::string, int64_t> sizes = {};  // of symbolic extents, by name
};

// The same seed and pieces give the same text everywhere.
ProgramText MakeProgramText(uint64_t seed, const std::set<int>& without = {});

}  // namespace tilewright
