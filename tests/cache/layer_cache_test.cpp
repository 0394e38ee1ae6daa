// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// LayerCache against rows kept in plain vectors: every operation in every format and odd size, random sequences of
// operations, marks, bytes allocated and resident after compact(), V read and written back, and broken requirements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>

#include "base/random.h"
#include "cache/plain_cache.h"
#include "engine/machine.h"
#include "ripplekv/kv_cache.h"
#include "test_util/far_memory.h"

namespace ripplekv {
namespace {

using namespace test;

constexpr int64_t kPage = 4096;
const LayerShape kShapes[] = {{64, 1}, {32, 3}, {96, 2}};  // one head, grouped heads, three blocks per row
constexpr int64_t kRows[] = {1, 31, 33, 100, 257};

std::string name_of(const KvFormat& format, const LayerShape& shape, int64_t n_rows) {
  return std::string(to_string(format.k)) + "/" + std::string(to_string(format.v)) + " " +
         std::to_string(shape.head_dim) + "x" + std::to_string(shape.n_head_kv) + " " + std::to_string(n_rows) +
         " rows";
}

KeepList keep_all(const LayerCache& layer) {
  std::vector<int32_t> all(static_cast<size_t>(layer.n_rows()));
  std::iota(all.begin(), all.end(), 0);
  return KeepList(static_cast<size_t>(layer.shape().n_head_kv), all);
}

// Calls `check(shape, format, n_rows, random)` for every combination.
template <class Check>
void for_every_cache(Check check) {
  for (const KvFormat& format : all_formats()) {
    for (const LayerShape& shape : kShapes) {
      for (const int64_t n_rows : kRows) {
        SCOPED_TRACE(name_of(format, shape, n_rows));
        Random random(seed_from(n_rows, shape.head_dim, static_cast<int>(format.k), static_cast<int>(format.v)));
        check(shape, format, n_rows, random);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(LayerCache, StartsEmptyWithItsCapacity) {
  const LayerCache layer = make_layer({64, 2}, {KvType::kQ8_0, KvType::kQ4_0}, 7);
  EXPECT_EQ(layer.n_rows(), 0);
  EXPECT_EQ(layer.capacity(), 7);
  EXPECT_EQ(layer.k()->type, GGML_TYPE_Q8_0);
  EXPECT_EQ(layer.v()->type, GGML_TYPE_Q4_0);
  EXPECT_TRUE(layer.positions(0).empty());
  EXPECT_TRUE(layer.positions(1).empty());
  EXPECT_EQ(layer.bytes().payload, 0);
  EXPECT_EQ(layer.bytes().index, 0);
  EXPECT_EQ(layer.bytes().padding, layer.bytes().allocated());
  EXPECT_TRUE(layer.read_v().empty());
  EXPECT_TRUE(layer.read_v_bytes().empty());
  LayerCache writable = make_layer({64, 2}, {KvType::kQ8_0, KvType::kQ4_0}, 7);
  writable.write_v({});
  writable.write_v_bytes({});
  EXPECT_EQ(writable.n_rows(), 0);
}

TEST(LayerCache, FormatsThatDoNotFitAreRefused) {
  for (const KvFormat& format : {KvFormat{KvType::kQ8_0, KvType::kF16}, KvFormat{KvType::kF16, KvType::kQ4_0}}) {
    const auto result = LayerCache::create(ggml_backend_cpu_buffer_type(), {80, 2}, format, 10);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
    EXPECT_NE(result.status().message().find("head size is 80"), std::string::npos) << result.status().message();
  }
  EXPECT_TRUE(LayerCache::create(ggml_backend_cpu_buffer_type(), {80, 2}, {KvType::kF16, KvType::kF32}, 10).ok());
}

TEST(LayerCache, MoreMemoryThanThereIsIsAnErrorAndChangesNothing) {
  constexpr int64_t kTooMany = int64_t{1} << 42;  // 2^42 rows of 512 bytes: no address space holds that
  const auto result =
      LayerCache::create(ggml_backend_cpu_buffer_type(), {64, 2}, {KvType::kF16, KvType::kF16}, kTooMany);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(result.status().message().find(std::to_string(kTooMany * 512)), std::string::npos)
      << result.status().message();

  Random random(1);
  PlainCache plain;
  LayerCache layer = make_layer({64, 2}, {}, 5);
  append_random(layer, plain, 0, 5, random);
  const LayerCache::Mark mark = layer.mark();
  EXPECT_EQ(layer.reserve_more(kTooMany).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(layer.capacity(), 5);
  EXPECT_TRUE(layer.still_holds(mark, 5));
  expect_holds(layer, plain);
}

TEST(LayerCache, AppendsWhatWasWritten) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows + 3);
    PlainCache plain;
    append_random(layer, plain, 5, n_rows / 2, random);
    append_random(layer, plain, 1000, n_rows - n_rows / 2, random);
    expect_holds(layer, plain);
    EXPECT_EQ(layer.bytes().index, 4 * n_rows);  // one list for all heads
  });
}

TEST(LayerCache, GatherCopiesAndLeavesTheSourceAlone) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows + 9);
    PlainCache plain;
    append_random(layer, plain, 0, n_rows, random);
    for (const int64_t n_keep : {int64_t{1}, (n_rows + 1) / 2, n_rows}) {
      for (const int kind : {0, 1, 2}) {
        const KeepList keep = kind == 2 ? random_ragged_keep(layer.head_rows(), n_keep, random)
                                        : random_keep(n_rows, shape.n_head_kv, n_keep, kind == 1, random);
        const LayerCache kept = layer.gather(keep).value();
        expect_holds(kept, gather_plain(plain, keep));
        EXPECT_EQ(kept.capacity(), n_keep);
        const LayerCache roomy = layer.gather(keep, /*n_room=*/5).value();
        expect_holds(roomy, gather_plain(plain, keep));
        EXPECT_EQ(roomy.capacity(), n_keep + 5);
        std::vector<std::vector<int32_t>> positions;
        for (int head = 0; head < shape.n_head_kv; ++head) {
          positions.emplace_back(roomy.positions(head).begin(), roomy.positions(head).end());
        }
        const LayerCache again = LayerCache::from_rows(ggml_backend_cpu_buffer_type(), shape, format, positions,
                                                       roomy.read_k_bytes(), roomy.read_v_bytes())
                                     .value();
        expect_holds(again, gather_plain(plain, keep));
        EXPECT_EQ(again.capacity(), n_keep);
        EXPECT_FALSE(kept.still_holds(layer.mark(), 1));  // its rows are other ones
        const bool one_list = std::all_of(keep.begin(), keep.end(), [&](const auto& rows) { return rows == keep[0]; });
        EXPECT_EQ(kept.bytes().index, 4 * n_keep * (one_list ? 1 : shape.n_head_kv));
        expect_holds(layer, plain);
      }
    }
  });
}

