// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
#include "engine/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "allocation/artefact_parts.h"
#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json_file.h"
#include "base/replaceable.h"
#include "base/text.h"
#include "base/utf8.h"
#include "engine/machine.h"
#include "model/vocab.h"
#include "model/weights.h"

namespace ripplekv {
namespace {

// As GGUF's tensors and ggml's rows are; a machine of the other order would have to swap both.
static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "RKVSESS\n";
constexpr uint32_t kVersion = 3;
constexpr size_t kHashSize = 37;  // hash_of_bytes() of all before it
constexpr uint32_t kHeadsMax = 1 << 16;
constexpr uint32_t kHeadDimMax = 1 << 16;
constexpr std::array kKvTypes = {KvType::kF32, KvType::kF16, KvType::kQ8_0, KvType::kQ4_0};  // by their code

std::string_view as_text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_bytes(std::string& out, const void* data, size_t size) { out.append(static_cast<const char*>(data), size); }

uint32_t code_of(KvType type) {
  return static_cast<uint32_t>(std::find(kKvTypes.begin(), kKvTypes.end(), type) - kKvTypes.begin());
}

// Takes what a file claims to hold from what it does hold.
class Reader {
 public:
  Reader(std::span<const uint8_t> bytes, const std::string& where) : rest_(bytes), where_(where) {}

