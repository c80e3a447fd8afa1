#include "schedule/script/peer_trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "schedule/core/primitive.h"
#include "schedule/script/peer_index_map.h"
#include "schedule/script/trace_text.h"

namespace tilewright {
namespace {

using Json = nlohmann::json;

// How the call of an instruction is written: i stands for the next input, I for a list of the rest of them, P for the
// rest themselves, a for the next attribute. After a colon: b a boolean, m an index map, p the
// value of padding, s "read" or "write", r a region of a block (two attributes: number, and reads or writes). What
// older versions of the peer do not write is left out.
struct PeerKind {
  const char* kind;
  const char* primitive;
  const char* arguments;
};
constexpr PeerKind kKinds[] = {
    {"GetSBlock", "get_sblock", "a a"},
    {"GetBlock", "get_block", "a a"},
    {"GetLoops", "get_loops", "i"},
    {"GetChildBlocks", "get_child_blocks", "i"},
    {"GetProducers", "get_producers", "i"},
    {"GetConsumers", "get_consumers", "i"},
    {"GetOutputBlocks", "get_output_blocks", "i"},
    {"SampleCategorical", "sample_categorical", "a a"},
    {"SamplePerfectTile", "sample_perfect_tile", "i a a"},
    {"SamplePartitionedTile", "sample_partitioned_tile", "i a a a"},
    {"SampleComputeLocation", "sample_compute_location", "i"},
    {"Merge", "merge", "P"},
    {"Fuse", "fuse", "P preserve_unit_iters=a:b"},
    {"Split", "split", "i I preserve_unit_iters=a:b disable_predication=a:b"},
    {"LoopPartition", "loop_partition", "i I preserve_unit_iters=a:b"},
    {"Reorder", "reorder", "P"},
    {"ReorderBlockIterVar", "reorder_block_iter_var", "i i"},
    {"AddUnitLoop", "add_unit_loop", "i"},
    {"Parallel", "parallel", "i"},
    {"Vectorize", "vectorize", "i"},
    {"Bind", "bind", "i a"},
    {"Unroll", "unroll", "i"},
    {"CacheRead", "cache_read", "i a a consumer_blocks=i"},
    {"CacheWrite", "cache_write", "i a a consumer_blocks=i"},
    {"ReindexCacheRead", "reindex_cache_read", "i a a i:m"},
    {"ReindexCacheWrite", "reindex_cache_write", "i a a i:m"},
    {"CacheInplace", "cache_inplace", "i a a"},
    {"CacheIndex", "cache_index", "i a a"},
    {"ReIndex", "reindex", "i a:r"},
    {"ReadAt", "read_at", "i i a a"},
    {"WriteAt", "write_at", "i i a a"},
    {"ComputeAt", "compute_at", "i i a:b a"},
    {"ReverseComputeAt", "reverse_compute_at", "i i a:b a"},
    {"ComputeInline", "compute_inline", "i"},
    {"ReverseComputeInline", "reverse_compute_inline", "i"},
    {"FuseReductionEpilogue", "fuse_reduction_epilogue", "i i"},
    {"DecomposeReduction", "decompose_reduction", "i i"},
    {"RFactor", "rfactor", "i a"},
    {"StorageAlign", "storage_align", "i a a a a"},
    {"SetScope", "set_scope", "i a a"},
    {"UnsafeSetDType", "unsafe_set_dtype", "i a a"},
    {"Blockize", "blockize", "i a:b"},
    {"Tensorize", "tensorize", "i a a:b"},
    {"Annotate", "annotate", "i a i"},
    {"Unannotate", "unannotate", "i a"},
    {"TransformLayout", "transform_layout", "i a:r i:m a:p assume_injective_transform=a:b"},
    {"TransformBlockLayout", "transform_block_layout", "i a:m"},
    {"DecomposePadding", "decompose_padding", "i i"},
    {"PadEinsum", "pad_einsum", "i a"},
    {"RollingBuffer", "rolling_buffer", "i a"},
    {"AnnotateBufferAccess", "annotate_buffer_access", "i i i:s i:m"},
    {"UnsafeHideBufferAccess", "unsafe_hide_buffer_access", "i i i"},
    {"EnterPostproc", "enter_postproc", ""},
};

std::string Quoted(const std::string& text) { return absl::StrCat("\"", absl::Utf8SafeCHexEscape(text), "\""); }

bool IsName(const std::string& text) {
  return !text.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) && text != "sch" &&
         std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// One instruction's call.
class CallWriter {
 public:
  CallWriter(const PeerKind& kind, const Json& inputs, const Json& attributes)
      : kind_(kind), inputs_(inputs), attributes_(attributes) {}