TEST(LayerCache, CompactKeepsBytesAndFreesTheRest) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, 4 * n_rows);
    PlainCache plain;
    append_random(layer, plain, 17, n_rows, random);
    // Twice, with rows added between: positions stay the true ones and the heads' rows need not agree.
    for (int pass = 0; pass < 3; ++pass) {
      const int64_t n_keep = (layer.n_rows() + 1) / 2;
      const KeepList keep = random_ragged_keep(layer.head_rows(), n_keep, random);
      const LayerCache gathered = layer.gather(keep).value();
      ASSERT_TRUE(layer.compact(keep).ok());
      plain = gather_plain(plain, keep);
      expect_holds(layer, plain);
      ASSERT_EQ(layer.capacity(), n_keep);
      ASSERT_EQ(layer.bytes().total(), gathered.bytes().total());  // in place or not, the outcome is the same
      ASSERT_EQ(layer.bytes().index, gathered.bytes().index);
      const int64_t row = shape.n_head_kv * (row_bytes(format.k, shape.head_dim) + row_bytes(format.v, shape.head_dim));
      ASSERT_GE(layer.bytes().allocated(), n_keep * row);
      ASSERT_LE(static_cast<double>(layer.bytes().allocated()), static_cast<double>(n_keep * row) * 1.005 + kPage);
      ASSERT_TRUE(layer.reserve_more(7).ok());
      append_random(layer, plain, 10000 + 100 * pass, 7, random);
      expect_holds(layer, plain);
    }
  });
}

