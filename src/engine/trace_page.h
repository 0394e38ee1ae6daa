// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The fixed part of the trace picture: style sheet, markup and scripts of the page, as text. No data, no logic in C++.
// The scripts read the JSON of the element #trace-data (trace_html.cpp writes it) and must only ever show texts
// through textContent: tokens are untrusted. Works without network, from a file, on a phone and with a keyboard.
#pragma once

#include <string_view>

namespace ripplekv {

extern const std::string_view kTracePageStyle;
extern const std::string_view kTracePageBody;
extern const std::string_view kTracePageScript;      // data, colours, selection, heat map
extern const std::string_view kTracePageTextScript;  // text, search, output; runs after the first

}  // namespace ripplekv
