# The GPU's library: C for the host's side, and kernels (*.cu) that nvcc compiles at width 32 from the sources of the lane kernels.
# Emulated, the host's C compiler takes the same files, and a launch is a loop over all threads: what tests run everywhere.

set(CALDER_CUDA "auto" CACHE STRING "GPUs: auto (where nvcc is found), off, or emulate (the GPU's code on the host, for tests)")
set_property(CACHE CALDER_CUDA PROPERTY STRINGS auto off emulate)

function(calder_add_cuda target emulated)
    file(GLOB host_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cuda/*.c)
    file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cuda/*.cu)
    add_library(${target}_kernels OBJECT ${kernels})
    add_library(${target} ${host_sources} $<TARGET_OBJECTS:${target}_kernels>)
    foreach(part ${target} ${target}_kernels)
        target_include_directories(${part} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    endforeach()
    target_link_libraries(${target} PUBLIC calder PRIVATE $<BUILD_INTERFACE:calder_settings>)
    if(emulated)
        target_compile_definitions(${target} PRIVATE CAL_CUDA_EMULATED)
        target_compile_definitions(${target}_kernels PRIVATE CAL_CUDA_EMULATED)
        set_source_files_properties(${kernels} PROPERTIES LANGUAGE C)
        target_link_libraries(${target}_kernels PRIVATE calder_kernel_settings)
        # A file of kernels has no use for all that it includes, and a thread's loop over its one lane does begin.
        target_compile_options(${target}_kernels PRIVATE -Wno-unused-function $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    else()
        # Only the written multiply-adds fuse.
        target_compile_options(${target}_kernels PRIVATE -fmad=false -diag-suppress=550
            -Xcompiler=-ffp-contract=off,-Wno-enum-compare)
        target_link_libraries(${target} PRIVATE CUDA::cudart_static)
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY" OR CMAKE_POSITION_INDEPENDENT_CODE)
        set_target_properties(${target}_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
endfunction()
