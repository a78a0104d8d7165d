"""encoder_methods.py - what others do with a pretrained encoder and few labels; methods of bench_small_data.py.

ENCODER is a directory as Hugging Face publishes them, such as that of `make pretrained`. Each method takes training and
test rows and returns the predicted labels, and for each the probability, and the mean loss.

Packages: torch 2.15.0, transformers 5.24.0, scikit-learn 1.9.1; setfit 1.2.0 for `setfit`.
"""

import math
import random
import tempfile
from statistics import mean

TOKENS_MAX = 256  # of all-MiniLM-L6-v2
BATCH = 16
PASSES = 10000  # over texts, as long as that makes 2 to 20 epochs
RATES = (2e-5, 5e-5, 1e-4)


def found(classes, probabilities, test):
    """probabilities: rows of numbers, in the order of classes."""
    place = {label: i for i, label in enumerate(classes)}
    best = [max(range(len(classes)), key=row.__getitem__) for row in probabilities]
    loss = -mean(math.log(max(row[place[label]], 1e-12)) if label in place else math.log(1e-12)
                 for row, (label, _) in zip(probabilities, test))
    return [classes[i] for i in best], ([row[i] for row, i in zip(probabilities, best)], loss)


class Encoder:
    """Mean of the last layer's tokens."""

    def __init__(self, options):
        import torch
        from transformers import AutoModel, AutoTokenizer

        torch.set_num_threads(int(options.threads) or torch.get_num_threads())
        self.tokenizer = AutoTokenizer.from_pretrained(options.encoder)
        self.model = AutoModel.from_pretrained(options.encoder)

    def __call__(self, texts):
        batch = self.tokenizer(texts, padding=True, truncation=True, max_length=TOKENS_MAX, return_tensors="pt")
        mask = batch["attention_mask"].unsqueeze(-1)
        return (self.model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)

    def of_many(self, texts):
        """Without gradients; the order of the texts is kept, and batches are of texts of a length."""
        import torch

        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        out = [None] * len(texts)
        self.model.eval()
        with torch.inference_mode():
            for at in range(0, len(order), 64):
                part = order[at : at + 64]
                for i, row in zip(part, self([texts[i] for i in part])):
                    out[i] = row
        return torch.stack(out)


def embeddings(train, test, options):
    """Sentence embeddings, then logistic regression; its C by cross-validation."""
    import torch
    from sklearn.linear_model import LogisticRegressionCV

    encoder = Encoder(options)
    vectors = [torch.nn.functional.normalize(encoder.of_many([text for _, text in rows]), dim=1).numpy()
               for rows in (train, test)]
    labels = [label for label, _ in train]
    folds = max(2, min(5, min(labels.count(label) for label in set(labels))))
    model = LogisticRegressionCV(Cs=[0.3, 1, 3, 10, 30, 100], cv=folds, scoring="neg_log_loss", max_iter=2000, use_legacy_attributes=False)
    model.fit(vectors[0], labels)
    return found(list(model.classes_), model.predict_proba(vectors[1]).tolist(), test)


class FineTuning:
    """All weights and a linear layer over the mean of the tokens: AdamW, warm-up for a tenth, then linear decay."""

    def __init__(self, options, classes, rate, seed=1):
        import torch

        torch.manual_seed(seed)
        self.classes, self.rate, self.draw = classes, rate, random.Random(seed)
        self.encoder = Encoder(options)
        self.fast = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
        self.head = torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Linear(self.encoder.model.config.hidden_size, len(classes)))

    def parameters(self):
        return [*self.encoder.model.parameters(), *self.head.parameters()]

    def fit(self, rows, epochs):
        import torch

        optimizer = torch.optim.AdamW(self.parameters(), self.rate, weight_decay=0.01)
        steps = epochs * math.ceil(len(rows) / BATCH)
        warm_up = max(1, steps // 10)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up)))
        rows = list(rows)
        for _ in range(epochs):
            self.encoder.model.train()
            self.head.train()
            self.draw.shuffle(rows)
            for at in range(0, len(rows), BATCH):
                part = rows[at : at + BATCH]
                target = torch.tensor([self.classes.index(label) for label, _ in part])
                optimizer.zero_grad()
                with torch.autocast("cpu", torch.bfloat16, enabled=self.fast):
                    scores = self.head(self.encoder([text for _, text in part]))
                torch.nn.functional.cross_entropy(scores.float(), target).backward()
                torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
                optimizer.step()
                schedule.step()

    def probabilities(self, rows):
        import torch

        self.head.eval()
        with torch.inference_mode():
            return self.head(self.encoder.of_many([text for _, text in rows])).softmax(1).tolist()


def fine_tuning(train, test, options):
    """The rate by the accuracy, then the loss, on a held-out fifth; then again on all."""
    classes = sorted({label for label, _ in train})
    train = random.Random(1).sample(train, len(train))  # a file may be sorted by label
    cut = max(1, len(train) // 5)
    epochs = max(2, min(20, PASSES // len(train)))

    def quality(rate):
        tried = FineTuning(options, classes, rate)
        tried.fit(train[cut:], epochs)
        labels, (_, loss) = found(classes, tried.probabilities(train[:cut]), train[:cut])
        return sum(a == b for a, (b, _) in zip(labels, train[:cut])) / cut, -loss

    model = FineTuning(options, classes, max(RATES, key=quality))
    model.fit(train, epochs)
    return found(classes, model.probabilities(test), test)


def setfit(train, test, options):
    """Tunstall 2022, in its own package: an epoch over pairs of texts, then logistic regression."""
    import torch
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    torch.set_num_threads(int(options.threads) or torch.get_num_threads())
    classes = sorted({label for label, _ in train})
    data = Dataset.from_dict({"text": [text for _, text in train], "label": [classes.index(label) for label, _ in train]})
    with tempfile.TemporaryDirectory() as directory:
        steps = min(2 * len(train) * 20 // BATCH, 2500)
        arguments = TrainingArguments(output_dir=directory, batch_size=BATCH, num_epochs=1, max_steps=steps, report_to="none",
                                      save_strategy="no", show_progress_bar=False)
        trainer = Trainer(model=SetFitModel.from_pretrained(str(options.encoder)), args=arguments, train_dataset=data)
        trainer.train()
        probabilities = trainer.model.predict_proba([text for _, text in test], batch_size=64, show_progress_bar=False)
    return found(classes, probabilities.tolist(), test)


METHODS = {"embeddings": embeddings, "fine_tuning": fine_tuning, "setfit": setfit}
