# What `cmake --install` leaves behind: headers, the library, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/calder")
install(TARGETS calder EXPORT calder-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/calder DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT calder-targets NAMESPACE calder:: DESTINATION ${package_dir})

# find_package(calder COMPONENTS mpi) brings calder::calder_mpi as well.
if(TARGET calder_mpi)
    install(TARGETS calder_mpi EXPORT calder-mpi-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT calder-mpi-targets NAMESPACE calder:: DESTINATION ${package_dir})
endif()

# find_package(calder COMPONENTS view) brings calder::calder_view.
install(TARGETS calder_view EXPORT calder-view-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT calder-view-targets NAMESPACE calder:: DESTINATION ${package_dir})
set(view_dependencies)
if(Libwebsockets_FOUND AND Jansson_FOUND)
    set(view_dependencies "find_dependency(Threads)\n    find_dependency(Jansson)\n    find_dependency(Libwebsockets)\n    ")
    install(FILES cmake/FindJansson.cmake cmake/FindLibwebsockets.cmake DESTINATION ${package_dir})
endif()

# The users of a static library link what it uses; a shared one brings it along.
get_target_property(type calder TYPE)
set(config_dependencies)
set(pc_libraries)
if(type STREQUAL "STATIC_LIBRARY")
    set(config_dependencies "find_dependency(Threads)\n")
    set(pc_libraries "-pthread")
    if(Cvode_FOUND)
        string(APPEND config_dependencies "find_dependency(Cvode)\n")
        install(FILES cmake/FindCvode.cmake DESTINATION ${package_dir})
        list(PREPEND pc_libraries ${Cvode_LIBRARIES})
    endif()
    if(EXPAT_FOUND)
        string(APPEND config_dependencies "find_dependency(EXPAT)\n")
        list(PREPEND pc_libraries "-lexpat")
    endif()
    list(APPEND pc_libraries "-lm")
    list(JOIN pc_libraries " " pc_libraries)
endif()

configure_package_config_file(cmake/calder-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/calder-config.cmake"
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/calder-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/calder-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/calder-config-version.cmake"
    DESTINATION ${package_dir})

# `cmake --install --prefix` may choose another place than was configured, so the file says where things are from itself.
set(pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_to_libraries "${pc_dir}" "${CMAKE_INSTALL_FULL_LIBDIR}")
file(RELATIVE_PATH pc_to_headers "${pc_dir}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(cmake/calder.pc.in "${CMAKE_CURRENT_BINARY_DIR}/calder.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/calder.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
