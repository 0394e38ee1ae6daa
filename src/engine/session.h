// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Sessions: a conversation with its compressed cache as one binary file (docs/formats.md). Bound to one model, sealed
// with a checksum, read whole or not at all: every count is checked against the bytes that are there before anything is
// allocated by it. Written under a temporary name and renamed. Reading and writing hold the file's bytes beside the
// cache. Conversations are conversation.h's business.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/chat_template.h"
#include "ripplekv/budgets.h"
#include "ripplekv/kv_cache.h"
#include "ripplekv/model.h"
#include "ripplekv/status.h"

namespace ripplekv {

// What is known of a conversation beside its cache.
struct SessionState {
  ModelId model;
  std::vector<ChatMessage> messages;
  std::string prompt_text;      // the rendering that ends where the last answer begins
  int64_t n_prompt = 0;         // tokens of it: the first ones of `tokens`
  std::vector<int32_t> tokens;  // of every position, dropped rows included
  std::optional<Budgets> budgets;
  int64_t decode_slack = 0;
  std::vector<float> logits;  // F32 [n_vocab] of the last answer's first token, to draw it anew; empty: that cannot be
};

// One layer as it lies in the file: spans into the bytes that were parsed.
struct SessionLayer {
  LayerShape shape;
  KvFormat format;
  std::vector<std::vector<int32_t>> positions;  // [n_head_kv][rows of the head], ascending
  std::span<const uint8_t> k;                   // as LayerCache::read_k_bytes()
  std::span<const uint8_t> v;
};

struct ParsedSession {
  SessionState state;
  std::vector<SessionLayer> layers;
};

// The whole file in memory. `where` (a path, usually) begins every message. Errors: kMismatch for another kind of file
// or another version, kDataLoss for one that is cut off, damaged, or contradicts itself. Never aborts.
Result<ParsedSession> parse_session(std::span<const uint8_t> bytes, const std::string& where);
// kInvalidArgument for text that is not UTF-8 and budgets that could not be read back.
// REQUIRES: state.tokens.size() == cache.n_pos(), n_prompt in 1 to n_pos, layers that hold a row.
Result<std::string> session_bytes(const SessionState& state, const KvCache& cache);

struct Session {
  SessionState state;
  KvCache cache;
};

// Errors: those of parse_session and of the file system; kMismatch for a session of another model or other shapes; not
// enough memory.
Result<Session> read_session(const std::string& path, const Model& model);
// Whether what is at `path` may be replaced by a session unread: errors for anything but a session or an empty file.
Status check_replaces_session(const std::string& path);
Status write_session(const std::string& path, const SessionState& state, const KvCache& cache);

}  // namespace ripplekv
