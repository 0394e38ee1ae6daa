// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Measuring a tiny model: against caches changed by hand, unchanged caches, and the artefact's life (resume, refuse).
#include "engine/profile_run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/random.h"
#include "engine/tiny_engine.h"
#include "model/prefill.h"
#include "profiling/divergence.h"
#include "profiling/perturbation.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

class ProfileRunTest : public test::TinyEngineTest {
 protected:
  static ProfileSettings settings() {
    ProfileSettings settings;
    settings.n_answer = 6;
    settings.n_repeat = 2;
    settings.selector_options.window = 8;
    settings.selector_options.n_sink = 2;
    settings.curve_fractions = {0.25, 0.5};
    settings.kv_format = test::kF32Cache;
    settings.calibration = "test";
    return settings;
  }
  std::vector<ProfilerSample> samples(int n) const {
    std::vector<ProfilerSample> result;
    for (int i = 0; i < n; ++i) {
      ProfilerSample sample;
      sample.id = "sample " + std::to_string(i);
      sample.ids = tokens(60 + 7 * i, static_cast<uint64_t>(i) + 1);
      result.push_back(sample);
    }
    return result;
  }
  Result<ProfileSample> measure(const ProfileSettings& options, const ProfilerSample& sample) {
    int64_t n_tokens = 0;
    return profile_sample(engine_->forward(), options, sample, 512, nullptr, n_tokens);
  }
  static std::string contents(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
};

TEST_F(ProfileRunTest, AgreesWithCachesChangedByHand) {
  const ProfilerSample sample = samples(1)[0];
  const auto measured = measure(settings(), sample);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  ASSERT_EQ(measured->n_answer, 5);

  // The same by whole passes through the engine: prefill, change one layer, score the answer.
  const auto filled = [&] {
    auto sequence =
        engine_->prefill(sample.ids, plan_full(config(), static_cast<int64_t>(sample.ids.size()), test::kF32Cache));
    EXPECT_TRUE(sequence.ok());
    return std::move(*sequence);
  };
  Sequence full = filled();
  std::vector<int32_t> answer;
  {
    Sequence sequence = filled();
    for (int i = 0; i < 6; ++i) {
      answer.push_back(argmax(sequence.logits));
      const DecodeStep step{&sequence, answer.back()};
      ASSERT_TRUE(engine_->decode({&step, 1}).ok());
    }
  }
  const auto fed = std::span<const int32_t>(answer).first(5);
  const auto reference = engine_->score(full.cache, fed);
  ASSERT_TRUE(reference.ok());
  for (int il = 0; il < config().n_layer; ++il) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      Sequence changed = filled();
      LayerCache& layer = changed.cache.layer(il);
      std::vector<float> v = layer.read_v();
      nudge(v, config().head_dim, layer.n_rows(), config().n_head_kv, {2, layer.n_rows() - 8}, 1.0,
            seed_from(uint64_t{0}, il, repeat));
      layer.write_v(v);
      const auto logits = engine_->score(changed.cache, fed);
      ASSERT_TRUE(logits.ok());
      const double expected = mean_kl(*reference, *logits, config().n_vocab);
      EXPECT_GT(expected, 0);
      EXPECT_NEAR(measured->sensitivity[static_cast<size_t>(repeat)][static_cast<size_t>(il)], expected,
                  1e-6 + 1e-3 * expected)
          << "layer " << il;
    }
  }
}

// The formula of docs/profile.md, term by term.
TEST_F(ProfileRunTest, CostsWhatTheFormulaSays) {
  ProfilerSample sample = samples(1)[0];
  const int64_t n = static_cast<int64_t>(sample.ids.size());
  const int64_t n_layer = config().n_layer;
  for (const bool own_answer : {true, false}) {
    if (!own_answer) sample.answer = {1, 2, 3, 4, 5, 6};
    for (const int repeats : {1, 3}) {
      ProfileSettings of = settings();
      of.n_repeat = repeats;
      const auto curves = static_cast<int64_t>(of.curve_fractions.size());
      int64_t n_tokens = 0;
      int64_t n_total = 0;
      const auto on_progress = [&](int64_t, int64_t total) { n_total = total; };
      ASSERT_TRUE(profile_sample(engine_->forward(), of, sample, 512, on_progress, n_tokens).ok());
      const int64_t fed = 5;  // T - 1
      EXPECT_EQ(n_tokens, n_layer * n + (own_answer ? 2 : 1) * n_layer * fed + (repeats + 1) * n_layer * fed +
                              (repeats + curves) * n_layer * (n_layer + 1) / 2 * fed);
      EXPECT_EQ(n_tokens, n_total);
    }
  }
}

