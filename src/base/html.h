// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// What every HTML page of ours begins with and is safe by: a head that forbids the network, one style in light and
// dark, texts of strangers made visible and escaped. Pure; what a page shows is its owner's business (trace, report).
#pragma once

#include <string>
#include <string_view>

namespace ripplekv {

// What stands for a character that would not be seen or would reorder the text around it; any other is returned as is.
std::string visible_character(std::string_view character);
// Valid UTF-8 of such characters; bytes that are no UTF-8 become U+FFFD one by one.
std::string visible_text(std::string_view text);

// For element content and for quoted attribute values.
std::string html_escape(std::string_view text);

// From the doctype to the opened body. The policy makes "no network" hold whatever a text says: nothing may be loaded
// or sent, and without `scripts` nothing can run. `style` follows the style that all pages share.
std::string html_head(std::string_view title, std::string_view style, bool scripts);

}  // namespace ripplekv
