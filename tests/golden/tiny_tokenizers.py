"""tiny_tokenizers.py - the tokenizer that the recorders of tiny models beside it share."""
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

WORD_PIECES_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def word_piece():
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocab = WORD_PIECES_SPECIAL + letters + ["##" + c for c in letters]
    t = Tokenizer(models.WordPiece({v: i for i, v in enumerate(vocab)}, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece()
    t.add_special_tokens(WORD_PIECES_SPECIAL)
    return t
