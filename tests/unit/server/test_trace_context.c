/* test_trace_context.c - which traceparent headers are well-formed. */
#include "core/trace_context.h"
#include "support/test.h"

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

Test(trace_context, the_id_of_a_well_formed_header_is_read)
{
    static const char *const good[] = {"00-" TRACE "-" PARENT "-01", "00-" TRACE "-" PARENT "-00",
                                       "00-" TRACE "-" PARENT "-ff", "01-" TRACE "-" PARENT "-01",
                                       "01-" TRACE "-" PARENT "-01-what the future brings"};

    for (size_t i = 0; i < COUNT(good); i++) {
        char id[SV_TRACE_ID_BYTES] = "x";
        cr_expect(sv_trace_id_read(good[i], id), "%s", good[i]);
        cr_expect_str_eq(id, TRACE);
    }
}

Test(trace_context, anything_else_is_ignored)
{
    static const char *const bad[] = {
        NULL,
        "",
        "00",
        "00-" TRACE "-" PARENT,
        "00-" TRACE "-" PARENT "-0",
        "00-" TRACE "-" PARENT "-01 ",
        "00-" TRACE "-" PARENT "-01-more",
        "00-" TRACE "-" PARENT "-0g",
        "01-" TRACE "-" PARENT "-01more",
        "ff-" TRACE "-" PARENT "-01",
        "0x-" TRACE "-" PARENT "-01",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "_" PARENT "-01",
        "00-" TRACE "-" PARENT "_01",
        "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c8031-9c-" PARENT "-01",
        "00-" TRACE "-b7ad6b716920333-1-01",
        " 00-" TRACE "-" PARENT "-01",
    };

    for (size_t i = 0; i < COUNT(bad); i++) {
        char id[SV_TRACE_ID_BYTES] = "x";
        cr_expect_not(sv_trace_id_read(bad[i], id), "%s", bad[i]);
        cr_expect_str_eq(id, "");
    }
}
