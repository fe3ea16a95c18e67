# What Debian wants of binaries in packages: hardened, and without paths of the machine that they were built on.
add_compile_options(-fstack-protector-strong -Wformat -Werror=format-security -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
# It takes an optimiser. Some compilers have a level of their own.
add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|i.86)$")
    add_compile_options(-fcf-protection)
endif()
add_link_options(-Wl,-z,relro,-z,now)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_SKIP_INSTALL_RPATH ON)

# The PMIx of Debian asks for a path to its own folder; the library is in the usual one, too.
function(ftc_forget_rpath target)
    get_target_property(options ${target} INTERFACE_LINK_OPTIONS)
    if(options)
        list(FILTER options EXCLUDE REGEX "rpath")
        list(FILTER options EXCLUDE REGEX "^-Wl,/")
        set_target_properties(${target} PROPERTIES INTERFACE_LINK_OPTIONS "${options}")
    endif()
endfunction()
