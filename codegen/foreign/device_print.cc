#include "codegen/foreign/device_print.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace tilewright::foreign {
namespace {

// Reads the arguments of one call in turn.
class Arguments {
 public:
  explicit Arguments(const void* first) : first_(static_cast<const char*>(first)) {}
  template <class T>
  T Next() {
    offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    std::memcpy(&value, first_ + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

 private:
  const char* first_;
  size_t offset_ = 0;
};

template <class... T>
std::string Formatted(const std::string& format, T... value) {
  char text[512];
  std::snprintf(text, sizeof text, format.c_str(), value...);
  return text;
}

// One conversion, "%5.2f", with what it takes.
std::string Convert(const std::string& conversion, Arguments& arguments) {
  const bool wide = conversion.find('l') != std::string::npos || conversion.find('z') != std::string::npos;
  switch (conversion.back()) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return wide ? Formatted(conversion, arguments.Next<int64_t>()) : Formatted(conversion, arguments.Next<int32_t>());
    case 'c':
      return Formatted(conversion, arguments.Next<int32_t>());
    case 'p':
      return Formatted(conversion, arguments.Next<const void*>());
    case 's':
      return Formatted(conversion, arguments.Next<const char*>());
    default:
      return Formatted(conversion, arguments.Next<double>());
  }
}

}  // namespace

int DevicePrint(const char* format, const void* first) {
  Arguments arguments(first);
  std::string text;
  int count = 0;
  for (const char* at = format; *at != '\0'; ++at) {
    if (*at != '%') {
      text += *at;
    } else if (at[1] == '%') {
      text += *++at;
    } else {
      std::string conversion = "%";
      while (at[1] != '\0' && std::strchr("0123456789.+-# lhz", at[1]) != nullptr) conversion += *++at;
      if (at[1] == '\0' || std::strchr("diuxXocpsfFeEgGa", at[1]) == nullptr) break;
      conversion += *++at;
      text += Convert(conversion, arguments);
      ++count;
    }
  }
  std::fputs(text.c_str(), stderr);
  return count;
}

}  // namespace tilewright::foreign
