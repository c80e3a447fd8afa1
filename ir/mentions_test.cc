#include "ir/mentions.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

const DataType kF32 = DataType::Float(32);

// for i: to[i] = from[i]
Stmt Copy(const Buffer& to, const Buffer& from) {
  const Var i("i");
  return For({.var = i, .extent = Expr(8), .body = Store(to, from.Load({i}), {i})});
}

Ref<SeqNode> List(std::vector<Stmt> stmts) { return Ref<SeqNode>(new SeqNode(std::move(stmts))); }

TEST(Mentions, AreEverywhereWhereNothingIsKept) {
  const Buffer a("A", {8}, kF32), b("B", {8}, kF32), c("C", {8}, kF32);
  const auto list = List({Copy(b, a), Copy(c, b)});
  EXPECT_EQ(EntriesThatMention(*list, {a->data.get()}), (std::vector<size_t>{0, 1}));
  const KeepMentions keep;
  EXPECT_EQ(EntriesThatMention(*list, {a->data.get()}), (std::vector<size_t>{0}));
  EXPECT_EQ(EntriesThatMention(*list, {b->data.get()}), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(EntriesThatMention(*list, {a->data.get(), c->data.get()}), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(EntriesThatMention(*list, {}), (std::vector<size_t>{}));
}

// By loops, extents of declared buffers, views, regions and annotations too.
TEST(Mentions, CountWhatIsDeclaredAndAnnotated) {
  const KeepMentions keep;
  const Var n("n"), i("i");
  const Buffer a("A", {8}, kF32), b("B", {8}, kF32), temporary("T", {n}, kF32);
  const Stmt allocate(new AllocateNode(temporary, {}, Copy(temporary, a)));
  const Stmt loop = For({.var = i, .extent = Expr(8), .body = Store(b, Const(kF32, 0), {i})});
  BlockNode::Fields block{.name = "b", .body = Store(a, Const(kF32, 0), {Expr(0)})};
  block.reads = {BufferRegion::Full(b)};
  block.annotations["hint"] = MakeAnnotation(n);
  const auto list = List({allocate, loop, Realize({}, True(), Block(std::move(block)))});
  EXPECT_EQ(EntriesThatMention(*list, {n.get()}), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(EntriesThatMention(*list, {i.get()}), (std::vector<size_t>{1}));
  EXPECT_EQ(EntriesThatMention(*list, {temporary->data.get()}), (std::vector<size_t>{0}));
  EXPECT_EQ(EntriesThatMention(*list, {b->data.get()}), (std::vector<size_t>{1, 2}));
}

// Allocations, parts of another type and parts of such parts; not what uses the memory.
TEST(Mentions, OfMemoryAreDeclaredByFew) {
  const KeepMentions keep;
  const Buffer a("A", {8}, kF32), b("B", {8}, kF32), temporary("T", {8}, kF32), part("P", {8}, kF32);
  const Buffer bits("bits", {8}, DataType::Int(32));
  const Stmt allocate(new AllocateNode(temporary, {}, Copy(temporary, a)));
  BlockNode::Fields inner{.name = "inner", .body = Store(bits, Expr(0), {Expr(0)})};
  inner.match_buffers = {{bits, BufferRegion::Full(part)}};
  BlockNode::Fields outer{.name = "outer", .body = Realize({}, True(), Block(std::move(inner)))};
  outer.match_buffers = {{part, BufferRegion::Full(b)}};
  BlockNode::Fields same{.name = "same", .body = Store(part, Const(kF32, 0), {Expr(0)})};
  same.match_buffers = {{part, BufferRegion::Full(a)}};
  const auto list = List({allocate, Copy(b, a), Realize({}, True(), Block(std::move(outer))),
                          Realize({}, True(), Block(std::move(same)))});
  EXPECT_EQ(EntriesThatDeclare(*list, {temporary->data.get()}), (std::vector<size_t>{0}));
  EXPECT_EQ(EntriesThatDeclare(*list, {a->data.get()}), (std::vector<size_t>{}));
  EXPECT_EQ(EntriesThatDeclare(*list, {b->data.get()}), (std::vector<size_t>{2}));
  EXPECT_EQ(EntriesThatDeclare(*list, {a->data.get(), b->data.get(), temporary->data.get()}),
            (std::vector<size_t>{0, 2}));
}

TEST(Mentions, FollowChangesOfTheList) {
  const KeepMentions keep;
  std::mt19937 random(3);
  std::vector<Buffer> buffers;
  for (int k = 0; k < 5; ++k) buffers.emplace_back("B" + std::to_string(k), std::vector<Expr>{8}, kF32);
  struct Entry {
    size_t to, from;
    Stmt stmt;
  };
  const auto make = [&] {
    const size_t to = random() % 5, from = random() % 5;
    return Entry{to, from, Copy(buffers[to], buffers[from])};
  };
  std::vector<Entry> entries = {make(), make()};
  for (int step = 0; step < 300; ++step) {
    const size_t at = random() % entries.size();
    const auto place = entries.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 3) {
      case 0:
        entries.insert(place, make());
        break;
      case 1:
        if (entries.size() > 2) entries.erase(place);
        break;
      default:
        *place = make();
    }
    std::vector<Stmt> stmts;
    for (const Entry& entry : entries) stmts.push_back(entry.stmt);
    const size_t asked = random() % 5;
    std::vector<size_t> expected;
    for (size_t k = 0; k < entries.size(); ++k) {
      if (entries[k].to == asked || entries[k].from == asked) expected.push_back(k);
    }
    EXPECT_EQ(EntriesThatMention(*List(stmts), {buffers[asked]->data.get()}), expected);
  }
}

// A short list inside of one entry does not take the place of the long one.
TEST(Mentions, KeepTheLongestList) {
  const KeepMentions keep;
  const Buffer a("A", {8}, kF32), b("B", {8}, kF32), c("C", {8}, kF32);
  const auto longest = List({Copy(b, a), Copy(c, b), Copy(c, b)}), other = List({Copy(b, a), Copy(a, c)});
  EXPECT_EQ(EntriesThatMention(*longest, {a->data.get()}), (std::vector<size_t>{0}));
  EXPECT_EQ(EntriesThatMention(*other, {b->data.get()}), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(EntriesThatMention(*longest, {a->data.get()}), (std::vector<size_t>{0}));
}

// A list that changed as a whole while nobody asked is another list: it is kept once it was asked for a few times.
TEST(Mentions, KeepAShorterListThatIsAskedForAgainAndAgain) {
  const KeepMentions keep;
  const Buffer a("A", {8}, kF32), b("B", {8}, kF32), c("C", {8}, kF32);
  const auto before = List({Copy(b, a), Copy(c, b), Copy(c, b)}), after = List({Copy(b, a), Copy(a, c)});
  EXPECT_EQ(EntriesThatMention(*before, {a->data.get()}), (std::vector<size_t>{0}));
  int asked = 0;
  while (asked < 20 && EntriesThatMention(*after, {b->data.get()}).size() != 1) ++asked;
  EXPECT_GT(asked, 0);
  EXPECT_LT(asked, 20);
  EXPECT_EQ(EntriesThatMention(*after, {c->data.get()}), (std::vector<size_t>{1}));
}

}  // namespace
}  // namespace tilewright
