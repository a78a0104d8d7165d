# The documentation as pages, for the daemon and as files. Without Python-Markdown there are none.
set(SITE ${PROJECT_BINARY_DIR}/site)
set(python /usr/bin/python3) # the system's: it has the system's packages
execute_process(COMMAND ${python} -c "import markdown" RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
if(missing)
    message(STATUS "Python-Markdown is not installed: the daemon has no documentation at /docs/")
    file(WRITE ${SITE}/site_files.def "")
else()
    file(GLOB pages CONFIGURE_DEPENDS *.md docs/*.md docs/*.svg docs/*/*.svg docs/*/*.png)
    add_custom_command(OUTPUT ${SITE}/site_files.def
        COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/make_site.py ${PROJECT_SOURCE_DIR}
            ${PROJECT_SOURCE_DIR}/docs/openapi.json ${SITE}
        DEPENDS docs/site/make_site.py docs/site/site.css clients/web/style.css docs/openapi.json ${pages}
        COMMENT "Writing the documentation's pages" VERBATIM)
    install(DIRECTORY ${SITE}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html PATTERN "*.def" EXCLUDE)
endif()
