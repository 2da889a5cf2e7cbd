# Read by CMake at the project() call of llama-cpp-python (CMAKE_PROJECT_llama_cpp_INCLUDE; the Makefile sets it).
#
# llama-cpp-python forces llama.cpp's "common" library into its build by writing the *cache* variable. A normal variable
# of the same name wins over the cache (CMake policy CMP0126), so this line leaves out about a third of the sources.
# textcall loads libllama and libggml alone and needs nothing of "common".
set(LLAMA_BUILD_COMMON OFF)
