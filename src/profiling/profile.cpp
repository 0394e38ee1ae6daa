// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// profile.json to and from Profile, and the statistics that are computed from its samples. What makes a Profile valid
// is in check(), for the writer and the reader alike.
#include "ripplekv/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "allocation/artefact_parts.h"
#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json_file.h"
#include "base/random.h"
#include "base/replaceable.h"
#include "base/statistics.h"
#include "base/text.h"

namespace ripplekv {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kFormat = "ripplekv.profile";
constexpr int kVersion = 2;
constexpr int kIntMax = std::numeric_limits<int>::max();
constexpr int64_t kInt64Max = std::numeric_limits<int64_t>::max();

using Rows = std::vector<std::vector<double>>;  // [repeat or curve fraction][n_layer]

Status check_fractions(const std::vector<double>& fractions, std::string_view name, bool may_be_all) {
  double before = 0;
  for (size_t i = 0; i < fractions.size(); ++i) {
    const double fraction = fractions[i];
    if (!(fraction > before && (may_be_all ? fraction <= 1 : fraction < 1))) {
      return bad_key(fmt::format("settings.{}[{}]", name, i),
                     fmt::format("got {}, expected more than {} and {} 1 (ascending kept fractions)", fraction, before,
                                 may_be_all ? "at most" : "less than"));
    }
    before = fraction;
  }
  return ok_status();
}

Status check_settings(const ProfileSettings& settings) {
  if (settings.rows != "all" && settings.rows != "evictable") {
    return bad_key("settings.rows", fmt::format("got {}, expected all or evictable", ripplekv::quoted(settings.rows)));
  }
  if (settings.direction != "row" && settings.direction != "head") {
    return bad_key("settings.direction",
                   fmt::format("got {}, expected row or head", ripplekv::quoted(settings.direction)));
  }
  if (!std::isfinite(settings.eps) || settings.eps <= 0) {
    return bad_key("settings.eps", fmt::format("got {}, expected a finite number above 0", settings.eps));
  }
  if (settings.n_repeat < 1 || settings.n_repeat > kRepeatsMax) {
    return bad_key("settings.n_repeat", fmt::format("got {}, expected 1 to {}", settings.n_repeat, kRepeatsMax));
  }
  if (settings.n_answer < 1) {
    return bad_key("settings.n_answer", fmt::format("got {}, expected at least 1", settings.n_answer));
  }
  if (settings.max_tokens < 1) {
    return bad_key("settings.max_tokens", fmt::format("got {}, expected at least 1", settings.max_tokens));
  }
  RKV_RETURN_IF_ERROR(check_fractions(settings.curve_fractions, "curve_fractions", /*may_be_all=*/true));
  RKV_RETURN_IF_ERROR(check_fractions(settings.head_fractions, "head_fractions", /*may_be_all=*/false));
  for (size_t i = 0; i < settings.curve_formats.size(); ++i) {
    if (std::count(settings.curve_formats.begin(), settings.curve_formats.end(), settings.curve_formats[i]) > 1) {
      return bad_key(fmt::format("settings.curve_formats[{}]", i), "is there twice, expected different formats");
    }
  }
  if (settings.weights != "native" && settings.weights != "f32" && settings.weights != "bf16") {
    return bad_key("settings.weights",
                   fmt::format("got {}, expected native, f32 or bf16", ripplekv::quoted(settings.weights)));
  }
  return check_selector(settings.selector, settings.selector_options, "settings.");
}

// `rows_name`, `values_name`: what a row and a value is, for the message about their number.
Status check_rows(const Rows& rows, size_t n_row, size_t n_value, const std::string& key, std::string_view rows_name,
                  std::string_view values_name = "model.n_layer") {
  if (rows.size() != n_row) {
    return bad_key(key, fmt::format("got {} rows, expected {} ({})", rows.size(), n_row, rows_name));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != n_value) {
      return bad_key(fmt::format("{}[{}]", key, i),
                     fmt::format("got {} values, expected {} ({})", rows[i].size(), n_value, values_name));
    }
    for (size_t layer = 0; layer < n_value; ++layer) {
      if (!std::isfinite(rows[i][layer]) || rows[i][layer] < 0) {
        return bad_key(fmt::format("{}[{}][{}]", key, i, layer),
                       fmt::format("got {}, expected a finite number of at least 0", rows[i][layer]));
      }
    }
  }
  return ok_status();
}

