#include "tools/command_line/file_kind.h"

#include <algorithm>
#include <vector>

namespace tilewright {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kSpace = " \t\r\n\f\v";

std::string_view WithoutIndent(std::string_view line) {
  const size_t first = line.find_first_not_of(kSpace);
  return first == line.npos ? std::string_view() : line.substr(first);
}

// Calls f with each line that is not a comment, without its indentation.
template <class F>
void ForEachLine(std::string_view text, F f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = WithoutIndent(text.substr(0, end));
    if (!line.empty() && line[0] != '#') f(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

struct Counts {
  int programs = 0, graphs = 0, primitives = 0, kernels = 0;
};

Counts CountIn(std::string_view text) {
  Counts counts;
  ForEachLine(text, [&](std::string_view line) {
    counts.programs += line[0] == '@' && line.find(".prim_func") != line.npos;
    counts.graphs += line.starts_with("@R.function");
    counts.primitives += line.starts_with("sch.") || line.find("= sch.") != line.npos ||
                         line.find("=sch.") != line.npos || line.starts_with("def apply_trace");
    counts.kernels += line.find("__global__") != line.npos;
  });
  return counts;
}

struct Beginning {
  std::string_view bytes;
  std::string_view meaning;
};
constexpr Beginning kBeginnings[] = {
    {"version https://git-lfs.github.com/spec/"sv,
     "a Git LFS pointer, not the file that it stands for: `git lfs pull` fetches that"},
    {"\x1f\x8b"sv, "compressed by gzip: unpack it first"},
    {"PK\x03\x04"sv, "a zip archive: unpack it first"},
    {"PK\x05\x06"sv, "an empty zip archive"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd: unpack it first"},
    {"\xfd"
     "7zXZ"sv,
     "compressed by xz: unpack it first"},
    {"BZh"sv, "compressed by bzip2: unpack it first"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive: unpack it first"},
    {"\x93NUMPY"sv, "a NumPy array"},
    {"\x89HDF\r\n"sv, "an HDF5 file"},
    {"\x7f"
     "ELF"sv,
     "an executable or a library"},
    {"!<arch>\n"sv, "an archive of objects"},
    {"SQLite format 3"sv, "a database, which --db takes"},
    {"\x89PNG"sv, "a picture"},
    {"\xff\xd8\xff"sv, "a picture"},
    {"%PDF-"sv, "a PDF document"},
    {"\x80\x02"sv, "a pickled Python object"},
    {"\x80\x04"sv, "a pickled Python object"},
    {"<!DOCTYPE html"sv, "a page of HTML"},
    {"<!doctype html"sv, "a page of HTML"},
    {"<html"sv, "a page of HTML"},
    {"GGUF"sv, "a GGUF model"},
};

}  // namespace

std::string_view NameOf(FileKind kind) {
  switch (kind) {
    case FileKind::kProgram:
      return "a program";
    case FileKind::kModule:
      return "a module of several functions";
    case FileKind::kGraph:
      return "graph text";
    case FileKind::kModel:
      return "an ONNX model";
    case FileKind::kCuda:
      return "CUDA text";
    case FileKind::kSchedule:
      return "a schedule";
  }
  return "";
}

std::string NamesOf(Kinds kinds) {
  if ((kinds & kPrograms) == kPrograms) kinds &= ~Bit(FileKind::kModule);
  std::vector<std::string_view> names;
  for (const FileKind kind : kFileKinds) {
    if (kinds & Bit(kind)) names.push_back(NameOf(kind));
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

FileKind KindOf(std::string_view path, std::string_view text) {
  if (IsModelPath(path)) return FileKind::kModel;
  if (path == "-" && BeginsAsModel(text)) return FileKind::kModel;
  if (path.ends_with(".cu") || path.ends_with(".cuh")) return FileKind::kCuda;
  const Counts counts = CountIn(text);
  if (counts.graphs > 0) return FileKind::kGraph;
  if (counts.programs > 1) return FileKind::kModule;
  if (counts.programs == 1) return FileKind::kProgram;
  if (counts.kernels > 0) return FileKind::kCuda;
  const std::string_view first = WithoutIndent(text);
  const bool is_json = first.starts_with('{') || first.starts_with('[');
  const bool is_trace = is_json && (text.find("\"trace\"") != text.npos || text.find("Block\"") != text.npos);
  if (counts.primitives > 0 || is_trace) return FileKind::kSchedule;
  return FileKind::kProgram;
}

std::optional<std::string> WhatItIs(std::string_view beginning) {
  if (beginning.empty()) return "empty";
  for (const auto& [bytes, meaning] : kBeginnings) {
    if (beginning.starts_with(bytes)) return std::string(meaning);
  }
  if (beginning.size() > 8 && beginning.substr(4, 4) == "TFL3") return "a TensorFlow Lite model";
  // A header of JSON behind its size in eight bytes.
  if (beginning.size() > 9 && beginning[8] == '{' && beginning.substr(5, 3) == "\0\0\0"sv) return "a safetensors file";
  return std::nullopt;
}

bool BeginsAsModel(std::string_view beginning) {
  // ModelProto: field 1 is the version of the format, a small number; most writers put the producer or the graph next.
  return beginning.size() > 3 && beginning[0] == '\x08' && beginning[1] > 0 && beginning[1] < 32 &&
         "\x12\x1a\x22\x28\x32\x3a\x42"sv.find(beginning[2]) != std::string_view::npos;
}

}  // namespace tilewright
