// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Where weights live: in the mapped file on the CPU, in device buffers elsewhere, or dequantised.
#include "model/weights.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <cstring>

namespace ripplekv {
namespace {

constexpr int64_t kHostAlignment = 32;  // ggml's CPU kernels read weights at this alignment

bool is_weight_type(ggml_type type) {
  if (type < 0 || type >= GGML_TYPE_COUNT) return false;
  if (type == GGML_TYPE_F32) return true;
  const ggml_type_traits* traits = ggml_get_type_traits(type);
  return traits->blck_size > 0 && traits->to_float != nullptr;
}

ggml_backend_dev_t gpu_device() {
  ggml_backend_dev_t gpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
  return gpu != nullptr ? gpu : ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace

bool gpu_available() { return gpu_device() != nullptr; }

Result<std::unique_ptr<WeightStore>> WeightStore::create(std::unique_ptr<GgufFile> file, const ModelOptions& options,
                                                         int n_layer) {
  std::unique_ptr<WeightStore> store(new WeightStore());
  store->file_ = std::move(file);
  store->options_ = options;
  store->n_layer_ = n_layer;
  if (options.n_gpu_layers > 0) {
    ggml_backend_dev_t gpu = gpu_device();
    if (gpu == nullptr) {
      return unsupported(
          fmt::format("--n-gpu-layers {}: this build has no GPU backend; build with e.g. -DGGML_CUDA=ON or "
                      "-DGGML_VULKAN=ON, or leave the option out",
                      options.n_gpu_layers));
    }
    store->devices_.push_back(gpu);
  }
  store->devices_.push_back(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
  RKV_CHECK(store->devices_.back() != nullptr);
  for (ggml_backend_dev_t device : store->devices_) {
    Place place;
    place.buffer_type = ggml_backend_dev_buffer_type(device);
    const size_t n = static_cast<size_t>(store->file_->n_tensors()) + 1;
    place.context = ggml_init({ggml_tensor_overhead() * n, nullptr, /*no_alloc=*/true});
    RKV_CHECK(place.context != nullptr);
    store->places_.push_back(place);
  }
  return store;
}

WeightStore::~WeightStore() {
  for (Place& place : places_) {
    if (place.buffer != nullptr) ggml_backend_buffer_free(place.buffer);
    ggml_free(place.context);
  }
}

size_t WeightStore::place_of(int il) const {
  const size_t cpu = places_.size() - 1;
  if (il == WeightBinder::kInput) return cpu;
  const int layer = il == WeightBinder::kOutput ? n_layer_ : il;
  return layer >= n_layer_ + 1 - options_.n_gpu_layers ? 0 : cpu;
}

ggml_backend_buffer_type* WeightStore::layer_buffer_type(int il) const { return places_[place_of(il)].buffer_type; }

Status WeightStore::map_in_place(Place& place) {
  const auto mapping = file_->mapping();
  place.buffer = ggml_backend_cpu_buffer_from_ptr(const_cast<uint8_t*>(mapping.data()), mapping.size());
  if (place.buffer == nullptr) return resource_exhausted("out of memory: cannot wrap the mapped model");
  ggml_backend_buffer_set_usage(place.buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
  for (const Bound& bound : place.bound) {
    auto* data = const_cast<uint8_t*>(file_->tensor_bytes(bound.id).data());
    RKV_CHECK(ggml_backend_tensor_alloc(place.buffer, bound.tensor, data) == GGML_STATUS_SUCCESS);
  }
  return ok_status();
}

Status WeightStore::fill(Place& place) {
  place.buffer = ggml_backend_alloc_ctx_tensors_from_buft(place.context, place.buffer_type);
  if (place.buffer == nullptr) {
    return resource_exhausted(
        fmt::format("out of memory: {} cannot hold the weights", ggml_backend_buft_name(place.buffer_type)));
  }
  ggml_backend_buffer_set_usage(place.buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
  std::vector<float> values;
  std::vector<ggml_bf16_t> rounded;
  for (const Bound& bound : place.bound) {
    const auto bytes = file_->tensor_bytes(bound.id);
    const auto type = static_cast<ggml_type>(file_->tensor_type(bound.id));
    if (bound.tensor->type == type) {
      ggml_backend_tensor_set(bound.tensor, bytes.data(), 0, bytes.size());
      continue;
    }
    // Row by row: a row is a whole number of blocks, and the scratch stays small.
    const int64_t n = bound.tensor->ne[0];
    const size_t row = ggml_row_size(type, n);
    values.resize(static_cast<size_t>(n));
    rounded.resize(static_cast<size_t>(n));
    std::vector<uint8_t> aligned(row);
    for (int64_t r = 0; r < ggml_nrows(bound.tensor); ++r) {
      std::copy_n(bytes.data() + static_cast<size_t>(r) * row, row, aligned.data());
      if (type == GGML_TYPE_F32) {
        std::memcpy(values.data(), aligned.data(), row);
      } else {
        ggml_get_type_traits(type)->to_float(aligned.data(), values.data(), n);
      }
      const bool to_bf16 = bound.tensor->type == GGML_TYPE_BF16;
      if (to_bf16) ggml_fp32_to_bf16_row(values.data(), rounded.data(), n);
      ggml_backend_tensor_set(bound.tensor, to_bf16 ? static_cast<const void*>(rounded.data()) : values.data(),
                              static_cast<size_t>(r) * bound.tensor->nb[1], bound.tensor->nb[1]);
    }
  }
  return ok_status();
}

Status WeightStore::load() {
  for (Place& place : places_) {
    if (place.bound.empty()) continue;
    const bool mapped =
        options_.weights == WeightsMode::kNative && ggml_backend_buft_is_host(place.buffer_type) &&
        std::all_of(place.bound.begin(), place.bound.end(), [&](const Bound& bound) {
          return reinterpret_cast<uintptr_t>(file_->tensor_bytes(bound.id).data()) % kHostAlignment == 0;
        });
    RKV_RETURN_IF_ERROR(mapped ? map_in_place(place) : fill(place));
    is_mapped_ = is_mapped_ || mapped;
    for (const Bound& bound : place.bound) bytes_ += static_cast<int64_t>(ggml_nbytes(bound.tensor));
  }
  return ok_status();
}

ggml_tensor* WeightBinder::optional(const std::string& name, std::initializer_list<int64_t> shape, int il) {
  const GgufFile& file = store_.file();
  const int64_t id = file.find_tensor(name);
  if (id < 0 || !status_.ok()) return nullptr;
  std::vector<int64_t> expected(shape);
  expected.resize(4, 1);
  const auto got = file.tensor_shape(id);
  if (!std::equal(got.begin(), got.end(), expected.begin())) {
    status_ = data_loss(fmt::format("model '{}': tensor '{}' has shape {}, expected {}", file.path(), name,
                                    shape_text(got), shape_text(expected)));
    return nullptr;
  }
  auto type = static_cast<ggml_type>(file.tensor_type(id));
  if (!is_weight_type(type)) {
    status_ =
        unsupported(fmt::format("model '{}': tensor '{}' is {}, expected a dtype ggml can compute with", file.path(),
                                name, type < GGML_TYPE_COUNT ? ggml_type_name(type) : "of unknown dtype"));
    return nullptr;
  }
  switch (store_.options_.weights) {
    case WeightsMode::kNative:
      break;
    case WeightsMode::kF32:
      type = GGML_TYPE_F32;
      break;
    case WeightsMode::kBf16:
      type = shape.size() == 1 ? GGML_TYPE_F32 : GGML_TYPE_BF16;
      break;
  }
  // Norms, biases and rotation factors: ggml's element-wise kernels abort on most other dtypes.
  if (shape.size() == 1 && type != GGML_TYPE_F32) {
    status_ = unsupported(fmt::format("model '{}': tensor '{}' is {}, expected f32 (--weights f32 or bf16 converts it)",
                                      file.path(), name, ggml_type_name(type)));
    return nullptr;
  }
  WeightStore::Place& place = store_.places_[store_.place_of(il)];
  ggml_tensor* tensor = ggml_new_tensor(place.context, type, 4, expected.data());
  ggml_set_name(tensor, name.c_str());
  place.bound.push_back({tensor, id});
  return tensor;
}

Status WeightBinder::finish() const {
  RKV_RETURN_IF_ERROR(status_);
  const GgufFile& file = store_.file();
  std::vector<bool> bound(static_cast<size_t>(file.n_tensors()));
  for (const WeightStore::Place& place : store_.places_) {
    for (const WeightStore::Bound& one : place.bound) bound[static_cast<size_t>(one.id)] = true;
  }
  const auto stranger = std::find(bound.begin(), bound.end(), false);
  if (stranger == bound.end()) return ok_status();
  return unsupported(
      fmt::format("model '{}': tensor '{}' is part of no feature that this program has for its architecture",
                  file.path(), file.tensor_name(stranger - bound.begin())));
}

ggml_tensor* WeightBinder::required(const std::string& name, std::initializer_list<int64_t> shape, int il) {
  ggml_tensor* tensor = optional(name, shape, il);
  if (tensor == nullptr && status_.ok()) {
    status_ = data_loss(fmt::format("model '{}': tensor '{}' is missing", store_.file().path(), name));
  }
  return tensor;
}

}  // namespace ripplekv
