// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// All layers of one sequence: sums, snapshots and forks. What one layer does is layer_cache.cpp's.
#include "ripplekv/kv_cache.h"

#include <fmt/format.h>

namespace ripplekv {

LayerBytes KvCache::bytes() const {
  LayerBytes sum;
  for (const LayerCache& layer : layers_) {
    const LayerBytes bytes = layer.bytes();
    sum.payload += bytes.payload;
    sum.scales += bytes.scales;
    sum.padding += bytes.padding;
    sum.index += bytes.index;
  }
  return sum;
}

int64_t KvCache::n_rows() const {
  int64_t sum = 0;
  for (const LayerCache& layer : layers_) sum += layer.n_rows();
  return sum;
}

KvSnapshot KvCache::snapshot() const {
  KvSnapshot snapshot;
  snapshot.n_pos = n_pos_;
  for (const LayerCache& layer : layers_) {
    snapshot.n_rows.push_back(layer.n_rows());
    snapshot.marks.push_back(layer.mark());
  }
  return snapshot;
}

Status KvCache::restore(const KvSnapshot& snapshot) {
  if (snapshot.n_rows.size() != layers_.size()) {
    return mismatch(fmt::format("snapshot: got {} layers, expected {}", snapshot.n_rows.size(), layers_.size()));
  }
  for (size_t il = 0; il < layers_.size(); ++il) {
    if (!layers_[il].still_holds(snapshot.marks[il], snapshot.n_rows[il])) {
      return mismatch(
          fmt::format("snapshot: layer {} was compacted or overwritten since it was taken, its {} rows are gone", il,
                      snapshot.n_rows[il]));
    }
  }
  for (size_t il = 0; il < layers_.size(); ++il) layers_[il].truncate(snapshot.n_rows[il]);
  n_pos_ = snapshot.n_pos;
  return ok_status();
}

Result<KvCache> KvCache::fork() const {
  KvCache twin;
  for (const LayerCache& layer : layers_) {
    RKV_ASSIGN_OR_RETURN(LayerCache copy, layer.copy());
    twin.push_layer(std::move(copy));
  }
  twin.n_pos_ = n_pos_;
  return twin;
}

}  // namespace ripplekv