TEST_F(ProfileRunTest, ANudgeOfNothingMovesNothing) {
  ProfileSettings options = settings();
  options.eps = 0;
  options.curve_fractions = {1.0};
  const auto measured = measure(options, samples(1)[0]);
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  for (const auto& repeat : measured->sensitivity) {
    for (double kl : repeat) EXPECT_EQ(kl, 0);
  }
  for (double kl : measured->damage[0]) EXPECT_NEAR(kl, 0, 1e-9);  // the same rows, allocated anew
}

TEST_F(ProfileRunTest, KeepingMoreDamagesLess) {
  const auto measured = measure(settings(), samples(1)[0]);
  ASSERT_TRUE(measured.ok());
  double quarter = 0;
  double half = 0;
  for (size_t il = 0; il < 4; ++il) {
    quarter += measured->damage[0][il];
    half += measured->damage[1][il];
  }
  EXPECT_GT(quarter, half);
  EXPECT_GT(half, 0);
}

TEST_F(ProfileRunTest, RefusesWhatCannotBeMeasured) {
  ProfilerSample short_one{"short", tokens(10), {}};
  EXPECT_NE(measure(settings(), short_one).status().message().find("no row to nudge"), std::string::npos);
  ProfilerSample one_token{"answer", tokens(60), {5}};
  EXPECT_NE(measure(settings(), one_token).status().message().find("at least 2"), std::string::npos);
  ProfilerSample stranger{"id", tokens(60), {}};
  stranger.ids[3] = config().n_vocab;
  EXPECT_NE(measure(settings(), stranger).status().message().find("token id"), std::string::npos);
  ProfileSettings few = settings();
  few.curve_fractions = {0.1};
  EXPECT_NE(measure(few, samples(1)[0]).status().message().find("a kept fraction of 10%"), std::string::npos);
}

TEST_F(ProfileRunTest, ResumedIsTheSameAsUninterrupted) {
  const std::string folder = test::temp_dir();
  const auto whole = run_profile(*engine_, settings(), samples(3), {.path = folder + "/whole.json"});
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  ASSERT_TRUE(whole->complete());

  // Stopped in the second sample, and the artefact is a valid profile of the first.
  std::atomic<bool> stop = false;
  engine_->set_cancel(&stop);
  ProfileRunOptions options{.path = folder + "/parts.json"};
  options.on_progress = [&](double done, double) { stop = done > 1.3; };
  const auto stopped = run_profile(*engine_, settings(), samples(3), options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.status().code(), StatusCode::kCancelled);
  const auto part = read_profile(options.path);
  ASSERT_TRUE(part.ok()) << part.status().message();
  EXPECT_EQ(part->samples.size(), 1U);
  EXPECT_FALSE(part->complete());

  stop = false;
  options.on_progress = nullptr;
  const auto resumed = run_profile(*engine_, settings(), samples(3), options);
  engine_->set_cancel(nullptr);
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  ASSERT_TRUE(resumed->complete());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(resumed->samples[i].sensitivity, whole->samples[i].sensitivity);
    EXPECT_EQ(resumed->samples[i].damage, whole->samples[i].damage);
  }

  // A finished one costs nothing, and stays byte for byte.
  const std::string before = contents(options.path);
  int n_calls = 0;
  options.on_progress = [&](double, double) { ++n_calls; };
  ASSERT_TRUE(run_profile(*engine_, settings(), samples(3), options).ok());
  EXPECT_EQ(n_calls, 0);
  EXPECT_EQ(contents(options.path), before);
}

