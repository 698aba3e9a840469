# Builds the kernels as a shared library: cmake -B build && cmake --build build && ctest --test-dir build
cmake_minimum_required(VERSION 3.18)
project(@NAME@ LANGUAGES @LANGUAGES@)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
@CUDA@
add_library(@NAME@ SHARED @SOURCES@ src/lathe_runtime.cpp)
target_include_directories(@NAME@ PUBLIC include)
target_link_options(@NAME@ PRIVATE -Wl,-Bsymbolic) # its own runtime, also beside an apache-tvm-ffi in the same process
@OPTIONS@
set_target_properties(@NAME@ PROPERTIES OUTPUT_NAME lathe_kernels LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

enable_testing()
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME against_reference COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/test/test_against_reference.py ${CMAKE_BINARY_DIR})
endif()
