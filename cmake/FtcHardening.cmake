# Debian wants binaries in packages to be hardened and free of paths of the build machine.
add_compile_options(-fstack-protector-strong -Wformat -Werror=format-security -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
# _FORTIFY_SOURCE needs optimisation. Some compilers set a level of their own, so it is unset first.
add_compile_options("$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|i.86)$")
    add_compile_options(-fcf-protection)
endif()
add_link_options(-Wl,-z,relro,-z,now)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_SKIP_INSTALL_RPATH ON)

# The PMIx of Debian asks for an rpath to its own folder. The usual folder has the library too.
function(ftc_forget_rpath target)
    get_target_property(options ${target} INTERFACE_LINK_OPTIONS)
    if(options)
        list(FILTER options EXCLUDE REGEX "rpath")
        list(FILTER options EXCLUDE REGEX "^-Wl,/")
        set_target_properties(${target} PROPERTIES INTERFACE_LINK_OPTIONS "${options}")
    endif()
endfunction()
