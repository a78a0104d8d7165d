"""turns.py - measures the contenders of one row in turns, so that other work on the machine slows all of them."""

from contender import Contender, Failed


def open_all(contenders, logs):
    """Loads them; returns those that can be timed, and results that say why the others cannot."""
    ready, refused = [], []
    for contender in contenders:
        try:
            contender.open(logs / f"{contender.name.replace(' ', '-')}.log")
            ready.append(contender)
        except (Failed, OSError) as error:
            contender.close()
            refused.append(skipped(contender, str(error)))
    return ready, refused


def about(contender):
    out = {"who": contender.who, "how": contender.how}
    out.update({key: contender.start[key] for key in ("version", "isa") if key in contender.start})
    if contender.against:
        out["against"] = contender.against
    return out


def skipped(contender, why):
    last = why.strip().splitlines()[-1] if why.strip() else "no reason given"
    return {**about(contender), "value": None, "why": last[:200]}


def measure(contenders: list[Contender], turns, seconds, better="lower"):
    """The best of each contender's turns."""
    best = min if better == "lower" else max
    found = {contender.name: [] for contender in contenders}
    lost = {}
    for _ in range(turns):
        for contender in contenders:
            if contender.name in lost:
                continue
            try:
                value = contender.turn(seconds)["value"]
                found[contender.name].append(float(f"{value:.5g}"))
            except (Failed, OSError, KeyError) as error:
                lost[contender.name] = skipped(contender, f"{type(error).__name__}: {error}")
    if turns == 0:
        return []
    return [
        lost.get(c.name) or {**about(c), "value": best(found[c.name]), "turns": found[c.name]} for c in contenders
    ]


def take(contenders, logs, setup, better, seconds=None):
    """Loads, measures and ends them. Errors of each go to a file in `logs`."""
    logs.mkdir(exist_ok=True)
    try:
        ready, refused = open_all(contenders, logs)
        return measure(ready, setup.turns, seconds or setup.seconds, better) + refused
    finally:
        for contender in contenders:
            contender.close()
