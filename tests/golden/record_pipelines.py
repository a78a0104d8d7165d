#!/usr/bin/python3
"""record_pipelines.py - trains small tokenizers of every kind with the Python package `tokenizers`, and
records the tokens that it makes of 20,000 texts.

    record_pipelines.py [DIRECTORY]    writes there, or to pipelines/ beside itself

    NAME.json         a tokenizer
    NAME.digests      by text: 16 bits of the ids and offsets; then 64 bits of all of them
    NAME.pairs        the same for pairs of texts, some of them truncated
    NAME.decoded      the same for what the ids decode to
    fragments.json    what texts are made of

Both sides make the texts by the same rule (`texts` below, text_of in test_pipeline_golden.c). Offsets
count characters here; they are recorded as offsets of bytes in UTF-8. Needs pip install tokenizers
sentencepiece (recorded with 0.23.3 and 0.2.1); the test needs neither.
"""
import base64
import json
import os
import struct
import sys
import tempfile

import sentencepiece
import tokenizers
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

TEXTS, PAIRS, DECODED, LONG = 20000, 2000, 5000, 100000
MASK = (1 << 64) - 1

PROSE = """The movie was great, and the actors aren't bad either; we'll see it again. It's 1999 or 2026!
I'd say they've won 3-1. Don't YOU'RE we'Ll I'M he'D. Résumé, naïve café, Zürich: 12,345.67 € at 10 % off.
Der schnelle braune Fuchs springt über den faulen Hund. Straßenbahnhaltestelle, Größenwahn und Äpfel.
Le cœur a ses raisons que la raison ne connaît point. L'été, à Noël, ça va où? Garçon, s'il vous plaît.
El niño comió piñas en España. ¿Dónde está? ¡Qué lástima! La cigüeña voló.
Быстрая коричневая лиса перепрыгивает через ленивую собаку. Ёлка, йод, съезд. Слово о полку.
Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί. Σίσυφος, ΟΔΥΣΣΕΥΣ, ΐ ΰ.
הזריז חום שועל קופץ מעל הכלב העצלן. שָׁלוֹם עֲלֵיכֶם.
الثعلب البني السريع يقفز فوق الكلب الكسول. السَّلامُ عَلَيْكُمْ ١٢٣ لا
तेज भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। नमस्ते दुनिया क्षत्रिय १२३ क़लम
เร็วสุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ กำลัง ๑๒๓
快速的棕色狐狸跳过懒狗。中文分词很有趣,价格是100元。我爱北京天安门!
素早い茶色の狐が怠け者の犬を飛び越える。カタカナ ひらがな ﾊﾝｶｸ が か゛ ヴ ㍿
빠른 갈색 여우가 게으른 개를 뛰어넘는다. 한국어 각 각 안녕하세요
Con cáo nâu nhanh nhẹn nhảy qua con chó lười. Tiếng Việt: ộ ờ ữ ế Ắ
def f(x):\n    return x**2  # square\n\tif (a==b && c!=d) { printf("%d\\n", a); }\nhttp://www.example.com/a_b?c=1&d=%20#e
"""

