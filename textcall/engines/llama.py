"""A GGUF file run in this process by llama-cpp-python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textcall.engines.base import Decision, Generation, Listener, Loading, Rendered, Sampling, silent
from textcall.engines.context import Context
from textcall.engines.decode import THINK_OPEN, Plan, generate
from textcall.engines.snapshot import Snapshots
from textcall.grammar import Grammar
from textcall.messages import Message
from textcall.prompting.template import PLAIN_TEMPLATE, ChatTemplate, Fragment


class LlamaEngine:
    """An `Engine` over a GGUF file.

    n_ctx: tokens of context at most (the model's own limit where that is smaller). threads: None takes the processors
    that this process may use. gpu_layers: -1 takes all, where llama.cpp was built for a GPU. jump: see `decode`.
    cache: the folder in which evaluated system prompts are kept between runs (see `snapshot`); None keeps none.
    Raises ModelFileError where the file cannot be used.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        n_ctx: int = 8192,
        threads: int | None = None,
        gpu_layers: int = -1,
        jump: bool = True,
        cache: Path | None = None,
        listener: Listener = silent,
    ) -> None:
        self.path = Path(path)
        self.context = Context(
            self.path,
            n_ctx=n_ctx,
            threads=threads,
            gpu_layers=gpu_layers,
            progress=lambda fraction: listener(Loading(fraction)),
        )
        vocab = self.context.vocab
        self.template = ChatTemplate(
            source=self.context.chat_template() or PLAIN_TEMPLATE,
            bos=vocab.written(vocab.bos) if vocab.bos >= 0 else "",
            eos=vocab.written(vocab.eos) if vocab.eos >= 0 else "",
        )
        self._jump = jump
        self._snapshots = Snapshots.of(self.path, cache) if cache is not None else None

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def n_ctx(self) -> int:
        """How many tokens prompt and reply may have together."""
        return self.context.n_ctx

    @property
    def description(self) -> str:
        """Architecture, size and quantisation."""
        return self.context.description()

    def close(self) -> None:
        """Free the model's memory. Waits for the generation of another thread; ends the one that it is called from.

        See `Context.close`.
        """
        self.context.close()

    def count_tokens(self, text: str) -> int:
        """The number of tokens of `text`, without begin and end marks."""
        return len(self.context.vocab.tokenize(text))

    def count_prompt(self, messages: Sequence[Message]) -> int:
        """The number of tokens of the prompt that `messages` become, template and all."""
        return len(self.tokenize(messages))

    def tokenize(self, messages: Sequence[Message]) -> list[int]:
        """The prompt's tokens: template text with control tokens, content without."""
        return self._tokens(self.template.render(messages))

    def _tokens(self, fragments: Sequence[Fragment]) -> list[int]:
        vocab = self.context.vocab
        tokens = [token for part in fragments for token in vocab.tokenize(part.text, special=part.trusted)]
        if vocab.adds_bos and tokens[:1] != [vocab.bos]:
            tokens.insert(0, vocab.bos)
        return tokens

    def generate(
        self,
        messages: Sequence[Message],
        *,
        grammar: Grammar | None = None,
        sampling: Sampling = Sampling(),  # noqa: B008  a frozen value
        decision: Decision | None = None,
        listener: Listener = silent,
    ) -> Generation:
        """See `Engine.generate`."""
        rendered = self.template.render(messages)
        plan = Plan(
            grammar=grammar,
            sampling=sampling,
            decision=decision,
            thinking=rendered[-1].trusted and rendered[-1].text.rstrip().endswith(THINK_OPEN),
            jump=self._jump,
            prefix=self._prefix(messages, rendered),
            snapshots=self._snapshots,
        )
        tokens = self._tokens(rendered)
        with self.context.in_use():
            listener(Rendered("".join(fragment.text for fragment in rendered), len(tokens)))
            return generate(self.context, tokens, plan, listener)

    def _prefix(self, messages: Sequence[Message], rendered: Sequence[Fragment]) -> int:
        """How many tokens the system message has, with the template's text around it: they are in every prompt.

        0 where the template has no system role or puts its text elsewhere: it is one with a question then.
        """
        if not messages or messages[0].role != "system" or not self.template.system_leads:
            return 0
        contents = [index for index, fragment in enumerate(rendered) if not fragment.trusted]
        return len(self._tokens(rendered[: contents[1]])) if len(contents) > 1 else 0
