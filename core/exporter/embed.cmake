# Writes embedded_files.cpp: the hand-off's fixed texts as raw string literals, so that exporting needs no resource files.
function(lathe_embed_exports output)
  set(text "// Generated from core/exporter/templates and resources/include.\n#include \"embedded_files.h\"\n\nnamespace lathe::exporter::embedded {\n")
  foreach(pair IN LISTS ARGN)
    string(REGEX REPLACE "=.*" "" name "${pair}")
    string(REGEX REPLACE "^[^=]*=" "" file "${pair}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(READ "${file}" content)
    string(APPEND text "const char* const ${name} = R\"LATHE_FILE(${content})LATHE_FILE\";\n")
  endforeach()
  string(APPEND text "} // namespace lathe::exporter::embedded\n")
  file(WRITE "${output}.new" "${text}")
  configure_file("${output}.new" "${output}" COPYONLY) # touched only when it changed
endfunction()