// Ragged heads grow alike, cost the bytes of equal ones, and round to other formats row by row.
TEST(LayerCache, RaggedHeadsCostWhatEqualOnesDo) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows);
    PlainCache plain;
    append_random(layer, plain, 5, n_rows, random);
    const int64_t n_keep = (n_rows + 1) / 2;
    const KeepList keep = random_ragged_keep(layer.head_rows(), n_keep, random);
    const LayerCache equal = layer.gather(random_keep(n_rows, shape.n_head_kv, n_keep, false, random)).value();
    ASSERT_TRUE(layer.compact(keep).ok());
    plain = gather_plain(plain, keep);
    EXPECT_EQ(layer.bytes().allocated(), equal.bytes().allocated());
    EXPECT_LE(layer.bytes().index, index_bytes_per_row(shape) * n_keep);
    EXPECT_EQ(layer.gather(layer.all_rows()).value().head_rows(), layer.head_rows());

    const LayerCache::Mark mark = layer.mark();
    const PlainCache before = plain;
    for (int pass = 0; pass < 2; ++pass) {
      ASSERT_TRUE(layer.reserve_more(2).ok());
      append_random(layer, plain, 1000 + 2 * pass, 2, random);
      expect_holds(layer, plain);
    }
    for (const auto& rows : layer.last_rows(4)) ASSERT_EQ(rows.size(), 4U);
    ASSERT_TRUE(layer.still_holds(mark, n_keep));
    layer.truncate(n_keep);
    expect_holds(layer, before);

    const KvFormat wide = {KvType::kF32, KvType::kF32};
    const LayerCache widened = layer.gather(layer.all_rows(), wide).value();
    EXPECT_EQ(widened.head_rows(), layer.head_rows());
    const auto same_bits = [](const std::vector<float>& a, const std::vector<float>& b) {  // NaN, too
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
    };
    EXPECT_TRUE(same_bits(widened.read_k(), layer.read_k()));
    EXPECT_TRUE(same_bits(widened.read_v(), layer.read_v()));
  });
}

TEST(LayerCache, CopyIsIndependent) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows + 5);
    PlainCache plain;
    append_random(layer, plain, 0, n_rows, random);
    const LayerCache::Mark mark = layer.mark();
    LayerCache twin = layer.copy().value();
    PlainCache twin_plain = plain;
    EXPECT_EQ(twin.capacity(), layer.capacity());
    EXPECT_TRUE(twin.still_holds(mark, n_rows));
    append_random(layer, plain, n_rows, 2, random);
    append_random(twin, twin_plain, n_rows, 5, random);
    ASSERT_TRUE(layer.compact(random_keep(layer.n_rows(), shape.n_head_kv, 1, false, random)).ok());
    expect_holds(twin, twin_plain);
    EXPECT_TRUE(twin.still_holds(mark, n_rows));
    EXPECT_FALSE(layer.still_holds(mark, 1));
  });
}

