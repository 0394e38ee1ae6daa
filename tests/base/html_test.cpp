// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What pages are safe by: texts escaped for content and attributes, invisible characters made visible, a head that lets
// nothing load and, without scripts, nothing run.
#include "base/html.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace ripplekv {
namespace {

TEST(Html, Escapes) {
  EXPECT_EQ(html_escape("a<b>&\"c\"'d'"), "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
  EXPECT_EQ(html_escape("\xE4\xBD\xA0 & co"), "\xE4\xBD\xA0 &amp; co");
  EXPECT_EQ(html_escape(""), "");
}

TEST(Html, VisibleText) {
  EXPECT_EQ(visible_text("plain \xC3\xA9\n\t"), "plain \xC3\xA9\n\t");
  EXPECT_EQ(visible_text(std::string_view("a\0b", 3)), "a\xE2\x90\x80\x62");
  EXPECT_EQ(visible_text("\x1B[31m\x7F"), "\xE2\x90\x9B[31m\xE2\x90\xA1");
  EXPECT_EQ(visible_text("\xFF\xFE"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(visible_text("a\xE2\x80\xAE\x62\xE2\x81\xA6"), "a\xEF\xBF\xBD\x62\xEF\xBF\xBD") << "would turn text around";
  EXPECT_EQ(visible_text("\xE2\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "cut off";
  EXPECT_TRUE(valid_utf8(visible_text("\xC0\xAF \xED\xA0\x80 \xF5")));
}

TEST(Html, HeadForbidsTheNetwork) {
  const std::string with = html_head("a<b>", "p { color: red; }", true);
  const std::string without = html_head("a<b>", "", false);
  EXPECT_EQ(with.rfind("<!doctype html>\n", 0), 0U);
  EXPECT_NE(with.find("<title>a&lt;b&gt;</title>"), std::string::npos);
  EXPECT_NE(with.find("p { color: red; }</style>"), std::string::npos);
  for (const std::string& head : {with, without}) {
    EXPECT_NE(head.find("content=\"default-src 'none'; style-src 'unsafe-inline'; "), std::string::npos);
    EXPECT_NE(head.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_NE(head.find("name=\"viewport\""), std::string::npos);
  }
  EXPECT_NE(with.find("script-src 'unsafe-inline'"), std::string::npos);
  EXPECT_EQ(without.find("script-src"), std::string::npos) << "default-src 'none' is what forbids them";
}

}  // namespace
}  // namespace ripplekv
