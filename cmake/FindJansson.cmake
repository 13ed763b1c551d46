# jansson, as Jansson::Jansson.
include(FindPackageHandleStandardArgs)

find_path(Jansson_INCLUDE_DIR jansson.h)
find_library(Jansson_LIBRARY jansson)
mark_as_advanced(Jansson_INCLUDE_DIR Jansson_LIBRARY)

set(Jansson_FIND_QUIETLY TRUE)
find_package_handle_standard_args(Jansson REQUIRED_VARS Jansson_LIBRARY Jansson_INCLUDE_DIR)
if(Jansson_FOUND AND NOT TARGET Jansson::Jansson)
    add_library(Jansson::Jansson INTERFACE IMPORTED)
    set_target_properties(Jansson::Jansson PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${Jansson_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${Jansson_LIBRARY}")
endif()
