# What a shared library shows: what the public headers declare, under the version CALDER_<major>.<minor>, and what is marked
# CAL_FOR_PARTS, under CALDER_PRIVATE. Everything else is compiled hidden (settings.cmake), and the headers say what is not.

function(calder_write_versions output)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS src/*.h)
    set(private "")
    foreach(header IN LISTS headers)
        file(STRINGS "${header}" marked REGEX "^CAL_FOR_PARTS .*cal_[a-z0-9_]+\\(")
        foreach(line IN LISTS marked)
            string(REGEX REPLACE "^[^(]*(cal_[a-z0-9_]+)\\(.*" "\\1" name "${line}")
            string(APPEND private " ${name};")
        endforeach()
    endforeach()
    set(public "CALDER_@PROJECT_VERSION_MAJOR@.@PROJECT_VERSION_MINOR@ { global: cal_*; local: *; };\n")
    file(CONFIGURE OUTPUT "${output}/calder.map" @ONLY CONTENT "CALDER_PRIVATE { global:${private} };\n${public}")
    file(CONFIGURE OUTPUT "${output}/part.map" @ONLY CONTENT "${public}")
endfunction()

set(calder_versions "${CMAKE_CURRENT_BINARY_DIR}/versions")
calder_write_versions("${calder_versions}")

# Number and soname of a library of ours, and what it shows.
function(calder_set_soname target)
    set_target_properties(${target} PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        DEFINE_SYMBOL "") # shared or not, the same objects
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY" AND NOT APPLE AND NOT CALDER_SHOW_INSIDE)
        set(map "${calder_versions}/part.map")
        if(target MATCHES "^calder(_shared)?$")
            set(map "${calder_versions}/calder.map")
        endif()
        target_link_options(${target} PRIVATE "LINKER:--version-script=${map}")
        if(NOT CALDER_SANITIZE)
            target_link_options(${target} PRIVATE "LINKER:--no-undefined")
        endif()
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${map}")
    endif()
endfunction()

# NAME_shared: the shared library of the objects that a static one has, for the Python module and for packages. They lie in the
# Python package's folder, so that it is whole: everything there finds everything else beside itself.
set(calder_shared_dir "${PROJECT_BINARY_DIR}/python/calder")
function(calder_add_shared target)
    add_library(${target}_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}>)
    get_target_property(lanes ${target} CALDER_LANES)
    if(lanes)
        target_sources(${target}_shared PRIVATE ${lanes})
    endif()
    target_link_libraries(${target}_shared ${ARGN})
    target_include_directories(${target}_shared
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${target}_shared PROPERTIES OUTPUT_NAME ${target} EXPORT_NAME ${target} LINKER_LANGUAGE C
        LIBRARY_OUTPUT_DIRECTORY "${calder_shared_dir}" BUILD_RPATH_USE_ORIGIN ON)
    calder_set_soname(${target}_shared)
endfunction()
