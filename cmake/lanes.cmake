# The lane kernels: one source, compiled once for each width of lanes and each set of instructions.
#
# Each compilation sees CAL_WIDTH (1, 2, 4, 8) and CAL_KERNEL_SUFFIX (_w1, _w1_fma, _w2, _w4, _w8), which keeps their
# symbols apart. On x86-64 all but _w1 use instructions that the processor may lack: the library asks it before it calls
# them. On other processors everything is compiled for the plain one, there is no _w1_fma, and CAL_PORTABLE_LANES is
# defined for the kernels and for the library. Lanes that are wider than a register of theirs (16 bytes) are never the fastest, and
# are there so that every width can be chosen everywhere: -O1, since gcc takes minutes per file to optimise their pieces.

function(calder_add_lanes target)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
        set(variants w1 w1_fma w2 w4 w8)
        set(flags_w1)
        set(flags_w1_fma -mavx2 -mfma)
        set(flags_w2 ${flags_w1_fma})
        set(flags_w4 ${flags_w1_fma})
        set(flags_w8 ${flags_w1_fma} -mavx512f -mavx512dq -mavx512vl)
    else()
        set(variants w1 w2 w4 w8)
        # At -O1 gcc does not see that a loop over lanes writes all of them.
        set(flags_w2 $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
        set(flags_w4 $<$<NOT:$<CONFIG:Debug>>:-O1> ${flags_w2})
        set(flags_w8 ${flags_w4})
        target_compile_definitions(${target} PRIVATE CAL_PORTABLE_LANES)
    endif()
    if(NOT ARGN)
        return()
    endif()
    # gcc 12 sees at -O3 that a loop over lanes writes all of them, and not at -O2.
    set(unseen "")
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT CALDER_LANES_OPTIMIZATION STREQUAL "-O3")
        set(unseen -Wno-maybe-uninitialized)
    endif()
    foreach(variant IN LISTS variants)
        string(REGEX MATCH "[0-9]+" width ${variant})
        set(kernels ${target}_lanes_${variant})
        if(CALDER_PLAIN_LANES AND CALDER_SANITIZE_LANES AND NOT variant IN_LIST CALDER_SANITIZE_LANES)
            list(TRANSFORM ARGN REPLACE "^${PROJECT_SOURCE_DIR}/(.+)" "${CALDER_PLAIN_LANES}/CMakeFiles/${kernels}.dir/\\1.o"
                OUTPUT_VARIABLE objects)
            target_sources(${target} PRIVATE ${objects})
            set_property(TARGET ${target} APPEND PROPERTY CALDER_LANES ${objects})
            continue()
        endif()
        add_library(${kernels} OBJECT ${ARGN})
        target_include_directories(${kernels} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
        target_compile_definitions(${kernels} PRIVATE
            $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS> CAL_WIDTH=${width} CAL_KERNEL_SUFFIX=_${variant})
        # gcc's second scheduling and its packing of scalars cost the kernels 3 to 6 % (more registers spilled).
        # -Wno-psabi: lanes never cross the library's border, so how wide ones would be passed is nobody's concern.
        target_compile_options(${kernels} PRIVATE
            $<$<NOT:$<CONFIG:Debug>>:${CALDER_LANES_OPTIMIZATION}> ${flags_${variant}} ${unseen} -Wno-psabi
            $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns2> $<$<C_COMPILER_ID:GNU>:-fno-tree-slp-vectorize>)
        # Fuzzers are after readers: kernels, which read nothing, are left alone, and compile in seconds instead of minutes.
        set(plain "${CALDER_BUILD_FUZZERS}")
        if(CALDER_SANITIZE_LANES AND NOT variant IN_LIST CALDER_SANITIZE_LANES)
            set(plain ON)
        endif()
        set_target_properties(${kernels} PROPERTIES CALDER_PLAIN "${plain}")
        target_link_libraries(${kernels} PRIVATE calder_kernel_settings)
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${kernels}>)
        set_property(TARGET ${target} APPEND PROPERTY CALDER_LANES $<TARGET_OBJECTS:${kernels}>)
    endforeach()
endfunction()
