# The pieces of Debian packages: a component per package of debian/control, made of shared libraries of the same objects as everything
# else. `make deb` builds calder_packages, and debian/rules packs it.

if(NOT CMAKE_LIBRARY_ARCHITECTURE)
    return() # not Debian, nor a relative
endif()
set(deb_libdir "lib/${CMAKE_LIBRARY_ARCHITECTURE}")

# The command on the shared libraries: one that needs neither MPI nor CUDA, one for mpirun, and one for GPUs.
function(add_packaged_command target output)
    # What knows of machines that are libraries of their own, and of peers, is compiled anew, without them: packages have neither.
    add_executable(${target} EXCLUDE_FROM_ALL cli/main.c cli/machine.c bench/forward.c bench/precision_peers.c
        $<TARGET_OBJECTS:calder_command_objects>
        $<FILTER:$<FILTER:$<TARGET_OBJECTS:calder_bench>,EXCLUDE,/forward\\.c>,EXCLUDE,/precision_peers\\.c>)
    add_dependencies(${target} calder_bench)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/packaged")
    target_include_directories(${target} PRIVATE cli bench "${PROJECT_BINARY_DIR}/bench")
    target_link_libraries(${target} PRIVATE calder_shared calder_view_shared ${ARGN} calder_settings Threads::Threads m)
    if(Jansson_FOUND)
        target_link_libraries(${target} PRIVATE Jansson::Jansson)
        target_compile_definitions(${target} PRIVATE CALDER_HAVE_JANSSON)
    endif()
endfunction()

add_packaged_command(calder_packaged calder)
set(packaged calder_shared calder_view_shared calder_packaged calder_command)
calder_install_development(libdir ${deb_libdir} development libcalder-dev)
calder_install_library(calder_shared calder libdir ${deb_libdir} runtime libcalder0.1 development libcalder-dev)
calder_install_library(calder_view_shared calder_view libdir ${deb_libdir} runtime libcalder-view0.1 development libcalder-dev)
install(DIRECTORY samples/ DESTINATION share/doc/libcalder-dev/examples COMPONENT libcalder-dev EXCLUDE_FROM_ALL)
install(TARGETS calder_packaged RUNTIME DESTINATION bin COMPONENT calder EXCLUDE_FROM_ALL)
set(of_command COMPONENT calder EXCLUDE_FROM_ALL)
install(DIRECTORY "${manual_dir}/man" DESTINATION share ${of_command})
install(FILES "${manual_dir}/completion/calder" DESTINATION share/bash-completion/completions ${of_command})
install(FILES "${manual_dir}/completion/_calder" DESTINATION share/zsh/vendor-completions ${of_command})
install(FILES "${manual_dir}/completion/calder.fish" DESTINATION share/fish/vendor_completions.d ${of_command})

if(TARGET calder_mpi)
    add_packaged_command(calder_packaged_mpi calder-mpi calder_mpi_shared)
    target_compile_definitions(calder_packaged_mpi PRIVATE CALDER_HAVE_MPI)
    list(APPEND packaged calder_mpi_shared calder_packaged_mpi)
    calder_install_library(calder_mpi_shared calder_mpi libdir ${deb_libdir} runtime libcalder-mpi0.1 development libcalder-mpi-dev)
    install(FILES include/calder/calder_mpi.h DESTINATION include/calder COMPONENT libcalder-mpi-dev EXCLUDE_FROM_ALL)
    install(TARGETS calder_packaged_mpi RUNTIME DESTINATION bin COMPONENT calder-mpi EXCLUDE_FROM_ALL)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/packaged/calder-mpi.1" ".so man1/calder.1\n")
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/packaged/calder-mpi.1" DESTINATION share/man/man1 COMPONENT calder-mpi EXCLUDE_FROM_ALL)
endif()

# Packages that a build may have or not: debian/rules leaves out the others.
set(optional_packages "")
if(TARGET calder_cuda)
    add_packaged_command(calder_packaged_cuda calder-cuda calder_cuda_shared)
    target_compile_definitions(calder_packaged_cuda PRIVATE CALDER_HAVE_CUDA)
    list(APPEND packaged calder_cuda_shared calder_packaged_cuda)
    list(APPEND optional_packages libcalder-cuda0.1 libcalder-cuda-dev calder-cuda)
    calder_install_library(calder_cuda_shared calder_cuda libdir ${deb_libdir} runtime libcalder-cuda0.1 development libcalder-cuda-dev)
    install(FILES include/calder/calder_cuda.h DESTINATION include/calder COMPONENT libcalder-cuda-dev EXCLUDE_FROM_ALL)
    install(TARGETS calder_packaged_cuda RUNTIME DESTINATION bin COMPONENT calder-cuda EXCLUDE_FROM_ALL)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/packaged/calder-cuda.1" ".so man1/calder.1\n")
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/packaged/calder-cuda.1" DESTINATION share/man/man1 COMPONENT calder-cuda
        EXCLUDE_FROM_ALL)
endif()

if(CALDER_BUILD_PYTHON)
    set(of_python DESTINATION lib/python3/dist-packages/calder COMPONENT python3-calder EXCLUDE_FROM_ALL)
    list(APPEND packaged calder_python)
    install(TARGETS calder_python LIBRARY ${of_python})
    file(GLOB package_files CONFIGURE_DEPENDS python/calder/*.py python/calder/*.pyi python/calder/py.typed)
    install(FILES ${package_files} ${of_python})
    if(TARGET calder_python_mpi)
        install(TARGETS calder_python_mpi LIBRARY DESTINATION lib/python3/dist-packages/calder COMPONENT python3-calder-mpi
            EXCLUDE_FROM_ALL)
    endif()
    if(TARGET calder_python_cuda)
        install(TARGETS calder_python_cuda LIBRARY DESTINATION lib/python3/dist-packages/calder COMPONENT python3-calder-cuda
            EXCLUDE_FROM_ALL)
        list(APPEND optional_packages python3-calder-cuda)
    endif()
endif()
list(JOIN optional_packages "\n" optional_packages)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/packaged/optional" "${optional_packages}\n")
add_custom_target(calder_packages)
add_dependencies(calder_packages ${packaged})
