# The viewer's page: web/ built by npm into one HTML file, and that file as C. Runs as a script at build time:
#
#     cmake -D npm=… -D source=web -D work=FOLDER -D output=page.c -P cmake/page.cmake
#
# Where npm is missing or cannot fetch its packages, the page is empty, and one line says so.

function(write_page file)
    set(bytes "")
    set(size 0)
    if(file)
        file(READ "${file}" bytes HEX)
        file(SIZE "${file}" size)
        # 32 bytes a line.
        string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    else()
        set(bytes "0")
    endif()
    file(WRITE "${output}.new" "#include \"view/page.h\"\nconst size_t cal_page_size = ${size};\n"
        "const unsigned char cal_page[] = {\n${bytes}\n};\n")
    file(COPY_FILE "${output}.new" "${output}" ONLY_IF_DIFFERENT)
    file(REMOVE "${output}.new")
endfunction()

if(NOT npm)
    write_page("")
    return()
endif()

# node_modules stays beside the sources, where tests and editors look for it; it is fetched again when the lock changes.
file(SHA256 "${source}/package-lock.json" lock)
set(stamp "${source}/node_modules/.calder-lock")
set(known "")
if(EXISTS "${stamp}")
    file(READ "${stamp}" known)
endif()
set(log "${work}/npm.log")
file(MAKE_DIRECTORY "${work}")
if(NOT known STREQUAL lock)
    execute_process(COMMAND ${npm} ci --no-audit --no-fund --loglevel=error WORKING_DIRECTORY "${source}"
        RESULT_VARIABLE failed OUTPUT_FILE "${log}" ERROR_FILE "${log}")
    if(failed)
        message(WARNING "The viewer's page is left out: npm could not fetch its packages (${log})")
        write_page("")
        return()
    endif()
    file(WRITE "${stamp}" "${lock}")
endif()
# The page of these sources is built once for all build folders.
file(GLOB inputs "${source}/*.html" "${source}/*.ts" "${source}/*.json")
file(GLOB_RECURSE parts "${source}/src/*")
list(APPEND inputs ${parts})
set(sums "")
foreach(input IN LISTS inputs)
    file(SHA256 "${input}" sum)
    string(APPEND sums "${input} ${sum}\n")
endforeach()
string(SHA256 key "${sums}")
set(built "${source}/node_modules/.calder-page-${key}.html")
if(NOT EXISTS "${built}")
    execute_process(COMMAND ${npm} run --silent build -- --outDir "${work}/dist" --emptyOutDir WORKING_DIRECTORY "${source}"
        RESULT_VARIABLE failed OUTPUT_FILE "${log}" ERROR_FILE "${log}")
    if(failed)
        file(READ "${log}" text)
        message(FATAL_ERROR "The viewer's page does not build:\n${text}")
    endif()
    file(GLOB before "${source}/node_modules/.calder-page-*.html")
    if(before)
        file(REMOVE ${before})
    endif()
    file(COPY_FILE "${work}/dist/index.html" "${built}.new")
    file(RENAME "${built}.new" "${built}")
endif()
write_page("${built}")
