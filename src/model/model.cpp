// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Loading: open and check the file, read the configuration, bind and load the weights, load the tokenizer.
#include "ripplekv/model.h"

#include <fmt/format.h>
#include <ggml.h>

#include <map>

#include "model/architecture.h"
#include "model/gguf_file.h"
#include "model/vocab.h"
#include "model/weights.h"

namespace ripplekv {
namespace {

std::string describe_types(const GgufFile& file) {
  std::map<std::string, int> count;
  for (int64_t id = 0; id < file.n_tensors(); ++id) {
    const int type = file.tensor_type(id);
    ++count[type >= 0 && type < GGML_TYPE_COUNT ? ggml_type_name(static_cast<ggml_type>(type)) : "unknown"];
  }
  std::string text;
  for (const auto& [name, n] : count) text += fmt::format("{}{} x{}", text.empty() ? "" : ", ", name, n);
  return text;
}

}  // namespace

Model::Model() = default;
Model::~Model() = default;

int64_t Model::weights_bytes() const { return store_->bytes(); }

Result<std::shared_ptr<const Model>> Model::load(const std::string& path, const ModelOptions& options) {
  RKV_ASSIGN_OR_RETURN(auto file, GgufFile::open(path));
  std::shared_ptr<Model> model(new Model());
  model->path_ = path;
  RKV_ASSIGN_OR_RETURN(const auto n_split, file->optional_integer("split.count", 0, INT32_MAX));
  if (n_split.value_or(0) > 1) {
    return unsupported(
        fmt::format("model '{}': split into {} files; join them with llama-gguf-split --merge", path, *n_split));
  }
  RKV_ASSIGN_OR_RETURN(model->config_.architecture, file->text("general.architecture"));
  {
    auto found = find_architecture(model->config_.architecture);
    if (!found.ok()) return found.status().with_context(fmt::format("model '{}'", path));
    model->architecture_ = *found;
  }
  RKV_CHECK(options.n_ctx >= 0);
  model->config_.n_ctx = options.n_ctx;
  RKV_RETURN_IF_ERROR(model->architecture_->read_config(*file, model->config_));
  RKV_ASSIGN_OR_RETURN(const auto name, file->optional_text("general.name"));
  model->id_.fingerprint = file->fingerprint();
  model->id_.name = name.value_or(path.substr(path.find_last_of('/') + 1));
  model->id_.architecture = model->config_.architecture;
  model->id_.n_layer = model->config_.n_layer;
  model->id_.layer = model->config_.layer_shape();
  for (int il = 0; il < model->config_.n_layer; ++il) {
    if (model->config_.window_of(il) == 0) continue;
    model->id_.sliding_layers.push_back(il);
    model->id_.sliding_window = model->config_.window_of(il);
  }
  model->quantisation_ = describe_types(*file);

  RKV_ASSIGN_OR_RETURN(model->store_, WeightStore::create(std::move(file), options, model->config_.n_layer));
  model->weights_ = std::make_unique<ModelWeights>();
  WeightBinder binder(*model->store_);
  model->architecture_->bind_weights(binder, model->config_, *model->weights_);
  RKV_RETURN_IF_ERROR(binder.finish());
  RKV_ASSIGN_OR_RETURN(model->vocab_, Vocab::load(model->store_->file()));
  if (model->vocab_->n_tokens() != model->config_.n_vocab) {
    return data_loss(fmt::format("model '{}': {} tokens in the tokenizer, {} in the embedding, expected as many", path,
                                 model->vocab_->n_tokens(), model->config_.n_vocab));
  }
  RKV_RETURN_IF_ERROR(model->store_->load());
  return std::shared_ptr<const Model>(std::move(model));
}

}  // namespace ripplekv
