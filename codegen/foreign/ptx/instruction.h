// An instruction of inline PTX, and the registers that it works on. Internal to this folder.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::foreign::ptx {

struct Operand {
  enum class Kind : uint8_t {
    kNothing,   // "_"
    kRegister,  // $0, or one that the text declares
    kInteger,
    kFloat,    // 1.5, 0f3F800000
    kSpecial,  // %laneid
    kAddress,  // [$1 + 16]; `parts`: the address, then what follows it
    kVector,   // {$0, $1}
    kPair,     // p|q
  };
  Kind kind = Kind::kNothing;
  int index = -1;        // of a register
  uint64_t value = 0;    // of an integer; which one, of a special register
  double number = 0;     // of a float
  int64_t offset = 0;    // of an address
  bool negated = false;  // !p, -x
  std::vector<Operand> parts;
};

// What a word such as "u32" says of numbers.
struct Type {
  enum class Kind : uint8_t { kNone, kBits, kUnsigned, kSigned, kFloat, kF16, kBf16, kPredicate };
  Kind kind = Kind::kNone;
  int bits = 0;
  bool pair = false;  // f16x2

  int bytes() const { return bits / 8; }
  bool is_signed() const { return kind == Kind::kSigned; }
  bool is_float() const { return kind == Kind::kFloat || kind == Kind::kF16 || kind == Kind::kBf16; }
};
// kNone where the word is not a type.
Type TypeOf(std::string_view word);

class Frame;
struct Instruction {
  using Action = void (*)(const Instruction& instruction, Frame& frame);

  std::string name;
  std::vector<std::string> words;  // of the name
  std::vector<Operand> operands;
  int guard = -1;  // the predicate register, -1 none
  bool guard_negated = false;
  Action action = nullptr;
  std::string label;  // where a branch goes
  int target = -1;
  Type type, source_type;  // the last type of the name, and the one before
  int detail = 0;          // what the action worked out when the text was read

  bool Has(std::string_view word) const {
    for (const std::string& w : words) {
      if (w == word) return true;
    }
    return false;
  }
};

// Registers while a program runs.
class Frame {
 public:
  static constexpr size_t kMostLocals = 96;

  Frame(uint64_t* operands, size_t count) : operands_(operands), count_(static_cast<int>(count)) {}

  uint64_t& At(int index) { return index < count_ ? operands_[index] : locals_[index - count_]; }
  // A number of this type, as bits.
  uint64_t Read(const Operand& operand, const Type& type);
  uint64_t Read(const Operand& operand) { return Read(operand, {Type::Kind::kUnsigned, 64}); }
  uint32_t Read32(const Operand& operand) { return static_cast<uint32_t>(Read(operand)); }
  bool Test(const Operand& operand) { return (Read(operand) != 0) != operand.negated; }
  void Write(const Operand& operand, uint64_t value);
  // The address of [a + offset].
  uint64_t Address(const Operand& operand) { return Read(operand.parts[0]) + static_cast<uint64_t>(operand.offset); }

  int next = 0;  // the instruction that comes after this one
  int end = 0;

 private:
  uint64_t* operands_;
  int count_;
  uint64_t locals_[kMostLocals] = {};
};

// One row of the table of instructions.
struct Row {
  std::string_view prefix;  // the first words
  Instruction::Action action;
  size_t least, most;  // operands
  // Looks at the words; a text says what is not known. May be null.
  std::string (*check)(Instruction& instruction) = nullptr;
};

// Parts of the table.
std::vector<Row> ArithmeticRows();
std::vector<Row> MemoryRows();
std::vector<Row> WarpRows();
std::vector<Row> CopyRows();
std::vector<Row> WgmmaRows();

// Numbers of special registers, for the parser; -1 for an unknown one.
int SpecialRegister(std::string_view name);
uint64_t ReadSpecial(int number);

template <class T>
T FromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
uint64_t ToBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

}  // namespace tilewright::foreign::ptx
