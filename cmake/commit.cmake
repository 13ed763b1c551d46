# The commit of the sources as C, for the results of benchmarks. Runs as a script at every build:
#
#     cmake -D source=FOLDER -D output=commit.c -P cmake/commit.cmake

cmake_minimum_required(VERSION 3.22)
find_package(Git QUIET)
set(commit "")
if(GIT_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
        WORKING_DIRECTORY "${source}" OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT "${output}" CONTENT "#include \"result.h\"\nconst char cal_commit[] = \"${commit}\";\n")
