# SPDX-FileCopyrightText: 2026 RippleKV contributors
# SPDX-License-Identifier: MIT
#
# How every target of ours is compiled, and ripplekv_layer(): folder src/<name> -> static target ripplekv_<name>.
function(ripplekv_target target)
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict) # false positives on std::string, GCC bug 105329
  endif()
  if(RIPPLEKV_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(RIPPLEKV_COVERAGE)
    target_compile_options(${target} PRIVATE -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(${target} PUBLIC -fprofile-instr-generate)
  endif()
  if(RIPPLEKV_SANITIZE)
    if(NOT RIPPLEKV_FUZZ) # which needs speed; what is optimised away cannot fail, and takes twice as long to compile
      target_compile_options(${target} PRIVATE -O1)
    endif()
    target_compile_options(${target} PRIVATE -fsanitize=${RIPPLEKV_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${RIPPLEKV_SANITIZE})
  endif()
endfunction()

function(ripplekv_layer name)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${name}/*.cpp")
  add_library(ripplekv_${name} STATIC ${sources})
  ripplekv_target(ripplekv_${name})
  target_link_libraries(ripplekv_${name} PUBLIC ${ARGN})
endfunction()
