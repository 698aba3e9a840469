# Warnings, sanitizers and the compiler cache: what every target gets.
find_program(LATHE_CCACHE ccache)
if(LATHE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LATHE_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${LATHE_CCACHE})
endif()
add_library(lathe_warnings INTERFACE)
target_compile_options(lathe_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wconversion -Wno-sign-conversion -Werror=return-type
  # GCC also warns of members that a designated initializer leaves at their default on purpose.
  -Wno-missing-field-initializers)
if(LATHE_SANITIZE)
  add_compile_options(-fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LATHE_SANITIZE})
endif()
if(LATHE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LATHE_FUZZ needs clang and its libFuzzer: cmake --preset fuzz, after apt-get install clang")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