// On a device nothing is compacted in place, and nothing but ggml's calls may touch a row.
TEST(LayerCache, OnADeviceItHoldsTheSame) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = LayerCache::create(far_memory(), shape, format, n_rows).value();
    EXPECT_FALSE(layer.compacts_in_place());
    PlainCache plain;
    append_random(layer, plain, 17, n_rows, random);
    expect_holds(layer, plain);
    for (int pass = 0; pass < 2; ++pass) {
      const KeepList keep = random_ragged_keep(layer.head_rows(), (layer.n_rows() + 1) / 2, random);
      const int64_t allocated = layer.bytes().allocated();
      ASSERT_TRUE(layer.compact(keep).ok());
      plain = gather_plain(plain, keep);
      expect_holds(layer, plain);
      EXPECT_EQ(layer.capacity(), layer.n_rows());
      EXPECT_LE(layer.bytes().allocated(), allocated);
      ASSERT_TRUE(layer.reserve_more(3).ok());
      append_random(layer, plain, 10000 + 100 * pass, 3, random);
    }
    LayerCache twin = layer.copy().value();
    layer.truncate(layer.n_rows() - 3);
    expect_holds(twin, plain);
    const auto v = twin.read_v_bytes();
    twin.write_v_bytes(std::vector<uint8_t>(v.size(), 0));
    twin.write_v_bytes(v);
    expect_holds(twin, plain);
  });
}

TEST(LayerCache, ADeviceThatIsFullChangesNothing) {
  const LayerShape shape = {64, 2};
  Random random(2);
  PlainCache plain;
  LayerCache layer = LayerCache::create(far_memory(), shape, {}, 20).value();
  append_random(layer, plain, 0, 20, random);
  KvCache cache;
  cache.push_layer(layer.copy().value());
  const KeepList keep = random_keep(20, shape.n_head_kv, 9, false, random);
  const auto k = layer.read_k_bytes();
  const std::vector<std::vector<int32_t>> positions(
      2, std::vector<int32_t>(layer.positions(0).begin(), layer.positions(0).end()));
  {
    const FarMemoryIsFull is_full;
    for (const Status& status :
         {layer.compact(keep), layer.gather(keep).status(), layer.copy().status(), layer.reserve_more(5),
          cache.fork().status(), LayerCache::create(far_memory(), shape, {}, 20).status(),
          LayerCache::from_rows(far_memory(), shape, {}, positions, k, k).status()}) {
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
      EXPECT_EQ(status.message().find("out of memory: Far cannot allocate "), 0U) << status.message();
    }
    expect_holds(layer, plain);
  }
  ASSERT_TRUE(layer.compact(keep).ok());
  expect_holds(layer, gather_plain(plain, keep));
}

TEST(LayerCache, GrowsByChunksAndKeepsRows) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows);
    PlainCache plain;
    append_random(layer, plain, 0, n_rows, random);
    const LayerCache::Mark mark = layer.mark();
    ASSERT_TRUE(layer.reserve_more(0).ok());
    EXPECT_EQ(layer.capacity(), n_rows);
    ASSERT_TRUE(layer.reserve_more(1).ok());
    EXPECT_EQ(layer.capacity(), n_rows + LayerCache::kGrowRows);
    expect_holds(layer, plain);
    ASSERT_TRUE(layer.reserve_more(LayerCache::kGrowRows).ok());  // fits already
    EXPECT_EQ(layer.capacity(), n_rows + LayerCache::kGrowRows);
    ASSERT_TRUE(layer.reserve_more(1000).ok());
    EXPECT_EQ(layer.capacity(), n_rows + 1000);
    append_random(layer, plain, n_rows, 1000, random);
    expect_holds(layer, plain);
    EXPECT_TRUE(layer.still_holds(mark, n_rows));
  });
  LayerCache large = make_layer({32, 1}, {}, 3200);
  large.append_written(0, 3200);
  ASSERT_TRUE(large.reserve_more(1).ok());
  EXPECT_EQ(large.capacity(), 3400);  // 1/16 of 3200 is more than kGrowRows
  LayerCache known = make_layer({32, 1}, {}, 3200);
  known.append_written(0, 3200);
  ASSERT_TRUE(known.reserve_more(1, /*n_later=*/6).ok());
  EXPECT_EQ(known.capacity(), 3207);  // no more than will ever be needed
  known.append_written(3200, 7);
  ASSERT_TRUE(known.reserve_more(300, 0).ok());
  EXPECT_EQ(known.capacity(), 3507);
}

