// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// ripplekv inspect: what a model is, and what its cache weighs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/places.h"
#include "cli/setup.h"
#include "cli/standard_output.h"
#include "model/architecture.h"
#include "model/vocab.h"

namespace ripplekv {

Status cmd_inspect(const InspectArgs& args) {
  RKV_ASSIGN_OR_RETURN(const std::string path, model_path_or_default(args.model));
  RKV_ASSIGN_OR_RETURN(const auto model, Model::load(path, {.n_ctx = args.n_ctx}));
  const ModelConfig& c = model->config();
  const auto n_sliding = static_cast<int64_t>(model->id().sliding_layers.size());
  const int64_t per_token = bytes_per_row(c.layer_shape(), {}) * (c.n_layer - n_sliding);
  const int64_t sliding = bytes_per_row(c.layer_shape(), {}) * n_sliding * model->id().sliding_window;
  RKV_ASSIGN_OR_RETURN(const auto profile, find_profile("", model->id()));
  if (args.output.json) {
    const nlohmann::ordered_json json = {{"path", path},
                                         {"name", model->id().name},
                                         {"architecture", c.architecture},
                                         {"fingerprint", model->id().fingerprint},
                                         {"weights_bytes", model->weights_bytes()},
                                         {"tensors", model->quantisation()},
                                         {"n_layer", c.n_layer},
                                         {"n_embd", c.n_embd},
                                         {"n_head", c.n_head},
                                         {"n_head_kv", c.n_head_kv},
                                         {"head_dim", c.head_dim},
                                         {"n_ff", c.n_ff},
                                         {"n_vocab", c.n_vocab},
                                         {"n_ctx_train", c.n_ctx_train},
                                         {"n_ctx", c.n_ctx},
                                         {"rope_freq_base", c.rope.freq_base},
                                         {"sliding_layers", model->id().sliding_layers},
                                         {"sliding_window", model->id().sliding_window},
                                         {"kv_bytes_per_token_f16", per_token},
                                         {"has_chat_template", !model->vocab().chat_template().empty()},
                                         {"has_profile", profile.has_value()}};
    print("{}\n", json_text(json));
    return ok_status();
  }
  print("file          {}\n", path);
  print("name          {}\n", model->id().name);
  print("architecture  {} ({})\n", c.architecture, model->architecture().summary);
  print("fingerprint   {}\n", model->id().fingerprint);
  print("weights       {}: {}\n", human_bytes(model->weights_bytes()), model->quantisation());
  print("layers        {}, {} wide, feed-forward {}\n", c.n_layer, c.n_embd, c.n_ff);
  print("heads         {} query heads, {} KV heads of {} values\n", c.n_head, c.n_head_kv, c.head_dim);
  print("vocabulary    {} tokens{}\n", c.n_vocab, model->vocab().chat_template().empty() ? "" : ", chat template");
  print("context       {} tokens as trained, RoPE base {:g}\n", c.n_ctx_train, c.rope.freq_base);
  if (n_sliding > 0) {
    print("windows       {} with no more than the last {} tokens: {} in f16, outside every budget\n",
          counted(n_sliding, "layer"), model->id().sliding_window, human_bytes(sliding));
  }
  print("KV cache      {} per token in f16; {} at {} tokens\n", human_bytes(per_token),
        human_bytes(per_token * c.n_ctx + sliding), c.n_ctx);
  print("profile       {}\n",
        profile ? fmt::format("{} of {}, {}", profile->samples.size(), counted(profile->n_sample_planned, "sample"),
                              profile_path(model->id().fingerprint))
                : "none yet: ripplekv profile");
  return ok_status();
}

}  // namespace ripplekv
