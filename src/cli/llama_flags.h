// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// Flags that users of llama.cpp's programs type by habit and that RippleKV does not have, each with what to do
// instead or why it does not exist. The names that both have are not here: they are registered in args.cpp.
#pragma once

#include <string_view>

namespace ripplekv {

// "-fa" -> "flash attention is always on"; empty if `flag` is none of llama.cpp's that we lack.
std::string_view explain_llama_flag(std::string_view flag);

}  // namespace ripplekv