Status check_sample(const Profile& profile, size_t index) {
  const ProfileSample& sample = profile.samples[index];
  const std::string key = fmt::format("samples[{}]", index);
  if (sample.id.empty()) return bad_key(key + ".id", "is empty, expected the sample's name");
  if (!is_hash(sample.content_hash)) {
    return bad_key(key + ".content_hash",
                   fmt::format("got {}, expected \"xxh3:\" and 32 hex digits", ripplekv::quoted(sample.content_hash)));
  }
  if (sample.n_prompt < 1) {
    return bad_key(key + ".n_prompt", fmt::format("got {}, expected at least 1", sample.n_prompt));
  }
  if (sample.n_answer < 1 || sample.n_answer > profile.settings.n_answer) {
    return bad_key(key + ".n_answer", fmt::format("got {}, expected 1 to {} (settings.n_answer)", sample.n_answer,
                                                  profile.settings.n_answer));
  }
  const auto n_layer = static_cast<size_t>(profile.model.n_layer);
  RKV_RETURN_IF_ERROR(check_rows(sample.sensitivity, static_cast<size_t>(profile.settings.n_repeat), n_layer,
                                 key + ".sensitivity", "settings.n_repeat"));
  RKV_RETURN_IF_ERROR(check_rows(sample.local_response, static_cast<size_t>(profile.settings.n_repeat), n_layer,
                                 key + ".local_response", "settings.n_repeat"));
  RKV_RETURN_IF_ERROR(check_rows(sample.damage, profile.settings.n_curve_point(), n_layer, key + ".damage",
                                 "one per settings.curve_fractions and format"));
  const auto n_head = static_cast<size_t>(profile.model.layer.n_head_kv);
  return check_rows(sample.head_damage, profile.settings.head_fractions.size(), n_layer * n_head, key + ".head_damage",
                    "settings.head_fractions", "model.n_layer * model.n_head_kv");
}

Status check(const Profile& profile) {
  RKV_RETURN_IF_ERROR(check_model_id(profile.model));
  RKV_RETURN_IF_ERROR(check_settings(profile.settings));
  if (profile.n_sample_planned < 0) {
    return bad_key("n_sample_planned", fmt::format("got {}, expected at least 0", profile.n_sample_planned));
  }
  if (!std::isfinite(profile.seconds) || profile.seconds < 0) {
    return bad_key("seconds", fmt::format("got {}, expected a finite number of at least 0", profile.seconds));
  }
  if (profile.n_forward_tokens < 0) {
    return bad_key("n_forward_tokens", fmt::format("got {}, expected at least 0", profile.n_forward_tokens));
  }
  std::set<std::string_view> ids;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    RKV_RETURN_IF_ERROR(check_sample(profile, i));
    if (!ids.insert(profile.samples[i].id).second) {
      return bad_key(fmt::format("samples[{}].id", i), fmt::format("got {} a second time, expected each sample once",
                                                                   ripplekv::quoted(profile.samples[i].id)));
    }
  }
  return ok_status();
}

ordered_json json_of(const KvFormat& format) { return {{"k", to_string(format.k)}, {"v", to_string(format.v)}}; }

Result<KvFormat> format_of(const JsonObject& object) {
  KvFormat format;
  RKV_ASSIGN_OR_RETURN(format.k, read_kv_type(object, "k"));
  RKV_ASSIGN_OR_RETURN(format.v, read_kv_type(object, "v"));
  return format;
}

ordered_json to_json(const ProfileSettings& settings) {
  ordered_json out;
  out["rows"] = settings.rows;
  out["direction"] = settings.direction;
  out["eps"] = settings.eps;
  out["n_repeat"] = settings.n_repeat;
  out["seed"] = settings.seed;
  out["n_answer"] = settings.n_answer;
  out["max_tokens"] = settings.max_tokens;
  out["curve_fractions"] = settings.curve_fractions;
  out["curve_formats"] = ordered_json::array();
  for (const KvFormat& format : settings.curve_formats) out["curve_formats"].push_back(json_of(format));
  if (!settings.head_fractions.empty()) out["head_fractions"] = settings.head_fractions;
  out["selector"] = settings.selector;
  out["selector_options"] = ripplekv::to_json(settings.selector_options);
  out["weights"] = settings.weights;
  out["kv_format"] = json_of(settings.kv_format);
  out["calibration"] = settings.calibration;
  return out;
}

