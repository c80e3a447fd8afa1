// The instruction table: one row for each instruction that tensor intrinsics are made of. What families, code
// generation, the rules and verification know of an instruction derives from its row.
//
//   C[m, n] += A[m, k] * B[k, n]
//
//   name        types  family  m  n   k   A                B             C                  needs       LLVM
//   vpdpbusd    u8s8   dot     1  16  4   row, broadcast   groups of k   vector registers   avx512vnni  llvm.x86...
//   sdot        s8s8   dot     1  4   4   row, broadcast   groups of k   vector registers   dotprod     llvm.aarch64...
//   smmla       s8s8   mmla    2  2   8   row pairs        groups of k   vectors of 2 x 2   i8mm       llvm.aarch64...
//   vpermps     f32    lookup  1  16  1   table            numbers       vector registers   avx512f     llvm.x86...
//   tdpbf16ps   bf16   amx     16 16  32  memory           groups of 2   tile registers     amx-bf16    llvm.x86...
//   wgmma       f16    wgmma   64 256 16  shared memory    shared memory 128 lanes          wgmma       PTX
//   mma.sync    f16    mma     16 8   16  32 lanes         32 lanes      32 lanes           mma         PTX
//   ldmatrix    f16    ldmatrix 16 0  16  shared memory    none          32 lanes           ldmatrix    PTX
//   dp4a        s8s8   dp4a    1  1   4   register         register      register           dp4a        PTX
//
// Rows stand in the order of preference. A row without emission is plain IR (a fused multiply-add), or computed by the
// instruction that its identity names. A row without columns (n is 0) moves: C[m, k] = A[m, k].
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/data_type.h"
#include "target/target.h"

namespace tilewright {

// Who executes an instruction together.
enum class ExecScope : uint8_t { kThread, kWarp, kWarpgroup, kBlock };

// One operand of an instruction.
struct InstructionOperand {
  DataType type;
  // The memory scope that it lies in when the instruction starts: "register", "global" for any memory, "amx.tile",
  // "shared", "warp".
  std::string_view scope = "register";
  // The place of element (row, column), as an index map in script text: "lambda k, j: (k // 4, j, k % 4)". Empty:
  // row-major. With `owners`, the first results name who holds the element: the lane of a warp, for example.
  std::string_view layout = {};
  int owners = 0;
  // The format that the instruction reads the element's bits as, where it is another than the type's: "tf32", the upper
  // 19 bits of a float.
  std::string_view format = {};
};

// How an instruction computes what it cannot compute directly.
enum class InstructionIdentity : uint8_t {
  kNone,
  // Signed by signed from unsigned by signed: a * b = (a + 128) * b - 128 * b, and unsigned by signed from signed by
  // signed: a * b = (a - 128) * b + 128 * b (codegen/lower/cpu/signed_dots.h).
  kFlipsSignOfA,
  // Groups of four bytes as two pairs of 16-bit integers, the even bytes and the odd ones: the LLVM intrinsic
  // multiplies such pairs, and both sums are added.
  kSplitsBytes,
  // Pairs of products are added in 16 bits, which saturate: exact where B's bytes are below 128, which masks say
  // (codegen/lower/cpu/mask_bytes.h). Pairs of these sums are added in 32 bits.
  kAddsPairs,
};

struct MachineInstruction {
  std::string_view name;    // the vendor's
  std::string_view types;   // as names of intrinsics spell them: "u8s8"
  std::string_view family;  // of the intrinsics that are made of it: "dot" (intrin/dot_tile.h)
  std::string_view suffix;  // the last part of their names; empty where there is none
  int m, n, k;
  InstructionOperand a, b, c;
  ExecScope scope = ExecScope::kThread;
  std::array<std::string_view, 2> features;  // of the target, as it spells them; an empty one is none
  int registers;                             // that hold C, and others beside it: how many there are
  InstructionIdentity identity = InstructionIdentity::kNone;
  std::string_view llvm = {};  // the LLVM intrinsic: (C, A, B) to C; of a lookup (A, B)
  std::string_view ptx = {};   // the PTX instruction, without operands; "nN" stands for the columns
  // An instruction with fewer columns than `n` has a multiple of this; 0: there is none.
  int n_step = 0;
  // Whether the LLVM intrinsic takes B before A.
  bool b_first = false;

  // Neighbours along K that lie side by side: they are multiplied and added up into one element of C at once.
  int group() const { return c.scope == "register" ? k : c.type.bits() / a.type.bits(); }
  bool moves() const { return n == 0; }
  bool flips() const { return identity == InstructionIdentity::kFlipsSignOfA; }
  // Whether several instructions for narrower or wider factors make one of these.
  bool ByParts() const {
    return identity == InstructionIdentity::kSplitsBytes || identity == InstructionIdentity::kAddsPairs;
  }
  // Whether the instruction has a form for so many columns.
  bool HasColumns(int columns) const {
    return columns == n || (n_step > 0 && columns > 0 && columns < n && columns % n_step == 0);
  }
  bool InTileRegisters() const { return c.scope == "amx.tile"; }
  // Whether C is one vector: a row of the result.
  bool IsVector() const { return m == 1 && !InTileRegisters(); }
  int VectorBits() const { return n * c.type.bits(); }
  // Registers beside those of C in a tile with so many vectors in a row, one for each row of A. Flipping takes sums,
  // and room for what LLVM's scheduler begins early.
  int OtherRegisters(int vectors) const {
    return flips() ? 2 * vectors + 4 : vectors + (IsVector() || InTileRegisters() ? 1 : m);
  }
  std::vector<std::string> FeatureNames() const;
};

// All rows.
std::span<const MachineInstruction> Instructions();

// Whether the target executes the instruction.
bool Executes(const Target& target, const MachineInstruction& instruction);
// The first row of the family for these types that the target executes, or null. Rows that read operands in another
// format than their type compute something else.
const MachineInstruction* FindInstruction(const Target& target, std::string_view family, DataType a, DataType b,
                                          DataType c);
// The row that intrinsics of the family with these parts in their names are made of, or null.
const MachineInstruction* InstructionNamed(std::string_view family, std::string_view types,
                                           std::string_view suffix = {});

// Instructions of this kind that a core of the target starts per cycle, by the rate of the unit that executes them.
double StartsPerCycle(const MachineInstruction& instruction, const Target& target);

// Who executes a call of an intrinsic function of the IR (ir/builtin.h) together; kThread for all that are not known.
ExecScope ScopeOfCall(std::string_view call);

}  // namespace tilewright
