/* test_similar_labels.c - which labels are probably one, in any alphabet. */
#include "cli/evaluation/similar_labels.h"
#include "support/test.h"

#include <string.h>

static const struct {
    const char *one, *other;
    bool are_similar;
} cases[] = {
    {"food", "FOOD", true},
    {"food", " Fo_od\t", true},
    {"\xD0\xB5\xD0\xB4\xD0\xB0", "\xD0\x95\xD0\x94\xD0\x90", true}, /* Cyrillic */
    {"\xCF\x83\xCE\xB1\xCF\x82", "\xCE\xA3\xCE\x91\xCE\xA3", true}, /* Greek: a final sigma */
    {"stra\xC3\x9F"
     "e",
     "STRASSE", true},
    {"fish and chips",
     "fish\xC2\xA0"
     "and chips",
     true},                             /* a no-break space */
    {"food", "food\xE2\x80\x8B", true}, /* a zero-width space */
    {"food",
     "\xEF\xBB\xBF"
     "food",
     true},                                /* a byte order mark */
    {"caf\xC3\xA9", "cafe\xCC\x81", true}, /* NFC and NFD */
    {"1", "\xEF\xBC\x91", true},           /* a full-width digit */
    {"0", "0.0", true},
    {"7", "007", true},
    {"-1", "-1.00", true},
    {"2.50", "2.5", true},
    {"+5", "5", true},
    {"1e3", "1000", true},
    {"0", "-0", true},
    {"1", "\xD9\xA1", true}, /* an Arabic digit */
    {"\xC4\xB0"
     "ade",
     "iade", true}, /* a Turkish capital I with a dot */
    {"12345678901234567", "12345678901234568", false},
    {"0.1", "0.10000000000000001", false},
    {"e", "0", false},
    {"food", "fool", false},
    {"cafe", "caf\xC3\xA9", false},
    {"1", "-1", false},
    {"10", "1", false},
    {"0", "0.1", false},
    {"1.0.0", "1.0", false},
    {"v1.0", "v1", false},
};

Test(similar_labels, are_one_in_compatibility_form)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_labels labels = {0};
        struct similar_labels similar;
        struct sl_err err = {0};
        cr_assert(sl_labels_add(&labels, cases[i].one, strlen(cases[i].one), &err), "%s", err.text);
        cr_assert(sl_labels_add(&labels, cases[i].other, strlen(cases[i].other), &err));
        cr_assert(similar_labels_find(&similar, &labels, &err), "%s", err.text);
        cr_expect_eq(similar.count, cases[i].are_similar, "'%s' and '%s'", cases[i].one,
                     cases[i].other);
        sl_labels_release(&labels);
    }
}
