// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "bench/record.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ripplekv {
namespace {

BenchRecord decode_of(const std::string& policy, int64_t context, double rows, std::vector<double> seconds) {
  BenchRecord record;
  record.work = "decode";
  record.context = context;
  record.policy = policy;
  record.budget = policy == "full" ? "100%" : "10%";
  record.rows_per_layer = rows;
  record.held = rows / static_cast<double>(context);
  record.n_token = 32;
  record.seconds = std::move(seconds);
  return record;
}

TEST(BenchRecord, SpeedsAreMediansAndRatiosOursOverThePeers) {
  BenchRecord record = decode_of("full", 8192, 8192, {4, 1, 2});
  EXPECT_EQ(record.figure(), 16);
  EXPECT_EQ(record.ratio(), 0) << "no peer";
  record.peer = "llama.cpp";
  record.peer_seconds = {8};
  EXPECT_EQ(record.peer_figure(), 4);
  EXPECT_EQ(record.ratio(), 4);
}

TEST(BenchRecord, SecondsAndBytesAreComparedAsTheyAre) {
  BenchRecord first;
  first.work = "first_token";
  first.seconds = {0.5};
  first.peer = "llama.cpp";
  first.peer_seconds = {2};
  EXPECT_EQ(first.ratio(), 0.25);
  BenchRecord memory;
  memory.work = "memory";
  memory.above_weights = 30;
  memory.peer = "llama.cpp";
  memory.peer_above_weights = 100;
  EXPECT_EQ(memory.ratio(), 0.3);
}

TEST(BenchRecord, ComparedWithAFullCacheOfItsRowsAndWithUniformSnapkv) {
  const std::vector<BenchRecord> records = {
      decode_of("full", 819, 819, {1}), decode_of("full", 8192, 8192, {8}), decode_of("snapkv", 8192, 819.2, {2}),
      decode_of("snapkv+curves", 8192, 819.2, {4}), decode_of("snapkv+curves", 819, 81.9, {1})};
  const std::vector<BenchRecord> own = own_comparisons(records);
  ASSERT_EQ(own.size(), 3U);
  EXPECT_EQ(own[0].policy, "snapkv");
  EXPECT_EQ(own[0].peer_setting, "full cache of 819 tokens");
  EXPECT_EQ(own[0].ratio(), 0.5);
  EXPECT_EQ(own[1].policy, "snapkv+curves");
  EXPECT_EQ(own[1].ratio(), 0.25);
  EXPECT_EQ(own[2].peer_setting, "uniform snapkv of the same rows");
  EXPECT_EQ(own[2].ratio(), 0.5);
}

// Its rows are those of a number of bytes, and no format is that of another record.
TEST(BenchRecord, FormatsOfTheAllocatorsChoiceAreShownAsSuchAndComparedWithNone) {
  BenchRecord mixed = decode_of("snapkv+curves:kv-type=auto", 8192, 819.2, {4});
  mixed.auto_format = true;
  const std::vector<BenchRecord> records = {decode_of("full", 819, 819, {1}), decode_of("snapkv", 8192, 700, {2}),
                                            mixed};
  EXPECT_TRUE(own_comparisons(records).empty());
  const auto json = records_json({mixed}, nlohmann::ordered_json::object());
  EXPECT_EQ(json[0]["k"], "auto");
  EXPECT_EQ(json[0]["v"], "auto");
  EXPECT_NE(records_table({mixed}).find("| snapkv+curves:kv-type=auto 10% | auto | - |"), std::string::npos)
      << records_table({mixed});
}

TEST(BenchRecord, JsonHasWhatIsNeededToReadIt) {
  BenchRecord record = decode_of("snapkv", 8192, 819.2, {2, 1, 4});
  record.peer = "llama.cpp";
  record.peer_setting = "f16";
  record.peer_seconds = {8};
  record.peer_settings = {{"f16", 4.0}, {"q8_0", 3.0}};
  BenchRecord alone = decode_of("full", 8192, 8192, {2});
  alone.work = "prefill";
  alone.compress_seconds = 0.5;
  const auto json = records_json({record, alone}, {{"n_threads", 2}});
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["work"], "decode");
  EXPECT_EQ(json[0]["budget"], "10%");
  EXPECT_NEAR(json[0]["held"], 0.1, 1e-3);
  EXPECT_EQ(json[0]["tokens_per_s"], 16);
  EXPECT_EQ(json[0]["seconds_min"], 1);
  EXPECT_EQ(json[0]["seconds_max"], 4);
  EXPECT_EQ(json[0]["repeats"], 3);
  EXPECT_EQ(json[0]["peer_tokens_per_s"], 4);
  EXPECT_EQ(json[0]["ratio"], 4);
  EXPECT_EQ(json[0]["peer_settings"]["q8_0"], 3);
  EXPECT_EQ(json[0]["n_threads"], 2);
  EXPECT_TRUE(json[1]["peer"].is_null());
  EXPECT_FALSE(json[1].contains("ratio"));
  EXPECT_EQ(json[1]["compress_ms"], 500);
  EXPECT_EQ(json[1]["compress_share"], 0.25);
}

TEST(BenchRecord, TableAndSummary) {
  BenchRecord record = decode_of("snapkv", 8192, 819.2, {2, 1, 4});
  record.peer = "llama.cpp";
  record.peer_setting = "f16";
  record.peer_seconds = {8};
  EXPECT_NE(records_table({record}).find("| decode | 8192 | snapkv 10% | f16 | - | 16.0 (8.0 to 32.0) | - | "
                                         "llama.cpp (f16) | 4.0 | 4.00 |"),
            std::string::npos)
      << records_table({record});
  record.held = 0.104;
  EXPECT_NE(records_table({record}).find("| snapkv 10% |"), std::string::npos);
  record.held = 0.62;  // protected rows were more
  EXPECT_NE(records_table({record}).find("| snapkv 10% (holds 62%) |"), std::string::npos) << records_table({record});
  record.held = 0.1;
  EXPECT_EQ(records_summary({decode_of("full", 819, 819, {1}), record}),
            "8192 tokens: decode snapkv 10% 16.0 tokens/s (4.00 of llama.cpp's best)");
}

}  // namespace
}  // namespace ripplekv