NAUGHTY = """!"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~|'s|'S|'LL|''|'|'ve|'Re|don't|CAN'T|\u2019s|'\u017f|\u017ft|\u212a|a|b|x|Z|0|7|42|123|1234567
||  |   |\t|\n|\r|\r\n|\n\n|\n\n\n| \n|\n |\t\t |\u00a0|\u2003|\u3000|\u2028|\u2029|\u0085|\u000b|\u000c|\u1680|\u202f|\u205f
\u200b|\u200c|\u200d|\u00ad|\ufeff|\ufffd|\u0000|\u0001|\u0007|\u001f|\u007f|\u0080|\u009f|\u200e|\u202e|\u2060|\ue000|\U0010fffd
\u0301|\u0308|\u0327|\u0323|\u0302|e\u0301|o\u0323\u0302|o\u0302\u0323|a\u0301\u0301|\u0344|\u0345|\u05b8\u05c1|\u0651\u064e|q\u0307\u0323|s\u0323\u0307|\u1e9b\u0323|\u0f73|\u0e33|\u0e31
\u00e9|\u00c9|\u1ed9|\u01d5|\u1e17|\u0130|\u0131|I\u0307|\u00df|\u1e9e|\u03c2|\u03a3|\u01c5|\u01c6|\u0149|\u023a|\u2c65|\u0958|\u0929|\u0b4b|\u09cb|\u212b|\u2126|\u00b5
\ufb01|\ufb03|\u2460|\u00bd|\u2153|\u00b2|\u00b9|\u2075|\u2167|\u216b|\u24d0|\u24b6|\uff21|\uff11|\uff5e|\u3392|\u32c0|\ufdfa|\ufdfb|\ufdf2|\u2100|\u2122|\u00ae|\u2026|\u2030
\u1100\u1161\u11a8|\uac00|\uac01|\u1100|\u1161|\u11a8|\uac00\u11a8|\u304b\u3099|\u304c|\u30cf\u309a|\uff76\uff9e|\u309b|\u30fc|\u3042|\u4e2d|\u6587|\u8c48|\u2f00|\u3400|\U00020000|\U0002f800|\u3007|\u3005
\U0001f600|\U0001f44d\U0001f3fd|\U0001f468\u200d\U0001f469\u200d\U0001f467|\u2764\ufe0f|\u2764|1\ufe0f\u20e3|\U0001f1e9\U0001f1ea|\U0001f3f4\u200d\u2620\ufe0f|\u263a|\U0001f600\U0001f600\U0001f600|\u20ac|\u00a3|\u00a5|\u20bf
\U0001d49c|\U00010400|\U00010428|\ua641|\u13a0|\u10a0|\u2c00|\u0660|\u0967|\u0e51|\u09ea|\u00aa|\u00ba|\u02b0|\u05d0|\u0627|\u0915\u094d\u0937|\u0ba8\u0bbf|\u0e01\u0e33|\u17c1|\u1ea1|\u0915|\u093e
\u2581|\u2581\u2581|\u2581a|\u0120|\u0120a|\u00a1|\u00bf|\u2013|\u2014|\u201c|\u201d|\u300c|\u3002|\u00b7|\u2022|\u00ab|\u00bb|\u2039|\u055a|\u0964|_|__|a_b|-|--|---|+|=|<|>|^|`|~|$|\u00b1|\u00d7|\u00f7
[CLS]|[SEP]|[UNK]|[MASK]|[cls]|<s>|</s>|<pad>|<unk>|<mask>| <mask>|<mask> |<mask>  <mask>|<|end|>|<|endoftext|>|<|im_start|>|<0x41>|<0x0A>|##a|##|a##b|</w>|a</w>|NEWword|newword|newwords|  NEWword  |Word\u00c9|word\u00e9|worde\u0301|word
""".replace("<|", "<\x01").replace("|>", "\x01>")

SPLIT_LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                r"|\s*[\r\n]+|\s+(?!\S)|\s+")
SPLIT_QWEN2 = SPLIT_LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
# What SentencePiece's rules are like: several characters to one, one to several, some to none.
MAP_RULES = [("\u00a0", " "), ("\u3000", " "), ("\u200b", " "), ("\t", " "), ("\n", " "), ("\u200d", ""), ("\u0001", ""),
             ("\ufeff", ""), ("\u00ad", ""), ("e\u0301", "\u00e9"), ("o\u0302", "\u00f4"), ("\ufb01", "fi"),
             ("\ufb03", "ffi"), ("\u00bd", "1/2"), ("\u2026", "..."), ("\u2122", "TM"), ("\uff21", "A"), ("\uff11", "1"),
             ("\u304b\u3099", "\u304c"), ("\uff76\uff9e", "\u30ac"), ("\u1100\u1161", "\uac00"), ("\ufdfa", "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647"),
             ("\u0132", "IJ"), ("\u2460", "1"), ("q", "k"), ("a\u0301", "\u00e1")]


def fragments():
    naughty = [fragment.replace("\x01", "|") for line in NAUGHTY.split("\n") for fragment in line.split("|")]
    lines = [line.strip() for line in PROSE.split("\n")]
    words = [word for line in lines for word in line.split(" ")]
    return list(dict.fromkeys([f for f in naughty if f] + words + lines))


def mix(x):
    """SplitMix64's finaliser, as sl_random_mix."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def text_of(parts, number):
    """0: one letter, LONG times. Else up to 15 fragments, with blanks between in every other text."""
    if number == 0:
        return "a" * LONG
    state = mix(number)
    count, blanks = 1 + state % 15, state >> 8 & 1
    chosen = []
    for i in range(count):
        state = mix(state)
        chosen.append(parts[state % len(parts)] * (1 + (state >> 32) % 40 if (state >> 40) % 16 == 0 else 1))
    return (" " if blanks else "").join(chosen)


# ---- tokenizers -----------------------------------------------------------------------------------

def lines_of(parts):
    return [text_of(parts, 1000000 + i) for i in range(3000)] + PROSE.split("\n") * 40


def trained(tokenizer, trainer, parts):
    tokenizer.train_from_iterator([line.replace("\0", "") for line in lines_of(parts)], trainer)
    return tokenizer


def without_twins(tokenizer):
    """Training finds pieces that are special tokens already."""
    parsed = json.loads(tokenizer.to_str())
    scores = {}
    for piece, score in parsed["model"]["vocab"]:
        scores.setdefault(piece, score)
    parsed["model"]["vocab"] = list(scores.items())
    return Tokenizer.from_str(json.dumps(parsed))


def bert(parts):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    trained(t, trainers.WordPieceTrainer(vocab_size=1600, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]), parts)
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", t.token_to_id("[CLS]")), ("[SEP]", t.token_to_id("[SEP]"))])
    return t


def bert_steps(parts):
    """BERT's model behind other steps: nothing that a shortcut knows."""
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=12))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=True)
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)])
    t.decoder = decoders.WordPiece(cleanup=False)
    trained(t, trainers.WordPieceTrainer(vocab_size=1200, special_tokens=["[UNK]", "[CLS]", "[SEP]"]), parts)
    t.add_tokens([AddedToken("newword", single_word=True), AddedToken("Word\u00c9", normalized=True)])
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    t.post_processor = processors.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    return t


