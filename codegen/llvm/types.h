// How values of the program's types are held in LLVM registers and in memory.
//
//   type               register                         memory
//   bool               i1                               i8 (0 or 1)
//   int, uint          iN                               iN, rounded up to whole bytes
//   float16, 32, 64    half, float, double              the same
//   bfloat16           float that bfloat16 can hold     i16
//   e4m3, e5m2         float that the format can hold   i8
//   handle             ptr                              ptr
//
// Formats narrower than float16 live in registers as floats: each operation computes in f32 and `RoundNarrow` rounds
// its result, so their arithmetic needs no library calls and has one meaning on every target.
#pragma once

#include "codegen/llvm/known_instructions.h"
#include "ir/data_type.h"

namespace tilewright::codegen {

// bfloat16 and the fp8 formats.
bool IsNarrowFloat(DataType type);

llvm::Type* RegisterType(llvm::LLVMContext& context, DataType type);
llvm::Type* MemoryType(llvm::LLVMContext& context, DataType type);

llvm::Value* ToMemory(Builder& builder, DataType type, llvm::Value* value);
llvm::Value* FromMemory(Builder& builder, DataType type, llvm::Value* value);

// Rounds a float (or a vector of them) to the nearest value of a narrow format, ties to even.
llvm::Value* RoundNarrow(Builder& builder, DataType type, llvm::Value* value);

// Compares floats. Vectors of halves are compared as integers where the target has no instruction for them
// (`has_halves`): LLVM would compare lane by lane.
llvm::Value* CompareFloats(Builder& builder, llvm::CmpInst::Predicate predicate, llvm::Value* a, llvm::Value* b,
                           bool has_halves);

// Conversion between any two types with equally many lanes. Floats to integers truncate towards zero.
llvm::Value* Convert(Builder& builder, DataType from, DataType to, llvm::Value* value);

}  // namespace tilewright::codegen