  template <class T>
  Result<T> number(std::string_view what) {
    RKV_ASSIGN_OR_RETURN(const auto bytes, array(1, sizeof(T), what));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  // count elements of `size` bytes.
  Result<std::span<const uint8_t>> array(uint64_t count, uint64_t size, std::string_view what) {
    if (count > rest_.size() / size) {
      return damaged(fmt::format("{}: {} of {} bytes each, {} bytes are left", what, count, size, rest_.size()));
    }
    const auto taken = rest_.first(static_cast<size_t>(count * size));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  template <class T>
  Result<std::vector<T>> numbers(uint64_t count, std::string_view what) {
    RKV_ASSIGN_OR_RETURN(const auto bytes, array(count, sizeof(T), what));
    std::vector<T> values(static_cast<size_t>(count));
    if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  Status damaged(std::string_view message) const { return data_loss(fmt::format("{}: {}", where_, message)); }
  size_t n_left() const { return rest_.size(); }

 private:
  std::span<const uint8_t> rest_;
  const std::string& where_;
};

Result<SessionState> state_from(std::span<const uint8_t> text, const std::string& where) {
  RKV_ASSIGN_OR_RETURN(const nlohmann::json document, parse_json(as_text(text), where));
  if (!document.is_object()) return data_loss(fmt::format("{}: its text is no JSON object", where));
  const JsonObject root(document, where);
  SessionState state;
  RKV_ASSIGN_OR_RETURN(state.model, read_model_id(root));
  RKV_RETURN_IF_ERROR(in_file(check_model_id(state.model), where));
  RKV_ASSIGN_OR_RETURN(const auto messages, root.objects("messages"));
  for (const JsonObject& message : messages) {
    ChatMessage& read = state.messages.emplace_back();
    RKV_ASSIGN_OR_RETURN(read.role, message.text("role"));
    RKV_ASSIGN_OR_RETURN(read.content, message.text("content"));
  }
  RKV_ASSIGN_OR_RETURN(state.prompt_text, root.text("prompt_text"));
  RKV_ASSIGN_OR_RETURN(state.n_prompt, root.integer("n_prompt", 1, std::numeric_limits<int32_t>::max()));
  RKV_ASSIGN_OR_RETURN(state.decode_slack, root.integer("decode_slack", 0, std::numeric_limits<int32_t>::max()));
  if (root.has("budgets")) {
    RKV_ASSIGN_OR_RETURN(const JsonObject budgets, root.object("budgets"));
    RKV_ASSIGN_OR_RETURN(state.budgets, budgets_from(budgets, where));
    if (state.budgets->model.n_layer != state.model.n_layer) {
      return root.error("budgets", fmt::format("got {} layers, expected {} (model.n_layer)",
                                               state.budgets->model.n_layer, state.model.n_layer));
    }
  }
  return state;
}

Result<SessionLayer> layer_from(Reader& reader, int il, int64_t n_pos) {
  const std::string what = fmt::format("layer {}", il);
  RKV_ASSIGN_OR_RETURN(const auto head_dim, reader.number<uint32_t>(what));
  RKV_ASSIGN_OR_RETURN(const auto n_head_kv, reader.number<uint32_t>(what));
  RKV_ASSIGN_OR_RETURN(const auto k, reader.number<uint32_t>(what));
  RKV_ASSIGN_OR_RETURN(const auto v, reader.number<uint32_t>(what));
  if (head_dim < 1 || head_dim > kHeadDimMax || n_head_kv < 1 || n_head_kv > kHeadsMax) {
    return reader.damaged(fmt::format("{}: got {} heads of {} values, expected 1 to {} of 1 to {}", what, n_head_kv,
                                      head_dim, kHeadsMax, kHeadDimMax));
  }
  if (k >= kKvTypes.size() || v >= kKvTypes.size()) {
    return reader.damaged(
        fmt::format("{}: got kv formats {} and {}, expected 0 to {}", what, k, v, kKvTypes.size() - 1));
  }
  RKV_ASSIGN_OR_RETURN(const auto head_rows, reader.numbers<uint32_t>(n_head_kv, what + " rows"));
  uint64_t n_all = 0;
  for (const uint32_t n : head_rows) {
    if (n < 1 || n > static_cast<uint64_t>(n_pos)) {
      return reader.damaged(fmt::format("{}: got {} rows, expected 1 to {}, its positions", what, n, n_pos));
    }
    n_all += n;
  }
  if (n_all % n_head_kv != 0) {
    return reader.damaged(
        fmt::format("{}: got {} rows in all, expected a multiple of its {} heads", what, n_all, n_head_kv));
  }
  SessionLayer layer;
  layer.shape = {static_cast<int>(head_dim), static_cast<int>(n_head_kv)};
  layer.format = {kKvTypes[k], kKvTypes[v]};
  if (const Status fits = check_kv_format(layer.format, layer.shape.head_dim); !fits.ok()) {
    return reader.damaged(fmt::format("{}: {}", what, fits.message()));
  }
  for (uint32_t head = 0; head < n_head_kv; ++head) {
    RKV_ASSIGN_OR_RETURN(auto positions, reader.numbers<int32_t>(head_rows[head], what + " positions"));
    if (positions.front() < 0 || positions.back() >= n_pos ||
        std::adjacent_find(positions.begin(), positions.end(), std::greater_equal<>()) != positions.end()) {
      return reader.damaged(
          fmt::format("{}: the positions of head {} do not ascend within 0 to {}", what, head, n_pos - 1));
    }
    layer.positions.push_back(std::move(positions));
  }
  const auto bytes_of = [&](KvType type) { return static_cast<uint64_t>(row_bytes(type, layer.shape.head_dim)); };
  RKV_ASSIGN_OR_RETURN(layer.k, reader.array(n_all, bytes_of(layer.format.k), what + " Keys"));
  RKV_ASSIGN_OR_RETURN(layer.v, reader.array(n_all, bytes_of(layer.format.v), what + " Values"));
  return layer;
}

}  // namespace

Result<ParsedSession> parse_session(std::span<const uint8_t> bytes, const std::string& where) {
  constexpr size_t kHead = kMagic.size() + sizeof(kVersion);
  if (bytes.size() < kMagic.size() || as_text(bytes.first(kMagic.size())) != kMagic) {
    return mismatch(fmt::format("{}: is no session: it does not begin as one", where));
  }
  if (bytes.size() < kHead + kHashSize) return data_loss(fmt::format("{}: is cut off", where));
  Reader head(bytes.subspan(kMagic.size()), where);
  RKV_ASSIGN_OR_RETURN(const auto version, head.number<uint32_t>("version"));
  if (version != kVersion) {
    return mismatch(fmt::format("{}: is a session of version {}, expected {}", where, version, kVersion));
  }
  const auto content = bytes.first(bytes.size() - kHashSize);
  if (hash_of_bytes(as_text(content)) != as_text(bytes.last(kHashSize))) {
    return data_loss(fmt::format("{}: is damaged or cut off: its checksum is not that of its content", where));
  }

  Reader reader(content.subspan(kHead), where);
  RKV_ASSIGN_OR_RETURN(const auto n_layer, reader.number<uint32_t>("layers"));
  RKV_ASSIGN_OR_RETURN(const auto json_bytes, reader.number<uint64_t>("text"));
  RKV_ASSIGN_OR_RETURN(const auto n_pos, reader.number<uint64_t>("tokens"));
  if (json_bytes > static_cast<uint64_t>(kJsonSizeMax)) {
    return reader.damaged(fmt::format("text: got {} bytes, expected at most {}", json_bytes, kJsonSizeMax));
  }
  if (n_pos < 1 || n_pos > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return reader.damaged(fmt::format("tokens: got {}, expected 1 to {}", n_pos, std::numeric_limits<int32_t>::max()));
  }
  RKV_ASSIGN_OR_RETURN(const auto text, reader.array(json_bytes, 1, "text"));
  RKV_ASSIGN_OR_RETURN(auto tokens, reader.numbers<int32_t>(n_pos, "tokens"));
  ParsedSession session;
  RKV_ASSIGN_OR_RETURN(session.state, state_from(text, where));
  SessionState& state = session.state;
  state.tokens = std::move(tokens);
  if (std::cmp_greater(state.n_prompt, n_pos)) {
    return reader.damaged(
        fmt::format("key 'n_prompt': got {}, expected at most {}, its tokens", state.n_prompt, n_pos));
  }
  if (std::cmp_not_equal(n_layer, state.model.n_layer)) {
    return reader.damaged(fmt::format("got {} layers, expected {} (model.n_layer)", n_layer, state.model.n_layer));
  }
  for (int il = 0; il < state.model.n_layer; ++il) {
    RKV_ASSIGN_OR_RETURN(SessionLayer layer, layer_from(reader, il, static_cast<int64_t>(n_pos)));
    session.layers.push_back(std::move(layer));
  }
  RKV_ASSIGN_OR_RETURN(const auto n_logits, reader.number<uint64_t>("logits"));
  RKV_ASSIGN_OR_RETURN(state.logits, reader.numbers<float>(n_logits, "logits"));
  const auto not_finite =
      std::find_if(state.logits.begin(), state.logits.end(), [](float x) { return !std::isfinite(x); });
  if (not_finite != state.logits.end()) {
    return reader.damaged(fmt::format("logits: got {}, expected finite numbers", *not_finite));
  }
  if (reader.n_left() > 0) return reader.damaged(fmt::format("{} bytes too many", reader.n_left()));
  return session;
}

Result<std::string> session_bytes(const SessionState& state, const KvCache& cache) {
  RKV_CHECK(std::cmp_equal(state.tokens.size(), cache.n_pos()));
  RKV_CHECK(state.n_prompt >= 1 && state.n_prompt <= cache.n_pos());
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  bool valid = valid_utf8(state.prompt_text) && valid_utf8(state.model.name);
  for (const ChatMessage& message : state.messages) {
    valid = valid && valid_utf8(message.role) && valid_utf8(message.content);
    messages.push_back({{"role", message.role}, {"content", message.content}});
  }
  if (!valid) return invalid_argument("the conversation holds text that is not UTF-8, which a session cannot");
  nlohmann::ordered_json document;
  document["model"] = to_json(state.model);
  document["messages"] = std::move(messages);
  document["prompt_text"] = state.prompt_text;
  document["n_prompt"] = state.n_prompt;
  document["decode_slack"] = state.decode_slack;
  if (state.budgets) {
    RKV_ASSIGN_OR_RETURN(document["budgets"], budgets_json(*state.budgets));
  }
  const std::string text = document.dump();

  std::string out(kMagic);
  put(out, kVersion);
  put(out, static_cast<uint32_t>(cache.n_layer()));
  put(out, static_cast<uint64_t>(text.size()));
  put(out, static_cast<uint64_t>(state.tokens.size()));
  out += text;
  put_bytes(out, state.tokens.data(), state.tokens.size() * sizeof(int32_t));
  for (int il = 0; il < cache.n_layer(); ++il) {
    const LayerCache& layer = cache.layer(il);
    put(out, static_cast<uint32_t>(layer.shape().head_dim));
    put(out, static_cast<uint32_t>(layer.shape().n_head_kv));
    put(out, code_of(layer.format().k));
    put(out, code_of(layer.format().v));
    for (const int64_t n : layer.head_rows()) put(out, static_cast<uint32_t>(n));
    for (int head = 0; head < layer.shape().n_head_kv; ++head) {
      put_bytes(out, layer.positions(head).data(), layer.positions(head).size_bytes());
    }
    for (const auto& bytes : {layer.read_k_bytes(), layer.read_v_bytes()}) put_bytes(out, bytes.data(), bytes.size());
  }
  put(out, static_cast<uint64_t>(state.logits.size()));
  put_bytes(out, state.logits.data(), state.logits.size() * sizeof(float));
  out += hash_of_bytes(out);
  return out;
}

Result<Session> read_session(const std::string& path, const Model& model) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);  // what cannot be asked is read_file's to say
  const int64_t available = available_memory();
  if (!ignored && size > static_cast<uint64_t>(available) / 2) {
    return resource_exhausted(fmt::format("{}: has {}, which are held twice while it is read, {} of memory are free",
                                          path, human_bytes(static_cast<int64_t>(size)), human_bytes(available)));
  }
  RKV_ASSIGN_OR_RETURN(const std::string content, read_file(path, available / 2));
  RKV_ASSIGN_OR_RETURN(ParsedSession parsed,
                       parse_session({reinterpret_cast<const uint8_t*>(content.data()), content.size()}, path));
  RKV_RETURN_IF_ERROR(check_model(parsed.state.model, model.id(), fmt::format("session '{}'", path)));
  const ModelConfig& config = model.config();
  for (const int32_t token : parsed.state.tokens) {
    if (token >= 0 && token < config.n_vocab) continue;
    return data_loss(fmt::format("{}: got token id {}, expected 0 to {}", path, token, config.n_vocab - 1));
  }
  if (const size_t n = parsed.state.logits.size(); n > 0 && std::cmp_not_equal(n, config.n_vocab)) {
    return data_loss(fmt::format("{}: got {} logits, expected 0 or {}", path, n, config.n_vocab));
  }
  if (parsed.state.budgets) {
    RKV_RETURN_IF_ERROR(check_model(parsed.state.budgets->model, model.id(), fmt::format("budgets in '{}'", path)));
  }
  Session session;
  for (int il = 0; il < config.n_layer; ++il) {
    SessionLayer& layer = parsed.layers[static_cast<size_t>(il)];
    const LayerShape expected = config.layer_shape();
    if (layer.shape != expected) {
      return mismatch(fmt::format("{}: layer {} has {} heads of {} values, the model's {} of {}", path, il,
                                  layer.shape.n_head_kv, layer.shape.head_dim, expected.n_head_kv, expected.head_dim));
    }
    if (const int64_t window = config.window_of(il); window > 0) {
      // Its attention takes the rows for the last ones, without a gap.
      const auto n_pos = static_cast<int64_t>(parsed.state.tokens.size());
      for (const std::vector<int32_t>& positions : layer.positions) {
        const auto n_rows = static_cast<int64_t>(positions.size());
        if (positions.size() != layer.positions.front().size()) {
          return data_loss(fmt::format("{}: layer {} holds {} rows in one head and {} in another, expected as many",
                                       path, il, layer.positions.front().size(), n_rows));
        }
        if (n_rows >= std::min(window, n_pos) && positions.front() == n_pos - n_rows) continue;
        return data_loss(fmt::format("{}: layer {} holds {} rows from position {}, expected the last {} at least", path,
                                     il, n_rows, positions.front(), std::min(window, n_pos)));
      }
    }
    RKV_ASSIGN_OR_RETURN(LayerCache cache,
                         LayerCache::from_rows(model.store().layer_buffer_type(il), layer.shape, layer.format,
                                               std::move(layer.positions), layer.k, layer.v));
    session.cache.push_layer(std::move(cache));
  }
  session.cache.set_n_pos(static_cast<int64_t>(parsed.state.tokens.size()));
  session.state = std::move(parsed.state);
  return session;
}

Status check_replaces_session(const std::string& path) { return check_replaceable(path, kMagic, "a session"); }

Status write_session(const std::string& path, const SessionState& state, const KvCache& cache) {
  const int64_t size = cache.bytes().total();
  if (const int64_t available = available_memory(); size > available) {
    return resource_exhausted(fmt::format("{}: would have {}, which are held beside the cache, {} of memory are free",
                                          path, human_bytes(size), human_bytes(available)));
  }
  auto bytes = session_bytes(state, cache);
  if (!bytes.ok()) return bytes.status().with_context(path);
  return write_file_atomically(path, *bytes);
}

}  // namespace ripplekv
