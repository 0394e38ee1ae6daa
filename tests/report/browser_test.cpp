// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The page in a headless Chromium: every figure is drawn, nothing is wider than the screen of a desktop or a phone,
// dark mode is dark, hostile texts do nothing. The page runs no script, so a copy of it gets one of the test's that
// measures and writes what it found into the document, which the browser prints. Skipped where there is no Chromium.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/shell.h"
#include "report/report.h"
#include "report/samples.h"
#include "test_util/paths.h"

namespace ripplekv {
namespace {

using nlohmann::json;

constexpr std::string_view kProbe = R"js(<script>
const seen = e => { const b = e.getBoundingClientRect(); return b.width > 0 || b.height > 0; };
const found = {figures: [], inner: innerWidth, wide: document.documentElement.scrollWidth, title: document.title,
  images: document.images.length, background: getComputedStyle(document.body).backgroundColor};
for (const figure of document.querySelectorAll('figure')) {
  const charts = [...figure.querySelectorAll('svg.chart')].filter(seen);
  const box = charts[0].getBoundingClientRect();
  const marks = [...charts[0].querySelectorAll('.pt, .fill, .cell, .ln')].filter(seen).map(e => {
    const style = getComputedStyle(e), b = e.getBoundingClientRect();
    const inside = b.left >= box.left - 1 && b.right <= box.right + 1 && b.top >= box.top - 1 && b.bottom <= box.bottom + 1;
    return {inside, coloured: style.fill !== 'none' && style.fill !== 'rgb(0, 0, 0)' ||
                              style.stroke !== 'none' && style.stroke !== 'rgb(0, 0, 0)'};
  });
  const tips = [...charts[0].querySelectorAll('.tip')];
  found.figures.push({name: figure.querySelector('figcaption b').textContent, charts: charts.length, width: box.width,
    height: box.height, marks: marks.length, inside: marks.filter(m => m.inside).length,
    coloured: marks.filter(m => m.coloured).length, tips: tips.length,
    shown: tips.filter(t => getComputedStyle(t).visibility === 'visible').length,
    label: charts[0].getAttribute('aria-label')});
}
parent.postMessage(JSON.stringify(found), '*');
</script>)js";

// A frame as wide as the screen: a browser's window cannot be as narrow as a phone.
constexpr std::string_view kFrame = R"html(<!doctype html><pre id="probe"></pre><script>
addEventListener('message', event => { document.getElementById('probe').textContent = event.data; });
</script><iframe src="page.html" style="width: WIDTHpx; height: 900px; border: 0"></iframe>)html";

std::string chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    const test::Outcome found = test::shell(std::string("command -v ") + name);
    if (found.exit_code == 0) return name;
  }
  return "";
}

class BrowserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    browser_ = chromium();
    if (browser_.empty()) GTEST_SKIP() << "chromium is not on this machine";
  }

  // What the probe finds in the page. The page's own policy is lifted, so that a hole in the escaping would let a
  // hostile text run.
  json probe(std::string page, int width, const std::string& flags = "") {
    const size_t policy = page.find("<meta http-equiv=\"Content-Security-Policy\"");
    page.erase(policy, page.find('>', policy) + 1 - policy);
    page.insert(page.rfind("</body>"), kProbe);
    std::string frame(kFrame);
    frame.replace(frame.find("WIDTH"), 5, std::to_string(width));
    const std::string dom = dump(page, frame, flags);
    const std::string open = "<pre id=\"probe\">";
    const size_t begin = dom.find(open);
    if (begin == std::string::npos) {
      ADD_FAILURE() << "the browser printed: " << dom.substr(0, 2000);
      return {};
    }
    std::string text = dom.substr(begin + open.size(), dom.find("</pre>", begin) - begin - open.size());
    for (const auto& [from, to] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1)) {
        text.replace(at, std::string_view(from).size(), to);
      }
    }
    return json::parse(text);
  }

  // The document as it is when `frame`, which may show page.html, has loaded.
  std::string dump(const std::string& page, const std::string& frame, const std::string& flags = "") {
    const std::string folder = test::temp_dir();
    std::ofstream(folder + "/page.html") << page;
    std::ofstream(folder + "/frame.html") << frame;
    const test::Outcome outcome =
        test::shell("HOME='" + folder + "' timeout 120 " + browser_ +
                    " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir='" + folder +
                    "/profile' --window-size=1400,1000 --virtual-time-budget=5000 " + flags + " --dump-dom 'file://" +
                    folder + "/frame.html' 2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0);
    return outcome.text;
  }

  static std::string page_of(const std::string& name = "Tiny") {
    const auto report = make_report(test::all_inputs(name));
    EXPECT_TRUE(report.ok());
    return report_html(*report);
  }

  std::string browser_;
};

TEST_F(BrowserTest, FiguresAreDrawnOnDesktopAndPhone) {
  const std::string page = page_of();
  double narrowest = 1e9;
  for (const int width : {1280, 390}) {
    const json found = probe(page, width);
    ASSERT_TRUE(found.is_object());
    EXPECT_EQ(found["figures"].size(), test::count_of(page, "<figure>"));
    EXPECT_GE(found["figures"].size(), 10U);
    EXPECT_LE(found["wide"], found["inner"]) << "the page scrolls sideways";
    for (const json& figure : found["figures"]) {
      EXPECT_EQ(figure["charts"], 1) << "one of the two drawings is shown";
      EXPECT_GT(figure["width"], 250) << figure;
      EXPECT_LT(figure["width"], found["inner"]) << figure;
      EXPECT_GT(figure["height"], 50) << figure;
      EXPECT_GT(figure["marks"], 0) << figure;
      EXPECT_EQ(figure["inside"], figure["marks"]) << figure;
      EXPECT_EQ(figure["coloured"], figure["marks"]) << figure;
      EXPECT_EQ(figure["shown"], 0) << "tips wait for the pointer: " << figure;
      EXPECT_FALSE(figure["label"].get<std::string>().empty());
      narrowest = std::min(narrowest, figure["width"].get<double>());
    }
  }
  EXPECT_LT(narrowest, 390);
}

TEST_F(BrowserTest, FollowsTheColourScheme) {
  const std::string page = page_of();
  const json light = probe(page, 800);
  const json dark = probe(page, 800, "--blink-settings=preferredColorScheme=0");
  EXPECT_EQ(light["background"], "rgb(247, 246, 242)");
  EXPECT_EQ(dark["background"], "rgb(15, 18, 22)");
}

TEST_F(BrowserTest, HostileTextsDoNothing) {
  for (const std::string& attack :
       {std::string("<script>document.title='ran'</script>"),
        std::string("\"></svg></style></title><img src=x onerror=\"document.title='ran'\">"),
        std::string("' onmouseover='document.title=1' autofocus onfocus='document.title=1")}) {
    const std::string page = page_of(attack);
    const json found = probe(page, 800);
    ASSERT_TRUE(found.is_object()) << attack;
    EXPECT_TRUE(found["title"].get<std::string>().starts_with("RippleKV report: ")) << found["title"];
    EXPECT_EQ(found["images"], 0);
    EXPECT_EQ(found["figures"].size(), test::count_of(page, "<figure>"));
  }
}

// And if a text got through: the policy of the page as it is written lets no script run.
TEST_F(BrowserTest, ThePageRunsNoScript) {
  std::string page = page_of();
  page.insert(page.rfind("</body>"), "<script>document.title = 'ran'</script>");
  const std::string dom = dump("", page);
  EXPECT_NE(dom.find("<title>RippleKV report: "), std::string::npos);
}

}  // namespace
}  // namespace ripplekv