TEST(LayerCache, TruncateForgetsTheLastRows) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows);
    PlainCache plain;
    append_random(layer, plain, 0, n_rows, random);
    for (const int64_t n : {n_rows, n_rows / 2, int64_t{0}}) {
      layer.truncate(n);
      truncate_plain(plain, n);
      expect_holds(layer, plain);
      EXPECT_EQ(layer.capacity(), n_rows);
    }
    append_random(layer, plain, 3, n_rows, random);  // positions may start anew
    expect_holds(layer, plain);
  });
}

TEST(LayerCache, MoveTakesEverything) {
  Random random(2);
  PlainCache plain;
  LayerCache layer = make_layer({32, 3}, {KvType::kF16, KvType::kQ8_0}, 20);
  append_random(layer, plain, 0, 20, random);
  ASSERT_TRUE(layer.compact(random_keep(20, 3, 11, false, random)).ok());
  const LayerCache::Mark mark = layer.mark();
  const std::vector<uint8_t> v = layer.read_v_bytes();
  LayerCache moved = std::move(layer);
  EXPECT_EQ(moved.read_v_bytes(), v);
  EXPECT_TRUE(moved.still_holds(mark, 11));
  LayerCache other = make_layer({64, 1}, {}, 1);
  other = std::move(moved);
  EXPECT_EQ(other.read_v_bytes(), v);
  EXPECT_EQ(other.shape(), (LayerShape{32, 3}));
}

// A mark and what the rows were then. Random bytes stand for the identity of a row.
struct Moment {
  LayerCache::Mark mark;
  int64_t n_compact = 0;
  PlainCache plain;
};

// Without the last rows of every head, so that n are left on the mean, `then` is how `now` begins.
bool begins_alike(const PlainCache& then, const PlainCache& now, int64_t n) {
  for (size_t head = 0; head < then.size(); ++head) {
    const int64_t of_head = static_cast<int64_t>(then[head].size()) - (mean_rows(then) - n);
    if (of_head < 0 || std::cmp_less(now[head].size(), of_head)) return false;
    if (!std::equal(then[head].begin(), then[head].begin() + of_head, now[head].begin())) return false;
  }
  return true;
}

TEST(LayerCache, RandomOperationsMatchThePlainCache) {
  const std::vector<KvFormat> formats = all_formats();
  int64_t n_held = 0;
  int64_t n_lost = 0;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed_from(77, seed));
    const LayerShape shape = kShapes[random.below(3)];
    LayerCache layer = make_layer(shape, formats[seed % formats.size()], static_cast<int64_t>(1 + random.below(40)));
    PlainCache plain(static_cast<size_t>(shape.n_head_kv));
    std::vector<Moment> moments;
    int64_t n_compact = 0;
    int64_t position = 0;
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(step);
      const int64_t n_rows = layer.n_rows();
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2: {
          const auto n = static_cast<int64_t>(random.below(40));
          ASSERT_TRUE(layer.reserve_more(n).ok());
          position += static_cast<int64_t>(random.below(5));  // positions may have gaps
          append_random(layer, plain, position, n, random);
          position += n;
          break;
        }
        case 3:
        case 4: {
          const auto n = n_rows - static_cast<int64_t>(random.below(static_cast<uint64_t>(fewest_rows(plain)) + 1));
          layer.truncate(n);
          truncate_plain(plain, n);
          break;
        }
        case 5: {
          if (fewest_rows(plain) == 0) break;
          const auto n_keep = static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(n_rows)));
          const KeepList keep = layer.ragged() || random.below(2) == 0
                                    ? random_ragged_keep(layer.head_rows(), n_keep, random)
                                    : random_keep(n_rows, shape.n_head_kv, n_keep, random.below(2) == 0, random);
          ASSERT_TRUE(layer.compact(keep).ok());
          plain = gather_plain(plain, keep);
          ++n_compact;
          break;
        }
        case 6: {
          LayerCache twin = layer.copy().value();
          layer = std::move(twin);
          break;
        }
        default:
          moments.push_back({layer.mark(), n_compact, plain});
      }
      expect_holds(layer, plain);
      ASSERT_FALSE(HasFatalFailure());
      for (const Moment& moment : moments) {
        const int64_t n_then = mean_rows(moment.plain);
        for (const int64_t n : {n_then, n_then - fewest_rows(moment.plain) / 2}) {
          const bool holds = moment.n_compact == n_compact && begins_alike(moment.plain, plain, n);
          ASSERT_EQ(layer.still_holds(moment.mark, n), holds) << n;
          ++(holds ? n_held : n_lost);
        }
      }
    }
  }
  EXPECT_GT(n_held, 500);  // both answers are really met
  EXPECT_GT(n_lost, 500);
}

