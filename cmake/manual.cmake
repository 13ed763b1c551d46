# Manual pages and completion, which the command itself prints: written after it is built, and installed beside it.
set(manual_dir "${CMAKE_CURRENT_BINARY_DIR}/manual")
if(CMAKE_CROSSCOMPILING)
    message(STATUS "Manual pages and completion are left out: the command, which prints them, is built for another machine")
    return()
endif()
add_custom_command(TARGET calder_command POST_BUILD
    COMMAND ${CMAKE_COMMAND} -D "command=$<TARGET_FILE:calder_command>" -D "output=${manual_dir}"
        -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/write_manual.cmake"
    VERBATIM)
install(DIRECTORY "${manual_dir}/man" DESTINATION "${CMAKE_INSTALL_DATADIR}" OPTIONAL)
install(FILES "${manual_dir}/completion/calder" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" OPTIONAL)
install(FILES "${manual_dir}/completion/_calder" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" OPTIONAL)
install(FILES "${manual_dir}/completion/calder.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" OPTIONAL)
