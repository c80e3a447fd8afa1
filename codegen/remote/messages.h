// What a worker that runs code and the process that calls it say to each other.
//
// A message is its size, as 8 bytes, and that many bytes: numbers as they lie in memory (both sides are little-endian),
// strings with their sizes before them. The caller asks, the worker answers:
//
//   kOpen       libraries, the last one with the functions        -> error text, empty when all were opened
//   kFind       name of a function                                -> whether there is one, its workspace in bytes
//   kCall       name, call, regions of memory with their bytes,   -> code, message, nanoseconds, instructions, the
//               arguments                                            regions' bytes
//   kAgain      how often, and for how many nanoseconds at most   -> code, message, nanoseconds of each call: the last
//               kCall's function on its arguments, which stay where they are
//
// Arguments that share memory lie in one region, at the distance that they had: the function sees overlaps and
// alignment as if it were called here.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace tilewright::remote {

enum class Request : uint32_t { kOpen = 1, kFind = 2, kCall = 3, kAgain = 4 };

// The place of the page in which a worker's emulator counts instructions; zero without an emulator.
inline constexpr int kCounterFd = 3;
inline constexpr size_t kCounterBytes = 4096;

// A region keeps its address modulo this.
inline constexpr uint64_t kRegionAlignment = 4096;

class MessageWriter {
 public:
  template <typename T>
  void Number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Bytes(std::string_view bytes) {
    Number<uint64_t>(bytes.size());
    text_.append(bytes);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Reads what was written, in the same order. What goes beyond the end reads as zeros and empty strings, and ok() says
// so.
class MessageReader {
 public:
  explicit MessageReader(std::string_view text) : text_(text) {}

  template <typename T>
  T Number() {
    T value{};
    if (text_.size() < sizeof(value)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, text_.data(), sizeof(value));
    text_.remove_prefix(sizeof(value));
    return value;
  }
  std::string_view Bytes() {
    const auto size = Number<uint64_t>();
    if (text_.size() < size) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = text_.substr(0, size);
    text_.remove_prefix(size);
    return bytes;
  }
  // How many things follow, each of at least one byte.
  size_t Count() {
    const auto count = Number<uint64_t>();
    if (count > text_.size()) ok_ = false;
    return ok_ ? count : 0;
  }
  bool ok() const { return ok_; }

 private:
  std::string_view text_;
  bool ok_ = true;
};

inline bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

inline bool ReadAll(int fd, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

inline bool SendMessage(int fd, std::string_view text) {
  const uint64_t size = text.size();
  return WriteAll(fd, {reinterpret_cast<const char*>(&size), sizeof(size)}) && WriteAll(fd, text);
}

// False when the other side is gone, or says something else: more than there is memory for.
inline bool ReceiveMessage(int fd, std::string* text) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 38;
  uint64_t size = 0;
  if (!ReadAll(fd, reinterpret_cast<char*>(&size), sizeof(size)) || size > kMostBytes) return false;
  text->resize(size);
  return ReadAll(fd, text->data(), size);
}

}  // namespace tilewright::remote
