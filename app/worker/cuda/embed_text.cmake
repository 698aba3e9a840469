# cmake -DIN=kernels.ptx -DOUT=kernels_ptx.cpp -DNAME=kKernelsPtx [-DHEADER=driver_api.h] -P embed_text.cmake:
# the PTX as a C++ string in namespace lathe::cuda.
file(READ ${IN} text)
set(include "")
if(HEADER)
  set(include "#include \"${HEADER}\"\n")
endif()
file(WRITE ${OUT} "${include}namespace lathe::cuda {\nextern const char* const ${NAME};\nconst char* const ${NAME} = R\"PTX(${text})PTX\";\n}\n")
