# A table of numbers as rows of C. Runs as a script at build time:
#
#     cmake -D table=NAME.csv -D output=NAME.inc -P cmake/table.cmake
#
# The table: comments (#), a line of column names, and a line per row; texts are in quotation marks, an empty cell is
# zero. A row becomes a designated initializer: what includes the rows has a member for each column.

cmake_minimum_required(VERSION 3.22)
file(STRINGS "${table}" lines ENCODING UTF-8 REGEX "^[^#]")
list(POP_FRONT lines header)
string(REPLACE "," ";" columns "${header}")
set(rows "// From ${table}.\n")
foreach(line IN LISTS lines)
    set(row "")
    foreach(column IN LISTS columns)
        if(NOT line MATCHES "^(\"[^\"]*\"|[^\",]*)(,|$)")
            message(FATAL_ERROR "${table}: no ${column} in the row that ends in: ${line}")
        endif()
        set(cell "${CMAKE_MATCH_1}")
        string(LENGTH "${CMAKE_MATCH_0}" length)
        string(SUBSTRING "${line}" ${length} -1 line)
        if(NOT cell STREQUAL "")
            string(APPEND row ".${column} = ${cell}, ")
        endif()
    endforeach()
    if(NOT line STREQUAL "")
        message(FATAL_ERROR "${table}: a row has more cells than there are columns: ${line}")
    endif()
    string(APPEND rows "{${row}},\n")
endforeach()
file(WRITE "${output}" "${rows}")