  absl::StatusOr<std::string> Write() {
    std::string call = absl::StrCat("sch.", kind_.primitive, "(");
    for (const absl::string_view piece : absl::StrSplit(kind_.arguments, ' ', absl::SkipEmpty())) {
      const std::string_view argument(piece.data(), piece.size());
      const size_t equals = argument.find('=') + 1;  // 0 where there is none
      const std::string text = Argument(argument.substr(equals));
      if (!error_.empty()) return absl::InvalidArgumentError(error_);
      if (text.empty()) continue;
      const std::string_view name = argument.substr(0, equals);
      absl::StrAppend(&call, call.back() == '(' ? "" : ", ", absl::string_view(name.data(), name.size()), text);
    }
    if (next_input_ < inputs_.size() || next_attribute_ < attributes_.size()) {
      return absl::InvalidArgumentError(absl::StrCat(kind_.kind, " has more inputs or attributes than are known"));
    }
    return call;
  }

  // A value as text. Texts among inputs have quotes of their own, and others are names; in dictionaries and among
  // attributes they have none.
  std::string Text(const Json& value, bool input, int depth = 0) {
    if (depth > kMaxDepth) return Fail("a value is nested too deeply");
    if (value.is_null()) return "None";
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_number()) return value.dump();
    if (value.is_string()) return String(value.get<std::string>(), input);
    std::string text;
    for (const auto& [key, item] : value.items()) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", value.is_object() ? Quoted(key) + ": " : "",
                      Text(item, input && value.is_array(), depth + 1));
    }
    return value.is_object() ? "{" + text + "}" : "[" + text + "]";
  }
  const std::string& error() const { return error_; }

 private:
  static constexpr int kMaxDepth = 50;

  std::string Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    return "";
  }

  std::string String(const std::string& text, bool input) {
    if (!input) return Quoted(text);
    if (text == "None") return text;
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return Quoted(text.substr(1, text.size() - 2));
    return IsName(text) ? text : Fail(absl::StrCat("\"", text, "\" names no random variable"));
  }

  // The next value of `values`, or nothing.
  static const Json* Next(const Json& values, size_t* next) {
    return *next < values.size() ? &values[(*next)++] : nullptr;
  }
  std::string OtherInputs() {
    std::string text;
    while (const Json* value = Next(inputs_, &next_input_)) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", Text(*value, true));
    }
    return text;
  }

  // Empty when the instruction has no value left for it.
  std::string Argument(std::string_view form) {
    if (form == "I") return absl::StrCat("[", OtherInputs(), "]");
    if (form == "P") return OtherInputs();
    const bool input = form[0] == 'i';
    const Json* value = input ? Next(inputs_, &next_input_) : Next(attributes_, &next_attribute_);
    if (value == nullptr) return "";
    switch (form.size() == 3 ? form[2] : ' ') {
      case 'b':
        return Boolean(*value);
      case 's':
        return Access(*value);
      case 'r': {
        const Json* access = Next(attributes_, &next_attribute_);
        return access == nullptr ? Fail("a region of a block has no type")
                                 : absl::StrCat("(", Access(*access), ", ", Text(*value, false), ")");
      }
      case 'm':
      case 'p': {
        if (value->is_null()) return "None";
        if (!value->is_string()) return Fail("an index map is not a text");
        absl::StatusOr<std::string> lambda = LambdaOfPeerIndexMap(value->get<std::string>(), form[2] == 'p');
        return lambda.ok() ? *lambda : Fail(std::string(lambda.status().message()));
      }
      default:
        return Text(*value, input);
    }
  }
  std::string Boolean(const Json& value) {
    if (value.is_boolean()) return Text(value, false);
    if (!value.is_number_integer()) return Fail("expected a boolean");
    return value.get<int64_t>() != 0 ? "True" : "False";
  }
  std::string Access(const Json& value) {
    if (!value.is_number_integer()) return Fail("expected 0 (read) or 1 (write)");
    return value.get<int64_t>() == 0 ? "\"read\"" : "\"write\"";
  }

  const PeerKind& kind_;
  const Json& inputs_;
  const Json& attributes_;
  size_t next_input_ = 0, next_attribute_ = 0;
  std::string error_;
};