ordered_json body_of(const Profile& profile) {
  ordered_json body;
  body["model"] = ripplekv::to_json(profile.model);
  body["settings"] = to_json(profile.settings);
  body["n_sample_planned"] = profile.n_sample_planned;
  body["complete"] = profile.complete();
  body["seconds"] = profile.seconds;
  body["n_forward_tokens"] = profile.n_forward_tokens;
  ordered_json& samples = body["samples"] = ordered_json::array();
  for (const ProfileSample& sample : profile.samples) {
    samples.push_back({{"id", sample.id},
                       {"content_hash", sample.content_hash},
                       {"n_prompt", sample.n_prompt},
                       {"n_answer", sample.n_answer},
                       {"sensitivity", sample.sensitivity},
                       {"local_response", sample.local_response},
                       {"damage", sample.damage}});
    if (!profile.settings.head_fractions.empty()) samples.back()["head_damage"] = sample.head_damage;
  }
  return body;
}

Result<ProfileSettings> read_settings(const JsonObject& root) {
  RKV_ASSIGN_OR_RETURN(const JsonObject object, root.object("settings"));
  ProfileSettings settings;
  RKV_ASSIGN_OR_RETURN(settings.rows, object.text("rows"));
  RKV_ASSIGN_OR_RETURN(settings.direction, object.text("direction"));
  RKV_ASSIGN_OR_RETURN(settings.eps, object.number("eps"));
  RKV_ASSIGN_OR_RETURN(settings.n_repeat, object.small_integer("n_repeat", 1, kRepeatsMax));
  RKV_ASSIGN_OR_RETURN(settings.seed, object.unsigned_integer("seed"));
  RKV_ASSIGN_OR_RETURN(settings.n_answer, object.small_integer("n_answer", 1, kIntMax));
  RKV_ASSIGN_OR_RETURN(settings.max_tokens, object.integer("max_tokens", 1, kInt64Max));
  RKV_ASSIGN_OR_RETURN(settings.curve_fractions, object.numbers("curve_fractions"));
  RKV_ASSIGN_OR_RETURN(const std::vector<JsonObject> formats, object.objects("curve_formats"));
  for (const JsonObject& format : formats) {
    RKV_ASSIGN_OR_RETURN(settings.curve_formats.emplace_back(), format_of(format));
  }
  if (object.has("head_fractions")) {
    RKV_ASSIGN_OR_RETURN(settings.head_fractions, object.numbers("head_fractions"));
  }
  RKV_ASSIGN_OR_RETURN(settings.selector, object.text("selector"));
  RKV_ASSIGN_OR_RETURN(settings.selector_options, read_selector_options(object));
  RKV_ASSIGN_OR_RETURN(settings.weights, object.text("weights"));
  RKV_ASSIGN_OR_RETURN(const JsonObject kv_format, object.object("kv_format"));
  RKV_ASSIGN_OR_RETURN(settings.kv_format, format_of(kv_format));
  RKV_ASSIGN_OR_RETURN(settings.calibration, object.text("calibration"));
  return settings;
}

Result<ProfileSample> read_sample(const JsonObject& object) {
  ProfileSample sample;
  RKV_ASSIGN_OR_RETURN(sample.id, object.text("id"));
  RKV_ASSIGN_OR_RETURN(sample.content_hash, object.text("content_hash"));
  RKV_ASSIGN_OR_RETURN(sample.n_prompt, object.integer("n_prompt", 1, kInt64Max));
  RKV_ASSIGN_OR_RETURN(sample.n_answer, object.small_integer("n_answer", 1, kIntMax));
  RKV_ASSIGN_OR_RETURN(sample.sensitivity, object.number_rows("sensitivity"));
  RKV_ASSIGN_OR_RETURN(sample.local_response, object.number_rows("local_response"));
  RKV_ASSIGN_OR_RETURN(sample.damage, object.number_rows("damage"));
  if (object.has("head_damage")) {
    RKV_ASSIGN_OR_RETURN(sample.head_damage, object.number_rows("head_damage"));
  }
  return sample;
}