def byte_level(parts, size, specials):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=specials,
                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def gpt2(parts):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return trained(t, byte_level(parts, 1500, ["<|endoftext|>"]), parts)


def roberta(parts):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    trained(t, byte_level(parts, 1200, ["<s>", "<pad>", "</s>", "<unk>"]), parts)
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=False)])
    t.add_tokens([AddedToken("NEWword", rstrip=True, normalized=False)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return t


def llama3(parts):
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(SPLIT_LLAMA3), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    trained(t, byte_level(parts, 1200, []), parts)
    t.add_special_tokens(["<|end|>", "<|im_start|>"])
    t.post_processor = processors.Sequence([
        processors.ByteLevel(add_prefix_space=True, trim_offsets=True),
        processors.TemplateProcessing(single="<|end|> $A", pair="<|end|> $A <|end|>:1 $B:1",
                                      special_tokens=[("<|end|>", t.token_to_id("<|end|>"))])])
    return t


def qwen2(parts):
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(SPLIT_QWEN2), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=True)
    trained(t, byte_level(parts, 1200, []), parts)
    t.add_special_tokens(["<|endoftext|>", "<|im_start|>"])
    return t


def smollm(parts):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    return trained(t, byte_level(parts, 1000, ["<|endoftext|>"]), parts)


def llama2(parts):
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                                   decoders.Strip(" ", 1, 0)])
    specials = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)]
    t.pre_tokenizer = pre_tokenizers.Metaspace()  # to learn words
    trained(t, trainers.BpeTrainer(vocab_size=1200, special_tokens=specials, limit_alphabet=120), parts)
    t.pre_tokenizer = None
    t = without_added(t, specials[3:])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                                     special_tokens=[("<s>", 1)])
    return t


def without_added(tokenizer, names):
    """Pieces that are the model's alone."""
    parsed = json.loads(tokenizer.to_str())
    parsed["added_tokens"] = [token for token in parsed["added_tokens"] if token["content"] not in names]
    return Tokenizer.from_str(json.dumps(parsed))


def gemma(parts):
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=False, unk_token="<unk>"))
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    specials = ["<pad>", "<unk>"] + ["<0x%02X>" % byte for byte in range(128)]  # unknown beyond ASCII
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    trained(t, trainers.BpeTrainer(vocab_size=900, special_tokens=specials, limit_alphabet=90), parts)
    t.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    return without_added(t, specials[2:])


def map_of(rules):
    """The character map that SentencePiece compiles from rules."""
    with tempfile.TemporaryDirectory() as directory:
        rules_file, model = os.path.join(directory, "rules.tsv"), os.path.join(directory, "model")
        with open(rules_file, "w", encoding="ascii") as file:
            for source, target in rules:
                file.write("\t".join(" ".join("%X" % ord(c) for c in side) for side in (source, target)) + "\n")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d e f"] * 100), model_prefix=model, vocab_size=20, hard_vocab_limit=False,
            normalization_rule_tsv=rules_file, minloglevel=3)
        with open(model + ".model", "rb") as file:
            data = file.read()
    return charsmap_of(data)