TEST(LayerCache, StillHolds) {
  Random random(3);
  PlainCache plain;
  LayerCache layer = make_layer({32, 2}, {}, 20);
  append_random(layer, plain, 0, 10, random);
  const LayerCache::Mark at_ten = layer.mark();
  EXPECT_TRUE(layer.still_holds(at_ten, 10));
  EXPECT_FALSE(layer.still_holds(at_ten, 11));  // not written yet
  append_random(layer, plain, 10, 5, random);
  EXPECT_TRUE(layer.still_holds(at_ten, 10));
  layer.truncate(10);
  EXPECT_TRUE(layer.still_holds(at_ten, 10));
  layer.truncate(8);
  EXPECT_TRUE(layer.still_holds(at_ten, 8));
  EXPECT_FALSE(layer.still_holds(at_ten, 9));
  const LayerCache::Mark at_eight = layer.mark();
  layer.append_written(8, 4);
  EXPECT_FALSE(layer.still_holds(at_ten, 10));  // ten rows again, but not those
  EXPECT_TRUE(layer.still_holds(at_ten, 8));
  EXPECT_TRUE(layer.still_holds(at_eight, 8));
  layer.truncate(layer.n_rows());  // forgets nothing
  EXPECT_TRUE(layer.still_holds(at_eight, 8));
  ASSERT_TRUE(layer.compact(keep_all(layer)).ok());
  EXPECT_FALSE(layer.still_holds(at_eight, 8));
  EXPECT_FALSE(layer.still_holds(at_eight, 1));
}

TEST(LayerCache, CompactReturnsMemoryToTheSystem) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  const int64_t before = resident_bytes().anonymous;
  if (before == 0) GTEST_SKIP() << "this system does not tell resident memory";
  constexpr int64_t kRowsHeld = 64 * 1024 * 1024 / (2 * 4 * 64 * 2);  // 64 MiB of F16 K and V in 4 heads of 64
  LayerCache layer = make_layer({64, 4}, {}, kRowsHeld);
  const std::vector<uint8_t> ones(layer.k()->nb[2] * 4, 1);
  ggml_backend_tensor_set(layer.k(), ones.data(), 0, ones.size());
  ggml_backend_tensor_set(layer.v(), ones.data(), 0, ones.size());
  layer.append_written(0, kRowsHeld);
  const int64_t full = resident_bytes().anonymous;
  EXPECT_GE(full - before, int64_t{64} << 20);

  Random random(4);
  const int64_t allocated = layer.bytes().allocated();
  ASSERT_TRUE(layer.compact(random_keep(kRowsHeld, 4, kRowsHeld / 10, false, random)).ok());
  const int64_t freed = allocated - layer.bytes().allocated();
  EXPECT_GT(freed, int64_t{57} << 20);
  EXPECT_GT(full - resident_bytes().anonymous, freed * 3 / 4);
}

