// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Calibration files: *.txt, *.jsonl, *.json. Samples that are accepted are text, or ids in range.
#include <array>

#include "base/utf8.h"
#include "profiling/calibration.h"
#include "targets.h"

namespace ripplekv::fuzz {

int fuzz_calibration(const uint8_t* data, size_t size) {
  constexpr std::array kNames = {"c.txt", "c.jsonl", "c.json"};
  if (size == 0) return 0;
  const std::string path = put_file(kNames[data[0] % kNames.size()], text_of(data + 1, size - 1));
  const auto samples = read_calibration(path, 100);
  expect_sentence(samples.status());
  if (!samples.ok()) return 0;
  RKV_CHECK(!samples->empty());
  for (const CalibrationSample& sample : *samples) {
    RKV_CHECK(!sample.id.empty());
    if (sample.is_ids()) {
      for (const int32_t id : sample.ids) RKV_CHECK(id >= 0);
      for (const int32_t id : sample.answer_ids) RKV_CHECK(id >= 0);
    } else {
      RKV_CHECK(!sample.document.empty() && valid_utf8(sample.text()) && valid_utf8(sample.answer));
    }
  }
  return 0;
}

std::vector<std::string> calibration_seeds() {
  const std::string ids = R"({"ids": [1, 2, 2147483647], "answer": [3]})";
  const std::string long_bench = R"({"context": "A d\u00e9cument.", "input": "Why?", "answers": ["So.", "No."]})";
  const std::string l_eval = R"({"input": "Text", "instructions": ["Sum it up."], "outputs": ["It is text."]})";
  return {std::string(1, '\0') + "\xEF\xBB\xBFWords of a document, \xE2\x82\xAC 5.\n\nMore.\n",
          "\x01" + ids + "\n\n" + long_bench + "\r\n" + l_eval, "\x02[" + ids + ",\n " + long_bench + "]",
          "\x02" + l_eval};
}

}  // namespace ripplekv::fuzz
