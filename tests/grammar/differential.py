"""The comparison of test_differential.py on new made-up grammars, for as long as one likes.

    python -m tests.grammar.differential [--minutes 20] [--seed TEXT] [--model smollm2]

Prints each difference as it is found, and at the end how many verdicts were compared.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

from tests.grammar.corpus import MAKERS, Named, package_grammars, reply_grammars
from tests.grammar.oracles import LlamaCpp, LLGuidance, OracleFailed, OracleSilent
from tests.grammar.walks import Difference, Tally, Words, oracles
from textcall.engines.context import Context
from textcall.resolve import resolve_model


def _grammars(seed: str) -> Iterator[Named]:
    """Without end; the fixed ones come again and again, by other ways."""
    fixed = [*package_grammars(), *reply_grammars()]
    number = 0
    while True:
        for maker in MAKERS:
            yield maker(f"{seed} {number}")
        name, gbnf = fixed[number % len(fixed)]
        yield f"{name} {number}", gbnf
        number += 1


def run(words: Words, seed: str, seconds: float) -> tuple[Tally, list[str]]:
    """What was compared, and what was wrong."""
    total, wrong = Tally(), []
    deadline = time.monotonic() + seconds
    for number, (name, gbnf) in enumerate(_grammars(seed)):
        if number % 50 == 49:
            _say(f"{number + 1} grammars, next {name}: {total}")
        if time.monotonic() > deadline:
            break
        try:
            total.add(words.walk(gbnf, random.Random(f"{seed} {name}"), steps=25, masks=1 if number % 3 == 0 else 0))
        except OracleSilent:
            total.excused["llama.cpp: no answer to a grammar"] += 1
        except (Difference, OracleFailed) as error:
            wrong.append(f"{name}: {error}")
            _say(wrong[-1])
    return total, wrong


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)))
    parser.add_argument("--model", default="smollm2")
    asked = parser.parse_args()
    path = resolve_model(asked.model).path
    context = Context(path, vocab_only=True)
    llama = LlamaCpp(path, context.vocab)
    words = Words(context.vocab, oracles(llama, LLGuidance(context.vocab)))
    _say(f"{path.name}, seed {asked.seed}")
    total, wrong = run(words, asked.seed, asked.minutes * 60)
    llama.close()
    _say(f"{total.walks} walks, {total.steps} steps, verdicts: {dict(total.verdicts)}")
    _say(f"excused: {dict(total.excused)}")
    _say(f"{len(wrong)} differences")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