std::vector<float> random_values(size_t n, Random& random) {
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(random.gaussian() * std::exp(2 * random.gaussian()));
  return values;
}

// What storing `values` of one block may change: half a step of the format, and the rounding of the F16 scale.
double tolerance(KvType type, std::span<const float> block) {
  double largest = 0;
  for (const float x : block) largest = std::max(largest, std::abs(static_cast<double>(x)));
  switch (type) {
    case KvType::kF32:
      return 0;
    case KvType::kF16:
      return std::max(largest * 0x1p-11, 0x1p-25);
    case KvType::kQ8_0:
      return largest / 127 * (0.5 + 127 * 0x1p-11) + 1e-7;
    case KvType::kQ4_0:
      return largest / 8 * (1 + 8 * 0x1p-11) +
             1e-7;  // values as large as the largest, of the other sign, end at 7 of 8
  }
  return 0;
}

TEST(LayerCache, WrittenVReadsBackWithinAStep) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows + 4);
    PlainCache plain;
    append_random(layer, plain, 0, n_rows + 4, random);
    layer.truncate(n_rows);
    truncate_plain(plain, n_rows);
    const auto n_beyond = static_cast<size_t>(n_rows) + 2;
    const auto row_size = static_cast<size_t>(row_bytes(format.v, shape.head_dim));
    const std::vector<uint8_t> beyond = row_of(layer.v(), 0, n_beyond, row_size);

    const auto head_dim = static_cast<size_t>(shape.head_dim);
    const std::vector<float> values = random_values(head_dim * static_cast<size_t>(n_rows * shape.n_head_kv), random);
    layer.write_v(values);
    const std::vector<float> back = layer.read_v();
    ASSERT_EQ(back.size(), values.size());
    for (size_t block = 0; block < values.size(); block += 32) {
      const auto of_block = std::span(values).subspan(block, 32);
      for (size_t i = 0; i < 32; ++i) {
        ASSERT_NEAR(back[block + i], of_block[i], tolerance(format.v, of_block)) << block + i;
      }
    }
    // The order is [head_dim, n_rows, n_head_kv]: each row of the tensor holds the values of that head and row.
    for (size_t head = 0; head < plain.size(); ++head) {
      for (size_t row = 0; row < plain[head].size(); ++row) {
        const std::vector<uint8_t> bytes = row_of(layer.v(), head, row, row_size);
        std::vector<float> expected(head_dim);
        if (format.v == KvType::kF32) {
          std::memcpy(expected.data(), bytes.data(), bytes.size());
        } else {
          ggml_get_type_traits(layer.v()->type)->to_float(bytes.data(), expected.data(), shape.head_dim);
        }
        const float* got = back.data() + (head * plain[head].size() + row) * head_dim;
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got)) << "head " << head << " row " << row;
        plain[head][row].v = bytes;
      }
    }
    expect_holds(layer, plain);                                   // K is untouched
    ASSERT_EQ(row_of(layer.v(), 0, n_beyond, row_size), beyond);  // and so are rows that are not held
    if (format.v == KvType::kF32 || format.v == KvType::kF16) {   // exact formats: storing again changes nothing
      const std::vector<uint8_t> stored = layer.read_v_bytes();
      layer.write_v(back);
      ASSERT_EQ(layer.read_v_bytes(), stored);
    }
  });
}

