// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// profile.json: per-layer sensitivities (and damage curves) of one model, measured offline. Per-sample values stay in
// the file, so means, standard errors and reliability are computed from it and never stored apart. Units: nats of
// KL(p_full || p_changed), mean over the answer's tokens. How they are measured: profiler.h.
// An interrupted profile is a valid file with fewer samples (`complete` false); profiling resumes from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ripplekv/budgets.h"
#include "ripplekv/status.h"

namespace ripplekv {

constexpr int kRepeatsMax = 1000;  // of ProfileSettings::n_repeat

struct ProfileSettings {
  std::string rows = "evictable";  // rows nudged: all | evictable
  std::string direction = "row";   // of a nudge: row (drawn for each row) | head (one for all rows of a head)
  double eps = 1.0;                // size of the nudge relative to the norm of the row
  int n_repeat = 2;                // noise draws per sample and layer, at most kRepeatsMax
  uint64_t seed = 0;
  int n_answer = 32;                    // T: tokens of the continuation
  int64_t max_tokens = 2048;            // prompts are cut in the middle to this
  std::vector<double> curve_fractions;  // kept fractions of the damage curves, ascending; may be empty
  std::vector<KvFormat> curve_formats;  // each measured at every fraction; empty: kv_format alone
  // Kept fractions, below 1, at which every KV head alone is compressed, with kv_format; may be empty.
  std::vector<double> head_fractions;
  std::string selector = "snapkv";  // of the damage curves; its protected rows bound `evictable`
  SelectorOptions selector_options;
  std::string weights = "native";  // native | f32 | bf16
  KvFormat kv_format;
  std::string calibration;  // where the samples come from ("builtin" or a path's name)
  bool operator==(const ProfileSettings&) const = default;

  std::vector<KvFormat> formats_of_curves() const {
    return curve_formats.empty() ? std::vector<KvFormat>{kv_format} : curve_formats;
  }
  size_t n_curve_point() const { return curve_fractions.size() * formats_of_curves().size(); }
};

// Every setting that differs, in words: "settings.eps: got 1.0, expected 0.5", keys as in profile.json. Empty: equal.
std::vector<std::string> differences(const ProfileSettings& got, const ProfileSettings& expected);

struct ProfileSample {
  std::string id;            // name of the sample, unique in the profile
  std::string content_hash;  // of its token ids: resuming checks it
  int64_t n_prompt = 0;
  int n_answer = 0;                              // tokens the KL is averaged over
  std::vector<std::vector<double>> sensitivity;  // [n_repeat][n_layer]; layers with a sliding window: 0, not measured
  // [n_repeat][n_layer]: the same nudge's relative change of that layer's own output, ||h' - h|| / ||h||; likewise
  std::vector<std::vector<double>> local_response;
  // [n_curve_point][n_layer], fractions within formats; layers with a sliding window: what the format alone costs,
  // where all rows stay, and 0 elsewhere
  std::vector<std::vector<double>> damage;
  // [head_fractions][n_layer * n_head_kv], heads within layers; layers with a sliding window: 0
  std::vector<std::vector<double>> head_damage;
};

struct Profile {
  ModelId model;
  ProfileSettings settings;
  std::vector<ProfileSample> samples;
  int n_sample_planned = 0;
  double seconds = 0;            // price: wall time over all sittings
  int64_t n_forward_tokens = 0;  // price: tokens put through at least one layer
  bool complete() const { return static_cast<int>(samples.size()) >= n_sample_planned && n_sample_planned > 0; }
};

struct LayerStatistic {
  double mean = 0;
  double standard_error = 0;  // over samples; 0 with one sample
};

// Of one sample's values, [n_repeat][n_layer], for one layer. REQUIRES: at least one repeat.
double mean_of_repeats(const std::vector<std::vector<double>>& repeats, size_t layer);
// [n_layer]: mean over samples and repeats. REQUIRES: at least one sample.
std::vector<LayerStatistic> sensitivity_of(const Profile& profile);
std::vector<LayerStatistic> local_response_of(const Profile& profile);  // likewise
// [n_layer] for a point of the curves: index of its format * curve_fractions.size() + index of its fraction.
std::vector<LayerStatistic> damage_of(const Profile& profile, size_t point);
// [n_layer * n_head_kv] at settings.head_fractions[i].
std::vector<LayerStatistic> head_damage_of(const Profile& profile, size_t i);

// Means moved towards their common mean as far as the noise explains their spread, so that a plan does not tell layers
// apart that the samples do not: empirical Bayes on the logarithms (James and Stein 1961), weight tau^2 / (tau^2 +
// se^2) with the standard error relative to the mean. One sample has no error and stays; so do zeros.
std::vector<double> shrunk_means(std::span<const LayerStatistic> statistics);

// How well sensitivities repeat, from -1 to 1: Spearman's rho between the means of two halves of the samples, mean over
// 50 seeded splits, corrected to the whole number of samples (Spearman and Brown 1910). 0 with fewer than two samples.
double reliability_of(const Profile& profile);

// Errors: not there, damaged, unknown format or version, sizes that contradict each other, values that are not
// finite or negative (named by sample and layer).
Result<Profile> read_profile(const std::string& path);
// kInvalidArgument for a profile that read_profile would refuse; the old file then stays.
Status write_profile(const Profile& profile, const std::string& path);
// What write_profile would refuse, before there is a sample to lose: the profile as it is, or a path that cannot be
// written to. Writes nothing.
Status check_write_profile(const Profile& profile, const std::string& path);
// Whether what is at `path` may be replaced by a profile unread: errors for anything but a profile or an empty file.
Status check_replaces_profile(const std::string& path);
// Of its canonical JSON, the bytes of the file that write_profile makes: "xxh3:...". REQUIRES: it can be written.
std::string hash_of(const Profile& profile);

}  // namespace ripplekv
