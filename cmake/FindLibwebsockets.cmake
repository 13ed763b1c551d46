# libwebsockets, as Libwebsockets::Libwebsockets.
include(FindPackageHandleStandardArgs)

find_path(Libwebsockets_INCLUDE_DIR libwebsockets.h)
find_library(Libwebsockets_LIBRARY websockets)
mark_as_advanced(Libwebsockets_INCLUDE_DIR Libwebsockets_LIBRARY)

set(Libwebsockets_FIND_QUIETLY TRUE)
find_package_handle_standard_args(Libwebsockets REQUIRED_VARS Libwebsockets_LIBRARY Libwebsockets_INCLUDE_DIR)
if(Libwebsockets_FOUND AND NOT TARGET Libwebsockets::Libwebsockets)
    add_library(Libwebsockets::Libwebsockets INTERFACE IMPORTED)
    # Its headers are not ours to warn about.
    set_target_properties(Libwebsockets::Libwebsockets PROPERTIES
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${Libwebsockets_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES "${Libwebsockets_LIBRARY}")
endif()
