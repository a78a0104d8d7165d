#!/usr/bin/env python3
"""record_translation_scores.py - writes translation_scores.json: texts with their corpus scores by sacreBLEU.

    pip install sacrebleu==2.6.0 && tests/golden/record_translation_scores.py
"""
import json
import pathlib
import random

import sacrebleu

REFERENCES = [
    'A man in a red T-shirt climbs the wall (quickly), 3.5 metres high.',
    'Zwei Kinder spielen im Schnee; eines lacht: "Hör auf!"',
    "The dog's ball cost $1,299.00 - isn't that 50% too much?",
    'Ein älterer Herr liest am 3.-5. Mai die Zeitung ...',
    'E-mail me at a.b@example.org/x?y=1&z=2 or call 555-1234!',
    'Größe, Maß & Ziel: `code` {x} [y] ~ ^ | \\ _ = + * # <tag>',
    'Two women,one child and 10,000.5 birds.Nothing else',
    '日本語の文章です。 これは、試験です。',
    'a',
    'Ein Mann schläft in einem grünen Raum auf einem Sofa.',
]


def changed(text, random_numbers):
    words = text.split(' ')
    for _ in range(random_numbers.randrange(4)):
        at = random_numbers.randrange(len(words))
        what = random_numbers.randrange(4)
        if what == 0 and len(words) > 1:
            del words[at]
        elif what == 1:
            words.insert(at, random_numbers.choice(['the', 'ein', ',', '3.14', '-']))
        elif what == 2:
            other = random_numbers.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        else:
            words[at] = words[at].lower()[::-1]
    return ' '.join(words)


def main():
    random_numbers = random.Random(7)
    corpora = []
    for size in (1, 1, 1, 2, 3, 5, 10, 10, 30):
        references = [random_numbers.choice(REFERENCES) for _ in range(size)]
        translations = [changed(r, random_numbers) for r in references]
        corpora.append((translations, references))
    corpora.append((['x y z'], ['nothing in common here at all']))
    corpora.append((['the cat is on a mat today', ''], ['the cat sat on the mat today', 'a b c d e']))
    corpora.append(([' '.join(['word'] * 12)], ['word another word']))
    corpora.append((['&quot;A&amp;B&quot; &lt;c&gt; <skipped> d-e f\tg'], ['"A&B" <c>  d-e f g']))
    out = [{'translations': t,
            'references': r,
            'bleu': sacrebleu.corpus_bleu(t, [r]).score,
            'chrf': sacrebleu.corpus_chrf(t, [r]).score} for t, r in corpora]
    path = pathlib.Path(__file__).with_name('translation_scores.json')
    path.write_text(json.dumps(out, ensure_ascii=False, indent=1) + '\n', encoding='utf-8')


main()
