#include "schedule/script/peer_trace.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/script/peer_index_map.h"
#include "schedule/script/schedule_script.h"

namespace tilewright {
namespace {

std::string TextOf(const std::string& instructions, const std::string& decisions = "") {
  const absl::StatusOr<std::string> text = TextOfPeerTrace("[[" + instructions + "], [" + decisions + "]]");
  return text.ok() ? *text : "refused: " + std::string(text.status().message());
}

TEST(PeerTrace, InputsAndAttributesAreArguments) {
  EXPECT_EQ(TextOf(R"(["GetSBlock", [], ["C", "main"], ["b0"]])"), "b0 = sch.get_sblock(\"C\", \"main\")\n");
  EXPECT_EQ(TextOf(R"(["GetLoops", ["b0"], [], ["l1"]])"), "l1, = sch.get_loops(b0)\n");
  EXPECT_EQ(TextOf(R"(["Split", ["l1", "None", 4], [true, 0], ["l2", "l3"]])"),
            "l2, l3 = sch.split(l1, [None, 4], preserve_unit_iters=True, disable_predication=False)\n");
  EXPECT_EQ(TextOf(R"(["Split", ["l1", "v2", 4], [1], ["l2", "l3"]])"),
            "l2, l3 = sch.split(l1, [v2, 4], preserve_unit_iters=True)\n");
  EXPECT_EQ(TextOf(R"(["Fuse", ["l1", "l2"], [1], ["l3"]])"), "l3 = sch.fuse(l1, l2, preserve_unit_iters=True)\n");
  EXPECT_EQ(TextOf(R"(["Reorder", ["l1", "l2", "l3"], [], []])"), "sch.reorder(l1, l2, l3)\n");
  EXPECT_EQ(TextOf(R"(["CacheRead", ["b0", ["b1"]], [0, "shared"], ["b2"]])"),
            "b2 = sch.cache_read(b0, 0, \"shared\", consumer_blocks=[b1])\n");
  EXPECT_EQ(TextOf(R"(["ComputeAt", ["b0", "l1"], [0, -1], []])"), "sch.compute_at(b0, l1, False, -1)\n");
  EXPECT_EQ(TextOf(R"(["ReIndex", ["b0"], [0, 1], ["b1"]])"), "b1 = sch.reindex(b0, (\"write\", 0))\n");
  EXPECT_EQ(TextOf(R"(["UnsafeHideBufferAccess", ["b0", "\"read\"", [1]], [], []])"),
            "sch.unsafe_hide_buffer_access(b0, \"read\", [1])\n");
  EXPECT_EQ(TextOf(R"(["EnterPostproc", [], [], []])"), "sch.enter_postproc()\n");
}

TEST(PeerTrace, TextsAmongInputsAreQuoted) {
  EXPECT_EQ(TextOf(R"(["Annotate", ["b0", "\"a\"b\n\""], ["k"], []])"), "sch.annotate(b0, \"k\", \"a\\\"b\\n\")\n");
  EXPECT_EQ(TextOf(R"(["Annotate", ["b0", "v1"], ["k"], []])"), "sch.annotate(b0, \"k\", v1)\n");
  EXPECT_EQ(TextOf(R"(["Annotate", ["b0", ["\"a\"", 2, 0.5]], ["k"], []])"),
            "sch.annotate(b0, \"k\", [\"a\", 2, 0.5])\n");
  EXPECT_EQ(TextOf(R"(["Annotate", ["b0", {"x": [0, 1], "y": "t"}], ["k"], []])"),
            "sch.annotate(b0, \"k\", {\"x\": [0, 1], \"y\": \"t\"})\n");
}

TEST(PeerTrace, DecisionsGoToTheirInstructions) {
  EXPECT_EQ(TextOf(R"(["GetSBlock", [], ["C", "main"], ["b0"]], ["SampleComputeLocation", ["b0"], [], ["l1"]],
                      ["SamplePerfectTile", ["l1"], [2, 16], ["v2", "v3"]])",
                   "[1, -1], [2, [4, 8]]"),
            "b0 = sch.get_sblock(\"C\", \"main\")\n"
            "l1 = sch.sample_compute_location(b0, decision=-1)\n"
            "v2, v3 = sch.sample_perfect_tile(l1, 2, 16, decision=[4, 8])\n");
}

// lambda i: (i // 4, i % v1), as a graph of nodes.
constexpr char kMap[] = R"({"root_index": 12, "nodes": [
  {"type": "None"}, {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int32"}},
  {"type": "ffi.String", "data": "i"}, {"type": "ir.Var", "data": {"span": 0, "ty": 1, "name": 2}},
  {"type": "ffi.Array", "data": [3]}, {"type": "int", "data": 4},
  {"type": "ir.IntImm", "data": {"span": 0, "ty": 1, "value": 5}},
  {"type": "prim.FloorDiv", "data": {"span": 0, "ty": 1, "a": 3, "b": 6}},
  {"type": "ffi.String", "data": "v1"}, {"type": "ir.Var", "data": {"span": 0, "ty": 1, "name": 8}},
  {"type": "prim.FloorMod", "data": {"span": 0, "ty": 1, "a": 3, "b": 9}}, {"type": "ffi.Array", "data": [7, 10]},
  {"type": "tirx.IndexMap", "data": {"initial_indices": 4, "final_indices": 11, "inverse_index_map": 0}}]})";
