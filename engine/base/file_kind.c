/* file_kind.c - a table of first bytes, and what UTF-16 and UTF-32 look like. */
#include "base/file_kind.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

static const char as_csv[] = "save the sheet as \"CSV UTF-8\"",
                  as_lines[] = "write it as JSON Lines, for example with pandas: "
                               "to_json(path, orient='records', lines=True)",
                  as_text[] = "save it as plain UTF-8 text",
                  unpack[] = "unpack it, or pack its contents with gzip or xz",
                  no_texts[] = "expected labelled texts, such as CSV, TSV or JSON Lines";

/* Rows with `inside` come before those with the same magic and without: it is looked for in the
 * beginning. */
static const struct magic {
    const char *magic;
    size_t bytes, offset;
    const char *inside;
    struct sl_file_kind kind;
} magics[] = {

#define MAGIC(text, offset) text, sizeof(text) - 1, offset
    {MAGIC("BZh", 0),
     NULL,
     {"bzip2 data", "unpack it with bunzip2, or pack it with gzip or xz", false}},
    {MAGIC("\x28\xB5\x2F\xFD", 0), NULL, {"zstd data", unpack, false}},
    {MAGIC("\x04\x22\x4D\x18", 0), NULL, {"lz4 data", unpack, false}},
    {MAGIC("LZIP", 0), NULL, {"lzip data", unpack, false}},
    {MAGIC("\x1F\x9D", 0), NULL, {"compress (.Z) data", unpack, false}},
    {MAGIC("\xFF\x06\x00\x00sNaPpY", 0), NULL, {"snappy data", unpack, false}},
    {MAGIC("7z\xBC\xAF\x27\x1C", 0), NULL, {"a 7-Zip archive", unpack, false}},
    {MAGIC("Rar!\x1A\x07", 0), NULL, {"a RAR archive", unpack, false}},
    {MAGIC("ustar", 257), NULL, {"a tar archive", unpack, false}},
    {MAGIC("PK\3\4", 0), "xl/", {"an Excel workbook (.xlsx)", as_csv, false}},
    {MAGIC("PK\3\4", 0), "word/", {"a Word document (.docx)", as_text, false}},
    {MAGIC("PK\3\4", 0), "ppt/", {"a PowerPoint presentation (.pptx)", as_text, false}},
    {MAGIC("PK\3\4", 0),
     "[Content_Types].xml",
     {"a Microsoft Office document (.xlsx, .docx)", as_csv, false}},
    {MAGIC("PK\3\4", 0),
     "opendocument.spreadsheet",
     {"an OpenDocument spreadsheet (.ods)", as_csv, false}},
    {MAGIC("PK\3\4", 0), "opendocument.text", {"an OpenDocument text (.odt)", as_text, false}},
    {MAGIC("PK\3\4", 0), ".npy", {"NumPy arrays (.npz)", as_lines, false}},
    {MAGIC("PK\3\4", 0), NULL, {"a zip archive", unpack, false}},
    {MAGIC("PK\5\6", 0), NULL, {"an empty zip archive", no_texts, false}},
    {MAGIC("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 0),
     NULL,
     {"an old Microsoft Office document (.xls, .doc)", as_csv, false}},
    {MAGIC("\x09\x08\x10\x00\x00\x06\x05\x00", 0),
     NULL,
     {"an old Excel workbook (.xls)", as_csv, false}},
    {MAGIC("PAR1", 0), NULL, {"a Parquet file", as_lines, false}},
    {MAGIC("ARROW1", 0), NULL, {"an Arrow file", as_lines, false}},
    {MAGIC("\xFF\xFF\xFF\xFF", 0), NULL, {"an Arrow stream", as_lines, false}},
    {MAGIC("FEA1", 0), NULL, {"a Feather file", as_lines, false}},
    {MAGIC("ORC", 0), NULL, {"an ORC file", as_lines, false}},
    {MAGIC("Obj\1", 0), NULL, {"an Avro file", as_lines, false}},
    {MAGIC("\x89HDF\r\n\x1A\n", 0), NULL, {"an HDF5 file", as_lines, false}},
    {MAGIC("SQLite format 3", 0), NULL, {"an SQLite database", as_lines, false}},
    {MAGIC("\x93NUMPY", 0), NULL, {"a NumPy array (.npy)", as_lines, false}},
    {MAGIC("\x80\2", 0), NULL, {"a Python pickle", as_lines, false}},
    {MAGIC("\x80\3", 0), NULL, {"a Python pickle", as_lines, false}},
    {MAGIC("\x80\4\x95", 0), NULL, {"a Python pickle", as_lines, false}},
    {MAGIC("\x80\5\x95", 0), NULL, {"a Python pickle", as_lines, false}},
    {MAGIC("\x78\x9C", 0),
     NULL,
     {"zlib data, perhaps a spaCy DocBin", "write texts and labels as JSON Lines", false}},
    {MAGIC("GGUF", 0), NULL, {"a model's weights (GGUF)", no_texts, false}},
    {MAGIC("%PDF-", 0), NULL, {"a PDF document", as_text, false}},
    {MAGIC("%!PS", 0), NULL, {"a PostScript document", as_text, .is_text = true}},
    {MAGIC("{\\rtf", 0), NULL, {"a rich text document (.rtf)", as_text, .is_text = true}},
    {MAGIC("<?xml", 0),
     "urn:schemas-microsoft-com:office:spreadsheet",
     {"an Excel workbook in XML", as_csv, .is_text = true}},
    {MAGIC("<?xml", 0), NULL, {"XML", no_texts, .is_text = true}},
    {MAGIC("<!DOCTYPE", 0),
     NULL,
     {"HTML, perhaps of a download that failed", no_texts, .is_text = true}},
    {MAGIC("<!doctype", 0),
     NULL,
     {"HTML, perhaps of a download that failed", no_texts, .is_text = true}},
    {MAGIC("<html", 0),
     NULL,
     {"HTML, perhaps of a download that failed", no_texts, .is_text = true}},
    {MAGIC("version https://git-lfs.github.com/spec/", 0),
     NULL,
     {"a pointer of Git LFS, not the file itself", "fetch the file with `git lfs pull`",
      .is_text = true}},
    {MAGIC("\x89PNG", 0), NULL, {"a PNG image", no_texts, false}},
    {MAGIC("\xFF\xD8\xFF", 0), NULL, {"a JPEG image", no_texts, false}},
    {MAGIC("GIF8", 0), NULL, {"a GIF image", no_texts, false}},
    {MAGIC("\x7F"
           "ELF",
           0),
     NULL,
     {"a program (ELF)", no_texts, false}},
    {MAGIC("\0\0\xFE\xFF", 0),
     NULL,
     {"UTF-32 (big-endian)", "convert it, for example with `iconv -f utf-32 -t utf-8`", false}},
    {MAGIC("\xFF\xFE\0\0", 0),
     NULL,
     {"UTF-32 (little-endian)", "convert it, for example with `iconv -f utf-32 -t utf-8`", false}},
    {MAGIC("\xFF\xFE", 0),
     NULL,
     {"UTF-16 (little-endian)", "convert it, for example with `iconv -f utf-16 -t utf-8`", false}},
    {MAGIC("\xFE\xFF", 0),
     NULL,
     {"UTF-16 (big-endian)", "convert it, for example with `iconv -f utf-16 -t utf-8`", false}},
#undef MAGIC
};

enum { MAGICS = sizeof magics / sizeof magics[0] };

/* Whether there is what no text has. Letters alone prove nothing: ORC may begin a sentence. */
static bool is_binary(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < '\t')
            return true;
    const size_t cut = bytes == SL_FILE_KIND_BYTES ? SL_UTF8_MAX - 1 : 0;
    return sl_utf8_valid_bytes(text, bytes) + cut < bytes;
}

