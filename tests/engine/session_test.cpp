// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Sessions: what is written comes back bit by bit in every kv format; hostile files, sealed with a right checksum or
// not, are refused with one sentence and never abort.
#include "engine/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/random.h"
#include "engine/tiny_engine.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

using test::kF32Cache;

constexpr size_t kHead = 12;   // magic and version
constexpr size_t kFixed = 32;  // and the three counts
constexpr size_t kHashSize = 37;

std::span<const uint8_t> span_of(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::string sealed(std::string content) { return content + hash_of_bytes(content); }

template <class T>
void patch(std::string& bytes, size_t at, T value) {
  ASSERT_LE(at + sizeof(value), bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

class SessionTest : public test::TinyEngineTest {
 protected:
  struct Made {
    SessionState state;
    KvCache cache;
  };

  Made make(const KvFormat& format, double head_floor = 1.0) const {
    Policy of = policy("snapkv", "ripple", 0.4);
    of.selector_options.head_floor = head_floor;
    of.kv_format = format;
    const auto prompt = tokens(60);
    Sequence sequence = prefill(*engine_, prompt, plan(of, 60));
    decode(sequence, 9);
    decode(sequence, 11);
    Made made;
    made.state.model = model_->id();
    made.state.messages = {{"user", "Gr\u00fc\u00dfe, \"you\"\n"}, {"assistant", ""}};
    made.state.prompt_text = "<|user|>Gr\u00fc\u00dfe";
    made.state.n_prompt = 60;
    made.state.tokens = prompt;
    made.state.tokens.insert(made.state.tokens.end(), {9, 11});
    const Profile of_model = profile();
    made.state.budgets = *make_budgets(model_->id(), of, &of_model);
    made.state.decode_slack = 7;
    made.state.logits.assign(static_cast<size_t>(config().n_vocab), 0.5f);
    made.state.logits[1] = -3;
    made.cache = std::move(sequence.cache);
    return made;
  }
  std::string good() const {
    const Made made = make(kF32Cache);
    return *session_bytes(made.state, made.cache);
  }
  std::string content() const {
    std::string bytes = good();
    bytes.resize(bytes.size() - kHashSize);
    return bytes;
  }
  static void expect_refused(const std::string& bytes, const std::string& says, StatusCode code) {
    const auto parsed = parse_session(span_of(bytes), "x.session");
    ASSERT_FALSE(parsed.ok()) << says;
    EXPECT_EQ(parsed.status().code(), code) << parsed.status().message();
    EXPECT_EQ(parsed.status().message().find("x.session: "), 0U) << parsed.status().message();
    EXPECT_NE(parsed.status().message().find(says), std::string::npos) << parsed.status().message();
    EXPECT_EQ(parsed.status().message().find('\n'), std::string::npos) << parsed.status().message();
  }

  const std::string path_ = test::temp_dir() + "/talk.session";
};

TEST_F(SessionTest, ComesBackBitByBit) {
  for (const auto& [format, head_floor] :
       {std::pair{kF32Cache, 1.0}, std::pair{kF32Cache, 0.0}, std::pair{KvFormat{KvType::kF16, KvType::kQ4_0}, 0.2},
        std::pair{KvFormat{KvType::kQ8_0, KvType::kQ8_0}, 1.0}}) {
    const Made made = make(format, head_floor);
    EXPECT_EQ(made.cache.layer(1).ragged(), head_floor < 1.0);
    ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
    const auto read = read_session(path_, *model_);
    ASSERT_TRUE(read.ok()) << read.status().message();
    expect_same_cache(made.cache, read->cache);
    EXPECT_EQ(read->state.tokens, made.state.tokens);
    EXPECT_EQ(read->state.n_prompt, 60);
    EXPECT_EQ(read->state.prompt_text, made.state.prompt_text);
    EXPECT_EQ(read->state.decode_slack, 7);
    EXPECT_EQ(read->state.logits, made.state.logits);
    ASSERT_EQ(read->state.messages.size(), 2U);
    EXPECT_EQ(read->state.messages[0].role, "user");
    EXPECT_EQ(read->state.messages[0].content, made.state.messages[0].content);
    ASSERT_TRUE(read->state.budgets);
    EXPECT_EQ(plan_cache(*read->state.budgets, config(), 200)->rows,
              plan_cache(*made.state.budgets, config(), 200)->rows);
    for (int il = 0; il < 4; ++il) {
      EXPECT_EQ(read->cache.layer(il).format(), format);
      EXPECT_EQ(read->cache.layer(il).bytes().index, made.cache.layer(il).bytes().index);
    }
    // Writing what was read gives the same file.
    EXPECT_EQ(*session_bytes(read->state, read->cache), *session_bytes(made.state, made.cache));
  }
}

TEST_F(SessionTest, GoesOnAsTheSequenceDoes) {
  for (const double head_floor : {1.0, 0.0}) {
    Policy of = policy("snapkv", "ripple", 0.4);
    of.selector_options.head_floor = head_floor;
    Made made = make(kF32Cache, head_floor);
    ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
    auto read = read_session(path_, *model_);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->state.budgets->selector_options, of.selector_options);
    Sequence loaded;
    loaded.cache = std::move(read->cache);
    Sequence kept;
    kept.cache = std::move(made.cache);
    const auto turn = tokens(25, 4);
    ASSERT_TRUE(engine_->extend(loaded, turn, plan(of, 87)).ok());
    ASSERT_TRUE(engine_->extend(kept, turn, plan(of, 87)).ok());
    expect_same_cache(loaded.cache, kept.cache);
    EXPECT_EQ(loaded.logits, kept.logits);
  }
}

TEST_F(SessionTest, WithoutBudgetsAndWithAFullCache) {
  Sequence sequence = prefill(*engine_, tokens(5), plan_full(config(), 5, kF32Cache));
  SessionState state;
  state.model = model_->id();
  state.n_prompt = 5;
  state.tokens = tokens(5);
  ASSERT_TRUE(write_session(path_, state, sequence.cache).ok());
  const auto read = read_session(path_, *model_);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_FALSE(read->state.budgets);
  EXPECT_TRUE(read->state.messages.empty());
  EXPECT_TRUE(read->state.logits.empty());
  expect_same_cache(sequence.cache, read->cache);
}

// ---- what is not a session of this model ----

TEST_F(SessionTest, AnotherModelsSessionIsRefused) {
  const Made made = make(kF32Cache);
  ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
  test::TinyGguf other = tiny_model();
  other.seed = 2;
  const auto refused = read_session(path_, *load(test::tiny_gguf(other)));
  EXPECT_EQ(refused.status().code(), StatusCode::kMismatch);
  EXPECT_NE(refused.status().message().find("made for model"), std::string::npos) << refused.status().message();
}

TEST_F(SessionTest, ShapesAndIdsThatAreNotTheModels) {
  // A right fingerprint over another model's rows, as only a hand can make it.
  test::TinyGguf other = tiny_model();
  other.head_dim = 64;
  const auto model = load(test::tiny_gguf(other));
  auto engine = *Engine::create(model, {.n_threads = 1});
  auto sequence = engine->prefill(tokens(5), plan_full(model->config(), 5, kF32Cache));
  ASSERT_TRUE(sequence.ok());
  SessionState state;
  state.model = model_->id();
  state.n_prompt = 5;
  state.tokens = tokens(5);
  ASSERT_TRUE(write_session(path_, state, sequence->cache).ok());
  EXPECT_NE(read_session(path_, *model_).status().message().find("layer 0 has 2 heads of 64 values"),
            std::string::npos);

  Made made = make(kF32Cache);
  made.state.tokens[3] = config().n_vocab;
  ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
  EXPECT_EQ(read_session(path_, *model_).status().code(), StatusCode::kDataLoss);
  made = make(kF32Cache);
  made.state.budgets->model.fingerprint.back() ^= 1;
  ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
  EXPECT_NE(read_session(path_, *model_).status().message().find("budgets in '" + path_ + "': made for model"),
            std::string::npos);
  made = make(kF32Cache);
  made.state.tokens[3] = -1;
  ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
  EXPECT_EQ(read_session(path_, *model_).status().code(), StatusCode::kDataLoss);
  made = make(kF32Cache);
  made.state.logits.pop_back();
  ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
  EXPECT_NE(read_session(path_, *model_).status().message().find("got 299 logits, expected 0 or 300"),
            std::string::npos);
  EXPECT_EQ(read_session(path_ + ".none", *model_).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(read_session(test::temp_dir(), *model_).ok());
}

TEST_F(SessionTest, TextThatCannotBeReadBackIsNotWritten) {
  Made made = make(kF32Cache);
  ASSERT_TRUE(write_session(path_, made.state, made.cache).ok());
  const std::string before = *read_file(path_, 1 << 24);
  Made bad_text = make(kF32Cache);
  bad_text.state.messages[0].content = "\xFF";
  EXPECT_EQ(write_session(path_, bad_text.state, bad_text.cache).code(), StatusCode::kInvalidArgument);
  for (std::string* const text :
       {&bad_text.state.messages[1].role, &bad_text.state.prompt_text, &bad_text.state.model.name}) {
    bad_text.state.messages[0].content = "";
    *text = "\xFF";
    EXPECT_EQ(write_session(path_, bad_text.state, bad_text.cache).code(), StatusCode::kInvalidArgument);
    *text = "";
  }
  Made bad_budgets = make(kF32Cache);
  bad_budgets.state.budgets->rows_floor_extra = 0;
  EXPECT_EQ(write_session(path_, bad_budgets.state, bad_budgets.cache).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*read_file(path_, 1 << 24), before);
  EXPECT_FALSE(write_session(test::temp_dir() + "/none/x", made.state, made.cache).ok());
}

// ---- damage ----

TEST_F(SessionTest, BadFilesAreRefusedByName) {
  const auto lost = StatusCode::kDataLoss;
  expect_refused("", "is no session", StatusCode::kMismatch);
  expect_refused("RKVSESS", "is no session", StatusCode::kMismatch);
  expect_refused("{\"format\": \"ripplekv.budgets\"}", "is no session", StatusCode::kMismatch);
  expect_refused("RKVSESS\n", "is cut off", lost);
  expect_refused(good().substr(0, 40), "is cut off", lost);
  expect_refused(good().substr(0, 3000), "cut off", lost);
  expect_refused(good() + "x", "checksum", lost);
  std::string flipped = good();
  flipped[flipped.size() - 100] = static_cast<char>(flipped[flipped.size() - 100] ^ 1);
  expect_refused(flipped, "checksum", lost);

  std::string version = content();
  patch<uint32_t>(version, 8, 1);
  expect_refused(sealed(version), "version 1, expected 3", StatusCode::kMismatch);
  expect_refused(sealed(content().substr(0, kHead)), "layers: 1 of 4 bytes each, 0 bytes are left", lost);
  expect_refused(sealed(content() + "x"), "1 bytes too many", lost);
  expect_refused(sealed(content().substr(0, content().size() - 1)), "logits: 300 of 4 bytes each", lost);
  const size_t logits = content().size() - 300 * 4 - 8;
  expect_refused(sealed(content().substr(0, logits + 7)), "logits: 1 of 8 bytes each", lost);
  expect_refused(sealed(content().substr(0, logits - 1)), "layer 3 Values", lost);

  struct Case {
    std::string says;
    std::function<void(std::string&)> edit;
  };
  const std::string whole = content();
  uint64_t json_bytes = 0;
  std::memcpy(&json_bytes, whole.data() + 16, sizeof(json_bytes));
  const size_t layers = kFixed + json_bytes + 62 * 4;  // where layer 0 begins
  const size_t positions = layers + 24;
  uint32_t rows = 0;  // of each head of layer 0
  std::memcpy(&rows, whole.data() + layers + 16, sizeof(rows));
  const std::vector<Case> numbers = {
      {"got 0 layers", [](std::string& s) { patch<uint32_t>(s, 12, 0); }},
      {"got 4294967295 layers", [](std::string& s) { patch<uint32_t>(s, 12, 0xFFFFFFFF); }},
      {"text: got 18446744073709551615 bytes", [](std::string& s) { patch<uint64_t>(s, 16, ~uint64_t{0}); }},
      {"text: 60000000 of 1 bytes", [](std::string& s) { patch<uint64_t>(s, 16, 60000000); }},
      {"", [](std::string& s) { patch<uint64_t>(s, 16, 0); }},  // no text at all
      {"tokens: got 0,", [](std::string& s) { patch<uint64_t>(s, 24, 0); }},
      {"tokens: got 18446744073709551615", [](std::string& s) { patch<uint64_t>(s, 24, ~uint64_t{0}); }},
      {"tokens: 2147483647 of 4 bytes", [](std::string& s) { patch<uint64_t>(s, 24, 2147483647); }},
      {"'n_prompt': got 60, expected at most 20", [](std::string& s) { patch<uint64_t>(s, 24, 20); }},
      {"heads of 0 values", [&](std::string& s) { patch<uint32_t>(s, layers, 0); }},
      {"heads of 4294967295 values", [&](std::string& s) { patch<uint32_t>(s, layers, 0xFFFFFFFF); }},
      {"got 0 heads", [&](std::string& s) { patch<uint32_t>(s, layers + 4, 0); }},
      {"layer 0 rows: 65536 of 4 bytes", [&](std::string& s) { patch<uint32_t>(s, layers + 4, 65536); }},
      {"kv formats 4 and 0", [&](std::string& s) { patch<uint32_t>(s, layers + 8, 4); }},
      {"kv formats 0 and 4294967295", [&](std::string& s) { patch<uint32_t>(s, layers + 12, 0xFFFFFFFF); }},
      {"layer 0: ",
       [&](std::string& s) {  // a quantised type whose blocks do not fit the heads
         patch<uint32_t>(s, layers, 33);
         patch<uint32_t>(s, layers + 8, 2);
       }},
      {"got 0 rows", [&](std::string& s) { patch<uint32_t>(s, layers + 16, 0); }},
      {"got 63 rows, expected 1 to 62", [&](std::string& s) { patch<uint32_t>(s, layers + 20, 63); }},
      {"got 4294967295 rows", [&](std::string& s) { patch<uint32_t>(s, layers + 16, 0xFFFFFFFF); }},
      {fmt::format("got {} rows in all, expected a multiple of its 2 heads", 2 * rows - 1),
       [&](std::string& s) { patch<uint32_t>(s, layers + 16, rows - 1); }},
      {"positions of head 1",
       [&](std::string& s) {  // rows of one head given to the other
         patch<uint32_t>(s, layers + 16, rows - 1);
         patch<uint32_t>(s, layers + 20, rows + 1);
       }},
      {"positions of head 0", [&](std::string& s) { patch<int32_t>(s, positions, -1); }},
      {"positions of head 0", [&](std::string& s) { patch<int32_t>(s, positions, 61); }},
      {"positions of head 0", [&](std::string& s) { patch<int32_t>(s, positions + 4, INT32_MIN); }},
      {"logits: 18446744073709551615 of 4 bytes", [&](std::string& s) { patch<uint64_t>(s, logits, ~uint64_t{0}); }},
      {"1200 bytes too many", [&](std::string& s) { patch<uint64_t>(s, logits, 0); }},
      {"logits: got nan", [&](std::string& s) { patch<uint32_t>(s, logits + 8, 0x7FC00000); }},
      {"logits: got inf", [&](std::string& s) { patch<uint32_t>(s, logits + 12, 0x7F800000); }},
  };
  for (const Case& c : numbers) {
    std::string bytes = whole;
    c.edit(bytes);
    expect_refused(sealed(bytes), c.says, lost);
  }

  // The text block, replaced by one of another length.
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"{\"model\"", "[\"model\""},
      {"\"messages\":[", "\"messages\":[3,"},
      {"\"role\":\"user\"", "\"role\":7"},
      {"\"content\":", "\"kontent\":"},
      {"\"n_prompt\":60", "\"n_prompt\":0"},
      {"\"n_prompt\":60", "\"n_prompt\":9999999999"},
      {"\"n_prompt\":60", "\"n_prompt\":60,\"n_prompt\":61"},
      {"\"decode_slack\":7", "\"decode_slack\":-1"},
      {"\"prompt_text\":", "\"prompt\":"},
      {"\"prompt_text\":\"", "\"prompt_text\":\"\xFF"},
      {"\"fingerprint\":\"xxh3:", "\"fingerprint\":\"md5:"},
      {"\"n_layer\":4", "\"n_layer\":5"},
      {"\"budgets\":{", "\"budgets\":[{"},
      {"\"budgets\":{", "\"budgets\":1,\"more\":{"},
      {"\"selector\":\"snapkv\"", "\"selector\":\"snap\""},
      {"\"rows_floor_extra\":8", "\"rows_floor_extra\":0"},
      {"\"share\":", "\"share\":-"},
  };
  for (const auto& [from, to] : texts) {
    std::string text = whole.substr(kFixed, json_bytes);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << "\n" << text;
    text.replace(at, from.size(), to);
    std::string bytes = whole.substr(0, kFixed) + text + whole.substr(kFixed + json_bytes);
    patch<uint64_t>(bytes, 16, text.size());
    expect_refused(sealed(bytes), "", lost);
  }
}

TEST_F(SessionTest, ATextThatIsNoObject) {
  const std::string whole = content();
  uint64_t json_bytes = 0;
  std::memcpy(&json_bytes, whole.data() + 16, sizeof(json_bytes));
  std::string bytes = whole.substr(0, kFixed) + "[7]" + whole.substr(kFixed + json_bytes);
  patch<uint64_t>(bytes, 16, 3);
  expect_refused(sealed(bytes), "its text is no JSON object", StatusCode::kDataLoss);
}

// A layer with a sliding window has to hold its last rows, without a gap.
TEST_F(SessionTest, WindowsWithoutTheirRows) {
  test::TinyGguf tiny = tiny_model();
  tiny.architecture = "gemma3";
  tiny.sliding_window = 20;
  tiny.sliding_pattern = 2;
  model_ = load(test::tiny_gguf(tiny));
  engine_ = make_engine(512);
  const auto prompt = tokens(60);
  const Sequence sequence = prefill(*engine_, prompt, plan_full(config(), 60, kF32Cache));
  SessionState state;
  state.model = model_->id();
  state.n_prompt = 60;
  state.tokens = prompt;
  ASSERT_TRUE(write_session(path_, state, sequence.cache).ok());
  ASSERT_TRUE(read_session(path_, *model_).ok());
  ASSERT_EQ(sequence.cache.layer(0).n_rows(), 20);
  const auto rows = [](int from, int to) {
    std::vector<int32_t> list;
    for (int row = from; row < to; ++row) list.push_back(row);
    return KeepList(2, list);
  };
  for (const auto& [keep, says] : {std::pair{rows(1, 20), "holds 19 rows from position 41, expected the last 20"},
                                   {rows(0, 19), "holds 19 rows from position 40, expected the last 20"}}) {
    KvCache cache = sequence.cache.fork().value();
    ASSERT_TRUE(cache.layer(0).compact(keep).ok());
    ASSERT_TRUE(write_session(path_, state, cache).ok());
    const Status status = read_session(path_, *model_).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_NE(status.message().find(says), std::string::npos) << status.message();
  }
  // Enough rows, but not as many in every head.
  Sequence longer = prefill(*engine_, prompt, plan_full(config(), 60, kF32Cache));
  SessionState of_longer = state;
  for (int32_t token = 1; token <= 4; ++token) {
    decode(longer, token);
    of_longer.tokens.push_back(token);
  }
  ASSERT_EQ(longer.cache.layer(0).n_rows(), 24);
  ASSERT_TRUE(longer.cache.layer(0).compact({rows(2, 24)[0], rows(0, 24)[0]}).ok());
  ASSERT_TRUE(write_session(path_, of_longer, longer.cache).ok());
  EXPECT_NE(read_session(path_, *model_).status().message().find("22 rows in one head and 24 in another"),
            std::string::npos);
  // Enough rows, but one in the middle is missing.
  KvCache cache = sequence.cache.fork().value();
  cache.layer(0).truncate(19);
  cache.layer(0).append_written(60, 1);
  cache.set_n_pos(61);
  state.tokens.push_back(5);
  ASSERT_TRUE(write_session(path_, state, cache).ok());
  EXPECT_EQ(read_session(path_, *model_).status().code(), StatusCode::kDataLoss);
}

TEST_F(SessionTest, EveryTruncationIsRefused) {
  const std::string bytes = good();
  const std::string whole = content();
  for (size_t n = 0; n < bytes.size(); n += n < 6000 ? 1 : 97) {
    ASSERT_FALSE(parse_session(span_of(bytes.substr(0, n)), "x").ok()) << n;
    if (n < whole.size()) {
      ASSERT_FALSE(parse_session(span_of(sealed(whole.substr(0, n))), "x").ok()) << n;
    }
  }
}

// With a right checksum, so that the damage reaches what is behind it.
TEST_F(SessionTest, RandomDamageIsSurvived) {
  const std::string whole = content();
  const std::string seal = hash_of_bytes(whole);
  Random random(7);
  int n_refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = whole;
    for (uint64_t n = 1 + random.below(4); n > 0; --n) {
      const uint64_t near = random.below(2) == 0 ? bytes.size() : 5000;
      bytes[random.below(std::min<uint64_t>(near, bytes.size()))] = static_cast<char>(random.next());
    }
    n_refused += parse_session(span_of(sealed(bytes)), "x").ok() ? 0 : 1;
    EXPECT_EQ(parse_session(span_of(bytes + seal), "x").ok(), bytes == whole);
    if (i % 100 != 0) continue;
    ASSERT_TRUE(write_file_atomically(path_, sealed(bytes)).ok());
    (void)read_session(path_, *model_).ok();
  }
  EXPECT_GT(n_refused, 500);  // most bytes are those of rows, and may be anything
}

}  // namespace
}  // namespace ripplekv