TEST(LayerCache, QuantisedVByHand) {
  LayerCache layer = make_layer({32, 1}, {KvType::kF16, KvType::kQ8_0}, 1);
  layer.append_written(0, 1);
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i) values[static_cast<size_t>(i)] = static_cast<float>(8 * i - 121);
  values[0] = -127;  // the largest: a step of exactly 1
  layer.write_v(values);
  EXPECT_EQ(layer.read_v(), values);

  LayerCache four_bits = make_layer({32, 1}, {KvType::kF16, KvType::kQ4_0}, 1);
  four_bits.append_written(0, 1);
  for (int i = 0; i < 32; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i % 16 - 8);
  four_bits.write_v(values);
  EXPECT_EQ(four_bits.read_v(), values);
  values.assign(32, 0);
  four_bits.write_v(values);
  EXPECT_EQ(four_bits.read_v(), values);
}

TEST(LayerCache, VBytesGoBackExactly) {
  for_every_cache([](const LayerShape& shape, const KvFormat& format, int64_t n_rows, Random& random) {
    LayerCache layer = make_layer(shape, format, n_rows + 2);
    PlainCache plain;
    append_random(layer, plain, 0, n_rows, random);
    const std::vector<uint8_t> bytes = layer.read_v_bytes();
    std::vector<uint8_t> expected;
    for (const auto& rows : plain) {
      for (const PlainRow& row : rows) expected.insert(expected.end(), row.v.begin(), row.v.end());
    }
    ASSERT_EQ(bytes, expected);
    layer.write_v(random_values(static_cast<size_t>(shape.head_dim * n_rows * shape.n_head_kv), random));
    ASSERT_NE(layer.read_v_bytes(), bytes);
    layer.write_v_bytes(bytes);
    expect_holds(layer, plain);
  });
}

class LayerCacheDeathTest : public testing::Test {
 protected:
  LayerCacheDeathTest() {
    Random random(5);
    append_random(layer_, plain_, 4, 6, random);
  }
  LayerCache layer_ = make_layer({32, 2}, {}, 8);
  PlainCache plain_;
};

TEST_F(LayerCacheDeathTest, BrokenKeepLists) {
  const KeepList broken[] = {
      {},                         // no head
      {{0, 1}},                   // one list too few
      {{0}, {0}, {0}},            // one too many
      {{}, {}},                   // no row
      {{0, 1}, {0}},              // of other lengths
      {{0, 1}, {}},               //
      {{1, 0}, {0, 1}},           // not sorted
      {{0, 1}, {3, 2}},           //
      {{0, 1}, {2, 2}},           // twice the same
      {{0, 6}, {0, 1}},           // not held, though there is room for it
      {{0, 1}, {0, 8}},           // beyond the capacity
      {{0, 1}, {-1, 0}},          //
      {{0, 7, 1}, {0, 1, 2}},     // unsorted: the last row alone would look right
      {{5, -1, 2}, {0, 1, 2}},    //
      {{0, 1}, {0, 2147483647}},  //
  };
  for (const KeepList& keep : broken) {
    EXPECT_DEATH((void)layer_.gather(keep), "check failed");
    EXPECT_DEATH((void)layer_.compact(keep), "check failed");
  }
  expect_holds(layer_, plain_);
}

TEST_F(LayerCacheDeathTest, BrokenRequirements) {
  EXPECT_DEATH(layer_.append_written(10, 3), "check failed");   // over the capacity
  EXPECT_DEATH(layer_.append_written(10, -1), "check failed");  //
  EXPECT_DEATH(layer_.append_written(9, 1), "check failed");    // position 9 is held already
  EXPECT_DEATH(layer_.append_written(0, 1), "check failed");    // positions would descend
  EXPECT_DEATH(layer_.truncate(7), "check failed");
  EXPECT_DEATH(layer_.truncate(-1), "check failed");
  EXPECT_DEATH(layer_.write_v(std::vector<float>(32 * 2 * 5)), "check failed");
  EXPECT_DEATH(layer_.write_v_bytes(std::vector<uint8_t>(1)), "check failed");
  EXPECT_DEATH((void)make_layer({32, 2}, {}, 0), "check failed");
  EXPECT_DEATH((void)make_layer({0, 2}, {}, 1), "check failed");
}

}  // namespace
}  // namespace ripplekv