// lambda: (0.5,) of float16
constexpr char kPad[] = R"({"root_index": 6, "nodes": [
  {"type": "None"}, {"type": "ir.PrimType", "data": {"dtype": "float16"}}, {"type": "ffi.Array", "data": []},
  {"type": "float", "data": 0.5}, {"type": "ir.FloatImm", "data": {"ty": 1, "value": 3}},
  {"type": "ffi.Array", "data": [4]}, {"type": "tirx.IndexMap", "data": {"initial_indices": 2, "final_indices": 5}}]})";

// lambda: (0.5,) of float32, whose value stands in the constant
constexpr char kPlainPad[] = R"({"root_index": 5, "nodes": [
  {"type": "None"}, {"type": "ir.PrimType", "data": {"dtype": "float32"}}, {"type": "ffi.Array", "data": []},
  {"type": "ir.FloatImm", "data": {"ty": 1, "value": 0.5}},
  {"type": "ffi.Array", "data": [3]}, {"type": "tirx.IndexMap", "data": {"initial_indices": 2, "final_indices": 4}}]})";

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return "\"" + escaped + "\"";
}

TEST(PeerTrace, IndexMapsAreGraphs) {
  EXPECT_EQ(*LambdaOfPeerIndexMap(kMap, false), "lambda i: ((i // 4), (i % v1))");
  EXPECT_EQ(*LambdaOfPeerIndexMap(kPad, true), "lambda: (T.float16(0.5),)");
  EXPECT_EQ(*LambdaOfPeerIndexMap(kPlainPad, true), "lambda: (T.float32(0.5),)");
  EXPECT_EQ(TextOf(R"(["TransformLayout", ["b0", )" + Escaped(kMap) + "], [0, 1, " + Escaped(kPad) + ", 1], []]"),
            "sch.transform_layout(b0, (\"write\", 0), lambda i: ((i // 4), (i % v1)), lambda: (T.float16(0.5),), "
            "assume_injective_transform=True)\n");
  EXPECT_EQ(TextOf(R"(["TransformBlockLayout", ["b0"], [)" + Escaped(kMap) + "], []]"),
            "sch.transform_block_layout(b0, lambda i: ((i // 4), (i % v1)))\n");
}

TEST(PeerTrace, SaysWhatItCannotRead) {
  EXPECT_EQ(TextOf(R"(["Split", ["l1"], [], []], 7)"),
            "refused: instruction 1: expected [kind, inputs, attributes, outputs]");
  EXPECT_EQ(TextOf(R"(["Magic", [], [], []])"), "refused: instruction 0: there is no instruction Magic");
  EXPECT_EQ(TextOf(R"(["Unroll", ["l1 + 1"], [], []])"), "refused: instruction 0: \"l1 + 1\" names no random variable");
  EXPECT_EQ(TextOf(R"(["Unroll", ["l1", "l2"], [], []])"),
            "refused: instruction 0: Unroll has more inputs or attributes than are known");
  EXPECT_EQ(TextOf(R"(["GetLoops", ["b0"], [], ["l 1"]])"), "refused: instruction 0: an output is not a name");
  EXPECT_EQ(TextOf(R"(["Blockize", ["l0"], ["x"], ["b1"]])"), "refused: instruction 0: expected a boolean");
  EXPECT_EQ(TextOf("", "[0, 1]"), "refused: a decision is not a pair of an instruction's number and what was decided");
  EXPECT_EQ(TextOf(R"(["TransformBlockLayout", ["b0"], ["{}"], []])"),
            "refused: instruction 0: the index map is not a graph of nodes");
  EXPECT_EQ(TextOf(R"(["TransformBlockLayout", ["b0"], ["{\"root_index\": 3, \"nodes\": []}"], []])"),
            "refused: instruction 0: the index map names a node that it does not have");
  EXPECT_EQ(TextOfPeerTrace("[[").status().message(),
            "the JSON is not a trace: expected [[instruction...], [decision...]]");
}

TEST(PeerTrace, ScheduleTextOfTellsTheForms) {
  EXPECT_EQ(*ScheduleTextOf("sch.parallel(l)\n"), "sch.parallel(l)\n");
  EXPECT_EQ(*ScheduleTextOf(R"( [[["EnterPostproc", [], [], []]], []])"), "sch.enter_postproc()\n");
  EXPECT_EQ(*ScheduleTextOf(R"({"trace": [{"primitive": "enter_postproc", "args": {}, "results": []}]})"),
            "sch.enter_postproc()\n");
  EXPECT_EQ(ScheduleTextOf("{}").status().message(), "a trace is an object with a list \"trace\"");
}

// A number that was sampled in an index map.
TEST(PeerTrace, Applies) {
  const Module module = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
)");
  Schedule schedule(module);
  const std::string text = TextOf(
      R"(["GetSBlock", [], ["B", "main"], ["b0"]], ["SampleCategorical", [], [[2, 4], [0.5, 0.5]], ["v1"]],
         ["TransformLayout", ["b0", )" +
          Escaped(kMap) + R"(], [0, 1, null, 0], []])",
      "[1, 1]");
  const auto error = ApplyScheduleScript(text, "trace.json", &schedule);
  ASSERT_FALSE(error) << error->diagnostic.ToString();
  EXPECT_NE(Print(schedule.module()).find("B[vi // 4, vi % 4] = A[vi]"), std::string::npos) << Print(schedule.module());
}

}  // namespace
}  // namespace tilewright
