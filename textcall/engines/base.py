"""What the rest of textcall knows of an engine: messages in, text out.

An engine is handed messages whose content is plain text (roles system, user, assistant; see
`textcall.prompting.template`) and, where wanted, a grammar for the reply. It knows nothing of tools.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from textcall.errors import UsageError
from textcall.grammar import Grammar
from textcall.messages import Message, Usage

# Of `Sampling`: the field, the least and the greatest value, whether it must be whole.
_RANGES: tuple[tuple[str, float, float, bool], ...] = (
    ("temperature", 0, 100, False),
    ("min_p", 0, 1, False),
    ("top_k", 0, 2**31, True),
    ("top_p", 0, 1, False),
    ("seed", 0, 2**64, True),
    ("max_tokens", 1, 2**31, True),
)


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are chosen.

    temperature: 0 takes the likeliest token. min_p, top_k and top_p cut the candidates (0, 0 and 1 switch them off).
    The grammar is applied before the choice: what is drawn comes from the distribution over the allowed tokens.
    seed: None draws one. max_tokens: of the reply, think block included. stop: texts in front of which the text for the
    user ends; a call is never cut by them, and under a grammar the reply is written to its end all the same: what is
    told while it is written goes on behind them then, the text for the user does not. Raises UsageError for values out
    of their range.
    """

    temperature: float = 0.0
    min_p: float = 0.05
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, least, most, whole in _RANGES:
            value = getattr(self, name)
            if name == "seed" and value is None:
                continue
            right = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if not right or not least <= value <= most:
                kind = "a whole number" if whole else "a number"
                raise UsageError(f"{name} must be {kind} from {least} to {most}, not {value!r}")
        if isinstance(self.stop, str) or not all(self.stop):  # type: ignore[redundant-expr]
            raise UsageError("stop is a list of texts, none of them empty")


@dataclass(frozen=True, slots=True)
class Decision:
    """A threshold at the one position where a reply turns out to be an answer or a call.

    prefix: the text of the reply up to that position. answer: the text that follows there where no tool is wanted.
    threshold: the answer is taken if its probability among what the grammar allows is at least this; None leaves the
    choice to the model and only measures.
    """

    prefix: str
    answer: str
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Loading:
    """The model is being loaded. fraction: 0 to 1."""

    fraction: float


@dataclass(frozen=True, slots=True)
class Rendered:
    """The prompt as the model gets it, the template's control tokens written out. tokens: how many it has."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Prompting:
    """The prompt is being evaluated. done, total: tokens, of which `cached` were in the context already."""

    done: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class Written:
    """Text of the reply. forced: whether the grammar gave it, without sampling.

    overruled: the text of the token that the model found likeliest there, where the grammar refused it.
    """

    text: str
    forced: bool = False
    overruled: str = ""


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that a person should know and that changes no result, such as a cache that could not be used."""

    text: str


EngineEvent: TypeAlias = Loading | Rendered | Prompting | Written | Noticed
# Called between tokens and between pieces of the prompt. What it raises (KeyboardInterrupt, Cancelled) ends the
# generation there and reaches the caller; the engine stays usable. A listener may count tokens and close the engine,
# which ends the generation with EngineError; it must not let the same engine generate: that is EngineError at once.
Listener: TypeAlias = Callable[[EngineEvent], None]


def silent(_event: EngineEvent) -> None:
    """A listener that does nothing."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What an engine wrote. finish_reason: "stop" where the reply ended by itself, "length" where it was cut.

    prompt_seconds and seconds: evaluating the prompt, and all. answer_probability: what the model gave the answer at
    the position of the `Decision`, None where that position was not met. thinking: whether the text begins inside of a
    think block, which the prompt opened.
    """

    text: str
    finish_reason: Literal["stop", "length"]
    usage: Usage = field(default_factory=Usage)
    prompt_seconds: float = 0.0
    seconds: float = 0.0
    answer_probability: float | None = None
    thinking: bool = False


class Engine(Protocol):
    """Anything that writes text for messages."""

    @property
    def name(self) -> str:
        """What a person calls the model."""
        ...

    @property
    def n_ctx(self) -> int:
        """How many tokens prompt and reply may have together."""
        ...

    def generate(
        self,
        messages: Sequence[Message],
        *,
        grammar: Grammar | None = None,
        sampling: Sampling = Sampling(),
        decision: Decision | None = None,
        listener: Listener = silent,
    ) -> Generation:
        """Write the next assistant message.

        Raises EngineError where the engine fails, ContextOverflow where the messages do not fit into the context.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """The number of tokens of `text`, without begin and end marks."""
        ...

    def count_prompt(self, messages: Sequence[Message]) -> int:
        """The number of tokens of the prompt that `messages` become, template and all."""
        ...
