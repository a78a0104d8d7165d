/* raw_requests.c - requests as bytes, right and wrong, and how they are to be answered. */
#include "support/raw_requests.h"

#include "support/test.h"

#define ROW(answers, what, bytes)                                                                  \
    {                                                                                              \
        (bytes), sizeof(bytes) - 1, (answers), (what)                                              \
    }
#define HEAD    "GET /ping HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED "POST /predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
#define NEXT    "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
#define ERR     "400"

#define NAME    "A header's name is empty"
#define VALUE   "A header's value has a control character"
#define FOLDED  "folded lines are not accepted"
#define NO_CR   "A line ends without a carriage return"
#define LENGTH  "Content-Length is not a number"
#define TWICE   "more than one Content-Length"
#define LINE    "The request line is not"
#define VERSION "HTTP/1.1 or HTTP/1.0"
#define SIZE    "The size of a chunk is not a number"
#define AFTER   "The size of a chunk is followed by"
#define CODING  "The only supported transfer encoding is chunked"
#define BOTH    "give the length of the body twice"
#define LONG    "A chunk is not as long"
#define WITH(headers)                                                                              \
    "POST /ping HTTP/1.1\r\nHost: x\r\n" headers "\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
#define LENGTHS(headers) "POST /ping HTTP/1.1\r\nHost: x\r\n" headers "\r\n\r\n0\r\n\r\n"

