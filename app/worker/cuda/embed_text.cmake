# cmake -DIN=kernels.ptx -DOUT=kernels_ptx.cpp -P embed_text.cmake: the PTX as a C++ string.
file(READ ${IN} text)
file(WRITE ${OUT} "#include \"driver_api.h\"\nnamespace lathe::cuda {\nconst char* const kKernelsPtx = R\"PTX(${text})PTX\";\n}\n")
