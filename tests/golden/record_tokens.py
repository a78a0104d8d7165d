#!/usr/bin/python3
"""record_tokens.py - records what the Python package `tokenizers` makes of nasty texts, and of their
tokens.

Its BertWordPieceTokenizer is the implementation in common use, and knows nothing of ours.
test_wordpiece.c compares ours with what is recorded; it needs the two files, not this script.

    record_tokens.py [DIRECTORY]    writes wordpiece.txt and wordpiece.json there, or beside itself

Needs the package (recorded with 0.23.3), pip install tokenizers. Its offsets count characters; they
are recorded as what we promise, offsets of bytes in UTF-8. It is told to take the names of special
tokens in a text for text, as we do. Left out are the characters on which the two differ:
those assigned or moved to another category since Unicode 8, whose tables it has, and U+2B820 to
U+2B91F, which it does not take for ideographs by a slip (BERT does).
"""
import json
import os
import sys

import tokenizers

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Each by itself, and those before the bar also within words.
CHARACTERS = ("abcdefghijklmnopqrstuvwxyz0123456789"
              "\u00df\u00e6\u00f8\u03b1\u03b2\u03c3\u03c9\u03c2\u0430\u0431\u0432\u0438\u0439"
              "\u0627\u0644\u0633\u0645\u05e9\u05dc\u05d5\u05dd\u0915\u093e\u0924\u304b\u30cf"
              "\u1100\u1161\u11a8\u0e01\u0e33\ufb01\U0001d49c\U00010428\uab70\U0001f600\u2764|"
              "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\u00a1\u00bf\u2013\u2014\u2019\u201c\u201d\u2026"
              "\u3002\u300c\u4e2d\u6587\u8c48\U00020000\u00b7\u20ac\u00b0\u0301")
PIECES = """the of and un aff able movie was great br don cafe ##fe naive ##ive istanbul strasse
##ing ##ed ##er ##est ##ly ##able ##aff run ##ning walk http www com org hello ##llo world
##wor ##ld 19 ##99 20 ##26 resume ##sume angstrom ##gstrom over ##flow facade ##cade hotel
\u0441\u043b\u043e\u0432\u043e ##\u0441\u043b\u043e ##\u0432\u043e \u0633\u0644\u0627\u0645
##\u0644\u0627\u0645 \u1100\u1161\u11a8 ##\u1161\u11a8 aaaa ##aaaa ##aaaaaaaa cls sep""".split()

