# Tests the installed package: cmake -D build=… -D source=… -D config=… -D work=… -D compiler=… -D pkg_config=… -P package.cmake

function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(result)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "${command}\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${work}")
run("${CMAKE_COMMAND}" --install "${build}" --config "${config}" --prefix "${work}/prefix")

run("${CMAKE_COMMAND}" -S "${source}" -B "${work}/cmake" "-DCMAKE_PREFIX_PATH=${work}/prefix"
    "-DCMAKE_C_COMPILER=${compiler}")
run("${CMAKE_COMMAND}" --build "${work}/cmake")
run("${work}/cmake/many")
run("${work}/cmake/first")
set(expected "${output}")

if(pkg_config)
    file(GLOB_RECURSE pc_file "${work}/prefix/calder.pc")
    get_filename_component(pc_dir "${pc_file}" DIRECTORY)
    set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
    run("${pkg_config}" --cflags --libs calder)
    string(STRIP "${output}" flags)
    separate_arguments(flags UNIX_COMMAND "${flags}")
    run("${compiler}" "${source}/first.c" -o "${work}/first" ${flags})
    run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${pc_dir}/.." "${work}/first")
    if(NOT output STREQUAL expected)
        message(FATAL_ERROR "find_package and pkg-config gave programs that differ:\n${expected}\n${output}")
    endif()
endif()

file(GLOB command "${work}/prefix/bin/calder")
if(command)
    run("${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${work}/prefix/lib" "${command}" info pendulum)
endif()
