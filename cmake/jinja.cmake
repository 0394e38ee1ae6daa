# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# ripplekv_jinja: llama.cpp's Jinja engine as it lies in RIPPLEKV_LLAMA_CPP_DIR/common, without the rest of common.
# Headers are <jinja/...>: the folder jinja itself must never become an include path, its string.h would hide libc's.
add_library(
  ripplekv_jinja STATIC
  "${RIPPLEKV_LLAMA_CPP_DIR}/common/jinja/lexer.cpp"
  "${RIPPLEKV_LLAMA_CPP_DIR}/common/jinja/parser.cpp"
  "${RIPPLEKV_LLAMA_CPP_DIR}/common/jinja/runtime.cpp"
  "${RIPPLEKV_LLAMA_CPP_DIR}/common/jinja/string.cpp"
  "${RIPPLEKV_LLAMA_CPP_DIR}/common/jinja/value.cpp"
  "${RIPPLEKV_LLAMA_CPP_DIR}/common/json.cpp" # value.cpp converts from it
  "${RIPPLEKV_LLAMA_CPP_DIR}/common/unicode.cpp")
target_include_directories(ripplekv_jinja SYSTEM PUBLIC "${RIPPLEKV_LLAMA_CPP_DIR}/common")
# json.cpp asserts through ggml.
target_link_libraries(ripplekv_jinja PRIVATE ggml nlohmann_json_vendor)