static bool matches(const struct magic *m, const char *text, size_t bytes)
{
    return (m->kind.is_text || is_binary(text, bytes)) && bytes >= m->offset + m->bytes &&
           memcmp(text + m->offset, m->magic, m->bytes) == 0 &&
           (!m->inside || memmem(text, bytes, m->inside, strlen(m->inside)));
}

/* Of ASCII in UTF-16 every other byte is zero, and no other; of other alphabets those that are
 * ASCII still, such as line feeds. */
static const struct sl_file_kind *find_unmarked(const char *text, size_t bytes)
{
    static const struct sl_file_kind
        little = {"UTF-16 (little-endian) without a byte order mark",
                  "convert it, for example with `iconv -f utf-16le -t utf-8`", false},
        big = {"UTF-16 (big-endian) without a byte order mark",
               "convert it, for example with `iconv -f utf-16be -t utf-8`", false},
        old_mac = {"text with lines that end in CR alone",
                   "convert it, for example with `tr '\\r' '\\n'`", false};
    size_t zeros[2] = {0}, returns = 0;
    for (size_t i = 0; i < bytes; i++) {
        zeros[i % 2] += text[i] == '\0';
        returns += text[i] == '\r';
    }
    const size_t many = bytes / 64 + 4;
    if (zeros[1] >= many && zeros[0] <= zeros[1] / 8)
        return &little;
    if (zeros[0] >= many && zeros[1] <= zeros[0] / 8)
        return &big;
    return returns > 1 && !memchr(text, '\n', bytes) ? &old_mac : NULL;
}

const struct sl_file_kind *sl_file_kind_find(const char *beginning, size_t bytes)
{
    bytes = bytes < SL_FILE_KIND_BYTES ? bytes : SL_FILE_KIND_BYTES;
    for (int i = 0; i < MAGICS; i++)
        if (matches(&magics[i], beginning, bytes))
            return &magics[i].kind;
    return find_unmarked(beginning, bytes);
}

/* Letters of the Latin alphabet beyond ASCII stand alone, those of others beside each other. */
const char *sl_file_encoding(const char *text, size_t bytes)
{
    size_t at = 0, wrong = 0, beside = 0;
    uint32_t point;
    for (bool was_wrong = false; at < bytes;) {
        const bool is_wrong = !sl_utf8_next(text, bytes, &at, &point);
        at += is_wrong;
        wrong += is_wrong;
        beside += is_wrong && was_wrong;
        was_wrong = is_wrong;
    }
    return 4 * beside < wrong
               ? "convert the file from its encoding, for example with `iconv -f windows-1252 -t "
                 "utf-8` (others are macintosh and windows-1250)"
               : "convert the file from its encoding with `iconv -f ENCODING -t utf-8`, for "
                 "example windows-1251 (Cyrillic), windows-1253 (Greek), gb18030 (Chinese), cp949 "
                 "(Korean) or cp932 (Japanese)";
}
