# How all of Calder's own code is compiled: calder_settings carries it to the targets.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # vector types
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin") # the command finds the peers beside itself
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The same objects make static libraries, shared ones and the Python module. Outside only what public headers declare is seen, and
# without interposition a compiler inlines as it does elsewhere.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CALDER_SHOW_INSIDE)
    set(CMAKE_C_VISIBILITY_PRESET hidden)
    set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
endif()
add_compile_options(-fno-semantic-interposition)

# One answer from every compiler and at every optimisation level: a fused multiply-add is where the source says so and
# nowhere else.
add_library(calder_settings INTERFACE)
# -Wno-psabi: lanes and vectors of four never cross the library's border, so how they would be passed is nobody's concern; gcc says it
# whatever a file asks for.
target_compile_options(calder_settings INTERFACE
    -ffp-contract=off -fno-math-errno
    -Wall -Wextra -Wshadow "$<$<COMPILE_LANGUAGE:C>:-Wpedantic;-Wconversion;-Wno-psabi>"
    $<$<BOOL:${CALDER_WARNINGS_AS_ERRORS}>:-Werror>)

# gcc's vectoriser makes one fused instruction (vfmaddsub) of products whose sums and differences alternate, whatever -ffp-contract says
# (seen with gcc 12). Where the user's flags allow fused instructions in all code (-march=native), plain code is not vectorised; lanes are
# written out, and tests/libm_functions.sh looks for the instruction in them.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    include(CheckCSourceCompiles)
    check_c_source_compiles("#ifndef __FMA__\n#error none\n#endif\nint main(void) { return 0; }" CALDER_FUSES_EVERYWHERE)
    if(CALDER_FUSES_EVERYWHERE)
        target_compile_options(calder_settings INTERFACE -fno-tree-vectorize)
    endif()
endif()

# On i686 gcc computes in x87 registers, with more bits than numbers in memory have; SSE2 has doubles.
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(i.86|x86|x86_64|AMD64)$")
    target_compile_options(calder_settings INTERFACE -msse2 -mfpmath=sse)
endif()

if(CALDER_SANITIZE)
    list(JOIN CALDER_SANITIZE "," sanitizers)
    target_compile_options(calder_settings INTERFACE
        "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:CALDER_PLAIN>>>:-fsanitize=${sanitizers};-fno-sanitize-recover=all>"
        -fno-omit-frame-pointer $<$<CONFIG:Release>:-g1>)
    target_link_options(calder_settings INTERFACE -fsanitize=${sanitizers})
endif()

# Kernels: what undefined behaviour there is ends in an illegal instruction, of which the address sanitizer shows the stack. Calls that print
# what it was are in each of their lines, and compile for a fifth longer.
add_library(calder_kernel_settings INTERFACE)
target_link_libraries(calder_kernel_settings INTERFACE calder_settings)
if("undefined" IN_LIST CALDER_SANITIZE)
    set(trap -fsanitize-trap=undefined)
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        set(trap -fsanitize-undefined-trap-on-error)
    endif()
    target_compile_options(calder_kernel_settings INTERFACE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:CALDER_PLAIN>>>:${trap}>")
endif()
