#include "intrin/instructions.h"

#include <algorithm>
#include <string>

namespace tilewright {
namespace {

constexpr DataType kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS16 = DataType::Int(16), kS32 = DataType::Int(32);
constexpr DataType kU32 = DataType::UInt(32);
constexpr DataType kF32 = DataType::Float(32), kBF16 = DataType::BFloat16(), kF16 = DataType::Float(16);
constexpr DataType kE4M3(TypeCode::kE4M3, 8), kE5M2(TypeCode::kE5M2, 8);

// B of instructions that add up neighbours along K.
constexpr std::string_view kPairs = "lambda k, j: (k // 2, j, k % 2)";
constexpr std::string_view kQuads = "lambda k, j: (k // 4, j, k % 4)";
constexpr std::string_view kOctets = "lambda k, j: (k // 8, j, k % 8)";
// C of instructions that multiply two rows by two columns.
constexpr std::string_view kSquares = "lambda i, j: (i // 2, j // 2, i % 2 * 2 + j % 2)";

// The lane of 128 that holds a sum of wgmma, and its register.
constexpr std::string_view kWarpgroupSums =
    "lambda i, j: (i // 16 * 32 + i % 8 * 4 + j % 8 // 2, j // 8 * 4 + i % 16 // 8 * 2 + j % 2)";

// The lane of 32 that holds an element, and which of the lane's elements it is: in a tile of 16 bits and K = 8 or 16,
// of 8 bits and K = 16 or 32, of floats as tf32 and K = 8, and of sums.
constexpr std::string_view kHalvesOfA = "lambda i, k: (i % 8 * 4 + k % 8 // 2, k // 8 * 4 + i // 8 * 2 + k % 2)",
                           kHalvesOfB = "lambda k, j: (j * 4 + k % 8 // 2, k // 8 * 2 + k % 2)",
                           kBytesOfA = "lambda i, k: (i % 8 * 4 + k % 16 // 4, k // 16 * 8 + i // 8 * 4 + k % 4)",
                           kBytesOfB = "lambda k, j: (j * 4 + k % 16 // 4, k // 16 * 4 + k % 4)",
                           kWordsOfA = "lambda i, k: (i % 8 * 4 + k % 4, k // 4 * 2 + i // 8)",
                           kWordsOfB = "lambda k, j: (j * 4 + k % 4, k // 4)",
                           kWarpSums = "lambda i, j: (i % 8 * 4 + j // 2, i // 8 * 2 + j % 2)";

constexpr std::string_view LanesOfA(DataType type) {
  if (type.bits() == 16) return kHalvesOfA;
  return type.bits() == 8 ? kBytesOfA : kWordsOfA;
}
constexpr std::string_view LanesOfB(DataType type) {
  if (type.bits() == 16) return kHalvesOfB;
  return type.bits() == 8 ? kBytesOfB : kWordsOfB;
}

// A fused multiply-add of vectors of a type: plain IR. B is in memory where the instruction can load it.
constexpr MachineInstruction Fma(std::string_view name, std::string_view types, DataType type, std::string_view suffix,
                                 int lanes, int registers, std::array<std::string_view, 2> features,
                                 std::string_view scope_of_b = "global") {
  return {.name = name,
          .types = types,
          .family = "fma",
          .suffix = suffix,
          .m = 1,
          .n = lanes,
          .k = 1,
          .a = {type},
          .b = {type, scope_of_b},
          .c = {type},
          .features = features,
          .registers = registers};
}

// Adds to each 32-bit element of a vector the products of a group of neighbours along K. Vectors of 256 bits are those
// of cores with 16 registers, vectors of 128 bits those of ARM, whose operands are in registers.
constexpr MachineInstruction Dot(std::string_view name, std::string_view types, DataType a, DataType b, DataType c,
                                 int lanes, std::string_view feature, std::string_view llvm,
                                 InstructionIdentity identity = InstructionIdentity::kNone) {
  const int group = c.bits() / a.bits();
  return {.name = name,
          .types = types,
          .family = "dot",
          .suffix = feature,
          .m = 1,
          .n = lanes,
          .k = group,
          .a = {a},
          .b = {b, lanes == 4 ? "register" : "global", group == 2 ? kPairs : kQuads},
          .c = {c},
          .features = {{feature}},
          .registers = lanes == 8 ? 16 : 32,
          .identity = identity,
          .llvm = llvm};
}

// The LLVM intrinsic takes A and B alone. It gives the sum of the products, modulo 2^32, in one register; an addition
// adds it to C.
constexpr MachineInstruction DotOfTwo(std::string_view name, std::string_view types, DataType a, DataType b, DataType c,
                                      int lanes, std::string_view feature, std::string_view llvm) {
  MachineInstruction row = Dot(name, types, a, b, c, lanes, feature, llvm);
  --row.registers;
  return row;
}

// The LLVM intrinsic takes B before A.
constexpr MachineInstruction BFirst(MachineInstruction row) {
  row.b_first = true;
  return row;
}

// Bytes by instructions for narrower or wider factors. Even and odd bytes of both operands, or sums of pairs, take
// registers.
constexpr MachineInstruction DotByParts(std::string_view name, std::string_view types, DataType a, DataType b,
                                        std::string_view family, std::string_view feature, std::string_view llvm,
                                        InstructionIdentity identity) {
  MachineInstruction row = Dot(name, types, a, b, kS32, 8, feature, llvm, identity);
  row.family = family;
  row.registers -= 3;
  return row;
}

// Adds to 16-bit elements the products of pairs of bytes, of which B's are known to be below 128.
constexpr MachineInstruction PairsOfBytes(std::string_view name, std::string_view types, DataType a, DataType b,
                                          std::string_view feature, std::string_view llvm) {
  MachineInstruction row = Dot(name, types, a, b, kS16, 16, feature, llvm);
  row.family = "narrow_dot";
  row.registers = 15;
  return row;
}

// As pairs of 16 bits.
constexpr MachineInstruction DotOfSplit(std::string_view types, DataType a, DataType b) {
  return DotByParts("vpmaddwd", types, a, b, "dot", "avx2", "llvm.x86.avx2.pmadd.wd",
                    InstructionIdentity::kSplitsBytes);
}

// Adds to a vector of two rows by two columns the products of 8 bytes of each row and column.
constexpr MachineInstruction Mmla(std::string_view name, std::string_view types, DataType a, DataType b, DataType c,
                                  std::string_view feature, std::string_view llvm) {
  return {.name = name,
          .types = types,
          .family = "mmla",
          .suffix = feature,
          .m = 2,
          .n = 2,
          .k = 64 / a.bits(),
          .a = {a},
          .b = {b, "global", a.bits() == 8 ? kOctets : kQuads},
          .c = {c, "register", kSquares},
          .features = {{feature}},
          .registers = 32,
          .llvm = llvm};
}

// Adds the products of vectors of half the width to a vector: plain IR.
constexpr MachineInstruction Widening(std::string_view name, std::string_view types, DataType factors, DataType c,
                                      std::string_view feature) {
  return {.name = name,
          .types = types,
          .family = "widening",
          .suffix = feature,
          .m = 1,
          .n = 128 / c.bits(),
          .k = 1,
          .a = {factors},
          .b = {factors, "register"},
          .c = {c},
          .features = {{feature}},
          .registers = 32};
}

// Multiplies tiles of 16 rows of 64 bytes, in tile registers.
constexpr MachineInstruction Amx(std::string_view name, std::string_view types, DataType a, DataType b, DataType c,
                                 std::string_view feature, std::string_view llvm) {
  const int group = 32 / a.bits();
  return {.name = name,
          .types = types,
          .family = "amx",
          .suffix = "",
          .m = 16,
          .n = 16,
          .k = 16 * group,
          .a = {a, "global"},
          .b = {b, "global", group == 2 ? kPairs : kQuads},
          .c = {c, "amx.tile"},
          .features = {{"amx-tile", feature}},
          .registers = 8,
          .llvm = llvm};
}

// Multiplies 64 rows by a warpgroup, operands in shared memory. 8-bit sums exist for other columns than 16-bit ones.
constexpr MachineInstruction Wgmma(std::string_view types, DataType a, DataType b, DataType c, std::string_view ptx) {
  return {.name = "wgmma.mma_async",
          .types = types,
          .family = "wgmma",
          .suffix = "",
          .m = 64,
          .n = 256,
          .k = 256 / a.bits(),
          .a = {a, "shared"},
          .b = {b, "shared"},
          .c = {c, "wgmma.accumulator", kWarpgroupSums, 1},
          .scope = ExecScope::kWarpgroup,
          .features = {{"wgmma"}},
          .registers = 255,
          .ptx = ptx,
          .n_step = a.is_float() ? 8 : 16};
}

// Floats whose upper 19 bits are multiplied.
constexpr MachineInstruction AsTf32(MachineInstruction row) {
  row.a.format = row.b.format = "tf32";
  return row;
}

// Multiplies 16 rows by 8 columns in registers of a warp's lanes. sm_75 has half floats of a depth of 8, sm_80 all but
// 8-bit floats, which came with sm_89.
constexpr MachineInstruction Mma(std::string_view types, int k, DataType a, DataType b, DataType c,
                                 std::string_view ptx, std::string_view suffix = "") {
  return {.name = "mma.sync",
          .types = types,
          .family = "mma",
          .suffix = suffix,
          .m = 16,
          .n = 8,
          .k = k,
          .a = {a, "warp", LanesOfA(a), 1},
          .b = {b, "warp", LanesOfB(b), 1},
          .c = {c, "warp", kWarpSums, 1},
          .scope = ExecScope::kWarp,
          .features = {{"mma", a == DataType::Float(16) && k == 8 ? ""
                               : a.bits() == 8 && a.is_float()    ? "fp8"
                                                                  : "cp.async"}},
          .registers = 255,
          .ptx = ptx};
}

// Brings a tile of 16 rows of 32 bytes from shared memory to the lanes of a warp, as mma.sync takes it.
constexpr MachineInstruction LdMatrix(std::string_view types, DataType type) {
  return {.name = "ldmatrix",
          .types = types,
          .family = "ldmatrix",
          .suffix = "",
          .m = 16,
          .n = 0,
          .k = 256 / type.bits(),
          .a = {type, "shared"},
          .b = {type},
          .c = {type, "warp", LanesOfA(type), 1},
          .scope = ExecScope::kWarp,
          .features = {{"ldmatrix"}},
          .registers = 255,
          .ptx = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"};
}

// Brings a tile of 16 rows of 32 bytes from the lanes of a warp, as mma.sync takes it, to shared memory.
constexpr MachineInstruction StMatrix(std::string_view types, DataType type) {
  return {.name = "stmatrix",
          .types = types,
          .family = "stmatrix",
          .suffix = "",
          .m = 16,
          .n = 0,
          .k = 256 / type.bits(),
          .a = {type, "warp", LanesOfA(type), 1},
          .b = {type},
          .c = {type, "shared"},
          .scope = ExecScope::kWarp,
          .features = {{"stmatrix"}},
          .registers = 255,
          .ptx = "stmatrix.sync.aligned.m8n8.x4.shared.b16"};
}

// Adds to a number of 32 bits four products of bytes.
constexpr MachineInstruction Dp4a(std::string_view types, DataType a, DataType b, DataType c, std::string_view ptx) {
  return {.name = "dp4a",
          .types = types,
          .family = "dp4a",
          .suffix = "",
          .m = 1,
          .n = 1,
          .k = 4,
          .a = {a},
          .b = {b},
          .c = {c},
          .features = {{"dp4a"}},
          .registers = 255,
          .ptx = ptx};
}

// Takes a table in a register, or in two, and numbers in it (intrin/lookup.h).
constexpr MachineInstruction Lookup(std::string_view name, std::string_view types, std::string_view suffix,
                                    DataType type, DataType number, int lanes, int entries, std::string_view feature,
                                    std::string_view llvm) {
  return {.name = name,
          .types = types,
          .family = "lookup",
          .suffix = suffix,
          .m = 1,
          .n = lanes,
          .k = entries,
          .a = {type},
          .b = {number, "register"},
          .c = {type},
          .features = {{feature}},
          .registers = lanes * type.bits() == 512 ? 32 : 16,
          .llvm = llvm};
}

// vpdpbusd and vpdpwssd do not saturate: they are the sum modulo 2^32.
constexpr auto kFlips = InstructionIdentity::kFlipsSignOfA;
constexpr MachineInstruction kRows[] = {
    Fma("vfmadd231ps", "f32", kF32, "avx512", 16, 32, {{"avx512f"}}),
    Fma("vfmadd231ps", "f32", kF32, "avx2", 8, 16, {{"avx2", "fma"}}),
    Fma("fmla", "f32", kF32, "neon", 4, 32, {{"neon"}}, "register"),
    Fma("fmla", "f16", kF16, "fullfp16", 8, 32, {{"neon", "fullfp16"}}, "register"),
    Lookup("vpermps", "f32", "avx512", kF32, kS32, 16, 16, "avx512f", "llvm.x86.avx512.permvar.sf.512"),
    Lookup("vpermps", "f32", "avx2", kF32, kS32, 8, 8, "avx2", "llvm.x86.avx2.permps"),
    Lookup("vpermi2b", "u8", "avx512vbmi", kU8, kU8, 64, 128, "avx512vbmi", "llvm.x86.avx512.vpermi2var.qi.512"),
    Lookup("vpshufb", "u8", "avx512", kU8, kU8, 64, 16, "avx512bw", "llvm.x86.avx512.pshuf.b.512"),
    Lookup("vpshufb", "u8", "avx2", kU8, kU8, 32, 16, "avx2", "llvm.x86.avx2.pshuf.b"),
    Dot("vdpbf16ps", "bf16", kBF16, kBF16, kF32, 16, "avx512bf16", "llvm.x86.avx512bf16.dpbf16ps.512"),
    Dot("vpdpbusd", "u8s8", kU8, kS8, kS32, 16, "avx512vnni", "llvm.x86.avx512.vpdpbusd.512"),
    Dot("vpdpbusd", "u8s8", kU8, kS8, kS32, 8, "avxvnni", "llvm.x86.avx512.vpdpbusd.256"),
    Dot("vpdpbusd", "s8s8", kS8, kS8, kS32, 16, "avx512vnni", "", kFlips),
    Dot("vpdpbssd", "s8s8", kS8, kS8, kS32, 8, "avxvnniint8", "llvm.x86.avx2.vpdpbssd.256"),
    Dot("vpdpbusd", "s8s8", kS8, kS8, kS32, 8, "avxvnni", "", kFlips),
    BFirst(Dot("vpdpbusd", "s8u8", kS8, kU8, kS32, 16, "avx512vnni", "llvm.x86.avx512.vpdpbusd.512")),
    BFirst(Dot("vpdpbusd", "s8u8", kS8, kU8, kS32, 8, "avxvnni", "llvm.x86.avx512.vpdpbusd.256")),
    DotOfSplit("u8s8", kU8, kS8),
    DotOfSplit("s8s8", kS8, kS8),
    DotOfSplit("s8u8", kS8, kU8),
    BFirst(DotByParts("vpmaddubsw", "s8u8", kS8, kU8, "narrow_dot", "avx2", "llvm.x86.avx2.pmadd.ub.sw",
                      InstructionIdentity::kAddsPairs)),
    BFirst(PairsOfBytes("vpmaddubsw", "s8u8s16", kS8, kU8, "avx2", "llvm.x86.avx2.pmadd.ub.sw")),
    Dot("vpdpwssd", "s16s16", kS16, kS16, kS32, 16, "avx512vnni", "llvm.x86.avx512.vpdpwssd.512"),
    Dot("vpdpwssd", "s16s16", kS16, kS16, kS32, 8, "avxvnni", "llvm.x86.avx512.vpdpwssd.256"),
    DotOfTwo("vpmaddwd", "s16s16", kS16, kS16, kS32, 16, "avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
    DotOfTwo("vpmaddwd", "s16s16", kS16, kS16, kS32, 8, "avx2", "llvm.x86.avx2.pmadd.wd"),
    Dot("bfdot", "bf16", kBF16, kBF16, kF32, 4, "bf16", "llvm.aarch64.neon.bfdot"),
    Dot("usdot", "u8s8", kU8, kS8, kS32, 4, "i8mm", "llvm.aarch64.neon.usdot"),
    Dot("sdot", "s8s8", kS8, kS8, kS32, 4, "dotprod", "llvm.aarch64.neon.sdot"),
    BFirst(Dot("usdot", "s8u8", kS8, kU8, kS32, 4, "i8mm", "llvm.aarch64.neon.usdot")),
    Dot("udot", "u8u8", kU8, kU8, kS32, 4, "dotprod", "llvm.aarch64.neon.udot"),
    Dot("sdot", "u8s8", kU8, kS8, kS32, 4, "dotprod", "", kFlips),
    Dot("udot", "s8u8", kS8, kU8, kS32, 4, "dotprod", "", kFlips),
    Mmla("bfmmla", "bf16", kBF16, kBF16, kF32, "bf16", "llvm.aarch64.neon.bfmmla"),
    Mmla("smmla", "s8s8", kS8, kS8, kS32, "i8mm", "llvm.aarch64.neon.smmla"),
    Mmla("ummla", "u8u8", kU8, kU8, kS32, "i8mm", "llvm.aarch64.neon.ummla"),
    Mmla("usmmla", "u8s8", kU8, kS8, kS32, "i8mm", "llvm.aarch64.neon.usmmla"),
    Widening("smlal", "s16s16", kS16, kS32, "neon"),
    Amx("tdpbf16ps", "bf16", kBF16, kBF16, kF32, "amx-bf16", "llvm.x86.tdpbf16ps"),
    Amx("tdpbssd", "s8s8", kS8, kS8, kS32, "amx-int8", "llvm.x86.tdpbssd"),
    Amx("tdpbsud", "s8u8", kS8, kU8, kS32, "amx-int8", "llvm.x86.tdpbsud"),
    Amx("tdpbusd", "u8s8", kU8, kS8, kS32, "amx-int8", "llvm.x86.tdpbusd"),
    Amx("tdpbuud", "u8u8", kU8, kU8, kS32, "amx-int8", "llvm.x86.tdpbuud"),
    Wgmma("f16f16f32", kF16, kF16, kF32, "wgmma.mma_async.sync.aligned.m64nNk16.f32.f16.f16"),
    Wgmma("f16f16f16", kF16, kF16, kF16, "wgmma.mma_async.sync.aligned.m64nNk16.f16.f16.f16"),
    Wgmma("bf16bf16f32", kBF16, kBF16, kF32, "wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16"),
    Wgmma("e4m3e4m3f32", kE4M3, kE4M3, kF32, "wgmma.mma_async.sync.aligned.m64nNk32.f32.e4m3.e4m3"),
    Wgmma("e4m3e5m2f32", kE4M3, kE5M2, kF32, "wgmma.mma_async.sync.aligned.m64nNk32.f32.e4m3.e5m2"),
    Wgmma("e5m2e4m3f32", kE5M2, kE4M3, kF32, "wgmma.mma_async.sync.aligned.m64nNk32.f32.e5m2.e4m3"),
    Wgmma("e5m2e5m2f32", kE5M2, kE5M2, kF32, "wgmma.mma_async.sync.aligned.m64nNk32.f32.e5m2.e5m2"),
    Wgmma("s8s8s32", kS8, kS8, kS32, "wgmma.mma_async.sync.aligned.m64nNk32.s32.s8.s8"),
    Wgmma("s8u8s32", kS8, kU8, kS32, "wgmma.mma_async.sync.aligned.m64nNk32.s32.s8.u8"),
    Wgmma("u8s8s32", kU8, kS8, kS32, "wgmma.mma_async.sync.aligned.m64nNk32.s32.u8.s8"),
    Wgmma("u8u8s32", kU8, kU8, kS32, "wgmma.mma_async.sync.aligned.m64nNk32.s32.u8.u8"),
    AsTf32(Wgmma("tf32tf32f32", kF32, kF32, kF32, "wgmma.mma_async.sync.aligned.m64nNk8.f32.tf32.tf32")),
    Mma("f16f16f32", 16, kF16, kF16, kF32, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
    Mma("f16f16f16", 16, kF16, kF16, kF16, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"),
    Mma("bf16bf16f32", 16, kBF16, kBF16, kF32, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
    Mma("s8s8s32", 32, kS8, kS8, kS32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"),
    Mma("s8u8s32", 32, kS8, kU8, kS32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"),
    Mma("u8s8s32", 32, kU8, kS8, kS32, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32"),
    Mma("u8u8s32", 32, kU8, kU8, kS32, "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"),
    Mma("s8s8s32", 16, kS8, kS8, kS32, "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "k16"),
    Mma("s8u8s32", 16, kS8, kU8, kS32, "mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32", "k16"),
    Mma("u8s8s32", 16, kU8, kS8, kS32, "mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", "k16"),
    Mma("u8u8s32", 16, kU8, kU8, kS32, "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32", "k16"),
    Mma("f16f16f32", 8, kF16, kF16, kF32, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "k8"),
    Mma("f16f16f16", 8, kF16, kF16, kF16, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "k8"),
    Mma("bf16bf16f32", 8, kBF16, kBF16, kF32, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "k8"),
    Mma("e4m3e4m3f32", 32, kE4M3, kE4M3, kF32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    Mma("e4m3e5m2f32", 32, kE4M3, kE5M2, kF32, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32"),
    Mma("e5m2e4m3f32", 32, kE5M2, kE4M3, kF32, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32"),
    Mma("e5m2e5m2f32", 32, kE5M2, kE5M2, kF32, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"),
    AsTf32(Mma("tf32tf32f32", 8, kF32, kF32, kF32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")),
    LdMatrix("f16", kF16),
    LdMatrix("bf16", kBF16),
    LdMatrix("s8", kS8),
    LdMatrix("u8", kU8),
    LdMatrix("e4m3", kE4M3),
    LdMatrix("e5m2", kE5M2),
    LdMatrix("tf32", kF32),
    StMatrix("f16", kF16),
    StMatrix("bf16", kBF16),
    Dp4a("s8s8s32", kS8, kS8, kS32, "dp4a.s32.s32"),
    Dp4a("s8u8s32", kS8, kU8, kS32, "dp4a.s32.u32"),
    Dp4a("u8s8s32", kU8, kS8, kS32, "dp4a.u32.s32"),
    Dp4a("u8u8u32", kU8, kU8, kU32, "dp4a.u32.u32"),
};

struct CallScope {
  std::string_view call;
  ExecScope scope;
};

// Calls that all threads of a warp execute together.
constexpr CallScope kCallScopes[] = {
    {"tvm_fill_fragment", ExecScope::kWarp},
    {"tvm_load_matrix_sync", ExecScope::kWarp},
    {"tvm_store_matrix_sync", ExecScope::kWarp},
    {"tvm_mma_sync", ExecScope::kWarp},
    {"tvm_bmma_sync", ExecScope::kWarp},
    {"tvm_warp_shuffle", ExecScope::kWarp},
    {"tvm_warp_shuffle_up", ExecScope::kWarp},
    {"tvm_warp_shuffle_down", ExecScope::kWarp},
    {"tvm_warp_shuffle_xor", ExecScope::kWarp},
    {"cuda.__shfl_sync", ExecScope::kWarp},
    {"cuda.__shfl_up_sync", ExecScope::kWarp},
    {"cuda.__shfl_down_sync", ExecScope::kWarp},
    {"cuda.__shfl_xor_sync", ExecScope::kWarp},
    {"mma_store", ExecScope::kWarp},
    {"mma_fill", ExecScope::kWarp},
    {"ptx_mma", ExecScope::kWarp},
    {"ptx_ldmatrix", ExecScope::kWarp},
    {"ptx_legacy.mma", ExecScope::kWarp},
    {"ptx_legacy.ldmatrix", ExecScope::kWarp},
    {"cuda.mma_store_legacy", ExecScope::kWarp},
    {"cuda.mma_fill_legacy", ExecScope::kWarp},
    {"cuda.stmatrix_x4", ExecScope::kWarp},
    {"cuda.wgmma", ExecScope::kWarpgroup},
};

// What the target's unit for the instruction starts per cycle, as multiply-adds of scalars; the unit of other
// instructions may be faster.
double ProductsPerCycle(const Target& target, std::string_view unit_name, std::string_view operand) {
  for (const ComputeUnit& unit : target.units) {
    if (unit.name == unit_name && unit.operand == operand) return unit.per_cycle;
  }
  return 0;
}

}  // namespace

std::vector<std::string> MachineInstruction::FeatureNames() const {
  std::vector<std::string> names;
  for (const std::string_view feature : features) {
    if (!feature.empty()) names.emplace_back(feature);
  }
  return names;
}

std::span<const MachineInstruction> Instructions() { return kRows; }

bool Executes(const Target& target, const MachineInstruction& instruction) {
  const bool wide = instruction.IsVector() && instruction.VectorBits() > target.cpu_part().vector_bits;
  if (wide && !target.is_gpu()) return false;
  return std::ranges::all_of(instruction.features,
                             [&](std::string_view feature) { return feature.empty() || target.has(feature); });
}

const MachineInstruction* FindInstruction(const Target& target, std::string_view family, DataType a, DataType b,
                                          DataType c) {
  for (const MachineInstruction& row : kRows) {
    const bool same = row.family == family && row.a.type == a && row.b.type == b && row.c.type == c;
    if (same && row.a.format.empty() && Executes(target, row)) return &row;
  }
  return nullptr;
}

const MachineInstruction* InstructionNamed(std::string_view family, std::string_view types, std::string_view suffix) {
  for (const MachineInstruction& row : kRows) {
    if (row.family == family && row.types == types && row.suffix == suffix) return &row;
  }
  return nullptr;
}

double StartsPerCycle(const MachineInstruction& instruction, const Target& target) {
  if (instruction.family == "fma") return std::max<double>(1, target.FmaPerCycle());
  if (instruction.moves() || instruction.family == "lookup") return 1;
  const DataType type = instruction.a.type;
  const std::string_view operand = type.is_float() ? "bfloat16" : type.bits() == 16 ? "int16" : "int8";
  const double products = ProductsPerCycle(target, instruction.IsVector() ? "dot" : "matrix", operand);
  const double starts = products / (instruction.m * instruction.n * instruction.k);
  return instruction.IsVector() ? std::max(starts, 1.0) : starts;
}

ExecScope ScopeOfCall(std::string_view call) {
  const auto* found = std::ranges::find(kCallScopes, call, &CallScope::call);
  return found == std::end(kCallScopes) ? ExecScope::kThread : found->scope;
}

}  // namespace tilewright
