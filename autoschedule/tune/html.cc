#include "autoschedule/tune/html.h"

#include "absl/strings/str_cat.h"

namespace tilewright {
namespace {

constexpr char kStyle[] = R"(body { font: 14px sans-serif; max-width: 1000px; margin: 2em auto; }
text { font: 13px sans-serif; }
pre { overflow-x: auto; }
)";

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string PageBegin(std::string_view title, std::string_view style) {
  return absl::StrCat("<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>", EscapeHtml(title),
                      "</title><style>\n", kStyle, std::string(style), "</style></head><body>\n<h1>", EscapeHtml(title),
                      "</h1>\n");
}

}  // namespace tilewright