void add_differences(const ordered_json& got, const ordered_json& expected, const std::string& key,
                     std::vector<std::string>& out) {
  const auto text = [](const ordered_json& value) {  // a calibration file may be called anything
    return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  };
  for (const auto& [name, value] : expected.items()) {
    if (!got.contains(name)) {
      out.push_back(fmt::format("{}.{}: got none, expected {}", key, name, text(value)));
    } else if (value.is_object()) {
      add_differences(got.at(name), value, fmt::format("{}.{}", key, name), out);
    } else if (got.at(name) != value) {
      out.push_back(fmt::format("{}.{}: got {}, expected {}", key, name, text(got.at(name)), text(value)));
    }
  }
  for (const auto& [name, value] : got.items()) {
    if (!expected.contains(name)) out.push_back(fmt::format("{}.{}: got {}, expected none", key, name, text(value)));
  }
}

// Mean and standard error over samples of what `value(sample, layer)` gives, for layers or their heads.
template <class Value>
std::vector<LayerStatistic> statistics_of(const Profile& profile, Value value, int n_head = 1) {
  RKV_CHECK(!profile.samples.empty());
  const auto n_sample = static_cast<double>(profile.samples.size());
  std::vector<LayerStatistic> statistics(static_cast<size_t>(profile.model.n_layer) * static_cast<size_t>(n_head));
  for (size_t layer = 0; layer < statistics.size(); ++layer) {
    LayerStatistic& statistic = statistics[layer];
    for (const ProfileSample& sample : profile.samples) statistic.mean += value(sample, layer) / n_sample;
    if (profile.samples.size() == 1) continue;
    double squares = 0;  // around the mean, in a second pass: no cancellation
    for (const ProfileSample& sample : profile.samples) {
      const double deviation = value(sample, layer) - statistic.mean;
      squares += deviation * deviation;
    }
    statistic.standard_error = std::sqrt(squares / (n_sample - 1) / n_sample);
  }
  return statistics;
}

}  // namespace

std::vector<std::string> differences(const ProfileSettings& got, const ProfileSettings& expected) {
  std::vector<std::string> out;
  add_differences(to_json(got), to_json(expected), "settings", out);
  return out;
}

double mean_of_repeats(const Rows& repeats, size_t layer) {
  RKV_CHECK(!repeats.empty());
  double sum = 0;
  for (const std::vector<double>& repeat : repeats) {
    RKV_CHECK(layer < repeat.size());
    sum += repeat[layer];
  }
  return sum / static_cast<double>(repeats.size());
}

std::vector<LayerStatistic> sensitivity_of(const Profile& profile) {
  return statistics_of(
      profile, [](const ProfileSample& sample, size_t layer) { return mean_of_repeats(sample.sensitivity, layer); });
}

std::vector<LayerStatistic> local_response_of(const Profile& profile) {
  return statistics_of(
      profile, [](const ProfileSample& sample, size_t layer) { return mean_of_repeats(sample.local_response, layer); });
}

std::vector<LayerStatistic> damage_of(const Profile& profile, size_t point) {
  RKV_CHECK(point < profile.settings.n_curve_point());
  return statistics_of(profile, [point](const ProfileSample& sample, size_t layer) {
    RKV_CHECK(point < sample.damage.size() && layer < sample.damage[point].size());
    return sample.damage[point][layer];
  });
}

std::vector<LayerStatistic> head_damage_of(const Profile& profile, size_t i) {
  RKV_CHECK(i < profile.settings.head_fractions.size());
  return statistics_of(
      profile,
      [i](const ProfileSample& sample, size_t head) {
        RKV_CHECK(i < sample.head_damage.size() && head < sample.head_damage[i].size());
        return sample.head_damage[i][head];
      },
      profile.model.layer.n_head_kv);
}

