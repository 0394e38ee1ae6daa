// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// budgets.json and profile.json. What is accepted can be used: rows for prompts of any length keep the contract of
// rows_for() and are shared out among heads without one too many, statistics come out, and what is written again reads
// back the same.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/atomic_file.h"
#include "ripplekv/budgets.h"
#include "ripplekv/engine.h"
#include "ripplekv/profile.h"
#include "targets.h"
#include "test_util/artefact.h"

namespace ripplekv::fuzz {
namespace {

void use_heads(const Budgets& budgets) {
  for (const int64_t n_prompt : {int64_t{1}, int64_t{5000}, (int64_t{1} << 31) - 1}) {
    const auto rows = plan_rows(budgets, n_prompt);
    expect_sentence(rows.status());
    if (!rows.ok()) continue;
    const auto heads = plan_head_rows(budgets, *rows, n_prompt);
    RKV_CHECK(heads.ok());
    for (size_t il = 0; il < heads->size(); ++il) {
      const std::vector<int64_t>& of_layer = (*heads)[il];
      if (of_layer.empty()) continue;
      RKV_CHECK(std::accumulate(of_layer.begin(), of_layer.end(), int64_t{0}) ==
                (*rows)[il] * static_cast<int64_t>(of_layer.size()));
      for (const int64_t n : of_layer) RKV_CHECK(n >= 1 && n <= n_prompt);
    }
  }
}

void use(const Budgets& budgets) {
  for (const int64_t n_prompt : {int64_t{1}, int64_t{100}, int64_t{5000}, (int64_t{1} << 31) - 1}) {
    const int64_t total = total_rows(budgets.budget, n_prompt, budgets.model.n_layer, 512);
    const int64_t rows_floor = budgets.rows_floor_extra;
    const auto rows = rows_for(budgets.weights, total, rows_floor, n_prompt);
    expect_sentence(rows.status());
    if (!rows.ok()) continue;
    RKV_CHECK(static_cast<int>(rows->size()) == budgets.model.n_layer);
    for (const int64_t n : *rows) RKV_CHECK(n >= std::min(rows_floor, n_prompt) && n <= n_prompt);
    if (n_prompt > rows_floor) {
      RKV_CHECK(std::accumulate(rows->begin(), rows->end(), int64_t{0}) ==
                std::min(total, n_prompt * budgets.model.n_layer));
    }
  }
  use_heads(budgets);
}

void use(const Profile& profile) {
  if (profile.samples.empty()) return;
  std::vector<double> means;
  for (const LayerStatistic& layer : sensitivity_of(profile)) means.push_back(layer.mean);
  expect_sentence(ripple_weights(means, {}).status());
  for (double mean : shrunk_means(sensitivity_of(profile))) RKV_CHECK(mean >= 0);
  RKV_CHECK(std::abs(reliability_of(profile)) <= 1);
  for (size_t i = 0; i < profile.settings.n_curve_point(); ++i) {
    RKV_CHECK(static_cast<int>(damage_of(profile, i).size()) == profile.model.n_layer);
  }
  for (size_t i = 0; i < profile.settings.head_fractions.size(); ++i) {
    RKV_CHECK(static_cast<int>(head_damage_of(profile, i).size()) ==
              profile.model.n_layer * profile.model.layer.n_head_kv);
  }
}

template <class Artefact>
void read_use_write(const std::string& path, Result<Artefact> (*read)(const std::string&),
                    Status (*write)(const Artefact&, const std::string&)) {
  const Result<Artefact> artefact = read(path);
  expect_sentence(artefact.status());
  if (!artefact.ok()) return;
  use(*artefact);
  const std::string again = path + ".again";
  RKV_CHECK(write(*artefact, again).ok());
  const std::string text = *read_file(again, int64_t{1} << 30);
  const Result<Artefact> back = read(again);
  RKV_CHECK(back.ok());
  RKV_CHECK(write(*back, again).ok());
  RKV_CHECK(*read_file(again, int64_t{1} << 30) == text);
}

std::string written(const auto& artefact, auto write) {
  const std::string path = put_file("seed.json", "");
  RKV_CHECK(write(artefact, path).ok());
  return *read_file(path, int64_t{1} << 20);
}

}  // namespace

int fuzz_artefact(const uint8_t* data, size_t size) {
  const std::string path = put_file("artefact.json", text_of(data, size));
  read_use_write(path, read_budgets, write_budgets);
  read_use_write(path, read_profile, write_profile);
  return 0;
}

std::vector<std::string> artefact_seeds() {
  std::vector<std::string> seeds;
  Budgets budgets;
  budgets.model = {test::kHash, "Tiny \xC3\xA9", "llama", 3};
  budgets.allocator = "ripple";
  budgets.selector_options.seed = ~uint64_t{0};
  budgets.weights = {{0.5, 0.125, 0.375}, 32.5};
  budgets.kv_format = {{KvType::kF16, KvType::kF16}, {KvType::kQ8_0, KvType::kQ4_0}, {KvType::kF32, KvType::kF16}};
  budgets.settings = R"({"gamma": 8.0, "r": 4.0})";
  budgets.profile_hash = test::kHash;
  for (const char* budget : {"20%", "512", "64MiB"}) {
    budgets.budget = *parse_kv_budget(budget);
    seeds.push_back(written(budgets, write_budgets));
  }
  budgets.model.layer = {.head_dim = 64, .n_head_kv = 2};
  budgets.head_shares = {{0.25, 0.75}, {}, {1, 0}};
  seeds.push_back(written(budgets, write_budgets));
  Profile profile;
  profile.model = {test::kHash, "Tiny", "llama", 2};
  profile.settings.curve_fractions = {0.05, 1};
  profile.settings.calibration = "builtin";
  profile.samples = {
      {"one", test::kHash, 100, 32, {{1, 0.5}, {3, 1.5}}, {{0.1, 0.2}, {0.3, 0.45}}, {{0.4, 0.3}, {0, 0}}},
      {"two", test::kHash, 2048, 7, {{0, 2.0625}, {1, 4}}, {{0.5, 0.25}, {0, 1}}, {{0.8, 0.1}, {0, 0}}}};
  profile.n_sample_planned = 2;
  seeds.push_back(written(profile, write_profile));
  profile.model.layer = {.head_dim = 64, .n_head_kv = 2};
  profile.settings.head_fractions = {0.1};
  for (ProfileSample& sample : profile.samples) sample.head_damage = {{1, 0.5, 0, 2}};
  seeds.push_back(written(profile, write_profile));
  profile.settings.head_fractions = {};
  profile.settings.curve_fractions = {};
  profile.samples.clear();
  seeds.push_back(written(profile, write_profile));
  return seeds;
}

}  // namespace ripplekv::fuzz
