# SUNDIALS CVODE with serial vectors, dense and Krylov linear solvers, as Cvode::Cvode. Looked up file by file, because
# SUNDIALS' own package file also demands MPI, OpenMP and whatever else it was built with.
include(FindPackageHandleStandardArgs)

find_path(Cvode_INCLUDE_DIR cvode/cvode.h)
set(Cvode_LIBRARIES)
set(required Cvode_INCLUDE_DIR)
foreach(part cvode nvecserial sunmatrixdense sunlinsoldense sunlinsolspgmr)
    find_library(Cvode_${part}_LIBRARY sundials_${part})
    list(APPEND Cvode_LIBRARIES ${Cvode_${part}_LIBRARY})
    list(APPEND required Cvode_${part}_LIBRARY)
    mark_as_advanced(Cvode_${part}_LIBRARY)
endforeach()
mark_as_advanced(Cvode_INCLUDE_DIR)

set(Cvode_FIND_QUIETLY TRUE)
find_package_handle_standard_args(Cvode REQUIRED_VARS ${required})
if(Cvode_FOUND AND NOT TARGET Cvode::Cvode)
    add_library(Cvode::Cvode INTERFACE IMPORTED)
    set_target_properties(Cvode::Cvode PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${Cvode_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${Cvode_LIBRARIES}")
endif()
