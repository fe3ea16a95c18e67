# ftc_check(NAME [SOURCES file...] [LIBRARIES target...] [LABELS label...] [TIMEOUT seconds])
# Add a Check suite in test_NAME.c (and more sources), and register it with ctest as NAME.
function(ftc_check name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
    add_executable(test_${name} test_${name}.c ${ARG_SOURCES})
    target_link_libraries(test_${name} PRIVATE ${ARG_LIBRARIES} PkgConfig::CHECK Threads::Threads m)
    add_test(NAME ${name} COMMAND test_${name})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 300)
    endif()
    # The limit of ctest replaces that of Check: 4 s are too short on a loaded machine.
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT CK_DEFAULT_TIMEOUT=${ARG_TIMEOUT})
    if(ARG_LABELS)
        set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
    endif()
endfunction()

# ftc_fuzz(NAME LIBRARIES target...)
# Add a libFuzzer target in fuzz_NAME.c. It is built with FTC_FUZZ only.
function(ftc_fuzz name)
    cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
    if(NOT FTC_FUZZ)
        return()
    endif()
    add_executable(fuzz_${name} fuzz_${name}.c)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
    target_link_libraries(fuzz_${name} PRIVATE ${ARG_LIBRARIES})
    add_dependencies(fuzzers fuzz_${name})
endfunction()

# This target builds all fuzzers. Nothing else of a build with FTC_FUZZ can be linked.
add_custom_target(fuzzers)
