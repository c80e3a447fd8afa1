// Numbers for the lines of a kernel's text, from the debug information of its instructions. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/foreign/prepare.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instruction.h"

namespace tilewright::foreign {

class Places {
 public:
  // The number of the instruction's place; 0 where the text says nothing.
  uint32_t Of(const llvm::Instruction& instruction) { return Of(instruction.getDebugLoc().get()); }
  uint32_t Of(const llvm::DILocation* location);
  // "softmax.cu:17", or "the text" where nothing is known.
  std::string Name(const llvm::Instruction& instruction);

  std::vector<TextPlace> Take() { return std::move(places_); }

 private:
  std::map<const llvm::DILocation*, uint32_t> numbers_;
  std::vector<TextPlace> places_ = std::vector<TextPlace>(1);
};

// The lines that a location was inlined through, innermost first, without those of the headers that come with us.
TextPlace PlaceOf(const llvm::DILocation* location);

}  // namespace tilewright::foreign
