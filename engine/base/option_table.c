/* option_table.c - goes through the tables of options. */
#include "base/option_table.h"

static const struct sl_option common_rows[] = {
    {"help", NULL, "print this help and exit", SL_OPTION_FLAG,
     offsetof(struct sl_option_parser, wants_help), 0, 0},
    {"version", NULL, "print the version and exit", SL_OPTION_FLAG,
     offsetof(struct sl_option_parser, wants_version), 0, 0},
    {0}};
static const struct sl_option_table common = {.rows = common_rows};

bool sl_option_next(const struct sl_option_parser *parser, struct sl_option_entry *e)
{
    for (; e->next_table <= SL_OPTION_TABLES; e->next_table++, e->next_row = 0) {
        e->is_common = e->next_table == SL_OPTION_TABLES;
        e->table = e->is_common ? &common : &parser->tables[e->next_table];
        e->row = e->table->rows ? &e->table->rows[e->next_row] : NULL;
        e->number = e->table->numbers ? &e->table->numbers[e->next_row] : NULL;
        const char *name = e->row ? e->row->name : e->number ? e->number->name : NULL;
        if (!name)
            continue;
        (void)sl_name_with_dashes(e->name, sizeof e->name, name);
        e->next_row++;
        return true;
    }
    return false;
}
