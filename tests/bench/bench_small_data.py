#!/usr/bin/env python3
"""Compares classifiers on few labelled texts: `sluice train`, TF-IDF with linear models, NB-SVM, fastText, and others'
ways to use a pretrained encoder (encoder_methods.py).

    bench_small_data.py DIR --sets agnews imdb --sizes 100 300 1000 --seeds 5 --methods svm sluice

DIR holds NAME.train.tsv and NAME.test.tsv (or NAME.held.tsv with --part held) for each set: a label, a tab and a
text per line. NAME.sentences is made from NAME: one sentence of each text, with the text's label.

For each set, size and seed, `size` texts are drawn from the training part, as evenly over the labels as possible.
Every method sees these alone, chooses its hyper-parameters on them (cross-validation, or a held-out fifth), and is
measured on the whole test part. One line of JSON per result goes to --output, and what it has is not measured again; a
table goes to standard output.

Packages: scikit-learn 1.5.2, numpy 1.26.4, fasttext-wheel 0.9.2, torch (only for the methods that need them).
`convolution` needs the skip-gram vectors of --vectors (`sluice vectors --output FILE`).
"""
import argparse
import json
import math
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

import encoder_methods

SENTENCE = re.compile(r"(?<=[.!?])\s+")
WORD = re.compile(r"\w+|[^\w\s]")


def read(path):
    rows = [line.split("\t", 1) for line in path.read_text("utf-8").split("\n") if line]
    return [(label, text.replace("<br />", " ")) for label, text in rows]


def sentence_of(text, draw):
    fit = [s for s in SENTENCE.split(text) if 5 <= len(s.split()) <= 40]
    return draw.choice(fit) if fit else None


def part(directory, name, which):
    base, _, kind = name.partition(".")
    rows = read(directory / f"{base}.{which}.tsv")
    if kind != "sentences":
        return rows
    draw = random.Random(f"{base} {which}")
    cut = [(label, sentence_of(text, draw)) for label, text in rows]
    return [row for row in cut if row[1]]


def sample(rows, size, seed):
    """Round-robin over the labels, so that no label is missing."""
    if size >= len(rows):
        return rows
    by_label = defaultdict(list)
    for row in rows:
        by_label[row[0]].append(row)
    draw, out = random.Random(seed), []
    queues = [draw.sample(by_label[label], len(by_label[label])) for label in sorted(by_label)]
    while len(out) < size:
        for queue in queues:
            if queue and len(out) < size:
                out.append(queue.pop())
    draw.shuffle(out)
    return out


# -- the methods: each takes training and test rows and returns the probabilities, or the labels, of the test rows


def folds(labels):
    least = min(labels.count(label) for label in set(labels))
    return max(2, min(5, least))


def pipeline(estimator, parameters, memory):
    from sklearn.base import clone
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import Pipeline

    steps = Pipeline([("tfidf", TfidfVectorizer(sublinear_tf=True)), ("model", clone(estimator))], memory=memory)
    return steps.set_params(**parameters)


def cross_validate(estimator, parameters, texts, labels, memory):
    from sklearn.model_selection import cross_val_score

    return cross_val_score(pipeline(estimator, parameters, memory), texts, labels, cv=folds(labels)).mean()


def linear(estimator, grid, train, options):
    """Grid search. Of one that was interrupted, the points that are in --cache are not computed again."""
    from joblib import Memory, Parallel, delayed
    from sklearn.model_selection import ParameterGrid

    labels, texts = [label for label, _ in train], [text for _, text in train]
    grid = {"tfidf__ngram_range": [(1, 1), (1, 2)], "tfidf__min_df": [1, 2], **{f"model__{k}": v for k, v in grid.items()}}
    with tempfile.TemporaryDirectory() as scratch:  # the TF-IDF of a fold is computed once for all values of C
        accuracy = Memory(options.cache or scratch, verbose=0).cache(cross_validate, ignore=["memory"])
        points = list(ParameterGrid(grid))
        found = Parallel(n_jobs=options.jobs)(delayed(accuracy)(estimator, point, texts, labels, scratch) for point in points)
        return pipeline(estimator, points[found.index(max(found))], scratch).fit(texts, labels)


def svm(train, test, options):
    from sklearn.svm import LinearSVC

    model = linear(LinearSVC(), {"C": [0.1, 0.3, 1, 3, 10]}, train, options)
    return model.predict([text for _, text in test]), None


def regression(train, test, options):
    from sklearn.linear_model import LogisticRegression

    model = linear(LogisticRegression(max_iter=1000), {"C": [1, 3, 10, 30, 100]}, train, options)
    scores = model.predict_proba([text for _, text in test])
    place = {label: i for i, label in enumerate(model.classes_)}
    loss = -mean(math.log(max(row[place[label]], 1e-12)) for row, (label, _) in zip(scores, test))
    return [model.classes_[i] for i in scores.argmax(1)], (scores.max(1), loss)


