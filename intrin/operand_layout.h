// The layout of an instruction's operand as a value: which lane holds an element, and in which of its registers.
//
//   const MachineInstruction& row = *InstructionNamed("mma", "f16f16f32");
//   TileLayout sums = LayoutOf(row.c, row.m, row.n);   // lambda i, j: (i % 8 * 4 + j // 2, i // 8 * 2 + j % 2)
//   ElementOf(sums)                                    // row "tx // 4 + e // 2 * 8", column "tx % 4 * 2 + e % 2"
//
// The instruction table is the one place that says so (instructions.cc). codegen/cuda/emulator/fragments.h says it once
// more for the emulator, and codegen/cuda/rows_test.cc compares both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "intrin/instructions.h"
#include "ir/layout.h"

namespace tilewright {

// The layout of an operand of so many rows and columns, which its row of the table has.
TileLayout LayoutOf(const InstructionOperand& operand, int64_t rows, int64_t columns);

// Sums of so many columns by the instructions of a family ("mma", "wgmma"), which all types share: tiles of the
// instruction side by side.
TileLayout LayoutOfSums(std::string_view family, int64_t columns);

// Tiles of intrinsics that a warp executes: A of 16 rows, B of 16 columns, which is two instructions', and their sums.
enum class FragmentOperand { kA, kB, kSum };
// `bits`: of the factors, `depth`: elements of K. Sums are the same for all of them.
TileLayout LayoutOfFragment(FragmentOperand operand, int bits = 16, int depth = 16);

// A place of a layout as script text in the indices' names.
std::string PlaceText(const TileLayout& layout, size_t place, const std::vector<std::string>& names);
// The lane and register of an element as script text.
std::string OwnerText(const TileLayout& layout, const std::string& row, const std::string& column);
// The element in register `e` of lane `tx` as script text, and how many a lane has.
struct ElementText {
  std::string row, column;
  int64_t elements;
};
ElementText ElementOf(const TileLayout& layout);

}  // namespace tilewright