def fields(data):
    """The fields of a protocol buffer: number and value."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value, at
    at = 0
    while at < len(data):
        key, at = varint(at)
        if key & 7 == 2:
            size, at = varint(at)
            yield key >> 3, data[at:at + size]
            at += size
        elif key & 7 == 0:
            value, at = varint(at)
            yield key >> 3, value
        else:
            at += 8 if key & 7 == 1 else 4


def charsmap_of(model):
    """`normalizer_spec.precompiled_charsmap` of a SentencePiece model."""
    spec = next(value for number, value in fields(model) if number == 3)
    return next(value for number, value in fields(spec) if number == 2)


def xlm_roberta(parts):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Precompiled(map_of(MAP_RULES)), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    trained(t, trainers.UnigramTrainer(vocab_size=1500, unk_token="<unk>", special_tokens=["<s>", "<pad>", "</s>", "<unk>"]), parts)
    t = without_twins(t)
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", t.token_to_id("<s>")), ("</s>", t.token_to_id("</s>"))])
    return t


def t5(parts):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "),
                                         normalizers.Strip(left=False, right=True)])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    trained(t, trainers.UnigramTrainer(vocab_size=1000, unk_token="<unk>", max_piece_length=8,
                                       special_tokens=["<pad>", "</s>", "<unk>"]), parts)
    parsed = json.loads(without_twins(t).to_str())
    rare = [piece for piece in parsed["model"]["vocab"] if (len(piece[0]) > 1 or ord(piece[0]) < 0x500) and "<0x" not in piece[0]]
    parsed["model"]["vocab"] = rare + [["<0x%02X>" % byte, -20.0] for byte in range(256)]
    parsed["model"]["byte_fallback"] = True
    t = Tokenizer.from_str(json.dumps(parsed))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return t


def clip(parts):
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase(), normalizers.StripAccents()])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous")])
    t.decoder = decoders.BPEDecoder()
    trained(t, trainers.BpeTrainer(vocab_size=1200, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=300), parts)
    t.add_special_tokens(["<mask>"])
    return t


def prefixed(parts):
    t = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Strip(left=True, right=False)])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.Digits(),
                                               pre_tokenizers.BertPreTokenizer()])
    return trained(t, trainers.BpeTrainer(vocab_size=1000, special_tokens=["[UNK]"], continuing_subword_prefix="##",
                                          limit_alphabet=200), parts)


KINDS = [bert, bert_steps, gpt2, roberta, llama3, qwen2, smollm, llama2, gemma, xlm_roberta, t5, clip, prefixed]

# ---- recording ------------------------------------------------------------------------------------

def fnv(data, digest=0xCBF29CE484222325):
    for byte in data:
        digest = ((digest ^ byte) * 0x100000001B3) & MASK
    return digest


def bytes_before(text):
    """By number of characters: how many bytes they have."""
    before = [0]
    for character in text:
        before.append(before[-1] + len(character.encode("utf-8")))
    return before


def packed(encoded, *texts):
    """Per token: id, offsets in bytes, type; as four little-endian words of 32 bits."""
    before = [bytes_before(text) for text in texts]
    out = bytearray()
    for i, (token, (start, stop), kind) in enumerate(zip(encoded.ids, encoded.offsets, encoded.type_ids)):
        sequence = encoded.token_to_sequence(i) if len(texts) > 1 else 0
        places = before[sequence or 0]
        out += struct.pack("<IIII", token, places[start], places[stop], kind)
    return bytes(out)


def truncation_of(number):
    """Most tokens of a pair; 0: any number."""
    return 0 if number % 3 == 0 else 5 + mix(number) % 40


class Digests:
    def __init__(self):
        self.short, self.all = bytearray(), 0xCBF29CE484222325

    def add(self, data):
        digest = fnv(data)
        self.short += struct.pack("<H", digest >> 48)
        self.all = fnv(struct.pack("<Q", digest), self.all)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(bytes(self.short) + struct.pack("<Q", self.all))


def record(tokenizer, path, texts):
    single, pairs, decoded = Digests(), Digests(), Digests()
    for number, text in enumerate(texts):
        encoded = tokenizer.encode(text)
        single.add(packed(encoded, text))
        if number < DECODED:
            decoded.add(tokenizer.decode(encoded.ids, skip_special_tokens=number % 2 == 0).encode("utf-8"))
    for number in range(PAIRS):
        a, b = texts[1 + number], texts[TEXTS - 1 - number]
        most = truncation_of(number)
        if most:
            tokenizer.enable_truncation(most, direction="left" if number % 2 else "right")
        else:
            tokenizer.no_truncation()
        pairs.add(packed(tokenizer.encode(a, b), a, b))
    tokenizer.no_truncation()
    single.write(path + ".digests")
    pairs.write(path + ".pairs")
    decoded.write(path + ".decoded")


def main():
    directory = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "pipelines")
    os.makedirs(directory, exist_ok=True)
    parts = fragments()
    with open(os.path.join(directory, "fragments.json"), "w", encoding="ascii") as file:
        json.dump({"made_by": "tokenizers " + tokenizers.__version__, "fragments": parts}, file, indent=0)
    texts = [text_of(parts, number) for number in range(TEXTS)]
    for kind in KINDS:
        path = os.path.join(directory, kind.__name__)
        tokenizer = kind(parts)
        with open(path + ".json", "w", encoding="utf-8") as file:
            file.write(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n")
        record(Tokenizer.from_file(path + ".json"), path, texts)
        print(kind.__name__, tokenizer.get_vocab_size(), "pieces,", os.path.getsize(path + ".json"), "bytes")


if __name__ == "__main__":
    main()
