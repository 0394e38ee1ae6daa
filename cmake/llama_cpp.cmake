# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# ggml and libllama as static targets `ggml` and `llama` from RIPPLEKV_LLAMA_CPP_DIR, nothing else of llama.cpp.
# Backends are ggml's own options: pass e.g. -DGGML_CUDA=ON or -DGGML_VULKAN=ON to our cmake call.
set(BUILD_SHARED_LIBS OFF)
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_TESTS OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_TOOLS OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_EXAMPLES OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_SERVER OFF CACHE BOOL "" FORCE)
set(LLAMA_BUILD_APP OFF CACHE BOOL "" FORCE)
set(LLAMA_CURL OFF CACHE BOOL "" FORCE)
set(GGML_BUILD_TESTS OFF CACHE BOOL "" FORCE)
set(GGML_BUILD_EXAMPLES OFF CACHE BOOL "" FORCE)
set(GGML_CCACHE OFF CACHE BOOL "" FORCE) # our launcher is set already
add_subdirectory("${RIPPLEKV_LLAMA_CPP_DIR}" llama.cpp EXCLUDE_FROM_ALL SYSTEM)
# The header of a model file is parsed in ggml-base: so that the fuzzer sees which way it went.
if(RIPPLEKV_FUZZ)
  target_compile_options(ggml-base PRIVATE -fsanitize=fuzzer-no-link,address)
endif()

add_library(nlohmann_json_vendor INTERFACE)
target_include_directories(nlohmann_json_vendor SYSTEM INTERFACE "${RIPPLEKV_LLAMA_CPP_DIR}/vendor")