const struct raw_request raw_requests[] = {
    /* What is right. */
    ROW("200", NULL, HEAD "\r\n"),
    ROW("200", NULL, "\r\n" HEAD "\r\n"),
    ROW("200 200", NULL, HEAD "\r\n" HEAD "\r\n"),
    ROW("200", NULL,
        "GET /ping HTTP/1.1\r\nHost:x\r\nA: \t b \t\r\nB:\r\n!#$%&'*+-.^_`|~9: x\r\n\r\n"),
    ROW("200", NULL, "GET /ping HTTP/1.1\r\nhOST: x\r\nX: \x80\xff: caf\xc3\xa9\r\n\r\n"),
    ROW("200", NULL, "GET http://x/ping HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW("200 200", NULL, HEAD "Content-Length: 3\r\n\r\nabc" HEAD "\r\n"),
    ROW("200 200", NULL, HEAD "Content-Length: 000\r\n\r\n" HEAD "\r\n"),
    ROW("200 200", NULL,
        HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" HEAD "\r\n"),
    ROW("200 200", NULL,
        HEAD "transfer-encoding: \tCHUNKED\r\n\r\n0003;a=\"b\"\r\nabc\r\nA\r\n"
             "0123456789\r\n00;c\r\nTrailer: x\r\nT2:\r\n\r\n" HEAD "\r\n"),
    ROW("404", NULL,
        "GET /n HTTP/1.1\r\nHost: x\r\nTE: trailers\r\nTransfer_Encoding: chunked\r\n\r\n"),
    ROW("200 200", NULL,
        HEAD "X: X Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" HEAD "\r\n"),
    ROW("404 404", NULL,
        "POST /n HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{\"a\":\"\r\n\"}"
        "GET /m HTTP/1.1\r\nHost: x\r\n\r\n"),

    /* The request line. */
    ROW(ERR, LINE, "GET /ping\r\n\r\n"),
    ROW(ERR, LINE, "GET  /ping HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping  HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping HTTP/1.1 \r\nHost: x\r\n\r\n"),
    ROW(ERR, LINE, "GET\t/ping\tHTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, LINE, " GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, LINE, "G\xc3\x8bT /ping HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, LINE, "G=\":<>(e),[T];?\" /ping HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, LINE, "\0 / HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, LINE, "\x16\x03\x01\x02\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping HTTP/1.2\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping HTTP/1.32\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping HTTP/01.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping HTTP/4294967295.255\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping http/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "GET /ping HTTP/\r\r1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, VERSION, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"),
    ROW(ERR, NO_CR, "GET /\nHTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, "The path has a control character", "GET /health\0/../x HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, "The path has a control character", "GET /ping\t HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, "The path has a control character", "GET /ping?a\0b HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, "The path has a control character", "GET /ping\x7f HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW("404", NULL, "GET ! HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW("405", NULL, "OPTIONS /ping HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW("404", NULL, "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"),

    /* Lines. */
    ROW(ERR, NO_CR, "GET /ping HTTP/1.1\nHost: x\nConnection: close\n\n"),
    ROW(ERR, NO_CR, HEAD "A: b\nC: d\r\n\r\n"),
    ROW(ERR, NO_CR, HEAD "A:\n\n" NEXT),
    ROW(ERR, NO_CR, HEAD "\n" NEXT),
    ROW(ERR, NO_CR, "\n" HEAD "\r\n"),
    ROW(ERR, NO_CR, HEAD "Te\nst: test\r\n\r\n"),
    ROW(ERR, NAME, HEAD "\rZGET /v1/models: HTTP/1.1\r\nHost: x\r\n\r\n"),
    ROW(ERR, VALUE, HEAD "Visible: a\rSmuggled: b\r\n\r\n"),
    ROW(ERR, VALUE, HEAD "A: b\r\r\n\r\n"),
    ROW(ERR, VALUE, HEAD "A: this\rvalue\ris\rinvalid\r\n\r\n"),
    ROW(ERR, NAME, HEAD "A\r: b\r\n\r\n"),

    /* Names. */
    ROW(ERR, NAME, HEAD ": x\r\n\r\n" NEXT),
    ROW(ERR, NAME, HEAD ":\r\nI: am chopped off\r\n\r\n"),
    ROW(ERR, NAME, "GET /ping HTTP/1.1\r\n: ignored\r\nHost: x\r\n\r\n"),
    ROW(ERR, NAME, HEAD "A : b\r\n\r\n"),
    ROW(ERR, NAME, HEAD "A\t: b\r\n\r\n"),
    ROW(ERR, NAME, HEAD "A b: c\r\n\r\n"),
    ROW(ERR, NAME, HEAD "no colon\r\n\r\n"),
    ROW(ERR, NAME, HEAD "Content-Length 10\r\n\r\n0123456789"),
    ROW(ERR, NAME, HEAD "Content-Length : 34\r\n\r\n" NEXT),
    ROW(ERR, NAME, HEAD "Content-Length\x85: 10\r\n\r\n0123456789"),
    ROW(ERR, NAME, HEAD "\xefoo: bar\r\n\r\n"),
    ROW(ERR, NAME, HEAD "c\0\r\n\r\n"),
    ROW(ERR, NAME, HEAD "\1\2\3\4\5\6\7\b\t\v\f \"(),/;<=>?@[/]{}: x\r\n\r\n"),
    ROW(ERR, NAME, HEAD "Transfer-\r\nEncoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    ROW(ERR, FOLDED, HEAD "A: b\r\n c\r\n\r\n"),
    ROW(ERR, FOLDED, HEAD "A: b\r\n\tContent-Length: 1\r\n\r\nX"),
    ROW(ERR, FOLDED, "GET /ping HTTP/1.1\r\n\tContent-Length: 1\r\nHost: x\r\n\r\nX"),
    ROW(ERR, FOLDED, HEAD " \r\n\r\n"),

    /* Values. */
    ROW(ERR, VALUE, HEAD "A: b\0c\r\n\r\n"),
    ROW(ERR, VALUE, HEAD "A: b\0\r\n\r\n"),
    ROW(ERR, VALUE, HEAD "A: v\0\ralue\r\n\r\n"),
    ROW(ERR, VALUE, HEAD "A: b\x7f\r\n\r\n"),
    ROW(ERR, VALUE, HEAD "A: b\vc\r\n\r\n"),
    ROW(ERR, VALUE, "GET /ping HTTP/1.1\r\nHost: x\0.y\r\n\r\n"),

    /* Hosts. */
    ROW(ERR, "HTTP/1.1 needs a Host header", "GET /ping HTTP/1.1\r\n\r\n"),
    ROW(ERR, "more than one Host", HEAD "Host: x\r\n\r\n"),
    ROW(ERR, "more than one Host", HEAD "hOST: y\r\n\r\n"),
    ROW(ERR, "not a name or an address", "GET /ping HTTP/1.1\r\nHost: x y\r\n\r\n"),
    ROW(ERR, "not a name or an address", "GET /ping HTTP/1.1\r\nHost: x/y\r\n\r\n"),
    ROW(ERR, "not a name or an address", "GET /ping HTTP/1.1\r\nHost: u@x\r\n\r\n"),
    ROW(ERR, "not a name or an address", "GET /ping HTTP/1.1\r\nHost: x, y\r\n\r\n"),
    ROW(ERR, "not a name or an address", "GET /ping HTTP/1.1\r\nHost: \xffx\xff\r\n\r\n"),
    ROW(ERR, "more than one Authorization", HEAD "Authorization: a\r\nauthorization: b\r\n\r\n"),

    /* Content-Length. */
    ROW(ERR, TWICE, HEAD "Content-Length: 1\r\nContent-Length: 1\r\n\r\nZ"),
    ROW(ERR, TWICE, HEAD "Content-Length: 0\r\nContent-Length: 38\r\n\r\n" NEXT),
    ROW(ERR, LENGTH, HEAD "Content-Length: 1, 1\r\n\r\nZ"),
    ROW(ERR, LENGTH, HEAD "Content-Length: 1Z\r\n\r\nZ"),
    ROW(ERR, LENGTH, HEAD "Content-Length: +1\r\n\r\nZ"),
    ROW(ERR, LENGTH, HEAD "Content-Length: +1_0\r\n\r\n0123456789"),
    ROW(ERR, LENGTH, HEAD "Content-Length: -48\r\n\r\n"),
    ROW(ERR, LENGTH, HEAD "Content-Length: 0x10\r\n\r\nZ"),
    ROW(ERR, LENGTH, HEAD "Content-Length: 1 0\r\n\r\n0123456789"),
    ROW(ERR, LENGTH, HEAD "Content-Length: \"1\"\r\n\r\nZ"),
    ROW(ERR, LENGTH, HEAD "Content-Length: 18446744073709551617\r\n\r\nZ"),
    ROW(ERR, LENGTH, HEAD "Content-Length: 9999999999999999999\r\n\r\nZ"),
    ROW(ERR, LENGTH, HEAD "Content-Length: 1 \r\n\r\nZ"),
    ROW(ERR, "Content-Length is empty", HEAD "Content-Length: \r\n\r\n" NEXT),
    ROW(ERR, "Content-Length is empty", HEAD "Content-Length:\r\nContent-Length: 43\r\n\r\n" NEXT),
    ROW("200 200", NULL, HEAD "Content-Length: 010\r\n\r\n0123456789" HEAD "\r\n"),

    /* Transfer-Encoding. */
    ROW(ERR, BOTH, HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" NEXT),
    ROW(ERR, BOTH, HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" NEXT),
    ROW(ERR, "more than one Transfer-Encoding",
        HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW(ERR, "HTTP/1.0 has no transfer encodings",
        "POST /ping HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW(ERR, "Transfer-Encoding is empty", HEAD "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
    ROW(ERR, "Transfer-Encoding is empty", HEAD "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ROW("501", CODING, HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ROW("501", CODING, HEAD "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
    ROW("501", CODING, HEAD "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
    ROW("501", CODING, HEAD "Transfer-Encoding: ,chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    ROW("501", CODING, HEAD "Transfer-Encoding: blegh\r\n\r\n1\r\nZ\r\n0\r\n\r\n"),
    ROW("501", CODING,
        HEAD "Transfer-Encoding: \xa0"
             "chunked\xa0\r\n\r\n0\r\n\r\n"),
    ROW("501", CODING,
        HEAD "Transfer-Encoding: \xff"
             "chunked\xff\r\n\r\n1\r\nZ\r\n0\r\n\r\n"),
    ROW("501", CODING, HEAD "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
    ROW("501", CODING, HEAD "Transfer-Encoding: identity\r\n\r\n"),

    ROW("501", CODING, HEAD "Transfer-Encoding: chunked \r\n\r\n0\r\n\r\n"),

    /* Chunks. */
    ROW(ERR, SIZE, CHUNKED "ffffffffffffffff\r\n"),
    ROW(ERR, SIZE, CHUNKED "ffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "10000000000000000\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "100000003\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "0000000000000003\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, AFTER, CHUNKED "0x3\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "-1\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "-0x0\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "+3\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "           0\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "Z\r\nZZ\r\nZZZ\r\n\r\n"),
    ROW(ERR, SIZE, CHUNKED "INVALID!!!\r\n" NEXT),
    ROW(ERR, SIZE, CHUNKED "\x10\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, AFTER, CHUNKED "0_2e\r\n\r\n" NEXT),
    ROW(ERR, AFTER, CHUNKED "3 \r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, AFTER, CHUNKED "3 ;a\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, AFTER, CHUNKED "1these-bytes-never-get-validated\r\nZ\r\n0\r\n\r\n"),
    ROW(ERR, AFTER, CHUNKED "2\r\r;a\r\n02\r\n41\r\n0\r\n\r\n" NEXT),
    ROW(ERR, AFTER, CHUNKED "41;a=b\r\rXXXX\r\n0\r\n\r\n" NEXT),
    ROW(ERR, AFTER, CHUNKED "5\r\r;ABCD\r\n34\r\nE\r\n0\r\n\r\n" NEXT),
    ROW(ERR, AFTER, CHUNKED "3;a\0b\r\nabc\r\n0\r\n\r\n"),
    ROW(ERR, NO_CR, CHUNKED "3\nabc\r\n0\r\n\r\n"),
    ROW(ERR, NO_CR, CHUNKED "3;a\nabc\r\n0\r\n\r\n"),
    ROW(ERR, NO_CR, CHUNKED "0\n\r\n"),
    ROW(ERR, NO_CR, CHUNKED "a\r\n0123456789\n0\r\n\r\n"),
    ROW(ERR, NO_CR, CHUNKED "1\r0\n\r\n"),
    ROW(ERR, NO_CR, CHUNKED "0\r\n\n" NEXT),
    ROW(ERR, LONG, CHUNKED "3\r\nabcd\r\n0\r\n\r\n"),
    ROW(ERR, LONG, CHUNKED "3\r\nabcXX4\r\nabcd\r\n0\r\n\r\n"),
    ROW(ERR, NAME, CHUNKED "0\r\n: x\r\n\r\n" NEXT),
    ROW(ERR, NAME, CHUNKED "3\r\nabc\r\n0\r\nA b\r\n\r\n" NEXT),
    ROW(ERR, FOLDED, CHUNKED "0\r\n x: y\r\n\r\n"),
    ROW(ERR, VALUE, CHUNKED "0\r\nx: y\0\r\n\r\n"),

    /* Techniques of http-request-smuggler: a coding that one of two programs may not see. */
    ROW("405", NULL, WITH("Transfer_Encoding: chunked")),
    ROW("405", NULL, WITH("Transfer-%45ncoding: chunked")),
    ROW("405", NULL, WITH("Content-Encoding: chunked")),
    ROW(ERR, BOTH, WITH("Transfer-Encoding:  chunked")),
    ROW(ERR, BOTH, WITH("Transfer-Encoding:chunked")),
    ROW(ERR, BOTH, WITH("TRANSFER-ENCODING: chunked")),
    ROW(ERR, BOTH, WITH("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked")),
    ROW(ERR, NAME, WITH("Transfer-Encoding x: chunked")),
    ROW(ERR, NAME, WITH("Transfer\\Encoding: chunked")),
    ROW(ERR, NAME, WITH("Tra\rnsfer-Encoding: chunked")),
    ROW(ERR, NAME, WITH("Foo: bar\r\n\rTransfer-Encoding: chunked")),
    ROW(ERR, NAME, WITH("Transf\x82r-Encoding: chunked")),
    ROW(ERR, VALUE, WITH("Foo: bar\rTransfer-Encoding: chunked")),
    ROW(ERR, FOLDED, WITH("Foo: bar\r\n Transfer-Encoding: chunked")),
    ROW(ERR, FOLDED, WITH("Foo: bar\r\n\tTransfer-Encoding: chunked")),
    ROW(ERR, FOLDED,
        "POST /ping HTTP/1.1\r\n Transfer-Encoding: chunked\r\nHost: x\r\n"
        "X-Ignored: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    ROW(ERR, NO_CR, WITH("Transfer-Encoding\n : chunked")),
    ROW(ERR, NO_CR, WITH("Transfer-Encoding: \n\vchunked")),
    ROW(ERR, NO_CR, WITH("Foo: bar\n\nTransfer-Encoding: chunked")),
    ROW(ERR, "Transfer-Encoding is empty", WITH("Transfer-Encoding: \r\n\tchunked")),
    ROW("501", CODING, WITH("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked")),
    ROW(ERR, "more than one Transfer-Encoding",
        WITH("Transfer-Encoding: chunked\r\nTransfer-encoding: identity")),
    ROW("501", CODING, WITH("Transfer-Encoding: identity, chunked, identity")),
    ROW("501", CODING,
        WITH("Transfer-Encoding: ch\x96"
             "nked")),

    /* The same for a length. */
    ROW("405", NULL, WITH("Foo: bar")),
    ROW("405", NULL, LENGTHS("Content-Length:  5")),
    ROW("405", NULL, LENGTHS("CONTENT-LENGTH:5")),
    ROW(ERR, NAME, LENGTHS("Content-Length x: 5")),
    ROW(ERR, NAME, LENGTHS("Content\\Length: 5")),
    ROW(ERR, NAME, LENGTHS("Con\rtent-Length: 5")),
    ROW(ERR, FOLDED, LENGTHS("Foo: bar\r\n Content-Length: 5")),
    ROW(ERR, VALUE, LENGTHS("Foo: bar\rContent-Length: 5")),
    ROW(ERR, NO_CR, LENGTHS("Content-Length\n : 5")),
    ROW(ERR, VALUE, LENGTHS("Content-Length: 5\f")),
    ROW(ERR, LENGTH, LENGTHS("Content-Length: 5\t")),
    ROW(ERR, LENGTH,
        LENGTHS("Content-Length:\xa0"
                "5")),

    /* The end of a chunk's line, and of a chunk, that one of two programs may not see. */
    ROW(ERR, NO_CR, CHUNKED "2;\nxx\r\n10\r\n\r\n0\r\n\r\n" NEXT),
    ROW(ERR, AFTER, CHUNKED "2;\rxx\r\n10\r\n\r\n0\r\n\r\n" NEXT),
    ROW(ERR, AFTER, CHUNKED "2;\rXxx\r\n10\r\n\r\n0\r\n\r\n" NEXT),
    ROW(ERR, AFTER, CHUNKED "2;\r\rxx\r\n10\r\n\r\n0\r\n\r\n" NEXT),
    ROW(ERR, NO_CR, CHUNKED "5\r\nabcde\n2\r\nxx\r\n0\r\n\r\n" NEXT),
    ROW(ERR, LONG, CHUNKED "5\r\nabcde\r2\r\nxx\r\n0\r\n\r\n" NEXT),
    ROW(ERR, LONG, CHUNKED "5\r\nabcde\rX2\r\nxx\r\n0\r\n\r\n" NEXT),
    ROW(ERR, LONG, CHUNKED "5\r\nabcde\r\r2\r\nxx\r\n0\r\n\r\n" NEXT),
    ROW(ERR, LONG, CHUNKED "5\r\nabcdeXX2\r\nxx\r\n0\r\n\r\n" NEXT),
    ROW(ERR, LONG, CHUNKED "5\r\nabcde2\r\nxx\r\n0\r\n\r\n" NEXT),
    ROW(ERR, NO_CR, CHUNKED "2\r\nxx\n0\r\n\r\n" NEXT),

    /* A wrong request after right ones. */
    ROW("200 400", NAME, HEAD "\r\n" HEAD ": x\r\n\r\n" NEXT),
    ROW("200 200 400", LINE, HEAD "\r\n" HEAD "\r\nInvalid\r\n\r\n" NEXT),
    ROW("200 400", LINE, HEAD "Content-Length: 3\r\n\r\nabcxyz\r\n\r\n" NEXT),
    ROW("200 400", SIZE, HEAD "\r\n" CHUNKED "x\r\n" NEXT),
    ROW("200 400", LINE, HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n\0\r\n\r\n"),
    {NULL, 0, NULL, NULL}};

/* ---- mutations ------------------------------------------------------------------------------- */

/* %c is each byte in turn. */
static const char *const gadgets[] = {
    "%cTransfer-Encoding: chunked",       "Transfer-Encoding%c: chunked",
    "Transfer-Encoding:%cchunked",        "Transfer-Encoding: chunked%c",
    "Transfer-Encoding: chunked%cX: X",   "Transfer-Encoding: chunked%c\nX: X",
    "Transfer-Encoding: chunked\r%cX: X", "X: X\r%cTransfer-Encoding: chunked",
    "X: X%c\nTransfer-Encoding: chunked", "Trans%cfer-Encoding: chunked"};

static const char *const fixed[] = {
    " Transfer-Encoding: chunked",        "Transfer-Encoding:\tchunked",
    "Transfer-Encoding\t:\tchunked",      "Transfer Encoding: chunked",
    "Transfer Encoding:chunked",          "Transfer-Encoding:\vchunked",
    "Transfer-Encoding: chunked, cow",    "Transfer-Encoding: cow, chunked",
    "Transfer-Encoding:\n chunked",       "Transfer-Encoding: \"chunked\"",
    "Transfer-Encoding: 'chunked'",       "Transfer-Encoding: chunk",
    "TrAnSFer-EnCODinG: cHuNkeD",         "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: cow chunked bar", "X:X\rTransfer-Encoding: chunked",
    "X:X\nTransfer-Encoding: chunked"};

static int write_gadget(int index, char out[static 128])
{
    int bytes = 0x20 + 0x81; /* 0x01 to 0x20, 0x7f to 0xff */
    int count = (int)COUNT(gadgets) * bytes;
    if (index >= count)
        return index - count < (int)COUNT(fixed) ? snprintf(out, 128, "%s", fixed[index - count])
                                                 : 0;
    int c = index % bytes < 0x20 ? 1 + index % bytes : 0x7f + index % bytes - 0x20;
    const char *gadget = gadgets[index / bytes], *at = strstr(gadget, "%c");
    return snprintf(out, 128, "%.*s%c%s", (int)(at - gadget), gadget, c, at + 2);
}

size_t raw_mutation(int index, char out[static RAW_MUTATION_MAX])
{
    static const char *const bodies[] = {"6\r\n\r\n0\r\n\r\nX", "4\r\n\r\n1\r\nZ\r\n0\r\n\r\n"};
    char gadget[128];
    if (write_gadget(index / 2, gadget) == 0)
        return 0;
    return (size_t)snprintf(out, RAW_MUTATION_MAX,
                            "POST /ping?cb=1 HTTP/1.1\r\n%s\r\nHost: x\r\nContent-Length: %s",
                            gadget, bodies[index % 2]);
}