std::vector<double> shrunk_means(std::span<const LayerStatistic> statistics) {
  std::vector<double> means;
  std::vector<double> logs;    // of those above 0
  std::vector<double> errors;  // of the logs, squared
  for (const LayerStatistic& of_layer : statistics) {
    means.push_back(of_layer.mean);
    if (of_layer.mean <= 0) continue;
    logs.push_back(std::log(of_layer.mean));
    errors.push_back(std::pow(of_layer.standard_error / of_layer.mean, 2));
  }
  if (logs.size() < 2) return means;
  const double centre = mean_of(logs);
  double variance = 0;
  for (double x : logs) variance += (x - centre) * (x - centre) / static_cast<double>(logs.size() - 1);
  const double tau2 = std::max(0.0, variance - mean_of(errors));
  size_t next = 0;
  for (double& mean : means) {
    if (mean <= 0) continue;
    const double total = tau2 + errors[next];
    const double weight = total > 0 ? tau2 / total : 1;
    mean = std::exp(centre + weight * (logs[next] - centre));
    ++next;
  }
  return means;
}

double reliability_of(const Profile& profile) {
  const size_t n_sample = profile.samples.size();
  if (n_sample < 2) return 0;
  constexpr int kSplits = 50;
  Random random(0);
  std::vector<size_t> order(n_sample);
  std::iota(order.begin(), order.end(), size_t{0});
  double sum = 0;
  for (int split = 0; split < kSplits; ++split) {
    for (size_t i = n_sample; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::vector<double> halves[2];
    for (size_t half = 0; half < 2; ++half) {
      halves[half].assign(static_cast<size_t>(profile.model.n_layer), 0);
      for (size_t i = half; i < n_sample; i += 2) {
        for (size_t layer = 0; layer < halves[half].size(); ++layer) {
          halves[half][layer] += mean_of_repeats(profile.samples[order[i]].sensitivity, layer);
        }
      }
    }
    sum += spearman(halves[0], halves[1]);
  }
  const double of_halves = sum / kSplits;
  return of_halves <= 0 ? of_halves : 2 * of_halves / (1 + of_halves);
}

Result<Profile> read_profile(const std::string& path) {
  RKV_ASSIGN_OR_RETURN(const nlohmann::json document, read_json(path, kFormat, kVersion));
  const JsonObject root(document, path);
  Profile profile;
  RKV_ASSIGN_OR_RETURN(profile.model, read_model_id(root));
  RKV_ASSIGN_OR_RETURN(profile.settings, read_settings(root));
  RKV_ASSIGN_OR_RETURN(profile.n_sample_planned, root.small_integer("n_sample_planned", 0, kIntMax));
  RKV_ASSIGN_OR_RETURN(profile.seconds, root.number("seconds"));
  RKV_ASSIGN_OR_RETURN(profile.n_forward_tokens, root.integer("n_forward_tokens", 0, kInt64Max));
  RKV_ASSIGN_OR_RETURN(const std::vector<JsonObject> samples, root.objects("samples"));
  for (const JsonObject& object : samples) {
    RKV_ASSIGN_OR_RETURN(ProfileSample sample, read_sample(object));
    profile.samples.push_back(std::move(sample));
  }
  RKV_RETURN_IF_ERROR(in_file(check(profile), path));
  // Written for people, and against samples that went missing.
  RKV_ASSIGN_OR_RETURN(const bool complete, root.boolean("complete"));
  if (complete != profile.complete()) {
    return root.error("complete", fmt::format("got {} with {} of {} samples, expected {}", complete,
                                              profile.samples.size(), profile.n_sample_planned, profile.complete()));
  }
  return profile;
}

Status write_profile(const Profile& profile, const std::string& path) {
  RKV_RETURN_IF_ERROR(check(profile).with_context(path));
  return write_json(path, kFormat, kVersion, body_of(profile));
}

Status check_replaces_profile(const std::string& path) {
  return check_replaceable(path, fmt::format(R"({{"format":"{}")", kFormat), "a profile");
}

Status check_write_profile(const Profile& profile, const std::string& path) {
  RKV_RETURN_IF_ERROR(check(profile).with_context(path));
  RKV_RETURN_IF_ERROR(artefact_text(kFormat, kVersion, body_of(profile)).status().with_context(path));
  return check_can_write(path);
}

std::string hash_of(const Profile& profile) {
  RKV_CHECK(check(profile).ok());
  const Result<std::string> text = artefact_text(kFormat, kVersion, body_of(profile));
  RKV_CHECK(text.ok());
  return hash_of_bytes(*text);
}

}  // namespace ripplekv