absl::StatusOr<std::string> ResultsOf(const PeerKind& kind, const Json& outputs) {
  std::string text;
  for (const Json& output : outputs) {
    if (!output.is_string() || !IsName(output.get<std::string>())) {
      return absl::InvalidArgumentError("an output is not a name");
    }
    absl::StrAppend(&text, text.empty() ? "" : ", ", output.get<std::string>());
  }
  if (text.empty()) return text;
  const Primitive* primitive = FindPrimitive(kind.primitive);
  const bool list =
      primitive != nullptr && (primitive->result == ResultKind::kLoops || primitive->result == ResultKind::kBlocks ||
                               primitive->result == ResultKind::kInts);
  return absl::StrCat(text, list && outputs.size() == 1 ? "," : "", " = ");
}

absl::StatusOr<std::string> LineOf(const Json& instruction, const Json* decision) {
  const bool formed = instruction.is_array() && instruction.size() == 4 && instruction[0].is_string() &&
                      instruction[1].is_array() && instruction[2].is_array() && instruction[3].is_array();
  if (!formed) return absl::InvalidArgumentError("expected [kind, inputs, attributes, outputs]");
  const std::string name = instruction[0].get<std::string>();
  const auto kind = std::ranges::find_if(kKinds, [&](const PeerKind& known) { return known.kind == name; });
  if (kind == std::end(kKinds)) return absl::InvalidArgumentError(absl::StrCat("there is no instruction ", name));
  absl::StatusOr<std::string> results = ResultsOf(*kind, instruction[3]);
  if (!results.ok()) return results;
  CallWriter writer(*kind, instruction[1], instruction[2]);
  absl::StatusOr<std::string> call = writer.Write();
  if (!call.ok()) return call;
  if (decision != nullptr && !decision->is_null()) {
    absl::StrAppend(&*call, call->back() == '(' ? "" : ", ", "decision=", writer.Text(*decision, false));
    if (!writer.error().empty()) return absl::InvalidArgumentError(writer.error());
  }
  return absl::StrCat(*results, *call, ")\n");
}

}  // namespace

absl::StatusOr<std::string> TextOfPeerTrace(std::string_view json) {
  const Json trace = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const bool formed = trace.is_array() && trace.size() == 2 && trace[0].is_array() && trace[1].is_array();
  if (!formed) return absl::InvalidArgumentError("the JSON is not a trace: expected [[instruction...], [decision...]]");
  std::map<size_t, const Json*> decisions;
  for (const Json& decision : trace[1]) {
    const bool pair = decision.is_array() && decision.size() == 2 && decision[0].is_number_unsigned();
    if (!pair || decision[0].get<size_t>() >= trace[0].size()) {
      return absl::InvalidArgumentError("a decision is not a pair of an instruction's number and what was decided");
    }
    decisions[decision[0].get<size_t>()] = &decision[1];
  }
  std::string text;
  for (size_t i = 0; i < trace[0].size(); ++i) {
    const auto decision = decisions.find(i);
    absl::StatusOr<std::string> line = LineOf(trace[0][i], decision == decisions.end() ? nullptr : decision->second);
    if (!line.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("instruction ", i, ": ", line.status().message()));
    }
    text += *line;
  }
  return text;
}

absl::StatusOr<std::string> ScheduleTextOf(std::string text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const char first = begin == text.npos ? ' ' : text[begin];
  // A schedule may begin with a list, too: [i, j] = sch.get_loops("C").
  if (first == '[' && Json::accept(text)) return TextOfPeerTrace(text);
  if (first == '[' && text.find('=') != text.npos) return text;
  if (first == '[') return TextOfPeerTrace(text);
  if (first != '{') return text;
  TW_ASSIGN_OR_RETURN(Trace trace, TraceFromJson(text));
  return ToText(trace);
}

}  // namespace tilewright
