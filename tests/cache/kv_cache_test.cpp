// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// KvCache: sums over the layers, snapshots that are refused once their rows are gone, forks that live apart; by hand
// and over random sequences of operations.
#include "ripplekv/kv_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "cache/plain_cache.h"

namespace ripplekv {
namespace {

using namespace test;

const LayerShape kShape{32, 2};

// A KvCache and what its layers must hold.
struct Pair {
  KvCache cache;
  std::vector<PlainCache> plain;

  void append(int64_t n, Random& random) {
    for (int il = 0; il < cache.n_layer(); ++il) {
      ASSERT_TRUE(cache.layer(il).reserve_more(n).ok());
      append_random(cache.layer(il), plain[static_cast<size_t>(il)], cache.n_pos(), n, random);
    }
    cache.set_n_pos(cache.n_pos() + n);
  }
  void compact(int il, int64_t n_keep, Random& random) {
    LayerCache& layer = cache.layer(il);
    const KeepList keep = random_keep(layer.n_rows(), kShape.n_head_kv, n_keep, false, random);
    ASSERT_TRUE(layer.compact(keep).ok());
    plain[static_cast<size_t>(il)] = gather_plain(plain[static_cast<size_t>(il)], keep);
  }
  void truncate(int il, int64_t n) {
    cache.layer(il).truncate(n);
    truncate_plain(plain[static_cast<size_t>(il)], n);
  }
  void expect_same() const {
    ASSERT_EQ(cache.n_layer(), static_cast<int>(plain.size()));
    for (int il = 0; il < cache.n_layer(); ++il) {
      SCOPED_TRACE("layer " + std::to_string(il));
      expect_holds(cache.layer(il), plain[static_cast<size_t>(il)]);
    }
  }
};

Pair make_pair_of(int n_layer) {
  Pair pair;
  const std::vector<KvFormat> formats = all_formats();
  for (int il = 0; il < n_layer; ++il) {
    pair.cache.push_layer(make_layer(kShape, formats[static_cast<size_t>(3 * il) % formats.size()], 1 + 10 * il));
  }
  pair.plain.assign(static_cast<size_t>(n_layer), PlainCache(static_cast<size_t>(kShape.n_head_kv)));
  return pair;
}

TEST(KvCache, SumsItsLayers) {
  Random random(1);
  Pair pair = make_pair_of(3);
  pair.append(40, random);
  pair.compact(1, 7, random);
  EXPECT_EQ(pair.cache.n_rows(), 40 + 7 + 40);
  EXPECT_EQ(pair.cache.n_pos(), 40);
  LayerBytes sum;
  for (int il = 0; il < 3; ++il) {
    const LayerBytes bytes = pair.cache.layer(il).bytes();
    sum.payload += bytes.payload;
    sum.scales += bytes.scales;
    sum.padding += bytes.padding;
    sum.index += bytes.index;
  }
  EXPECT_EQ(pair.cache.bytes().payload, sum.payload);
  EXPECT_EQ(pair.cache.bytes().scales, sum.scales);
  EXPECT_EQ(pair.cache.bytes().padding, sum.padding);
  EXPECT_EQ(pair.cache.bytes().index, sum.index);
  EXPECT_EQ(sum.index, 4 * (40 + 2 * 7 + 40));
  EXPECT_EQ(KvCache().bytes().total(), 0);
  EXPECT_EQ(KvCache().n_rows(), 0);
}

TEST(KvCache, CompactChangesItsLayerOnly) {
  Random random(2);
  Pair pair = make_pair_of(3);
  pair.append(50, random);
  pair.compact(1, 9, random);
  pair.expect_same();
  pair.append(11, random);  // true positions go on, whatever a layer still holds
  EXPECT_EQ(pair.cache.layer(1).positions(0).back(), 60);
  pair.expect_same();
}

TEST(KvCache, RestoreGoesBack) {
  Random random(3);
  Pair pair = make_pair_of(2);
  pair.append(20, random);
  pair.compact(0, 5, random);
  const KvSnapshot snapshot = pair.cache.snapshot();
  const std::vector<PlainCache> then = pair.plain;
  for (int round = 0; round < 3; ++round) {  // as often as one likes
    pair.append(1 + 40 * round, random);
    ASSERT_TRUE(pair.cache.restore(snapshot).ok());
    pair.plain = then;
    pair.expect_same();
    EXPECT_EQ(pair.cache.n_pos(), 20);
    ASSERT_TRUE(pair.cache.restore(snapshot).ok());  // nothing in between
    pair.expect_same();
  }
}

TEST(KvCache, RestoreToTheEmptyCache) {
  Random random(4);
  Pair pair = make_pair_of(2);
  const KvSnapshot empty = pair.cache.snapshot();
  pair.append(20, random);
  ASSERT_TRUE(pair.cache.restore(empty).ok());
  EXPECT_EQ(pair.cache.n_rows(), 0);
  EXPECT_EQ(pair.cache.n_pos(), 0);
  pair.plain.assign(2, PlainCache(2));
  pair.append(3, random);
  pair.expect_same();
}

TEST(KvCache, NestedSnapshots) {
  Random random(5);
  Pair pair = make_pair_of(2);
  pair.append(10, random);
  const KvSnapshot outer = pair.cache.snapshot();
  pair.append(10, random);
  const KvSnapshot inner = pair.cache.snapshot();
  pair.append(10, random);
  ASSERT_TRUE(pair.cache.restore(inner).ok());
  ASSERT_TRUE(pair.cache.restore(outer).ok());
  EXPECT_EQ(pair.cache.restore(inner).code(), StatusCode::kMismatch);  // its last rows are forgotten
  for (auto& plain : pair.plain) truncate_plain(plain, 10);
  pair.append(10, random);  // as many rows as `inner` had, but others
  EXPECT_EQ(pair.cache.restore(inner).code(), StatusCode::kMismatch);
  EXPECT_EQ(pair.cache.n_pos(), 20);
  pair.expect_same();
  ASSERT_TRUE(pair.cache.restore(outer).ok());
  for (auto& plain : pair.plain) truncate_plain(plain, 10);
  pair.expect_same();
}

TEST(KvCache, OverwrittenRowsAreNotRestored) {
  Random random(6);
  Pair pair = make_pair_of(3);
  pair.append(30, random);
  const KvSnapshot snapshot = pair.cache.snapshot();
  // One layer alone loses row 29 and gets another one.
  pair.truncate(2, 29);
  append_random(pair.cache.layer(2), pair.plain[2], 29, 1, random);
  pair.append(4, random);
  const Status status = pair.cache.restore(snapshot);
  EXPECT_EQ(status.code(), StatusCode::kMismatch);
  EXPECT_NE(status.message().find("layer 2"), std::string::npos) << status.message();
  EXPECT_EQ(pair.cache.n_pos(), 34);  // nothing has changed, in no layer
  pair.expect_same();
}

TEST(KvCache, RestoreAfterCompactionIsRefusedAndChangesNothing) {
  Random random(7);
  Pair pair = make_pair_of(3);
  pair.append(30, random);
  const KvSnapshot snapshot = pair.cache.snapshot();
  pair.append(5, random);
  pair.compact(2, 35, random);  // keeps every row, but may not be trusted to
  const Status status = pair.cache.restore(snapshot);
  EXPECT_EQ(status.code(), StatusCode::kMismatch);
  EXPECT_NE(status.message().find("layer 2"), std::string::npos) << status.message();
  EXPECT_EQ(pair.cache.n_pos(), 35);
  pair.expect_same();
  // A snapshot taken since is as good as any.
  const KvSnapshot later = pair.cache.snapshot();
  const std::vector<PlainCache> then = pair.plain;
  pair.append(5, random);
  ASSERT_TRUE(pair.cache.restore(later).ok());
  pair.plain = then;
  pair.expect_same();
}

TEST(KvCache, SnapshotOfOtherLayersIsRefused) {
  Random random(8);
  Pair pair = make_pair_of(3);
  pair.append(3, random);
  const Status status = pair.cache.restore(make_pair_of(2).cache.snapshot());
  EXPECT_EQ(status.code(), StatusCode::kMismatch);
  EXPECT_EQ(status.message(), "snapshot: got 2 layers, expected 3");
  EXPECT_EQ(pair.cache.n_pos(), 3);
  pair.expect_same();
}

TEST(KvCache, ForksLiveApart) {
  Random random(9);
  Pair pair = make_pair_of(3);
  pair.append(25, random);
  pair.compact(1, 10, random);
  const KvSnapshot before = pair.cache.snapshot();
  Pair fork{pair.cache.fork().value(), pair.plain};
  EXPECT_EQ(fork.cache.n_pos(), 25);
  EXPECT_EQ(fork.cache.bytes().total(), pair.cache.bytes().total());

  pair.append(8, random);
  fork.append(3, random);
  fork.compact(0, 4, random);
  pair.truncate(2, 1);
  pair.expect_same();
  fork.expect_same();
  // A snapshot survives where its rows do.
  EXPECT_EQ(fork.cache.restore(before).code(), StatusCode::kMismatch);
  EXPECT_EQ(pair.cache.restore(before).code(), StatusCode::kMismatch);
  Pair third{fork.cache.fork().value(), fork.plain};
  fork = Pair();  // destroyed: the others hold
  third.append(2, random);
  third.expect_same();
  pair.expect_same();
}

TEST(KvCache, AForkOutlivesTheCompactionOfItsSource) {
  Random random(10);
  Pair pair = make_pair_of(2);
  pair.append(25, random);
  const KvSnapshot snapshot = pair.cache.snapshot();
  Pair fork{pair.cache.fork().value(), pair.plain};
  const std::vector<PlainCache> then = fork.plain;
  pair.compact(0, 3, random);
  fork.append(6, random);
  ASSERT_TRUE(fork.cache.restore(snapshot).ok());
  fork.plain = then;
  fork.expect_same();
}

// Whatever happens: a restore that is granted brings back exactly the rows of its snapshot, one that is refused changes
// nothing, and it is refused only if a row is really gone.
TEST(KvCache, RandomOperations) {
  struct Moment {
    KvSnapshot snapshot;
    std::vector<PlainCache> plain;
    std::vector<int> n_compact;
  };
  int n_granted = 0;
  int n_refused = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed_from(11, seed));
    const int n_layer = static_cast<int>(1 + random.below(4));
    Pair pair = make_pair_of(n_layer);
    std::vector<int> n_compact(static_cast<size_t>(n_layer), 0);
    std::vector<Moment> moments;
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(step);
      const auto il = static_cast<int>(random.below(static_cast<uint64_t>(n_layer)));
      const int64_t n_rows = pair.cache.layer(il).n_rows();
      switch (random.below(10)) {
        case 0:
        case 1:
        case 2:
          pair.append(static_cast<int64_t>(1 + random.below(12)), random);
          break;
        case 3:
          pair.truncate(
              il, n_rows - static_cast<int64_t>(random.below(static_cast<uint64_t>(std::min<int64_t>(n_rows, 6)) + 1)));
          break;
        case 4: {
          if (n_rows == 0 || random.below(3) != 0) break;
          pair.compact(il, static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(n_rows))), random);
          ++n_compact[static_cast<size_t>(il)];
          break;
        }
        case 5:
          pair.cache = pair.cache.fork().value();
          break;
        case 6:
        case 7:
          moments.push_back({pair.cache.snapshot(), pair.plain, n_compact});
          break;
        default: {
          if (moments.empty()) break;
          const Moment& moment = moments[random.below(moments.size())];
          bool there = moment.n_compact == n_compact;
          for (size_t layer = 0; layer < pair.plain.size(); ++layer) {
            for (size_t head = 0; head < pair.plain[layer].size(); ++head) {
              const auto& then = moment.plain[layer][head];
              const auto& now = pair.plain[layer][head];
              there = there && now.size() >= then.size() && std::equal(then.begin(), then.end(), now.begin());
            }
          }
          const int64_t n_pos = pair.cache.n_pos();
          const Status status = pair.cache.restore(moment.snapshot);
          ASSERT_EQ(status.ok(), there) << status.message();
          if (there) pair.plain = moment.plain;
          ASSERT_EQ(pair.cache.n_pos(), there ? moment.snapshot.n_pos : n_pos);
          ++(there ? n_granted : n_refused);
        }
      }
      ASSERT_FALSE(HasFatalFailure());
      pair.expect_same();
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  EXPECT_GT(n_granted, 50);
  EXPECT_GT(n_refused, 50);
}

}  // namespace
}  // namespace ripplekv