// Two ranks as two threads, each with an engine of its own: the artefact of one process, whatever was there before.
TEST_F(ProfileRunTest, RanksShareTheSamples) {
  const std::string folder = test::temp_dir();
  const auto whole = run_profile(*engine_, settings(), samples(5), {.path = folder + "/whole.json"});
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const std::string path = folder + "/shared.json";
  const auto share = [&](bool fresh) {
    std::barrier barrier(2);
    std::vector<Result<Profile>> results(2, Result<Profile>(io_error("did not run")));
    const auto as_rank = [&](int rank) {
      ProfileRunOptions options{.path = path, .fresh = fresh};
      options.ranks = {rank, 2, [&barrier] { barrier.arrive_and_wait(); }};
      const auto engine = make_engine(512);
      results[static_cast<size_t>(rank)] = run_profile(*engine, settings(), samples(5), options);
    };
    std::thread other(as_rank, 1);
    as_rank(0);
    other.join();
    for (const auto& result : results) {
      ASSERT_TRUE(result.ok()) << result.status().message();
      ASSERT_EQ(result->samples.size(), 5U);
      EXPECT_TRUE(result->complete());
      for (size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(result->samples[i].id, whole->samples[i].id);
        EXPECT_EQ(result->samples[i].sensitivity, whole->samples[i].sensitivity);
        EXPECT_EQ(result->samples[i].damage, whole->samples[i].damage);
      }
      EXPECT_EQ(result->n_forward_tokens, whole->n_forward_tokens);
    }
    EXPECT_TRUE(parts_of(path).empty());
  };
  share(/*fresh=*/false);
  share(/*fresh=*/false);  // nothing is left to do
  share(/*fresh=*/true);

  // What ranks left that died: samples 1 and 3 in parts, of which one had joined already. One process goes on, too.
  for (const bool by_one : {false, true}) {
    Profile first = *whole;
    first.samples = {whole->samples[1]};
    first.n_forward_tokens = 0;
    Profile second = first;
    second.samples = {whole->samples[1], whole->samples[3]};
    second.n_forward_tokens = 2 * whole->n_forward_tokens / 5;
    ASSERT_TRUE(write_profile(first, path).ok());
    ASSERT_TRUE(write_profile(second, part_path(path, 6)).ok());
    if (by_one) {
      const auto resumed = run_profile(*engine_, settings(), samples(5), {.path = path});
      ASSERT_TRUE(resumed.ok()) << resumed.status().message();
      EXPECT_EQ(resumed->samples[3].damage, whole->samples[3].damage);
      EXPECT_EQ(resumed->samples[4].damage, whole->samples[4].damage);
      EXPECT_TRUE(parts_of(path).empty());
    } else {
      share(/*fresh=*/false);
    }
  }
}

TEST_F(ProfileRunTest, RefusesToResumeAnotherProfile) {
  const ProfileRunOptions options{.path = test::temp_dir() + "/profile.json"};
  ASSERT_TRUE(run_profile(*engine_, settings(), samples(2), options).ok());
  const std::string before = contents(options.path);
  ProfileSettings other = settings();
  other.eps = 0.5;
  other.selector_options.kernel = 9;
  const Status refused = run_profile(*engine_, other, samples(2), options).status();
  EXPECT_EQ(refused.code(), StatusCode::kMismatch);
  EXPECT_EQ(refused.message(),
            "'" + options.path +
                "' holds a profile with other settings: settings.eps: got 1.0, expected 0.5, "
                "settings.selector_options.kernel: got 5, expected 9; name another file, or start over with --fresh");
  auto changed = samples(2);
  changed[1].ids[5] ^= 1;
  const auto message = [&](const std::vector<ProfilerSample>& wanted) {
    const Status status = run_profile(*engine_, settings(), wanted, options).status();
    EXPECT_EQ(status.code(), StatusCode::kMismatch);
    return status.message();
  };
  EXPECT_NE(message(changed).find("got other tokens in 'sample 1'"), std::string::npos);
  changed = samples(2);
  changed[1].id = "x";
  EXPECT_NE(message(changed).find("got 'sample 1', expected those of today's calibration"), std::string::npos);
  EXPECT_NE(message(samples(1)).find("samples: got 2, expected at most 1"), std::string::npos);
  EXPECT_EQ(contents(options.path), before);
  const ProfileRunOptions fresh{.path = options.path, .fresh = true};
  EXPECT_TRUE(run_profile(*engine_, other, samples(1), fresh).ok());

  auto twins = samples(2);
  twins[1].id = twins[0].id;
  EXPECT_EQ(run_profile(*engine_, settings(), twins, fresh).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(run_profile(*engine_, settings(), {}, fresh).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ProfileRunTest, WhatCannotBeWrittenIsSaidBeforeAnythingIsMeasured) {
  const std::string folder = test::temp_dir();
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  ProfileRunOptions options;
  options.on_progress = [](double, double) { FAIL() << "measured"; };
  const auto message = [&](const ProfileSettings& asked, const std::string& path) {
    options.path = path;
    return run_profile(*engine_, asked, samples(1), options).status().message();
  };
  EXPECT_NE(message(settings(), "/dev/full").find("/dev/full: is a device or pipe"), std::string::npos);
  EXPECT_NE(message(settings(), folder + "/pipe").find("pipe: is a device or pipe"), std::string::npos);
  EXPECT_NE(message(settings(), folder).find("is a folder"), std::string::npos);
  EXPECT_NE(message(settings(), folder + "/none/profile.json").find("none"), std::string::npos);
  ProfileSettings latin1 = settings();
  latin1.calibration = "caf\xE9";
  EXPECT_NE(message(latin1, folder + "/p.json").find("settings.calibration': got 'caf\\xe9'"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder + "/p.json"));
}

}  // namespace
}  // namespace ripplekv