def nbsvm(train, test, _):
    """Wang & Manning 2012: features times their log-count ratio, then logistic regression, one label against the rest."""
    import numpy
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    vectorizer = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"(?u)\b\w+\b|[!?]")
    x, y = vectorizer.fit_transform([text for _, text in train]), numpy.array([label for label, _ in train])
    z, classes = vectorizer.transform([text for _, text in test]), sorted(set(y))
    scores = numpy.zeros((len(test), len(classes)))
    for column, label in enumerate(classes):
        p, q = x[y == label].sum(0) + 1, x[y != label].sum(0) + 1
        ratio = numpy.asarray(numpy.log((p / p.sum()) / (q / q.sum())))
        model = LogisticRegression(C=4, max_iter=1000).fit(x.multiply(ratio).tocsr(), y == label)
        scores[:, column] = model.decision_function(z.multiply(ratio).tocsr())
    return [classes[i] for i in scores.argmax(1)], None


def fasttext(train, test, options):
    import fasttext as library

    library.FastText.eprint = lambda *_: None
    with tempfile.TemporaryDirectory() as directory:
        at, cut = Path(directory), max(1, len(train) // 5)
        line = lambda row: f"__label__{row[0]} {row[1]}\n"
        (at / "train").write_text("".join(map(line, train[cut:])), "utf-8")
        (at / "all").write_text("".join(map(line, train)), "utf-8")
        (at / "held").write_text("".join(map(line, train[:cut])), "utf-8")
        found = library.train_supervised(str(at / "train"), autotuneValidationFile=str(at / "held"), verbose=0,
                                         autotuneDuration=options.autotune)
        used = found.f.getArgs()
        names = ("lr", "dim", "ws", "epoch", "minCount", "neg", "wordNgrams", "bucket", "minn", "maxn")
        model = library.train_supervised(str(at / "all"), verbose=0, thread=1, **{n: getattr(used, n) for n in names})
        labels, _ = model.predict([text for _, text in test])
    return [label[0].removeprefix("__label__") for label in labels], None


def convolution(train, test, options):
    """Kim 2014: skip-gram vectors, tuned along, and convolutions over them; epochs chosen on a held-out fifth."""
    import numpy
    import torch
    from torch.nn import functional

    vectors = read_vectors(options.vectors)
    table = numpy.stack([numpy.zeros_like(next(iter(vectors.values()))), *vectors.values()])
    table *= 0.25 / table.std()
    place = {word: i + 1 for i, word in enumerate(vectors)}
    classes = sorted({label for label, _ in train})

    def padded(rows):
        ids = [[place[w] for w in WORD.findall(text.lower()) if w in place][:400] for _, text in rows]
        width = max(7, *(len(row) for row in ids))
        return torch.tensor([row + [0] * (width - len(row)) for row in ids])

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.vectors = torch.nn.Embedding.from_pretrained(torch.tensor(table, dtype=torch.float32), freeze=False, padding_idx=0)
            self.windows = torch.nn.ModuleList(torch.nn.Conv1d(table.shape[1], 100, n, padding=n - 1) for n in (2, 3, 4))
            self.classify = torch.nn.Linear(300, len(classes))

        def forward(self, tokens):
            x = self.vectors(tokens).transpose(1, 2)
            x = torch.cat([window(x).relu().amax(2) for window in self.windows], 1)
            return self.classify(functional.dropout(x, 0.5, self.training))

    def scores(network, rows):
        network.eval()
        with torch.no_grad():
            return torch.cat([network(padded(rows[i : i + 256])) for i in range(0, len(rows), 256)])

    def fit(rows, held, epochs):
        """The network, and the number of epochs after which it was best on the held-out rows, if there are any."""
        torch.manual_seed(1)
        draw, network, best = random.Random(1), Network(), (-math.inf, 0)
        optimizer, rows = torch.optim.Adam(network.parameters(), 1e-3), list(rows)
        labels = torch.tensor([classes.index(label) for label, _ in held]) if held else None
        for epoch in range(1, epochs + 1):
            network.train()
            draw.shuffle(rows)
            for i in range(0, len(rows), 32):
                part = rows[i : i + 32]
                optimizer.zero_grad()
                functional.cross_entropy(network(padded(part)), torch.tensor([classes.index(label) for label, _ in part])).backward()
                optimizer.step()
            if held:
                z = scores(network, held)
                quality = (z.argmax(1) == labels).float().mean().item() - 0.3 * functional.cross_entropy(z, labels).item()
                best = max(best, (quality, -epoch))
                if epoch + best[1] >= 4:
                    break
        return network, -best[1]

    cut = max(1, len(train) // 5)
    _, epochs = fit(train[cut:], train[:cut], 40)
    network, _ = fit(train, None, epochs)
    p = scores(network, test).softmax(1)
    loss = -mean(math.log(max(p[i, classes.index(label)].item(), 1e-12)) for i, (label, _) in enumerate(test))
    return [classes[i] for i in p.argmax(1)], (p.amax(1).tolist(), loss)


def read_vectors(path):
    """Vectors of whole words, from a file in word2vec's text format."""
    import numpy

    with open(path, encoding="utf-8") as file:
        rows = (line.rstrip("\n").split(" ") for line in list(file)[1:])
        return {word: numpy.array(numbers, dtype="float32") for word, *numbers in rows if WORD.fullmatch(word)}


def sluice(train, test, options):
    """The label and its probability come from `sluice classify`, the loss from `sluice eval`."""
    with tempfile.TemporaryDirectory() as directory:
        at = Path(directory)
        for name, rows in (("train", train), ("test", test)):
            (at / f"{name}.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rows), "utf-8")
        (at / "test.txt").write_text("".join(f"{text}\n" for _, text in test), "utf-8")
        columns = ["--label", "1", "--text", "2", "--threads", options.threads, "--json"]
        run_dir = ["--run-dir", at / "run"] if options.train else []
        run([options.sluice, "train", *shlex.split(options.train), "--data", at / "train.tsv", *columns, *run_dir,
             "--output", at / "model/1"])
        shown = json.loads(run([options.sluice, "eval", at / "model/1", "--data", at / "test.tsv", *columns]))
        lines = run([options.sluice, "classify", at / "model/1", at / "test.txt", "--json"]).split("\n")[:-1]
    answers = [json.loads(line) for line in lines]
    return [answer["label"] for answer in answers], ([answer["score"] for answer in answers], shown["loss"])


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


METHODS = {
    "svm": svm,
    "regression": regression,
    "nbsvm": nbsvm,
    "fasttext": fasttext,
    "convolution": convolution,
    **encoder_methods.METHODS,
    "sluice": sluice,
}


# -- measuring


def calibration_error(right, scores):
    """The expected calibration error of the predicted label in 15 bins."""
    bins = defaultdict(list)
    for is_right, score in zip(right, scores):
        bins[min(int(score * 15), 14)].append((is_right, score))
    return sum(abs(sum(r for r, _ in b) - sum(p for _, p in b)) for b in bins.values()) / len(right)


def measure(method, train, test, options):
    begun = time.time()
    found, probabilities = METHODS[method](train, test, options)
    right = [a == b for a, (b, _) in zip(found, test)]
    result = {"accuracy": sum(right) / len(test)}
    if probabilities:
        scores, result["loss"] = probabilities
        result["calibration_error"] = calibration_error(right, scores)
    return {**result, "seconds": round(time.time() - begun, 1)}


def table(results, options):
    """Accuracies with their standard deviation, and the mean calibration error of Sluice."""
    print("| set | labels | " + " | ".join(options.methods) + " | calibration error |")
    print("|---|---|" + "---|" * (len(options.methods) + 1))
    for name in options.sets:
        for size in options.sizes:
            of = lambda method, key: [r[key] for r in results if (r["set"], r["size"], r["method"]) == (name, size, method)]
            cells = []
            for method in options.methods:
                values = [100 * accuracy for accuracy in of(method, "accuracy")]
                spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
                cells.append(f"{mean(values):.1f}{spread}" if values else "")
            errors = of("sluice", "calibration_error") if "sluice" in options.methods else []
            cells.append(f"{mean(errors):.3f}" if errors else "")
            print(f"| {name} | {size or 'all'} | " + " | ".join(cells) + " |")


def read_results(path):
    if not path or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sets", nargs="+", default=["agnews", "newsgroups20", "imdb", "imdb.sentences"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 300, 1000], help="0: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--part", default="test", help="measure on NAME.PART.tsv")
    parser.add_argument("--limit", type=int, default=0, help="measure on that many texts at most; 0: all")
    parser.add_argument("--sluice", default="build/release/sluice")
    parser.add_argument("--threads", default="0", help="of sluice; 0: all")
    parser.add_argument("--train", default="", help="arguments of sluice train; none: it chooses itself")
    parser.add_argument("--encoder", type=Path, default="build/pretrained/all-MiniLM-L6-v2", help="of the methods that need one")
    parser.add_argument("--vectors", type=Path, help="word vectors for convolution")
    parser.add_argument("--autotune", type=int, default=60, help="seconds of fastText's autotune")
    parser.add_argument("--jobs", type=int, default=1, help="processes of a grid search")
    parser.add_argument("--cache", type=Path, help="directory that keeps what grid searches have computed")
    parser.add_argument("--output", type=Path, help="append a line of JSON per result")
    options = parser.parse_args()
    results = read_results(options.output)
    measured = {(r["set"], r["size"], r["seed"], r["method"]) for r in results}
    for name in options.sets:
        rows, test = part(options.directory, name, "train"), part(options.directory, name, options.part)
        test = random.Random(0).sample(test, options.limit) if 0 < options.limit < len(test) else test
        for size in options.sizes:
            for seed in range(options.seeds):
                train = sample(rows, size or len(rows), seed)
                for method in options.methods:
                    if (name, size, seed, method) in measured:
                        continue
                    result = {"set": name, "size": size, "seed": seed, "method": method,
                              **measure(method, train, test, options)}
                    results.append(result)
                    print(json.dumps(result), file=sys.stderr, flush=True)
                    if options.output:
                        with open(options.output, "a", encoding="utf-8") as file:
                            file.write(json.dumps(result) + "\n")
    table(results, options)


if __name__ == "__main__":
    main()