LOWER = [
    "", " ", "\t\r\n ", "the movie was great", "The Movie WAS Great!!", "un\u200baff\u00adable",
    "unaffable", "unaffxable", "running, walking; walked...",
    "<br /><br />The movie&nbsp;was <b>great</b>", "http://www.hello.com/a_b?c=1&d=%20#e",
    "don't \u2018don\u2019t\u2019 \u201cdon't\u201d \u2014 \u2013 \u2026",
    "caf\u00e9 cafe\u0301 CAF\u00c9 cafe\u0301s \u0301cafe",
    "na\u00efve R\u00c9SUM\u00c9 fa\u00e7ade",
    "h\u00f4tel ho\u0302tel h\u1ed9tel ho\u0323\u0302tel ho\u0302\u0323tel",
    "\u0130stanbul I\u0307stanbul \u0131stanbul", "stra\u00dfe STRASSE STRA\u1e9eE",
    "\u212bngstr\u00f6m \u00c5ngstr\u00f6m A\u030angstro\u0308m",
    "\u2126 \u03a9 \u03c9 \u1fbc \u0390", "\u03a3\u0391\u03a3 \u03c3\u03b1\u03c2",
    "\ufb01ne \ufb03 \u01c6 \u2460", "\u00c6\u00d8 \u00e6\u00f8",
    "\u0421\u041b\u041e\u0412\u041e \u0431\u0439 \u0438\u0306", "\u4e2d\u6587",
    "\u4e2d\u6587the movie\u4e2d", "\u4e2dabc\u6587\u3002\u300ca", "\uf900 \U00020000x",
    "\U0002f800 \u2f00 \u3400", "\u304b\u304c\u304b\u3099 \u30cf\u30d0\u30d1 \u3042",
    "\uac01 \u1100\u1161\u11a8 \uac01\uac01 \uac00",
    "\u0633\u064e\u0644\u064e\u0627\u0645 \u0633\u0644\u0627\u0645",
    "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u202eabc\u202c \u2067abc\u2069",
    "\u0915\u093e\u0924\u094d\u0915", "\u0e01\u0e33 \u0e01\u0e31\u0e01", "ti\u1ebfng Vi\u1ec7t",
    "z\u0351\u0343\u034d\u0321a\u0334\u035c\u0360l\u0358\u034fg\u0489\u0327o",
    "\u0301\u0302\u0303", "a\u034f\u0301b", "\U0001f600",
    "great\U0001f600the \U0001f600\U0001f600", "\u2764\ufe0f \u2764",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea",
    "the\u200dmovie \u200cof\u2060and\ufeff", "\ufeffthe",
    "the\u00a0movie\u2003was\u3000great\u2028of\u2029and",
    "the\u0000movie\u0007was\u007f\u0085great", "a\u000bb\u000cc\u001fd", "the\ufffdmovie \ufffd",
    "the\ue000movie \U0010fffd", "\U0001d49c \U00010400\U00010428 \u13a0\uab70",
    "\u2260 a\u2260b \u226e =\u0338 ;\u037e \u0387", "\u20ac20 $20 20\u00b0 19\u20ac99",
    "1999 2026 19,99 19.99 1e9", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "\u00a1hello! \u00bfhello?", "[CLS] hello [SEP] [UNK][MASK]", "##ing a##b ## #",
    "[cls] cls sep", "a" * 99, "a" * 100, "a" * 101, "b" + "a" * 99 + " the", "a\u0301" * 100,
    "a\u0301" * 101 + " the", "\u00e1" * 100 + "!", "\uac01" * 33 + "a the",
    "\uac01" * 34 + " the", "zzzz \u2603 the", "hello\u2603", "  the   of ",
    "WORLD\tworld\nWorld\r\nwOrLd", "overflow over-flow over_flow",
    "e\u0300\u0301\u0302\u0303 \u1e17 \u0113\u0301", "\u1112\u1161\u11ab \u1100",
    "x\u20dd \u20e3 1\ufe0f\u20e3",
]
CASED = ["the Movie WAS great", "caf\u00e9 cafe\u0301", "\u0130stanbul istanbul", "\u4e2d\uf900 \uac01",
         "\u304c\u304b\u3099", "\u212b a\u2260b \u037e", "the\u00adof\u200b and\u0000 a", "stra\u00dfe \ufb01"]


def vocabulary():
    inner, outer = CHARACTERS.split("|", 1)
    pieces = SPECIALS + list(inner) + ["##" + c for c in inner] + list(outer) + PIECES
    assert len(pieces) == len(set(pieces)), [p for p in pieces if pieces.count(p) > 1]
    return pieces


def bytes_before(text):
    """By number of characters: how many bytes they have."""
    before = [0]
    for character in text:
        before.append(before[-1] + len(character.encode()))
    return before


def record(tokenizer, text):
    encoded, before = tokenizer.encode(text), bytes_before(text)
    places = [[before[start], before[stop]] for start, stop in encoded.offsets]
    decoded = [tokenizer.decode(encoded.ids, skip_special_tokens=skip) for skip in (True, False)]
    return {"text": text, "tokens": encoded.tokens, "ids": encoded.ids, "places": places,
            "decoded": decoded}


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(directory, "wordpiece.txt")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("".join(piece + "\n" for piece in vocabulary()))
    recorded = {"made_by": "tokenizers " + tokenizers.__version__}
    for name, texts in (("lower", LOWER), ("cased", CASED)):
        tokenizer = tokenizers.BertWordPieceTokenizer(path, lowercase=name == "lower")
        tokenizer._tokenizer.encode_special_tokens = True
        recorded[name] = [record(tokenizer, text) for text in texts]
    with open(os.path.join(directory, "wordpiece.json"), "w", encoding="ascii") as file:
        lines = [json.dumps(name) + ": " + json.dumps(value) if name == "made_by" else
                 json.dumps(name) + ": [\n" + ",\n".join(map(json.dumps, value)) + "]"
                 for name, value in recorded.items()]
        file.write("{" + ",\n".join(lines) + "}\n")
    print(path, len(vocabulary()), "pieces;", len(LOWER), "and", len(CASED), "texts")


if __name__ == "__main__":
    main()
