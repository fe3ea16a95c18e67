# The order of the tests where several run at once. First come, one at a time, the tests whose
# agents have leases of some seconds: they mostly wait (ftc_has_leases() in tests/CMakeLists.txt).
# Beside them run the tests with the label protocol, which only compute and have no deadlines. They
# do it at a low priority, so they keep no agent from its core.
set(FTC_COST_LEASES 2000)
set(FTC_COST_COMPUTES 1000)
set(FTC_NICE nice -n 10)

# ftc_check(NAME [SOURCES file...] [LIBRARIES target...] [LABELS label...] [TIMEOUT seconds])
# Add a Check suite in test_NAME.c (and more sources), and register it with ctest as NAME.
function(ftc_check name)
    cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
    add_executable(test_${name} test_${name}.c ${ARG_SOURCES})
    target_link_libraries(test_${name} PRIVATE ${ARG_LIBRARIES} PkgConfig::CHECK Threads::Threads m)
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 300)
    endif()
    set(nice)
    if(protocol IN_LIST ARG_LABELS)
        set(nice ${FTC_NICE})
        math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
    endif()
    add_test(NAME ${name} COMMAND ${nice} $<TARGET_FILE:test_${name}>)
    # The limit of ctest replaces that of Check: 4 s are too short on a loaded machine.
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT}
        ENVIRONMENT "CK_DEFAULT_TIMEOUT=${ARG_TIMEOUT};CK_TIMEOUT_MULTIPLIER=3")
    if(ARG_LABELS)
        set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
    endif()
    if(nice)
        set_tests_properties(${name} PROPERTIES COST ${FTC_COST_COMPUTES})
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
